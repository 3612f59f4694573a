/* SPDX-License-Identifier: Apache-2.0 */
/* Length of the union of intervals (splitting.md 10.1). */
#pragma once

#include "ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
    int64_t start_ns;
    int64_t end_ns;
};

/* A union that grows by intervals in the order of their starts. */
struct union_length {
    int64_t length_ns;
    int64_t end_ns;
    bool is_started;
};

static inline void
union_add(struct union_length *all, int64_t start_ns, int64_t end_ns)
{
    if (!all->is_started || start_ns > all->end_ns) {
        all->length_ns = ns_add(all->length_ns, ns_subtract(end_ns, start_ns));
        all->end_ns = end_ns;
        all->is_started = true;
    } else if (end_ns > all->end_ns) {
        all->length_ns = ns_add(all->length_ns, ns_subtract(end_ns, all->end_ns));
        all->end_ns = end_ns;
    }
}

/* Sorts `intervals` by their starts. */
void intervals_sort(struct interval *intervals, size_t n);
/* The length; sorts `intervals`. */
int64_t union_of(struct interval *intervals, size_t n);
