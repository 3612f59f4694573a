/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call of a GPU event: the first runtime event with its correlation id, else the
 * first CPU event (splitting.md 10); and the launch figures that follow (10.1).
 */
#pragma once

#include "cpu_view.h"
#include "err.h"
#include "idmap.h"
#include "symbol.h"

/* Positions of CPU events are kept in 32 bits. */
#define CALLS_MAX_EVENTS ((uint64_t)UINT32_MAX - 1)

/* Correlation id -> value: position of the call + 1, 0: none; mark: it is a runtime
 * event. Zeroed is empty. */
struct calls {
    struct idmap by_id;
};

void calls_done(struct calls *calls);
/* Asks for the call of an id (0: of none). */
enum err_kind calls_want(struct calls *calls, event_id id, struct err *err);
/* Finds the calls that are wanted. */
void calls_find(struct calls *calls, const struct cpu_view *view);
/* Whether the event has a call, and where. */
bool calls_get(const struct calls *calls, event_id id, uint64_t *ret_position);

struct launch_figures {
    uint64_t host_launch_count;
    uint64_t graph_launch_count;
    uint64_t graph_launches_with_kernels;
    uint64_t graph_kernels;
    int64_t unlinked_busy_ns;
    int64_t off_root_thread_busy_ns;
};

/* Sums launch figures. Zeroed but for the first two. */
struct launch_sums {
    const struct calls *calls;
    const struct idmap *root_threads; /* thread + 1; NULL: no root */
    struct idmap graphs;              /* ids of graph launches; mark: has a kernel */
    struct launch_figures figures;
};

void launch_sums_done(struct launch_sums *sums);
/* All CPU events first, then all GPU events. */
enum err_kind launch_sums_add_cpu(struct launch_sums *sums,
                                  const struct cpu_view *view,
                                  struct symbols *symbols,
                                  struct err *err);
void launch_sums_add_gpu(struct launch_sums *sums,
                         const struct events *events,
                         struct event kernel);
