/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a trace as trees, with the GPU work below each. */
#include "calltree.h"

#include "cleanup.h"
#include "ns.h"

/* A frame may end this much before the child that it started. */
enum { SLACK_NS = 1000 };

/* A launch, in the order of threads and nodes once the tree stands. */
struct launch {
    uint32_t thread;
    uint32_t node;
};

/* The kernels of one id. */
struct calltree_work {
    event_id id;
    uint32_t stamp; /* the union that saw it last */
    int64_t busy_ns;
};

/* A node that may still get children; it is written when it is closed. */
struct open_node {
    uint32_t node;
    bool is_op;
    uint64_t below; /* place + 1 of the open node around it; 0: none */
    int64_t end_ns;
    struct calltree_node value;
};

struct calltree_thread {
    uint64_t top; /* place + 1 of its innermost open node; 0: none */
    uint32_t ops_open;
    uint32_t n_launches;
    uint32_t n_frames;
    uint32_t first_frame;
    uint64_t first_launch; /* in `launches`, once they are sorted */
};

/* While the tree grows. */
struct builder {
    struct calltree *tree;
    struct symbols *symbols;
    struct column open;    /* struct open_node, of all threads */
    uint64_t free_open;    /* place + 1 of one that is closed; its `below` is the next */
    struct column roots;   /* uint32_t: op roots */
    struct column group;   /* nodes that start at one time, see add_group() */
    uint32_t first_launch; /* the node that decides how kernels are linked */
    /* What is at hand of the lists: the thread that is worked on, and its top. */
    uint32_t number;
    struct calltree_thread thread;
    struct open_node top;
};

static void
builder_done(struct builder *builder)
{
    column_done(&builder->open);
    column_done(&builder->roots);
    column_done(&builder->group);
}

void
calltree_done(struct calltree *tree)
{
    column_done(&tree->nodes);
    column_done(&tree->threads);
    column_done(&tree->launches);
    column_done(&tree->links);
    column_done(&tree->work);
    column_done(&tree->entries);
    *tree = (struct calltree){0};
}

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "the call tree of a trace");
}

void
calltree_nodes_init(struct column *nodes, const struct calltree *tree)
{
    column_init(nodes, events_side_pool(tree->events), sizeof(uint32_t), ORDER_NONE);
}

static bool
is_node(struct event event)
{
    enum event_category category = event_category(event);
    return category == CATEGORY_CPU_OP || category == CATEGORY_PYTHON_FUNCTION ||
           event_is_runtime(event);
}

/* --- nesting ----------------------------------------------------------------------- */

static void
keep_top(struct builder *builder)
{
    if (builder->thread.top)
        column_write(&builder->open, builder->thread.top - 1, &builder->top);
}

static void
load_top(struct builder *builder)
{
    if (builder->thread.top)
        column_read(&builder->open, builder->thread.top - 1, &builder->top);
}

static void
turn_to(struct builder *builder, uint32_t thread)
{
    if (builder->number == thread)
        return;
    keep_top(builder);
    column_write(&builder->tree->threads, builder->number, &builder->thread);
    builder->number = thread;
    column_read(&builder->tree->threads, thread, &builder->thread);
    load_top(builder);
}

static void
pop(struct builder *builder)
{
    struct calltree_thread *thread = &builder->thread;
    struct open_node *top = &builder->top;
    uint64_t below = top->below;
    top->value.last_link = thread->n_launches;
    thread->ops_open -= top->is_op;
    column_write(&builder->tree->nodes, top->node, &top->value);
    top->below = builder->free_open;
    keep_top(builder);
    builder->free_open = thread->top;
    thread->top = below;
    load_top(builder);
}

/* The node becomes the top of its thread. */
static enum err_kind
push(struct builder *builder, struct open_node open, struct err *err)
{
    uint64_t place = builder->free_open;
    struct open_node closed;
    keep_top(builder);
    if (place) {
        column_read(&builder->open, place - 1, &closed);
        builder->free_open = closed.below;
    } else {
        if (column_add(&builder->open, &open, err))
            return err->kind;
        place = builder->open.n;
    }
    builder->thread.top = place;
    builder->top = open;
    return ERR_OK;
}

/* Closes what ended; false: the event crosses the end of its frame and is no node. */
static bool
fits(struct builder *builder, struct event event)
{
    while (builder->thread.top && builder->top.end_ns <= event.ts_ns)
        pop(builder);
    if (!builder->thread.top || event_end_ns(event) <= builder->top.end_ns)
        return true;
    if (builder->top.end_ns - event.ts_ns >= SLACK_NS || !builder->top.below)
        return false;
    pop(builder);
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
note_category(struct builder *builder, uint32_t node, struct event event, struct err *err)
{
    struct calltree_thread *thread = &builder->thread;
    enum event_category category = event_category(event);
    if (category == CATEGORY_CPU_OP && thread->ops_open++ == 0)
        return column_add(&builder->roots, &node, err);
    if (category == CATEGORY_PYTHON_FUNCTION && thread->n_frames++ == 0)
        thread->first_frame = node;
    if (!event_is_runtime(event))
        return ERR_OK;
    struct launch launch = {builder->number, node};
    thread->n_launches++;
    if (builder->first_launch == CALLTREE_NONE &&
        symbols_has(builder->symbols, event.name, SYMBOL_LAUNCH))
        builder->first_launch = node;
    return column_add(&builder->tree->launches, &launch, err);
}

static enum err_kind
open_node(struct builder *builder, struct event event, uint64_t position, struct err *err)
{
    struct calltree *tree = builder->tree;
    uint32_t node = (uint32_t)tree->nodes.n;
    struct open_node open = {
        .node = node,
        .is_op = event_category(event) == CATEGORY_CPU_OP,
        .below = builder->thread.top,
        .end_ns = event_end_ns(event),
        .value = {.position = position,
                  .parent = CALLTREE_NONE,
                  .first_child = CALLTREE_NONE,
                  .last_child = CALLTREE_NONE,
                  .next_sibling = CALLTREE_NONE,
                  .thread = builder->number,
                  .first_link = builder->thread.n_launches,
                  .gpu_from = CALLTREE_NONE},
    };
    if (builder->thread.top) {
        open.value.parent = builder->top.node;
        adopt(tree, &builder->top.value, node);
    }
    if (tree->nodes.n == CALLTREE_NONE - 1)
        return no_memory(err);
    if (column_add(&tree->nodes, &open.value, err) || push(builder, open, err))
        return err->kind;
    return note_category(builder, node, event, err);
}

static enum err_kind
add_node(struct builder *builder, struct event event, uint64_t position, struct err *err)
{
    turn_to(builder, event_thread(event));
    return fits(builder, event) ? open_node(builder, event, position, err) : ERR_OK;
}

/*
 * The nodes of one start time, in node order: longer first, then source order. In the
 * group they have their duration, negative, for a start, and their position for one.
 */
static enum err_kind
add_group(struct builder *builder, int64_t ts_ns, struct err *err)
{
    struct column *group = &builder->group;
    if (group->n > 1 && column_sort(group, err))
        return err->kind;
    for (uint64_t i = 0; i < group->n; i++) {
        struct event event;
        column_read(group, i, &event);
        uint64_t position = (uint64_t)event.dur_ns;
        event.dur_ns = -event.ts_ns;
        event.ts_ns = ts_ns;
        if (add_node(builder, event, position, err))
            return err->kind;
    }
    column_reset(group);
    return ERR_OK;
}

static enum err_kind
close_all(struct builder *builder, struct err *err)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < builder->tree->threads.n; i++) {
        turn_to(builder, i);
        while (builder->thread.top && !events_check(builder->tree->events, NULL))
            pop(builder);
        builder->thread.first_launch = first;
        first += builder->thread.n_launches;
    }
    column_write(&builder->tree->threads, builder->number, &builder->thread);
    return events_check(builder->tree->events, err);
}

static enum err_kind
add_threads(struct builder *builder, struct err *err)
{
    struct calltree *tree = builder->tree;
    const struct calltree_thread thread = {.first_frame = CALLTREE_NONE};
    uint32_t n = events_thread_count(tree->events);
    for (uint32_t i = 0; i < n; i++)
        if (column_add(&tree->threads, &thread, err))
            return err->kind;
    builder->thread = thread;
    return ERR_OK;
}

static enum err_kind
add_all(struct builder *builder, struct err *err)
{
    const struct events *events = builder->tree->events;
    uint64_t count = events_cpu_count(events);
    int64_t ts_ns = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct event event = events_cpu(events, i);
        if (!is_node(event))
            continue;
        if (builder->group.n && event.ts_ns != ts_ns && add_group(builder, ts_ns, err))
            return err->kind;
        ts_ns = event.ts_ns;
        event.ts_ns = -event.dur_ns;
        event.dur_ns = (int64_t)i;
        if (column_add(&builder->group, &event, err))
            return err->kind;
    }
    if (add_group(builder, ts_ns, err))
        return err->kind;
    return close_all(builder, err);
}

/* --- GPU work ---------------------------------------------------------------------- */

static event_id
link_id(struct event event, bool by_external)
{
    return by_external ? event.external_id : event.correlation;
}

/* Numbers the ids that kernels have, ascending, and sums what their kernels take. */
static enum err_kind
sum_work(struct calltree *tree, bool by_external, struct column *kernels, struct err *err)
{
    uint64_t n = events_gpu_count(tree->events);
    for (uint64_t i = 0; i < n; i++) {
        event_id id = link_id(events_gpu(tree->events, i), by_external);
        const uint32_t kernel[] = {id, (uint32_t)i};
        if (id && column_add(kernels, kernel, err))
            return err->kind;
    }
    if (column_sort(kernels, err))
        return err->kind;
    struct calltree_work work = {0};
    for (uint64_t i = 0; i < kernels->n; i++) {
        uint32_t kernel[2];
        column_read(kernels, i, kernel);
        if (work.id && work.id != kernel[0]) {
            if (column_add(&tree->work, &work, err))
                return err->kind;
            work.busy_ns = 0;
        }
        work.id = kernel[0];
        work.busy_ns = ns_add(work.busy_ns, events_gpu(tree->events, kernel[1]).dur_ns);
    }
    return work.id ? column_add(&tree->work, &work, err) : ERR_OK;
}

static event_id
work_id(const struct calltree *tree, uint64_t i)
{
    struct calltree_work work;
    column_read(&tree->work, i, &work);
    return work.id;
}

/* Number of an id, looked for behind `near` first; false: no kernel has it. */
static bool
find_work(const struct calltree *tree, event_id id, uint32_t near, uint32_t *ret_number)
{
    uint64_t low = 0;
    uint64_t high = tree->work.n;
    if (near + UINT64_C(1) < high && work_id(tree, near + UINT64_C(1)) == id) {
        *ret_number = near + 1;
        return true;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (work_id(tree, middle) < id)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_number = (uint32_t)low;
    return low < tree->work.n && work_id(tree, low) == id;
}

/* Lists the launches that have kernels; `places` says how many are before each one. */
static enum err_kind
keep_linked(struct calltree *tree,
            bool by_external,
            struct column *places,
            struct err *err)
{
    uint32_t number = 0;
    for (uint64_t i = 0; i <= tree->launches.n; i++) {
        const uint32_t place = (uint32_t)tree->links.n;
        if (column_add(places, &place, err))
            return err->kind;
        if (i == tree->launches.n)
            break;
        struct launch launch;
        column_read(&tree->launches, i, &launch);
        event_id id = link_id(calltree_event(tree, launch.node), by_external);
        if (id && find_work(tree, id, number, &number) &&
            column_add(&tree->links, &number, err))
            return err->kind;
    }
    return ERR_OK;
}

/* From places among the launches of a thread to places among all that have kernels. */
static enum err_kind
place_links(struct calltree *tree, const struct column *places, struct err *err)
{
    struct calltree_thread thread = {0};
    uint32_t number = CALLTREE_NONE;
    for (uint32_t i = 0; i < tree->nodes.n; i++) {
        struct calltree_node node = calltree_node(tree, i);
        if (events_check(tree->events, err))
            return err->kind;
        if (node.thread != number)
            column_read(&tree->threads, node.thread, &thread);
        number = node.thread;
        column_read(places, thread.first_launch + node.first_link, &node.first_link);
        column_read(places, thread.first_launch + node.last_link, &node.last_link);
        node.gpu_from = node.first_link < node.last_link ? i : CALLTREE_NONE;
        column_write(&tree->nodes, i, &node);
    }
    return ERR_OK;
}

static enum err_kind
link_all(struct builder *builder, struct err *err)
{
    struct calltree *tree = builder->tree;
    struct column_pool *pool = events_side_pool(tree->events);
    CLEANUP(column_done) struct column kernels;
    CLEANUP(column_done) struct column places;
    column_init(&kernels, pool, 2 * sizeof(uint32_t), ORDER_REF);
    column_init(&places, pool, sizeof(uint32_t), ORDER_NONE);
    bool by_external = builder->first_launch != CALLTREE_NONE &&
                       calltree_event(tree, builder->first_launch).correlation == 0;
    if (sum_work(tree, by_external, &kernels, err) || column_sort(&tree->launches, err) ||
        keep_linked(tree, by_external, &places, err) || place_links(tree, &places, err))
        return err->kind;
    return events_check(tree->events, err);
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
find_tops(struct calltree *tree, const struct column *nodes, struct err *err)
{
    CLEANUP(column_done) struct column tops;
    calltree_nodes_init(&tops, tree);
    tree->stamp++;
    for (uint64_t i = 0; i < nodes->n; i++)
        mark_top(tree, calltree_nodes_at(nodes, i));
    for (uint32_t i = 0; i < tree->nodes.n && tops.n < nodes->n; i++)
        if (calltree_node(tree, i).is_top == tree->stamp && column_add(&tops, &i, err))
            return err->kind;
    column_done(&tree->entries);
    column_move(&tree->entries, &tops);
    return events_check(tree->events, err);
}

/* The thread with most frames; of equal ones that whose first frame comes first. */
static uint32_t
find_host(const struct calltree *tree)
{
    struct calltree_thread host = {0};
    struct event host_first = {0};
    uint32_t number = CALLTREE_NONE;
    for (uint32_t i = 0; i < tree->threads.n; i++) {
        struct calltree_thread thread;
        column_read(&tree->threads, i, &thread);
        if (thread.n_frames == 0 || thread.n_frames < host.n_frames)
            continue;
        struct event first = calltree_event(tree, thread.first_frame);
        bool is_earlier = first.ts_ns != host_first.ts_ns
                              ? first.ts_ns < host_first.ts_ns
                              : event_index(first) < event_index(host_first);
        if (thread.n_frames > host.n_frames || is_earlier) {
            number = i;
            host = thread;
            host_first = first;
        }
    }
    return number;
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
    uint32_t next;      /* node */
    struct column open; /* struct frame */
};

static struct frame
frame_at(const struct frames *frames, uint64_t i)
{
    struct frame frame;
    column_read(&frames->open, i, &frame);
    return frame;
}

static enum err_kind
push_frame(struct frames *frames, struct frame frame, struct err *err)
{
    struct column *open = &frames->open;
    while (open->n && frame_at(frames, open->n - 1).end_ns <= frame.end_ns)
        column_drop_last(open);
    return column_add(open, &frame, err);
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
    uint64_t n = frames->open.n;
    while (n && frame_at(frames, n - 1).end_ns < end_ns)
        n--;
    return n ? frame_at(frames, n - 1).node : CALLTREE_NONE;
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

static enum err_kind
move_all(struct calltree *tree, struct frames *frames, struct err *err)
{
    for (uint64_t i = 0; i < tree->entries.n; i++) {
        uint32_t entry = calltree_nodes_at(&tree->entries, i);
        if (calltree_node(tree, entry).thread == frames->host)
            continue;
        struct event event = calltree_event(tree, entry);
        if (pass_frames(frames, event.ts_ns, err))
            return err->kind;
        uint32_t frame = find_frame(frames, event_end_ns(event));
        if (frame != CALLTREE_NONE)
            move_entry(tree, entry, frame);
        if (events_check(tree->events, err))
            return err->kind;
    }
    return find_tops(tree, &tree->entries, err);
}

/* Puts entries of worker threads under the frames of the host that waited for them. */
static enum err_kind
move_workers(struct calltree *tree, struct err *err)
{
    struct frames frames = {.tree = tree, .host = find_host(tree)};
    if (frames.host == CALLTREE_NONE)
        return ERR_OK;
    column_init(&frames.open, events_side_pool(tree->events), sizeof(struct frame),
                ORDER_NONE);
    enum err_kind kind = move_all(tree, &frames, err);
    column_done(&frames.open);
    return kind;
}

/* --- the tree ---------------------------------------------------------------------- */

static void
make_lists(struct calltree *tree, struct builder *builder)
{
    struct column_pool *pool = events_side_pool(tree->events);
    column_init(&tree->nodes, pool, sizeof(struct calltree_node), ORDER_NONE);
    column_init(&tree->threads, pool, sizeof(struct calltree_thread), ORDER_NONE);
    column_init(&tree->launches, pool, sizeof(struct launch), ORDER_REF);
    column_init(&tree->links, pool, sizeof(uint32_t), ORDER_NONE);
    column_init(&tree->work, pool, sizeof(struct calltree_work), ORDER_NONE);
    column_init(&builder->open, pool, sizeof(struct open_node), ORDER_NONE);
    column_init(&builder->group, pool, sizeof(struct event), ORDER_EVENT);
    calltree_nodes_init(&tree->entries, tree);
    calltree_nodes_init(&builder->roots, tree);
}

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
    make_lists(tree, &builder);
    if (add_threads(&builder, err) || add_all(&builder, err) || link_all(&builder, err) ||
        find_tops(tree, &builder.roots, err) || move_workers(tree, err))
        return err->kind;
    return events_check(events, err);
}

void
calltree_time_begin(struct calltree *tree)
{
    tree->stamp++;
}

void
calltree_time_add(struct calltree *tree, uint32_t node, int64_t *busy_ns)
{
    uint32_t from = calltree_node(tree, node).gpu_from;
    if (from == CALLTREE_NONE)
        return;
    struct calltree_node value = calltree_node(tree, from);
    for (uint32_t k = value.first_link; k < value.last_link; k++) {
        uint32_t number = calltree_nodes_at(&tree->links, k);
        struct calltree_work work;
        column_read(&tree->work, number, &work);
        if (work.stamp == tree->stamp)
            continue;
        work.stamp = tree->stamp;
        column_write(&tree->work, number, &work);
        *busy_ns = ns_add(*busy_ns, work.busy_ns);
    }
}

int64_t
calltree_time(struct calltree *tree,
              const struct column *nodes,
              uint64_t first,
              uint64_t n)
{
    int64_t busy_ns = 0;
    calltree_time_begin(tree);
    for (uint64_t i = first; i < first + n; i++)
        calltree_time_add(tree, calltree_nodes_at(nodes, i), &busy_ns);
    return busy_ns;
}

/* NONE also when a page can't be had: what reads as zeros would lead in a circle. */
static uint32_t
next_sibling(const struct calltree *tree, uint32_t node)
{
    uint32_t next = calltree_node(tree, node).next_sibling;
    return events_check(tree->events, NULL) ? CALLTREE_NONE : next;
}

/* The first child that is out of order: those of other threads were put behind. */
static uint32_t
find_moved(const struct calltree *tree, uint32_t first)
{
    uint32_t before = first;
    for (uint32_t i = first; i != CALLTREE_NONE; i = next_sibling(tree, i)) {
        if (i < before)
            return i;
        before = i;
    }
    return CALLTREE_NONE;
}

enum err_kind
calltree_children(const struct calltree *tree,
                  uint32_t node,
                  struct column *ret_children,
                  struct err *err)
{
    uint32_t own = calltree_node(tree, node).first_child;
    uint32_t end = find_moved(tree, own);
    uint32_t moved = end;
    column_reset(ret_children);
    while (own != end || moved != CALLTREE_NONE) {
        uint32_t *least = own != end && own < moved ? &own : &moved;
        if (column_add(ret_children, least, err))
            return err->kind;
        *least = next_sibling(tree, *least);
        if (events_check(tree->events, err))
            return err->kind;
    }
    return ERR_OK;
}
