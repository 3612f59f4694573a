/* SPDX-License-Identifier: Apache-2.0 */
/* Time figures of a set of GPU events (splitting.md 10.1). */
#pragma once

#include "events.h"
#include "symbol.h"
#include "unions.h"

struct time_figures {
    uint64_t n; /* GPU events; with none wall and longest event are null */
    int64_t wall_ns;
    int64_t busy_ns; /* plain sum */
    int64_t busy_union_ns;
    int64_t compute_union_ns;
    int64_t comm_union_ns;
    int64_t exposed_comm_ns;
    int64_t copy_ns;
    int64_t stream_overlap_ns;
    int64_t max_event_ns;
    uint64_t kernel_count; /* of category kernel */
};

/* Takes events in (ts, source index) order. Zeroed but for `symbols`. */
struct time_sums {
    struct symbols *symbols;
    struct time_figures figures;
    int64_t start_ns;
    int64_t end_ns;
    struct union_length all;
    struct union_length compute;
    struct union_length comm;
    struct union_length both;
};

void time_sums_add(struct time_sums *sums, struct event event);
struct time_figures time_sums_take(struct time_sums *sums);

/* (wall - busy_union)/wall; false: there is none. */
bool time_figures_idle(const struct time_figures *figures, double *ret_ratio);
