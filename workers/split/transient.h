/* SPDX-License-Identifier: Apache-2.0 */
/* Is the first step a start-up transient, which waited for the other ranks?
 * (splitting.md 7) */
#pragma once

#include "ownership.h"
#include "symbol.h"

struct transient {
    bool is_looked_for; /* the preconditions hold */
    bool is_trimmed;
    struct slice kernel; /* the rest: when trimmed */
    double collective_ratio;
    double noise_ratio;
    bool same_phase_only;
};

/* Whether any GPU event of the trace has a name that stalls. */
bool transient_can_stall(const struct events *events, struct symbols *symbols);

/* Compares the first of at least two steps with the others. */
enum err_kind transient_find(struct ownership *own,
                             struct symbols *symbols,
                             struct transient *ret_transient,
                             struct err *err);
