/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and numbers from outside in line form (tuning-audit.md 6), whatever they are. */
#pragma once

#include "buf.h"
#include "slice.h"

/* Appends `text` with its quotes, ASCII only; each maximal part of it that is not UTF-8
 * is U+FFFD. */
void line_form_string(struct buf *out, struct slice text);
/* Appends a finite number: the shortest digits that read back as it, as Python's repr. */
void line_form_double(struct buf *out, double value);
