/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The innermost of the events around a moment, while one walks over a thread in the order
 * of time (splitting.md 10).
 */
#pragma once

#include "err.h"
#include "events.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nested {
    int64_t ts_ns;
    int64_t end_ns;
    uint64_t index;    /* source index */
    uint32_t position; /* in events_cpu(), + 1 */
};

/* Events that began, those at the end first to be looked at. Zeroed is empty. */
struct nesting {
    struct nested *items;
    size_t n;
    size_t cap;
};

void nesting_done(struct nesting *nesting);
/* The next event in (ts, source index) order. */
enum err_kind nesting_push(struct nesting *nesting,
                           struct event event,
                           uint32_t position,
                           struct err *err);
/*
 * The innermost one with ts <= `ts_ns` < end: latest start, then shortest, then highest
 * source index. All that start at `ts_ns` must be pushed, and moments come in order.
 * NULL: none.
 */
const struct nested *nesting_at(struct nesting *nesting, int64_t ts_ns);
/* The same for one that encloses `event` (which is not pushed itself). */
const struct nested *nesting_around(struct nesting *nesting, struct event event);
