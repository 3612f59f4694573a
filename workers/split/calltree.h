/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a trace as trees, with the GPU work below each (splitting.md 5.3). */
#pragma once

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
    uint32_t first_link; /* launches in its own subtree: a run of `links` */
    uint32_t last_link;
    uint32_t gpu_from; /* node whose subtree's work it has; NONE: flagged no-gpu */
    uint32_t is_top;   /* stamp of the search for entries that found it, see there */
};

/* Its lists have the index's ceiling on memory; they grow with the trace. */
struct calltree {
    const struct events *events;
    struct column nodes;    /* struct calltree_node */
    struct column threads;  /* struct calltree_thread */
    struct column launches; /* struct event_ref: thread, node */
    struct column links;    /* uint32_t: number of the kernels' id, by linked launch */
    struct column work;     /* struct calltree_work, by that number */
    struct column entries;  /* uint32_t: nodes, in their order */
    uint32_t stamp;
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

/* A list of nodes: a column of uint32_t, in pages as those of the tree. */
void calltree_nodes_init(struct column *nodes, const struct calltree *tree);
static inline uint32_t
calltree_nodes_at(const struct column *nodes, uint64_t i)
{
    uint32_t node;
    if (nodes->chunks)
        memcpy(&node, column_at(nodes, i), sizeof node);
    else
        column_read_paged(nodes, i, &node);
    return node;
}

/* Time of the kernels below the nodes that are added from now on, each once. */
void calltree_time_begin(struct calltree *tree);
void calltree_time_add(struct calltree *tree, uint32_t node, int64_t *busy_ns);
/* The same of `n` nodes of a list, from `first` on. */
int64_t calltree_time(struct calltree *tree,
                      const struct column *nodes,
                      uint64_t first,
                      uint64_t n);
/* The children in node order, instead of what is in the list. */
enum err_kind calltree_children(const struct calltree *tree,
                                uint32_t node,
                                struct column *ret_children,
                                struct err *err);
