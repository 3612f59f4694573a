/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings in line form (tuning-audit.md 6): ASCII only, lower-case hexadecimal escapes,
 * short forms where JSON has them, a pair of surrogates above U+FFFF.
 */
#pragma once

#include "buf.h"
#include "slice.h"

#include <stdbool.h>

/* Appends `text` with its quotes; each bad byte of text that is not UTF-8 is U+FFFD. */
void line_form_string(struct buf *out, struct slice text);

/* Whether `text` is UTF-8: shortest forms, no surrogates, nothing above U+10FFFF. */
bool utf8_valid(struct slice text);
