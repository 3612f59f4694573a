/* SPDX-License-Identifier: Apache-2.0 */
/* Which step owns which GPU work. */
#include "ownership.h"
#include "ns.h"

void
ownership_done(struct ownership *own)
{
    idmap_done(&own->owners);
}

struct step_walk
step_walk_begin(struct ownership *own, size_t place)
{
    own->walk++;
    return (struct step_walk){
        .own = own,
        .place = place,
        .position = events_cpu_from(own->events, own->tiles.tiles[place].start_ns),
        .count = events_cpu_count(own->events),
    };
}

bool
step_walk_next(struct step_walk *walk, struct event *ret_event)
{
    const struct tiles *tiles = &walk->own->tiles;
    struct interval tile = tiles->tiles[walk->place];
    const struct column *list = events_cpu_list(walk->own->events);
    while (walk->position < walk->count) {
        column_read(list, walk->position, ret_event);
        if (!tiles_hold(tiles, walk->place, ret_event->ts_ns))
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
    while (step_walk_next(walk, &event)) {
        struct idmap_entry *entry =
            event.correlation ? idmap_find(&walk->own->owners, event.correlation) : NULL;
        if (!entry || entry->mark == walk->own->walk)
            continue;
        entry->mark = walk->own->walk;
        *ret_id = event.correlation;
        *ret_owned = entry->value == walk->place;
        return true;
    }
    return false;
}

static void
add_work(const struct events *events, event_id id, struct step_work *work)
{
    struct event_run run = events_gpu_of(events, id);
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

static enum err_kind
take_step(struct ownership *own, size_t place, struct err *err)
{
    struct event event;
    struct step_walk walk = step_walk_begin(own, place);
    while (step_walk_next(&walk, &event)) {
        if (!event.correlation)
            continue;
        size_t known = own->owners.n;
        struct idmap_entry *entry = idmap_add(&own->owners, event.correlation, err);
        if (!entry)
            return err->kind;
        bool is_new = own->owners.n > known;
        if (is_new) {
            entry->value = (uint32_t)place;
            add_work(own->events, event.correlation, &own->work[place]);
        } else if (entry->mark != own->walk) {
            own->gpu_repeated += events_gpu_of(own->events, event.correlation).n;
            own->flows_repeated += events_flows_of(own->events, event.correlation).n;
        }
        entry->mark = own->walk;
    }
    own->n_owned += own->work[place].n_gpu;
    return ERR_OK;
}

enum err_kind
ownership_make(struct ownership *own,
               const struct events *events,
               struct roots roots,
               struct arena *arena,
               struct err *err)
{
    *own = (struct ownership){.events = events, .roots = roots};
    struct tile_root *spans = arena_calloc(arena, roots.n, sizeof *spans);
    own->work = arena_calloc(arena, roots.n, sizeof *own->work);
    if (!spans || !own->work)
        return err_no_memory(err, "the steps of a trace");
    for (size_t i = 0; i < roots.n; i++) {
        const struct root *root = &roots.items[i];
        spans[i] = (struct tile_root){root->thread, root->ts_ns, root->dur_ns};
    }
    if (tiles_make(spans, roots.n, arena, &own->tiles, err))
        return err->kind;
    for (size_t i = 0; i < roots.n; i++)
        if (take_step(own, i, err))
            return err->kind;
    return events_check(events, err);
}
