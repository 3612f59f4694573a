/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a split are called after its trace (splitting.md 11.2). */
#pragma once

#include "buf.h"
#include "slice.h"

enum { BASE_NAME_MAX_BYTES = 150 };

/* Appends the base for the last segment of `name`, a path or a name. */
void base_name_add(struct buf *out, struct slice name);
