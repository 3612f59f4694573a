/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a trace as trees, with the GPU work below each. */
#include "calltree.h"

#include "cleanup.h"
#include "idmap.h"
#include "ns.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 256 };

/* A frame may end this much before the child that it started. */
enum { SLACK_NS = 1000 };

/* A runtime node, and after link_all() only those that have kernels. */
struct launch {
    uint32_t node;
    uint32_t link; /* number of its id; CALLTREE_NONE: no kernels */
};

/* A node that may still get children; it is written when it is closed. */
struct open_node {
    uint32_t node;
    bool is_op;
    int64_t end_ns;
    struct calltree_node value;
};

struct calltree_thread {
    uint32_t thread; /* of the index */
    struct open_node *stack;
    size_t depth;
    size_t cap_stack;
    size_t ops_open;
    struct launch *launches;
    size_t n_launches;
    size_t cap_launches;
    uint64_t n_frames;
    uint32_t first_frame;
};

/* While the tree grows. */
struct builder {
    struct calltree *tree;
    struct symbols *symbols;
    struct idmap places; /* thread + 1 -> place in tree->threads */
    size_t cap_threads;
    uint32_t *op_roots;
    size_t n_op_roots;
    size_t cap_op_roots;
    struct event *group; /* nodes that start at one time */
    size_t cap_group;
    uint32_t first_launch; /* the node that decides how kernels are linked */
};

static void
builder_done(struct builder *builder)
{
    idmap_done(&builder->places);
    free(builder->op_roots);
    free(builder->group);
}

void
calltree_done(struct calltree *tree)
{
    for (size_t i = 0; i < tree->n_threads; i++) {
        free(tree->threads[i].stack);
        free(tree->threads[i].launches);
    }
    free(tree->threads);
    column_done(&tree->nodes);
    arena_done(&tree->arena);
    *tree = (struct calltree){0};
}

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "the call tree of a trace");
}

/* Room for one more item; the list may move. */
static bool
make_room(void *list, size_t n, size_t *cap, size_t size)
{
    void *items;
    memcpy(&items, list, sizeof items);
    if (n < *cap)
        return true;
    size_t more = *cap ? *cap * 2 : FIRST_CAP;
    items = n < CALLTREE_NONE / 2 ? reallocarray(items, more, size) : NULL;
    if (!items)
        return false;
    memcpy(list, &items, sizeof items);
    *cap = more;
    return true;
}

static bool
is_node(struct event event)
{
    enum event_category category = event_category(event);
    return category == CATEGORY_CPU_OP || category == CATEGORY_PYTHON_FUNCTION ||
           event_is_runtime(event);
}

/* --- nesting ----------------------------------------------------------------------- */

static struct calltree_thread *
thread_of(struct builder *builder, uint32_t thread, struct err *err)
{
    struct calltree *tree = builder->tree;
    struct idmap_entry *entry = idmap_add(&builder->places, thread + 1, err);
    if (!entry)
        return NULL;
    if (entry->mark++ == 0) {
        if (!make_room(&tree->threads, tree->n_threads, &builder->cap_threads,
                       sizeof *tree->threads)) {
            no_memory(err);
            return NULL;
        }
        entry->value = (uint32_t)tree->n_threads;
        tree->threads[tree->n_threads++] =
            (struct calltree_thread){.thread = thread, .first_frame = CALLTREE_NONE};
    }
    return &tree->threads[entry->value];
}

static void
pop(struct calltree *tree, struct calltree_thread *thread)
{
    struct open_node *open = &thread->stack[--thread->depth];
    open->value.last_link = (uint32_t)thread->n_launches;
    thread->ops_open -= open->is_op;
    column_write(&tree->nodes, open->node, &open->value);
}

static int64_t
top_end_ns(const struct calltree_thread *thread)
{
    return thread->stack[thread->depth - 1].end_ns;
}

/* Closes what ended; false: the event crosses the end of its frame and is no node. */
static bool
fits(struct calltree *tree, struct calltree_thread *thread, struct event event)
{
    while (thread->depth && top_end_ns(thread) <= event.ts_ns)
        pop(tree, thread);
    if (!thread->depth || event_end_ns(event) <= top_end_ns(thread))
        return true;
    if (top_end_ns(thread) - event.ts_ns >= SLACK_NS || thread->depth < 2)
        return false;
    pop(tree, thread);
    return true;
}

/* `child` is the last of the children of `parent`, whose siblings are closed. */
static void
adopt(struct calltree *tree, struct calltree_node *parent, uint32_t child)
{
    if (parent->last_child == CALLTREE_NONE) {
        parent->first_child = child;
    } else {
        struct calltree_node sibling = calltree_node(tree, parent->last_child);
        sibling.next_sibling = child;
        column_write(&tree->nodes, parent->last_child, &sibling);
    }
    parent->last_child = child;
}

/* What the node is beside a node: an op root, a launch, a frame. */
static enum err_kind
note_category(struct builder *builder,
              struct calltree_thread *thread,
              uint32_t node,
              struct event event,
              struct err *err)
{
    enum event_category category = event_category(event);
    if (category == CATEGORY_CPU_OP && thread->ops_open++ == 0) {
        if (!make_room(&builder->op_roots, builder->n_op_roots, &builder->cap_op_roots,
                       sizeof *builder->op_roots))
            return no_memory(err);
        builder->op_roots[builder->n_op_roots++] = node;
    }
    if (category == CATEGORY_PYTHON_FUNCTION && thread->n_frames++ == 0)
        thread->first_frame = node;
    if (!event_is_runtime(event))
        return ERR_OK;
    if (!make_room(&thread->launches, thread->n_launches, &thread->cap_launches,
                   sizeof *thread->launches))
        return no_memory(err);
    thread->launches[thread->n_launches++] = (struct launch){node, CALLTREE_NONE};
    if (builder->first_launch == CALLTREE_NONE &&
        symbols_has(builder->symbols, event.name, SYMBOL_LAUNCH))
        builder->first_launch = node;
    return ERR_OK;
}

static enum err_kind
open_node(struct builder *builder,
          struct calltree_thread *thread,
          struct event event,
          uint64_t position,
          struct err *err)
{
    struct calltree *tree = builder->tree;
    uint32_t node = (uint32_t)tree->nodes.n;
    struct open_node open = {
        .node = node,
        .is_op = event_category(event) == CATEGORY_CPU_OP,
        .end_ns = event_end_ns(event),
        .value = {.position = position,
                  .parent = CALLTREE_NONE,
                  .first_child = CALLTREE_NONE,
                  .last_child = CALLTREE_NONE,
                  .next_sibling = CALLTREE_NONE,
                  .thread = (uint32_t)(thread - tree->threads),
                  .first_link = (uint32_t)thread->n_launches,
                  .gpu_from = CALLTREE_NONE},
    };
    if (thread->depth) {
        struct open_node *parent = &thread->stack[thread->depth - 1];
        open.value.parent = parent->node;
        adopt(tree, &parent->value, node);
    }
    if (tree->nodes.n == CALLTREE_NONE - 1)
        return no_memory(err);
    if (column_add(&tree->nodes, &open.value, err))
        return err->kind;
    thread->stack[thread->depth++] = open;
    return note_category(builder, thread, node, event, err);
}

static enum err_kind
add_node(struct builder *builder, struct event event, uint64_t position, struct err *err)
{
    struct calltree_thread *thread = thread_of(builder, event_thread(event), err);
    if (!thread)
        return err->kind;
    if (!fits(builder->tree, thread, event))
        return ERR_OK;
    if (!make_room(&thread->stack, thread->depth, &thread->cap_stack,
                   sizeof *thread->stack))
        return no_memory(err);
    return open_node(builder, thread, event, position, err);
}

/* Longer first, then source order; times are equal. */
static int
compare_group(const void *a, const void *b)
{
    const struct event *x = a;
    const struct event *y = b;
    if (x->dur_ns != y->dur_ns)
        return x->dur_ns > y->dur_ns ? -1 : 1;
    return event_index(*x) < event_index(*y) ? -1 : 1;
}

/*
 * The nodes of one start time, in node order. Their positions are found again: the index
 * has them in the order of the source.
 */
static enum err_kind
add_group(struct builder *builder, size_t n, uint64_t position, struct err *err)
{
    struct event *group = builder->group;
    if (n == 1)
        return add_node(builder, group[0], position, err);
    qsort(group, n, sizeof *group, compare_group);
    const struct events *events = builder->tree->events;
    for (size_t i = 0; i < n; i++) {
        uint64_t low = events_cpu_from(events, group[i].ts_ns);
        uint64_t high = events_cpu_count(events);
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            struct event event = events_cpu(events, middle);
            if (event.ts_ns > group[i].ts_ns ||
                (event.ts_ns == group[i].ts_ns &&
                 event_index(event) >= event_index(group[i])))
                high = middle;
            else
                low = middle + 1;
        }
        if (add_node(builder, group[i], low, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
add_all(struct builder *builder, struct err *err)
{
    const struct events *events = builder->tree->events;
    uint64_t count = events_cpu_count(events);
    size_t n = 0;
    uint64_t first = 0; /* position of the group's first node */
    for (uint64_t i = 0; i < count; i++) {
        struct event event = events_cpu(events, i);
        if (!is_node(event))
            continue;
        if (n && event.ts_ns != builder->group[0].ts_ns) {
            if (add_group(builder, n, first, err))
                return err->kind;
            n = 0;
        }
        if (!make_room(&builder->group, n, &builder->cap_group, sizeof *builder->group))
            return no_memory(err);
        if (n == 0)
            first = i;
        builder->group[n++] = event;
    }
    if (n && add_group(builder, n, first, err))
        return err->kind;
    for (size_t i = 0; i < builder->tree->n_threads; i++)
        while (builder->tree->threads[i].depth)
            pop(builder->tree, &builder->tree->threads[i]);
    return events_check(events, err);
}

/* --- GPU work ---------------------------------------------------------------------- */

/* Numbers of the ids that kernels have, and what their kernels take. */
static enum err_kind
number_links(struct calltree *tree,
             bool by_external,
             struct idmap *links,
             struct err *err)
{
    uint64_t n = events_gpu_count(tree->events);
    for (uint64_t i = 0; i < n; i++) {
        struct event kernel = events_gpu(tree->events, i);
        event_id id = by_external ? kernel.external_id : kernel.correlation;
        struct idmap_entry *entry = id ? idmap_add(links, id, err) : NULL;
        if (id && !entry)
            return err->kind;
        if (id && entry->mark++ == 0)
            entry->value = tree->n_links++;
    }
    tree->link_ns = arena_calloc(&tree->arena, tree->n_links, sizeof *tree->link_ns);
    tree->link_stamps =
        arena_calloc(&tree->arena, tree->n_links, sizeof *tree->link_stamps);
    if (!tree->link_ns || !tree->link_stamps)
        return no_memory(err);
    for (uint64_t i = 0; i < n; i++) {
        struct event kernel = events_gpu(tree->events, i);
        event_id id = by_external ? kernel.external_id : kernel.correlation;
        if (id) {
            int64_t *sum_ns = &tree->link_ns[idmap_find(links, id)->value];
            *sum_ns = ns_add(*sum_ns, kernel.dur_ns);
        }
    }
    return ERR_OK;
}

/* Keeps the launches that have kernels; `places` says where each one went. */
static void
keep_linked(struct calltree *tree,
            struct calltree_thread *thread,
            const struct idmap *links,
            bool by_external,
            uint32_t *places)
{
    size_t kept = 0;
    for (size_t i = 0; i < thread->n_launches; i++) {
        struct launch launch = thread->launches[i];
        struct event event = calltree_event(tree, launch.node);
        event_id id = by_external ? event.external_id : event.correlation;
        struct idmap_entry *entry = id ? idmap_find(links, id) : NULL;
        places[i] = (uint32_t)kept;
        if (entry)
            thread->launches[kept++] = (struct launch){launch.node, entry->value};
    }
    places[thread->n_launches] = (uint32_t)kept;
    thread->n_launches = kept;
}

static enum err_kind
link_all(struct builder *builder, struct err *err)
{
    CLEANUP(idmap_done) struct idmap links = {0};
    CLEANUP(arena_done) struct arena arena;
    struct calltree *tree = builder->tree;
    arena_init(&arena, SIZE_MAX);
    bool by_external = builder->first_launch != CALLTREE_NONE &&
                       calltree_event(tree, builder->first_launch).correlation == 0;
    uint32_t **places = arena_calloc(&arena, tree->n_threads, sizeof *places);
    if (!places)
        return no_memory(err);
    if (number_links(tree, by_external, &links, err))
        return err->kind;
    for (size_t i = 0; i < tree->n_threads; i++) {
        struct calltree_thread *thread = &tree->threads[i];
        places[i] = arena_calloc(&arena, thread->n_launches + 1, sizeof *places[i]);
        if (!places[i])
            return no_memory(err);
        keep_linked(tree, thread, &links, by_external, places[i]);
    }
    for (uint32_t i = 0; i < tree->nodes.n; i++) {
        struct calltree_node node = calltree_node(tree, i);
        if (events_check(tree->events, err))
            return err->kind;
        node.first_link = places[node.thread][node.first_link];
        node.last_link = places[node.thread][node.last_link];
        node.gpu_from = node.first_link < node.last_link ? i : CALLTREE_NONE;
        column_write(&tree->nodes, i, &node);
    }
    return ERR_OK;
}

/* --- entries ----------------------------------------------------------------------- */

static void
mark_top(struct calltree *tree, uint32_t node)
{
    struct calltree_node value = calltree_node(tree, node);
    while (value.parent != CALLTREE_NONE && !events_check(tree->events, NULL)) {
        node = value.parent;
        value = calltree_node(tree, node);
    }
    if (value.is_top == tree->stamp)
        return;
    value.is_top = tree->stamp;
    column_write(&tree->nodes, node, &value);
}

/* The top-most ancestors of `nodes`, each once, in node order. */
static enum err_kind
find_tops(struct calltree *tree,
          const uint32_t *nodes,
          size_t n,
          struct calltree_nodes *ret_tops,
          struct err *err)
{
    struct calltree_nodes tops = {arena_calloc(&tree->arena, n, sizeof(uint32_t)), 0};
    if (!tops.items)
        return no_memory(err);
    tree->stamp++;
    for (size_t i = 0; i < n; i++)
        mark_top(tree, nodes[i]);
    for (uint32_t i = 0; i < tree->nodes.n && tops.n < n; i++)
        if (calltree_node(tree, i).is_top == tree->stamp)
            tops.items[tops.n++] = i;
    *ret_tops = tops;
    return events_check(tree->events, err);
}

/* The thread with most frames; of equal ones that whose first frame comes first. */
static const struct calltree_thread *
find_host(const struct calltree *tree)
{
    const struct calltree_thread *host = NULL;
    struct event host_first = {0};
    for (size_t i = 0; i < tree->n_threads; i++) {
        const struct calltree_thread *thread = &tree->threads[i];
        if (thread->n_frames == 0 || (host && thread->n_frames < host->n_frames))
            continue;
        struct event first = calltree_event(tree, thread->first_frame);
        bool is_earlier = first.ts_ns != host_first.ts_ns
                              ? first.ts_ns < host_first.ts_ns
                              : event_index(first) < event_index(host_first);
        if (!host || thread->n_frames > host->n_frames || is_earlier) {
            host = thread;
            host_first = first;
        }
    }
    return host;
}

/* A frame of the host thread that may still be around what comes. */
struct frame {
    uint32_t node;
    int64_t end_ns;
};

/* The frames of the host in their order; of those at hand each ends before the last. */
struct frames {
    const struct calltree *tree;
    uint32_t host;
    uint32_t next; /* node */
    struct frame *items;
    size_t n;
    size_t cap;
};

static void
frames_done(struct frames *frames)
{
    free(frames->items);
}

static enum err_kind
push_frame(struct frames *frames, struct frame frame, struct err *err)
{
    while (frames->n && frames->items[frames->n - 1].end_ns <= frame.end_ns)
        frames->n--;
    if (!make_room(&frames->items, frames->n, &frames->cap, sizeof *frames->items))
        return no_memory(err);
    frames->items[frames->n++] = frame;
    return ERR_OK;
}

/* All frames that start at or before `ts_ns`; times come in order. */
static enum err_kind
pass_frames(struct frames *frames, int64_t ts_ns, struct err *err)
{
    const struct calltree *tree = frames->tree;
    for (; frames->next < tree->nodes.n; frames->next++) {
        struct calltree_node node = calltree_node(tree, frames->next);
        struct event event = events_cpu(tree->events, node.position);
        if (event.ts_ns > ts_ns)
            break;
        if (node.thread != frames->host ||
            event_category(event) != CATEGORY_PYTHON_FUNCTION)
            continue;
        struct frame frame = {frames->next, event_end_ns(event)};
        if (push_frame(frames, frame, err))
            return err->kind;
    }
    return ERR_OK;
}

/* The latest-starting frame that lasts to `end_ns`; NONE: none. */
static uint32_t
find_frame(const struct frames *frames, int64_t end_ns)
{
    size_t n = frames->n;
    while (n && frames->items[n - 1].end_ns < end_ns)
        n--;
    return n ? frames->items[n - 1].node : CALLTREE_NONE;
}

/* The kernels go up as long as nobody there has any. */
static void
hand_up(struct calltree *tree, uint32_t entry, uint32_t frame)
{
    uint32_t from = calltree_node(tree, entry).gpu_from;
    while (from != CALLTREE_NONE && frame != CALLTREE_NONE) {
        struct calltree_node value = calltree_node(tree, frame);
        if (value.gpu_from != CALLTREE_NONE)
            return;
        value.gpu_from = from;
        column_write(&tree->nodes, frame, &value);
        frame = value.parent;
    }
}

static void
move_entry(struct calltree *tree, uint32_t entry, uint32_t frame)
{
    struct calltree_node parent = calltree_node(tree, frame);
    adopt(tree, &parent, entry);
    column_write(&tree->nodes, frame, &parent);
    struct calltree_node child = calltree_node(tree, entry);
    child.parent = frame;
    column_write(&tree->nodes, entry, &child);
    hand_up(tree, entry, frame);
}

/* Puts entries of worker threads under the frames of the host that waited for them. */
static enum err_kind
move_workers(struct calltree *tree, struct err *err)
{
    const struct calltree_thread *host = find_host(tree);
    if (!host)
        return ERR_OK;
    CLEANUP(frames_done)
    struct frames frames = {.tree = tree, .host = (uint32_t)(host - tree->threads)};
    struct calltree_nodes entries = tree->entries;
    for (size_t i = 0; i < entries.n; i++) {
        uint32_t entry = entries.items[i];
        if (calltree_node(tree, entry).thread == frames.host)
            continue;
        struct event event = calltree_event(tree, entry);
        if (pass_frames(&frames, event.ts_ns, err))
            return err->kind;
        uint32_t frame = find_frame(&frames, event_end_ns(event));
        if (frame != CALLTREE_NONE)
            move_entry(tree, entry, frame);
    }
    return find_tops(tree, entries.items, entries.n, &tree->entries, err);
}

/* --- the tree ---------------------------------------------------------------------- */

enum err_kind
calltree_make(struct calltree *tree,
              const struct events *events,
              struct symbols *symbols,
              struct err *err)
{
    CLEANUP(builder_done)
    struct builder builder = {
        .tree = tree,
        .symbols = symbols,
        .first_launch = CALLTREE_NONE,
    };
    *tree = (struct calltree){.events = events};
    column_init(&tree->nodes, events_side_pool(events), sizeof(struct calltree_node),
                ORDER_NONE);
    arena_init(&tree->arena, SIZE_MAX);
    if (add_all(&builder, err) || link_all(&builder, err) ||
        find_tops(tree, builder.op_roots, builder.n_op_roots, &tree->entries, err) ||
        move_workers(tree, err))
        return err->kind;
    return events_check(events, err);
}

int64_t
calltree_time(struct calltree *tree, const uint32_t *nodes, size_t n)
{
    int64_t busy_ns = 0;
    tree->stamp++;
    for (size_t i = 0; i < n; i++) {
        uint32_t from = calltree_node(tree, nodes[i]).gpu_from;
        if (from == CALLTREE_NONE)
            continue;
        struct calltree_node node = calltree_node(tree, from);
        const struct calltree_thread *thread = &tree->threads[node.thread];
        for (uint32_t k = node.first_link; k < node.last_link; k++) {
            uint32_t link = thread->launches[k].link;
            if (tree->link_stamps[link] == tree->stamp)
                continue;
            tree->link_stamps[link] = tree->stamp;
            busy_ns = ns_add(busy_ns, tree->link_ns[link]);
        }
    }
    return busy_ns;
}

static int
compare_nodes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* NONE also when a page can't be had: what reads as zeros would lead in a circle. */
static uint32_t
next_sibling(const struct calltree *tree, uint32_t node)
{
    uint32_t next = calltree_node(tree, node).next_sibling;
    return events_check(tree->events, NULL) ? CALLTREE_NONE : next;
}

enum err_kind
calltree_children(const struct calltree *tree,
                  uint32_t node,
                  struct arena *arena,
                  struct calltree_nodes *ret_children,
                  struct err *err)
{
    size_t n = 0;
    uint32_t first = calltree_node(tree, node).first_child;
    for (uint32_t i = first; i != CALLTREE_NONE; i = next_sibling(tree, i))
        n++;
    *ret_children = (struct calltree_nodes){arena_calloc(arena, n, sizeof(uint32_t)), n};
    if (!ret_children->items)
        return no_memory(err);
    n = 0;
    for (uint32_t i = first; i != CALLTREE_NONE && n < ret_children->n;
         i = next_sibling(tree, i))
        ret_children->items[n++] = i;
    if (n > 1)
        qsort(ret_children->items, n, sizeof(uint32_t), compare_nodes);
    return events_check(tree->events, err);
}
