/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call of a GPU event: the first runtime event with its correlation id, else the
 * first CPU event (splitting.md 10); and the launch figures that follow (10.1).
 */
#pragma once

#include "column.h"
#include "cpu_view.h"
#include "err.h"
#include "idlist.h"
#include "idmap.h"
#include "symbol.h"

/* Positions of CPU events are kept in 32 bits. */
#define CALLS_MAX_EVENTS ((uint64_t)UINT32_MAX - 1)

/* The call of a correlation id that GPU events have. */
struct call {
    uint32_t position; /* in events_cpu(), + 1; 0: none */
    uint32_t op;       /* innermost op at its start, likewise: calls_put() */
    uint32_t frame;    /* name of the innermost frame */
    bool is_wanted;
    bool is_runtime;
};

/* In pages as the index allows: struct call by events_gpu_linked(). Zeroed is none. */
struct calls {
    const struct events *events;
    struct column by_id;
};

void calls_init(struct calls *calls, const struct events *events);
void calls_done(struct calls *calls);
/* Asks for the call of an id (0: of none). */
enum err_kind calls_want(struct calls *calls, event_id id, struct err *err);
/* Finds the calls that are wanted. */
void calls_find(struct calls *calls, const struct cpu_view *view);
/* The call of an id; false: it has none, or none is wanted. */
bool calls_get(const struct calls *calls, event_id id, struct call *ret_call);
/* What calls_get() gave, with its op and frame. */
void calls_put(struct calls *calls, event_id id, struct call call);

struct launch_figures {
    uint64_t host_launch_count;
    uint64_t graph_launch_count;
    uint64_t graph_launches_with_kernels;
    uint64_t graph_kernels;
    int64_t unlinked_busy_ns;
    int64_t off_root_thread_busy_ns;
};

/* Sums launch figures, once launch_sums_init() was given the first two. */
struct launch_sums {
    const struct calls *calls;
    const struct idmap *root_threads; /* thread + 1; NULL: no root */
    struct idlist graphs;             /* ids of graph launches; 1: has a kernel */
    struct launch_figures figures;
};

void launch_sums_init(struct launch_sums *sums,
                      const struct calls *calls,
                      const struct idmap *root_threads);
void launch_sums_done(struct launch_sums *sums);
/* All CPU events first, then all GPU events. */
enum err_kind launch_sums_add_cpu(struct launch_sums *sums,
                                  const struct cpu_view *view,
                                  struct symbols *symbols,
                                  struct err *err);
void launch_sums_add_gpu(struct launch_sums *sums,
                         const struct events *events,
                         struct event kernel);
