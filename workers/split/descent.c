/* SPDX-License-Identifier: Apache-2.0 */
/* The node of the call tree under which steps repeat. */
#include "descent.h"

#include "arena.h"
#include "cleanup.h"
#include "wide.h"

enum { MAX_NODES = 200000, MIN_CHILDREN = 4 };

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "the descent of a call tree");
}

/* Nodes to visit, with the level that each is on. */
struct queue {
    uint32_t *nodes;
    uint32_t *depths;
    size_t n;
};

static void
enqueue(struct queue *queue, const struct calltree *tree, uint32_t node, uint32_t depth)
{
    if (queue->n == MAX_NODES || !calltree_has_gpu(tree, node))
        return;
    queue->nodes[queue->n] = node;
    queue->depths[queue->n++] = depth;
}

/* One node: is its pattern the best so far? Its children join the queue. */
static enum err_kind
visit(struct pattern_search *search,
      struct queue *queue,
      size_t at,
      struct column *children,
      struct pattern *best,
      struct err *err)
{
    const struct calltree *tree = search->tree;
    uint32_t node = queue->nodes[at];
    bool is_better = false;
    if (calltree_children(tree, node, children, err))
        return err->kind;
    if (children->n >= MIN_CHILDREN) {
        struct slice name = events_text(tree->events, calltree_event(tree, node).name);
        if (pattern_find(search, children, name, "branch_descent", best, &is_better, err))
            return err->kind;
    }
    if (is_better) {
        best->candidate.tree.has_depth = true;
        best->candidate.tree.depth = queue->depths[at];
    }
    for (uint64_t i = 0; i < children->n && queue->n < MAX_NODES; i++)
        enqueue(queue, tree, calltree_nodes_at(children, i), queue->depths[at] + 1);
    return ERR_OK;
}

enum err_kind
descent_find(struct pattern_search *search, struct pattern *best, struct err *err)
{
    CLEANUP(arena_done) struct arena room;
    CLEANUP(column_done) struct column children;
    const struct calltree *tree = search->tree;
    arena_init(&room, SIZE_MAX);
    calltree_nodes_init(&children, tree);
    size_t most = tree->nodes.n < MAX_NODES ? (size_t)tree->nodes.n : MAX_NODES;
    struct queue queue = {
        .nodes = arena_calloc(&room, most + 1, sizeof(uint32_t)),
        .depths = arena_calloc(&room, most + 1, sizeof(uint32_t)),
    };
    if (!queue.nodes || !queue.depths)
        return no_memory(err);
    for (uint64_t i = 0; i < tree->entries.n && queue.n < MAX_NODES; i++)
        enqueue(&queue, tree, calltree_nodes_at(&tree->entries, i), 0);
    for (size_t at = 0; at < queue.n; at++) {
        if (visit(search, &queue, at, &children, best, err))
            return err->kind;
        if (best->is_found && best->candidate.status == GRADE_SPLITTABLE)
            break;
    }
    return events_check(tree->events, err);
}

/* --- bookends ---------------------------------------------------------------------- */

/* A root over the frames that have kernels; their time. */
static int64_t
make_bookend(struct calltree *tree,
             const struct column *nodes,
             const char *name,
             struct root *ret_root)
{
    struct event latest = {0};
    bool found = false;
    for (uint64_t i = 0; i < nodes->n; i++) {
        uint32_t node = calltree_nodes_at(nodes, i);
        if (!calltree_has_gpu(tree, node))
            continue;
        struct event event = calltree_event(tree, node);
        if (!found) {
            *ret_root = root_of(tree->events, event);
            ret_root->name = slice_of(name);
            latest = event;
        } else if (event.ts_ns > latest.ts_ns ||
                   (event.ts_ns == latest.ts_ns &&
                    event_index(event) > event_index(latest))) {
            latest = event;
        }
        found = true;
    }
    if (!found)
        return 0;
    int64_t dur_ns = event_end_ns(latest) - ret_root->ts_ns;
    ret_root->dur_ns = dur_ns > 0 ? dur_ns : 0;
    return calltree_time(tree, nodes, 0, nodes->n);
}

static double
percent(int64_t part_ns, int64_t whole_ns)
{
    return 100.0 * (double)part_ns / (double)whole_ns;
}

enum err_kind
descent_add_bookends(struct calltree *tree,
                     const struct pattern *base,
                     struct column *roots,
                     struct candidate *ret_candidate,
                     bool *ret_found,
                     struct err *err)
{
    const struct candidate *from = &base->candidate;
    struct root warmup;
    struct root wrapup;
    *ret_found = false;
    if (!base->is_found || from->roots.n == 0 || from->total_ns <= 0 ||
        (int128)2 * from->iteration_ns < from->total_ns)
        return ERR_OK;
    int64_t before_ns = make_bookend(tree, &base->before, "warmup", &warmup);
    int64_t after_ns = make_bookend(tree, &base->after, "wrapup", &wrapup);
    if (before_ns <= 0 && after_ns <= 0)
        return ERR_OK;
    *ret_candidate = *from;
    if (before_ns > 0 && column_add(roots, &warmup, err))
        return err->kind;
    for (uint64_t i = 0; i < from->roots.n; i++) {
        struct root root = roots_at(from->roots, i);
        if (column_add(roots, &root, err))
            return err->kind;
    }
    if (after_ns > 0 && column_add(roots, &wrapup, err))
        return err->kind;
    ret_candidate->roots = roots_of(roots);
    ret_candidate->iteration_ns = before_ns + from->iteration_ns + after_ns;
    ret_candidate->status = grade_of(ret_candidate->iteration_ns, from->total_ns);
    ret_candidate->tree.has_bookends = true;
    ret_candidate->tree.warmup_percent = percent(before_ns, from->total_ns);
    ret_candidate->tree.wrapup_percent = percent(after_ns, from->total_ns);
    *ret_found = true;
    return ERR_OK;
}
