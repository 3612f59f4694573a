/* SPDX-License-Identifier: Apache-2.0 */
/* Who launched each GPU event. */
#include "launches.h"

#include "buf.h"
#include "cleanup.h"
#include "nesting.h"

#include <stdlib.h>

enum { COMPACT_MAX_BYTES = 1 << 30 };

/* --- texts ------------------------------------------------------------------------- */

enum err_kind
launch_texts_init(struct launch_texts *texts,
                  const struct events *events,
                  struct err *err)
{
    *texts = (struct launch_texts){events, texts_new(COMPACT_MAX_BYTES), {0}};
    return texts->compact ? ERR_OK : err_no_memory(err, "the shapes of launches");
}

void
launch_texts_done(struct launch_texts *texts)
{
    if (texts->compact)
        texts_free(texts->compact);
    idmap_done(&texts->known);
}

enum err_kind
launch_texts_compact(struct launch_texts *texts,
                     uint32_t raw,
                     uint32_t *ret_compact,
                     struct err *err)
{
    struct idmap_entry *entry = idmap_add(&texts->known, raw + 1, err);
    if (!entry)
        return err->kind;
    if (entry->mark++ == 0) {
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        scan_add_compact(&text, events_text(texts->events, raw));
        if (buf_check(&text, "a shape", err))
            return err->kind;
        if (!texts_add(texts->compact, buf_slice(&text), &entry->value))
            return err_no_memory(err, "the shapes of launches");
    }
    entry->mark = 1;
    *ret_compact = entry->value;
    return ERR_OK;
}

/* --- ops --------------------------------------------------------------------------- */

static struct event
at(const struct launches *launches, uint32_t position)
{
    return events_cpu(launches->view.events, position - 1);
}

static bool
has_dims(const struct launches *launches, struct event op)
{
    return op.detail && events_shape(launches->view.events, op.detail).has_dims;
}

/* All zeros: there is none. */
static struct call
call_of(const struct launches *launches, struct event kernel)
{
    struct call call;
    if (calls_get(&launches->calls, kernel.correlation, &call))
        return call;
    return (struct call){0};
}

static uint32_t
number_of(struct idlist *list, uint32_t id)
{
    uint64_t place;
    uint32_t number = 0;
    if (id && idlist_find(list, id, &place, &number))
        return number;
    return 0;
}

static bool
is_graph(const struct launches *launches, struct call call)
{
    struct event event = at(launches, call.position);
    return event_is_runtime(event) &&
           symbols_has(launches->symbols, event.name, SYMBOL_GRAPH_LAUNCH);
}

/* Position + 1 of the launching op; 0: unknown. */
static uint32_t
launcher_of(struct launches *launches, struct event kernel, struct call call)
{
    uint32_t op = number_of(&launches->by_external, kernel.external_id);
    if (!op && call.position)
        op = number_of(&launches->by_external, at(launches, call.position).external_id);
    return op ? op : call.op;
}

/* --- the walk over the threads that hold calls ------------------------------------- */

struct thread_nesting {
    struct nesting ops;
    struct nesting frames;
};

struct threads {
    struct idmap places; /* thread + 1 -> place in items */
    struct thread_nesting *items;
    size_t n;
    size_t cap;
};

static void
threads_done(struct threads *threads)
{
    for (size_t i = 0; i < threads->n; i++) {
        nesting_done(&threads->items[i].ops);
        nesting_done(&threads->items[i].frames);
    }
    free(threads->items);
    idmap_done(&threads->places);
}

static enum err_kind
threads_add(struct threads *threads, uint32_t thread, struct err *err)
{
    size_t known = threads->places.n;
    struct idmap_entry *entry = idmap_add(&threads->places, thread + 1, err);
    if (!entry)
        return err->kind;
    if (threads->places.n == known)
        return ERR_OK;
    if (threads->n == threads->cap) {
        size_t cap = threads->cap ? threads->cap * 2 : 16;
        struct thread_nesting *items =
            reallocarray(threads->items, cap, sizeof *threads->items);
        if (!items)
            return err_no_memory(err, "the threads of a trace");
        threads->items = items;
        threads->cap = cap;
    }
    entry->value = (uint32_t)threads->n;
    threads->items[threads->n++] = (struct thread_nesting){0};
    return ERR_OK;
}

static struct thread_nesting *
threads_find(const struct threads *threads, struct event event)
{
    struct idmap_entry *entry = idmap_find(&threads->places, event_thread(event) + 1);
    return entry ? &threads->items[entry->value] : NULL;
}

/* A walk in groups of one start time: all of a group is pushed before it is asked. */
struct walk {
    struct launches *launches;
    struct threads threads;
    struct column asked; /* uint32_t: positions + 1 in the group */
};

static void
walk_init(struct walk *walk, struct launches *launches)
{
    *walk = (struct walk){.launches = launches};
    column_init(&walk->asked, launches->calls.by_id.pool, sizeof(uint32_t), ORDER_NONE);
}

static void
walk_done(struct walk *walk)
{
    threads_done(&walk->threads);
    column_done(&walk->asked);
}

typedef enum err_kind walk_push_fn(struct walk *walk,
                                   struct thread_nesting *thread,
                                   struct event event,
                                   uint32_t position,
                                   struct err *err);
typedef enum err_kind
walk_answer_fn(struct walk *walk, uint32_t position, struct err *err);

static enum err_kind
walk_answer(struct walk *walk, walk_answer_fn *answer, struct err *err)
{
    for (uint64_t i = 0; i < walk->asked.n; i++) {
        uint32_t position;
        column_read(&walk->asked, i, &position);
        if (answer(walk, position, err))
            return err->kind;
    }
    if (walk->asked.n)
        column_reset(&walk->asked);
    return ERR_OK;
}

static enum err_kind
walk_run(struct walk *walk, walk_push_fn *push, walk_answer_fn *answer, struct err *err)
{
    struct event event;
    uint64_t position = 0;
    int64_t ts_ns = 0;
    while (cpu_view_next(&walk->launches->view, &position, &event)) {
        struct thread_nesting *thread = threads_find(&walk->threads, event);
        if (!thread)
            continue;
        if (event.ts_ns != ts_ns && walk_answer(walk, answer, err))
            return err->kind;
        ts_ns = event.ts_ns;
        if (push(walk, thread, event, (uint32_t)position, err))
            return err->kind;
    }
    return walk_answer(walk, answer, err);
}

/* --- the ops and frames around calls ----------------------------------------------- */

static enum err_kind
push_ops_and_frames(struct walk *walk,
                    struct thread_nesting *thread,
                    struct event event,
                    uint32_t position,
                    struct err *err)
{
    struct launches *launches = walk->launches;
    enum event_category category = event_category(event);
    struct call call;
    if (category == CATEGORY_CPU_OP && nesting_push(&thread->ops, event, position, err))
        return err->kind;
    if (category == CATEGORY_PYTHON_FUNCTION &&
        symbols_has(launches->symbols, event.name, SYMBOL_FRAME) &&
        nesting_push(&thread->frames, event, position, err))
        return err->kind;
    if (calls_get(&launches->calls, event.correlation, &call) &&
        call.position == position)
        return column_add(&walk->asked, &position, err);
    return ERR_OK;
}

static enum err_kind
answer_call(struct walk *walk, uint32_t position, struct err *err)
{
    struct launches *launches = walk->launches;
    struct event event = at(launches, position);
    struct thread_nesting *thread = threads_find(&walk->threads, event);
    struct call call;
    (void)err;
    if (!calls_get(&launches->calls, event.correlation, &call))
        return ERR_OK;
    const struct nested *op = nesting_at(&thread->ops, event.ts_ns);
    const struct nested *frame = nesting_at(&thread->frames, event.ts_ns);
    call.op = op ? op->position : 0;
    call.frame = frame ? at(launches, frame->position).name : 0;
    calls_put(&launches->calls, event.correlation, call);
    return ERR_OK;
}

/* Threads that hold calls, and the External ids that ops are asked for. */
static enum err_kind
find_threads(struct walk *walk, const struct gpu_list *gpu, struct err *err)
{
    struct launches *launches = walk->launches;
    for (uint64_t i = 0; i < gpu->positions->n; i++) {
        struct event kernel = gpu_list_at(gpu, i);
        uint32_t call = call_of(launches, kernel).position;
        event_id ids[2] = {kernel.external_id, 0};
        if (call) {
            struct event event = at(launches, call);
            ids[1] = event.external_id;
            if (threads_add(&walk->threads, event_thread(event), err))
                return err->kind;
        }
        for (size_t k = 0; k < 2; k++)
            if (ids[k] && idlist_add(&launches->by_external, ids[k], err))
                return err->kind;
    }
    return idlist_close(&launches->by_external, err);
}

static void
find_by_external(struct launches *launches)
{
    struct event event;
    uint64_t position = 0;
    if (idlist_count(&launches->by_external) == 0)
        return;
    while (cpu_view_next(&launches->view, &position, &event)) {
        if (event_category(event) != CATEGORY_CPU_OP || !event.external_id)
            continue;
        uint64_t place;
        uint32_t op;
        if (idlist_find(&launches->by_external, event.external_id, &place, &op) && !op)
            idlist_set(&launches->by_external, place, event.external_id,
                       (uint32_t)position);
    }
}

static enum err_kind
find_inner(struct launches *launches, const struct gpu_list *gpu, struct err *err)
{
    CLEANUP(walk_done) struct walk walk;
    walk_init(&walk, launches);
    if (find_threads(&walk, gpu, err))
        return err->kind;
    find_by_external(launches);
    return walk_run(&walk, push_ops_and_frames, answer_call, err);
}

/* --- ops with dims around ops without ---------------------------------------------- */

static enum err_kind
push_ops_with_dims(struct walk *walk,
                   struct thread_nesting *thread,
                   struct event event,
                   uint32_t position,
                   struct err *err)
{
    uint64_t place;
    uint32_t ignored;
    if (event_category(event) != CATEGORY_CPU_OP)
        return ERR_OK;
    if (has_dims(walk->launches, event))
        return nesting_push(&thread->ops, event, position, err);
    if (idlist_find(&walk->launches->outer, position, &place, &ignored))
        return column_add(&walk->asked, &position, err);
    return ERR_OK;
}

static enum err_kind
answer_op(struct walk *walk, uint32_t position, struct err *err)
{
    (void)err;
    struct launches *launches = walk->launches;
    struct event op = at(launches, position);
    struct thread_nesting *thread = threads_find(&walk->threads, op);
    const struct nested *around = nesting_around(&thread->ops, op);
    uint64_t place;
    uint32_t ignored;
    if (around && idlist_find(&launches->outer, position, &place, &ignored))
        idlist_set(&launches->outer, place, position, around->position);
    return ERR_OK;
}

static enum err_kind
find_outer(struct launches *launches, const struct gpu_list *gpu, struct err *err)
{
    CLEANUP(walk_done) struct walk walk;
    walk_init(&walk, launches);
    for (uint64_t i = 0; i < gpu->positions->n; i++) {
        struct event kernel = gpu_list_at(gpu, i);
        uint32_t op = launcher_of(launches, kernel, call_of(launches, kernel));
        if (!op || has_dims(launches, at(launches, op)))
            continue;
        if (idlist_add(&launches->outer, op, err) ||
            threads_add(&walk.threads, event_thread(at(launches, op)), err))
            return err->kind;
    }
    if (idlist_close(&launches->outer, err))
        return err->kind;
    if (idlist_count(&launches->outer) == 0)
        return ERR_OK;
    return walk_run(&walk, push_ops_with_dims, answer_op, err);
}

/* --- the links --------------------------------------------------------------------- */

enum err_kind
launches_make(struct launches *launches,
              struct cpu_view view,
              struct symbols *symbols,
              struct launch_texts *texts,
              const struct gpu_list *gpu,
              struct err *err)
{
    *launches = (struct launches){.view = view, .symbols = symbols, .texts = texts};
    calls_init(&launches->calls, view.events);
    idlist_init(&launches->by_external, launches->calls.by_id.pool);
    idlist_init(&launches->outer, launches->calls.by_id.pool);
    for (uint64_t i = 0; i < gpu->positions->n; i++)
        if (calls_want(&launches->calls, gpu_list_at(gpu, i).correlation, err))
            return err->kind;
    calls_find(&launches->calls, &launches->view);
    if (find_inner(launches, gpu, err) || find_outer(launches, gpu, err))
        return err->kind;
    return events_check(view.events, err);
}

void
launches_done(struct launches *launches)
{
    calls_done(&launches->calls);
    idlist_done(&launches->by_external);
    idlist_done(&launches->outer);
}

/* Whether `op` is an ancestor of the other op. */
static bool
encloses(struct event op, struct event other)
{
    if (event_index(op) == event_index(other) ||
        event_thread(op) != event_thread(other) || op.ts_ns > other.ts_ns ||
        event_end_ns(op) < event_end_ns(other))
        return false;
    if (op.ts_ns == other.ts_ns && op.dur_ns == other.dur_ns)
        return event_index(op) < event_index(other);
    return true;
}

/* Whose dims the launch is said to have, and how they were found. */
static struct event
choose_dims(struct launches *launches,
            struct call call,
            uint32_t launcher,
            struct launch_facts *group)
{
    struct event op = at(launches, launcher);
    if (has_dims(launches, op)) {
        bool is_outer = call.op && encloses(op, at(launches, call.op));
        group->dims_from = is_outer ? DIMS_ANCESTOR : DIMS_OP;
        return op;
    }
    uint32_t around = number_of(&launches->outer, launcher);
    if (!around)
        return op;
    group->dims_from = DIMS_ANCESTOR;
    return at(launches, around);
}

enum err_kind
launches_group(struct launches *launches,
               struct event kernel,
               struct launch_facts *ret_group,
               struct err *err)
{
    struct call call = call_of(launches, kernel);
    *ret_group = (struct launch_facts){.kind = LAUNCH_GRAPH};
    if (call.position && is_graph(launches, call))
        return ERR_OK;
    uint32_t launcher = launcher_of(launches, kernel, call);
    ret_group->kind = launcher ? LAUNCH_EAGER : LAUNCH_UNLINKED;
    if (!launcher)
        return ERR_OK;
    ret_group->op = at(launches, launcher).name;
    struct event dims = choose_dims(launches, call, launcher, ret_group);
    if (!dims.detail)
        return ERR_OK;
    struct event_shape shape = events_shape(launches->view.events, dims.detail);
    if (shape.has_dims_key &&
        launch_texts_compact(launches->texts, shape.dims, &ret_group->dims, err))
        return err->kind;
    if (shape.has_type_key &&
        launch_texts_compact(launches->texts, shape.type, &ret_group->type, err))
        return err->kind;
    return ERR_OK;
}

uint32_t
launches_frame(const struct launches *launches, struct event kernel)
{
    return call_of(launches, kernel).frame;
}
