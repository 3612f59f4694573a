/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and ids of a trace, from their text (splitting.md 2.3). */
#pragma once

#include "scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Times reach from -2^62 to 2^62 nanoseconds. */
#define NUMBER_MAX_NS (INT64_C(1) << 62)

/*
 * Microseconds -> nanoseconds, exactly, halves away from zero. False: unusable.
 * *ret_is_string: the value was a string that holds a number (set in both cases).
 */
bool number_ns(struct scan_value value, int64_t *ret_ns, bool *ret_is_string);

/*
 * Canonical text of an id: `5`, `"5"` and `5.0` are one. False: null, container or
 * non-finite, which is no id. The text is borrowed from `value` or written into
 * `scratch`.
 */
bool number_id(struct scan_value value, struct buf *scratch, struct slice *ret_text);
