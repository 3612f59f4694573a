/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a case holds as base64. */
#pragma once

#include "buf.h"
#include "slice.h"

#include <stdbool.h>

/* Appends the bytes; false: `text` is no base64. */
bool base64_decode(struct slice text, struct buf *out);
