/* SPDX-License-Identifier: Apache-2.0 */
/* Which step owns which GPU work. */
#include "ownership.h"

#include "cleanup.h"
#include "ns.h"

/* The step that an id belongs to. */
struct owner {
    uint32_t place; /* of its root, + 1; 0: none */
    uint32_t walk;  /* the one that saw the id last */
};

void
ownership_done(struct ownership *own)
{
    tiles_done(&own->tiles);
    column_done(&own->work);
    column_done(&own->owners);
}

struct step_work
ownership_work(const struct ownership *own, uint64_t place)
{
    struct step_work work;
    column_read(&own->work, place, &work);
    return work;
}

/* What the GPU has of an id. */
struct id_work {
    struct event_run gpu;
    struct event_run flows;
};

/* Where an id's owner stands; false: it has neither GPU events nor flows. */
static bool
find_slot(const struct events *events,
          event_id id,
          struct id_work *ret_work,
          uint64_t *ret_slot)
{
    if (id == 0)
        return false;
    ret_work->gpu = events_gpu_of(events, id);
    *ret_slot = ret_work->gpu.first;
    if (ret_work->gpu.n)
        return true;
    ret_work->flows = events_flows_of(events, id);
    *ret_slot = events_gpu_linked_count(events) + ret_work->flows.first;
    return ret_work->flows.n > 0;
}

bool
ownership_find(const struct ownership *own, event_id id, size_t *ret_place)
{
    struct id_work work;
    struct owner owner;
    uint64_t slot;
    if (!find_slot(own->events, id, &work, &slot))
        return false;
    column_read(&own->owners, slot, &owner);
    *ret_place = owner.place - (size_t)1;
    return owner.place > 0;
}

struct step_walk
step_walk_begin(struct ownership *own, size_t place)
{
    struct interval tile = tiles_at(&own->tiles, place);
    own->walk++;
    return (struct step_walk){
        .own = own,
        .place = place,
        .tile = tile,
        .position = events_cpu_from(own->events, tile.start_ns),
        .count = events_cpu_count(own->events),
    };
}

bool
step_walk_next(struct step_walk *walk, struct event *ret_event)
{
    const struct tiles *tiles = &walk->own->tiles;
    struct interval tile = walk->tile;
    const struct column *list = events_cpu_list(walk->own->events);
    while (walk->position < walk->count) {
        column_read(list, walk->position, ret_event);
        if (!tiles_hold(tiles, tile, ret_event->ts_ns))
            return false;
        walk->position++;
        if (ret_event->dur_ns <= tile.end_ns - tile.start_ns)
            return true;
    }
    return false;
}

bool
step_walk_next_id(struct step_walk *walk, event_id *ret_id, bool *ret_owned)
{
    struct event event;
    const struct ownership *own = walk->own;
    while (step_walk_next(walk, &event)) {
        struct id_work work;
        struct owner owner;
        uint64_t slot;
        if (!find_slot(own->events, event.correlation, &work, &slot))
            continue;
        column_read(&own->owners, slot, &owner);
        if (owner.place == 0 || owner.walk == own->walk)
            continue;
        owner.walk = own->walk;
        column_write(&own->owners, slot, &owner);
        *ret_id = event.correlation;
        *ret_owned = owner.place == walk->place + 1;
        return true;
    }
    return false;
}

static void
add_work(const struct events *events, struct event_run run, struct step_work *work)
{
    for (uint64_t k = 0; k < run.n; k++) {
        struct event event = events_gpu_linked(events, run.first + k);
        int64_t end_ns = event_end_ns(event);
        if (work->n_gpu == 0 || event.ts_ns < work->start_ns)
            work->start_ns = event.ts_ns;
        if (work->n_gpu == 0 || end_ns > work->end_ns)
            work->end_ns = end_ns;
        work->busy_ns = ns_add(work->busy_ns, event.dur_ns);
        work->n_gpu++;
    }
}

/* An id in the window of a step: its own from now on, or another one's. */
static void
take_id(struct ownership *own, size_t place, event_id id, struct step_work *work)
{
    struct id_work found;
    struct owner owner;
    uint64_t slot;
    if (!find_slot(own->events, id, &found, &slot))
        return;
    column_read(&own->owners, slot, &owner);
    if (owner.walk == own->walk)
        return;
    if (owner.place == 0) {
        owner.place = (uint32_t)place + 1;
        add_work(own->events, found.gpu, work);
    } else {
        own->gpu_repeated += found.gpu.n;
        own->flows_repeated += events_flows_of(own->events, id).n;
    }
    owner.walk = own->walk;
    column_write(&own->owners, slot, &owner);
}

static enum err_kind
take_step(struct ownership *own, size_t place, struct err *err)
{
    struct event event;
    struct step_work work = {0};
    struct step_walk walk = step_walk_begin(own, place);
    while (step_walk_next(&walk, &event))
        take_id(own, place, event.correlation, &work);
    own->n_owned += work.n_gpu;
    return column_add(&own->work, &work, err);
}

static enum err_kind
make_tiles(struct ownership *own, struct err *err)
{
    CLEANUP(column_done) struct column spans;
    column_init(&spans, own->work.pool, sizeof(struct tile_root), ORDER_NONE);
    for (size_t i = 0; i < own->roots.n; i++) {
        struct root root = roots_at(own->roots, i);
        const struct tile_root span = {root.thread, root.ts_ns, root.dur_ns};
        if (column_add(&spans, &span, err))
            return err->kind;
    }
    return tiles_make(&spans, events_thread_count(own->events), &own->tiles, err);
}

enum err_kind
ownership_make(struct ownership *own,
               const struct events *events,
               struct roots roots,
               struct err *err)
{
    struct column_pool *pool = events_side_pool(events);
    *own = (struct ownership){.events = events, .roots = roots};
    column_init(&own->work, pool, sizeof(struct step_work), ORDER_NONE);
    column_init(&own->owners, pool, sizeof(struct owner), ORDER_NONE);
    uint64_t n = events_gpu_linked_count(events) + events_flow_count(events);
    if (column_fill(&own->owners, n, err) || make_tiles(own, err))
        return err->kind;
    for (size_t i = 0; i < roots.n; i++)
        if (take_step(own, i, err))
            return err->kind;
    return events_check(events, err);
}
