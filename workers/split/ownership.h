/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which step owns which GPU work: a correlation id belongs to the first step whose tile
 * holds a CPU event with it (splitting.md 9.2).
 */
#pragma once

#include "err.h"
#include "events.h"
#include "root.h"
#include "tiles.h"

#include <stdbool.h>
#include <stdint.h>

/* GPU numbers of a step (10). */
struct step_work {
    uint64_t n_gpu;
    int64_t start_ns; /* of the first event; 0 without one */
    int64_t end_ns;
    int64_t busy_ns;
};

/* Its lists are in pages as the index allows. Zeroed is none. */
struct ownership {
    const struct events *events;
    struct roots roots; /* borrowed */
    struct tiles tiles;
    struct column work;   /* struct step_work of each root */
    struct column owners; /* by the first GPU event or flow of an id */
    uint32_t walk;
    uint64_t n_owned;      /* GPU events with an owner */
    uint64_t gpu_repeated; /* reached again by a later step */
    uint64_t flows_repeated;
};

/* Borrows `events` and `roots`. ownership_done() also after a failure. */
enum err_kind ownership_make(struct ownership *own,
                             const struct events *events,
                             struct roots roots,
                             struct err *err);
void ownership_done(struct ownership *own);
struct step_work ownership_work(const struct ownership *own, uint64_t place);
/* Place of the root that owns an id; false: none, or there is no work of that id. */
bool ownership_find(const struct ownership *own, event_id id, size_t *ret_place);

/* The events of a step's window: CPU events that start in its tile and fit into it. */
struct step_walk {
    struct ownership *own;
    size_t place; /* of the root */
    struct interval tile;
    uint64_t position;
    uint64_t count;
};

struct step_walk step_walk_begin(struct ownership *own, size_t place);
bool step_walk_next(struct step_walk *walk, struct event *ret_event);
/* The next id of the window with work, each once, in the order they come up. */
bool step_walk_next_id(struct step_walk *walk, event_id *ret_id, bool *ret_owned);
