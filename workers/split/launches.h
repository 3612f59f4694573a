/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who launched each GPU event: its call, the op around it, what that op was given, the
 * Python frame (splitting.md 10).
 */
#pragma once

#include "calls.h"
#include "cpu_view.h"
#include "err.h"
#include "idmap.h"
#include "symbol.h"
#include "texts.h"

#include <stdbool.h>
#include <stdint.h>

enum launcher { LAUNCH_EAGER, LAUNCH_GRAPH, LAUNCH_UNLINKED };
enum dims_origin { DIMS_UNKNOWN, DIMS_OP, DIMS_ANCESTOR };

/* What launched one GPU event. Texts are numbers of launch_texts; 0: null. */
struct launch_facts {
    uint8_t kind;      /* enum launcher */
    uint8_t dims_from; /* enum dims_origin */
    uint16_t unused;   /* 0: groups are compared as bytes */
    uint32_t op;       /* name, a text of the index; of an eager launch */
    uint32_t dims;
    uint32_t type;
};

/* Compact JSON, each distinct text once. */
struct launch_texts {
    const struct events *events;
    struct texts *compact;
    struct idmap known; /* raw text + 1 -> compact text */
};

enum err_kind launch_texts_init(struct launch_texts *texts,
                                const struct events *events,
                                struct err *err);
void launch_texts_done(struct launch_texts *texts);
/* The compact form of a raw text of the index: never 0 unless it is empty. */
enum err_kind launch_texts_compact(struct launch_texts *texts,
                                   uint32_t raw,
                                   uint32_t *ret_compact,
                                   struct err *err);

/* GPU events, by their positions in events_gpu(). */
struct gpu_list {
    const struct events *events;
    const struct column *positions; /* uint32_t */
};

static inline struct event
gpu_list_at(const struct gpu_list *list, uint64_t i)
{
    uint32_t position;
    column_read(list->positions, i, &position);
    return events_gpu(list->events, position);
}

/* How the GPU events of a set are linked to the CPU events of a view. */
struct launches {
    struct cpu_view view;
    struct symbols *symbols;
    struct launch_texts *texts;
    struct calls calls;
    struct idlist by_external; /* External id -> position of the first op + 1 */
    struct idlist outer;       /* position of an op without dims + 1 -> the op with dims
                                  that encloses it + 1 */
};

/* Links `gpu`. launches_done() also after a failure. */
enum err_kind launches_make(struct launches *launches,
                            struct cpu_view view,
                            struct symbols *symbols,
                            struct launch_texts *texts,
                            const struct gpu_list *gpu,
                            struct err *err);
void launches_done(struct launches *launches);

/* The group of one of the GPU events. */
enum err_kind launches_group(struct launches *launches,
                             struct event kernel,
                             struct launch_facts *ret_group,
                             struct err *err);
/* Name of the innermost frame around its call; 0: none. */
uint32_t launches_frame(const struct launches *launches, struct event kernel);
