/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps count, and which windows of them are cut (splitting.md 8). */
#pragma once

#include "split.h"

struct plan {
    size_t *working; /* places of the working roots, in the answer's arena */
    size_t n;
    struct window picks[SPLIT_MAX_CHUNKS]; /* positions in `working`, as the windows' */
};

/* Lists the working roots; may refuse: no_steady_state, bad_parameter. */
enum err_kind plan_working(struct split_answer *answer,
                           const struct ownership *own,
                           struct plan *ret_plan,
                           struct err *err);
/* Fills answer->windows, and steps whose phase their shapes tell. */
enum err_kind plan_windows(struct split_answer *answer,
                           struct ownership *own,
                           struct plan *plan,
                           struct err *err);
