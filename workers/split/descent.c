/* SPDX-License-Identifier: Apache-2.0 */
/* The node of the call tree under which steps repeat. */
#include "descent.h"

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

static enum err_kind
copy_nodes(struct calltree_nodes *nodes, struct arena *arena, struct err *err)
{
    uint32_t *items = arena_calloc(arena, nodes->n, sizeof *items);
    if (!items)
        return no_memory(err);
    if (nodes->n)
        memcpy(items, nodes->items, nodes->n * sizeof *items);
    nodes->items = items;
    return ERR_OK;
}

/* Moves a pattern out of the memory of its node. */
static enum err_kind
keep(struct pattern *pattern, struct arena *arena, struct err *err)
{
    struct roots *roots = &pattern->candidate.roots;
    struct root *items = arena_calloc(arena, roots->n, sizeof *items);
    if (!items)
        return no_memory(err);
    if (roots->n)
        memcpy(items, roots->items, roots->n * sizeof *items);
    roots->items = items;
    if (copy_nodes(&pattern->before, arena, err))
        return err->kind;
    return copy_nodes(&pattern->after, arena, err);
}

/* One node: is its pattern the best so far? Its children join the queue. */
static enum err_kind
visit(struct pattern_search *search,
      struct queue *queue,
      size_t at,
      struct arena *scratch,
      struct arena *arena,
      struct pattern *best,
      struct err *err)
{
    const struct calltree *tree = search->tree;
    uint32_t node = queue->nodes[at];
    struct calltree_nodes children;
    struct pattern pattern = {0};
    arena_reset(scratch);
    if (calltree_children(tree, node, scratch, &children, err))
        return err->kind;
    if (children.n >= MIN_CHILDREN) {
        struct slice name = events_text(tree->events, calltree_event(tree, node).name);
        if (pattern_find(search, children, name, "branch_descent", scratch, &pattern,
                         err))
            return err->kind;
    }
    bool is_better = pattern.is_found &&
                     (!best->is_found ||
                      pattern.candidate.iteration_ns > best->candidate.iteration_ns);
    if (is_better) {
        pattern.candidate.tree.has_depth = true;
        pattern.candidate.tree.depth = queue->depths[at];
        if (keep(&pattern, arena, err))
            return err->kind;
        *best = pattern;
    }
    for (size_t i = 0; i < children.n; i++)
        enqueue(queue, tree, children.items[i], queue->depths[at] + 1);
    return ERR_OK;
}

enum err_kind
descent_find(struct pattern_search *search,
             struct arena *arena,
             struct pattern *ret_best,
             struct err *err)
{
    CLEANUP(arena_done) struct arena room;
    CLEANUP(arena_done) struct arena scratch;
    const struct calltree *tree = search->tree;
    arena_init(&room, SIZE_MAX);
    arena_init(&scratch, SIZE_MAX);
    size_t most = tree->nodes.n < MAX_NODES ? (size_t)tree->nodes.n : MAX_NODES;
    struct queue queue = {
        .nodes = arena_calloc(&room, most + 1, sizeof(uint32_t)),
        .depths = arena_calloc(&room, most + 1, sizeof(uint32_t)),
    };
    *ret_best = (struct pattern){0};
    if (!queue.nodes || !queue.depths)
        return no_memory(err);
    for (size_t i = 0; i < tree->entries.n; i++)
        enqueue(&queue, tree, tree->entries.items[i], 0);
    for (size_t at = 0; at < queue.n; at++) {
        if (visit(search, &queue, at, &scratch, arena, ret_best, err))
            return err->kind;
        if (ret_best->is_found && ret_best->candidate.status == GRADE_SPLITTABLE)
            break;
    }
    return events_check(tree->events, err);
}

/* --- bookends ---------------------------------------------------------------------- */

/* A root over the frames that have kernels; their time. */
static int64_t
make_bookend(struct calltree *tree,
             const struct calltree_nodes *nodes,
             const char *name,
             struct root *ret_root)
{
    struct event latest = {0};
    bool found = false;
    for (size_t i = 0; i < nodes->n; i++) {
        if (!calltree_has_gpu(tree, nodes->items[i]))
            continue;
        struct event event = calltree_event(tree, nodes->items[i]);
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
    return calltree_time(tree, nodes->items, nodes->n);
}

static double
percent(int64_t part_ns, int64_t whole_ns)
{
    return 100.0 * (double)part_ns / (double)whole_ns;
}

enum err_kind
descent_add_bookends(struct calltree *tree,
                     const struct pattern *base,
                     struct arena *arena,
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
    struct roots *roots = &ret_candidate->roots;
    roots->items = arena_calloc(arena, from->roots.n + 2, sizeof *roots->items);
    if (!roots->items)
        return no_memory(err);
    roots->n = 0;
    if (before_ns > 0)
        roots->items[roots->n++] = warmup;
    memcpy(roots->items + roots->n, from->roots.items,
           from->roots.n * sizeof *roots->items);
    roots->n += from->roots.n;
    if (after_ns > 0)
        roots->items[roots->n++] = wrapup;
    ret_candidate->iteration_ns = before_ns + from->iteration_ns + after_ns;
    ret_candidate->status = grade_of(ret_candidate->iteration_ns, from->total_ns);
    ret_candidate->tree.has_bookends = true;
    ret_candidate->tree.warmup_percent = percent(before_ns, from->total_ns);
    ret_candidate->tree.wrapup_percent = percent(after_ns, from->total_ns);
    *ret_found = true;
    return ERR_OK;
}
