/* SPDX-License-Identifier: Apache-2.0 */
/* Strings from outside in line form (tuning-audit.md 6), whatever bytes they are. */
#pragma once

#include "buf.h"
#include "slice.h"

/* Appends `text` with its quotes, ASCII only; each maximal part of it that is not UTF-8
 * is U+FFFD. */
void line_form_string(struct buf *out, struct slice text);
