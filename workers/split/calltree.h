/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a trace as trees, with the GPU work below each (splitting.md 5.3). */
#pragma once

#include "arena.h"
#include "column.h"
#include "err.h"
#include "events.h"
#include "symbol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLTREE_NONE UINT32_MAX

/* Nodes are numbered in their order: (ts, longer first, source index). */
struct calltree_node {
    uint64_t position; /* in events_cpu() */
    uint32_t parent;   /* CALLTREE_NONE: none */
    uint32_t first_child;
    uint32_t last_child;
    uint32_t next_sibling;
    uint32_t thread;     /* its place in `threads` */
    uint32_t first_link; /* launches in its own subtree: a run of the thread's links */
    uint32_t last_link;
    uint32_t gpu_from; /* node whose subtree's work it has; NONE: flagged no-gpu */
    uint32_t is_top;   /* stamp of the search for entries that found it, see there */
};

struct calltree_nodes {
    uint32_t *items;
    size_t n;
};

struct calltree {
    const struct events *events;
    struct column nodes; /* struct calltree_node, with the index's ceiling on memory */
    struct calltree_thread *threads;
    size_t n_threads;
    int64_t *link_ns;      /* by link: time of the kernels of that id */
    uint32_t *link_stamps; /* by link: the union that saw it last */
    uint32_t n_links;
    uint32_t stamp;
    struct calltree_nodes entries;
    struct arena arena; /* of entries and links */
};

/* Borrows `events` and, for the call, `symbols`. calltree_done() also after a failure. */
enum err_kind calltree_make(struct calltree *tree,
                            const struct events *events,
                            struct symbols *symbols,
                            struct err *err);
void calltree_done(struct calltree *tree);

static inline struct calltree_node
calltree_node(const struct calltree *tree, uint32_t node)
{
    struct calltree_node value;
    column_read(&tree->nodes, node, &value);
    return value;
}

static inline bool
calltree_has_gpu(const struct calltree *tree, uint32_t node)
{
    return calltree_node(tree, node).gpu_from != CALLTREE_NONE;
}

static inline struct event
calltree_event(const struct calltree *tree, uint32_t node)
{
    return events_cpu(tree->events, calltree_node(tree, node).position);
}

/* Time of the kernels below these nodes, each once. */
int64_t calltree_time(struct calltree *tree, const uint32_t *nodes, size_t n);
/* The children in node order, in `arena`. */
enum err_kind calltree_children(const struct calltree *tree,
                                uint32_t node,
                                struct arena *arena,
                                struct calltree_nodes *ret_children,
                                struct err *err);
