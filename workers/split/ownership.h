/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which step owns which GPU work: a correlation id belongs to the first step whose tile
 * holds a CPU event with it (splitting.md 9.2).
 */
#pragma once

#include "arena.h"
#include "err.h"
#include "events.h"
#include "idmap.h"
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

struct ownership {
    const struct events *events;
    struct roots roots; /* borrowed */
    struct tiles tiles;
    struct step_work *work; /* of each root */
    struct idmap owners;    /* id -> place of its root; mark: the walk that saw it */
    uint32_t walk;
    uint64_t n_owned;      /* GPU events with an owner */
    uint64_t gpu_repeated; /* reached again by a later step */
    uint64_t flows_repeated;
};

/* Borrows `events` and `roots`; lists lie in `arena`. ownership_done() also after a
 * failure. */
enum err_kind ownership_make(struct ownership *own,
                             const struct events *events,
                             struct roots roots,
                             struct arena *arena,
                             struct err *err);
void ownership_done(struct ownership *own);

/* The events of a step's window: CPU events that start in its tile and fit into it. */
struct step_walk {
    struct ownership *own;
    size_t place; /* of the root */
    uint64_t position;
    uint64_t count;
};

struct step_walk step_walk_begin(struct ownership *own, size_t place);
bool step_walk_next(struct step_walk *walk, struct event *ret_event);
/* The next correlation id of the window, each once, in the order they come up. */
bool step_walk_next_id(struct step_walk *walk, event_id *ret_id, bool *ret_owned);
