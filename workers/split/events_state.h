/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the index share. */
#pragma once

#include "events.h"

#include "buf.h"

enum { EVENTS_SEEN_THREADS = 64, EVENTS_SEEN_BYTES = 48 };

/* A B that waits for its E. */
struct begin {
    struct event event;
    uint64_t below; /* number + 1 of the B under it on the thread's stack; 0: none */
};

/* A thread as its pid and tid stood in the source. */
struct seen_thread {
    bool is_set;
    uint8_t pid_len;
    uint8_t tid_len;
    uint8_t pid_type;
    uint8_t tid_type;
    uint32_t thread;
    char text[EVENTS_SEEN_BYTES];
};

struct events {
    struct column_pool *pool;
    struct column_pool *side; /* NULL: `pool` serves */
    uint64_t max_texts;
    const char *limit;
    struct buf scratch;
    struct event_counts counts;
    int64_t gpu_busy_ns;
    /* tables; the keys of the last three are structs */
    struct texts *texts;
    struct texts *threads;  /* struct event_thread; numbers from 1 */
    struct texts *shapes;   /* struct event_shape */
    struct texts *launches; /* struct event_launch */
    struct seen_thread seen[EVENTS_SEEN_THREADS];
    /* lists */
    struct column cpu;
    struct column gpu;
    struct column gpu_annotations;
    struct column annotations;
    struct column instants;
    struct column flows;
    struct column pairs;
    struct column begins;
    uint64_t *open; /* by thread: number + 1 of the topmost B that waits */
    uint32_t n_open;
    /* ways in, made at the end */
    struct column gpu_links;  /* struct event_link: (correlation, source index) */
    struct column correlated; /* struct event_ref: (thread, position in cpu) */
    uint32_t *gpu_first;      /* by small id: first in gpu_links; NULL: search */
    uint32_t *flow_first;     /* by small id: first in flows */
    uint32_t n_gpu_first;
    uint32_t n_flow_first;
};

struct event_link {
    uint32_t group; /* correlation id */
    uint32_t position;
    uint64_t index;
};

struct event_ref {
    uint32_t group; /* thread */
    uint32_t position;
};

static inline uint64_t
events_text_bytes(const struct events *events)
{
    return texts_bytes(events->texts) + texts_bytes(events->threads) +
           texts_bytes(events->shapes) + texts_bytes(events->launches);
}

/* Sums of hostile times stay at the end of the range. */
static inline int64_t
event_sum_ns(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Does a list hold a non-empty list, whatever else is in it? */
bool scan_has_list(struct scan_value value);
