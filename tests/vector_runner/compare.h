/* SPDX-License-Identifier: Apache-2.0 */
/* Two JSON values by value: where do they differ first? */
#pragma once

#include "arena.h"
#include "buf.h"
#include "json.h"

enum compare_rule {
    COMPARE_EXACT = 0, /* the same keys, the same numbers */
    /* Keys that are not expected are not looked at, but for an empty object; numbers are
     * equal within 1e-9 (README-domain.md). */
    COMPARE_EXPECTED,
};

/*
 * True when both mean the same: keys in any order, numbers by their text, else by their
 * value ("1.0" is "1.00", but 9007199254740993 is not 9007199254740992). Otherwise
 * `where` gets the first path that differs, in the order of `want`, with both values.
 */
bool values_equal(struct json_value want,
                  struct json_value got,
                  enum compare_rule rule,
                  struct arena *arena,
                  struct buf *where);
