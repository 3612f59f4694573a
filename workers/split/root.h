/* SPDX-License-Identifier: Apache-2.0 */
/* A root: what marks one step of a trace. */
#pragma once

#include "events.h"
#include "ns.h"
#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct root {
    struct slice name; /* lives as long as the index, or is static */
    int64_t ts_ns;
    int64_t dur_ns;
    uint32_t thread;
    event_id external_id;
    uint64_t index; /* source index of its event */
};

/* A run of a list of roots, borrowed. */
struct roots {
    const struct column *list; /* struct root */
    uint64_t first;
    size_t n;
};

/* An empty list of roots, in pages as the index allows. */
static inline void
root_list_init(struct column *list, const struct events *events)
{
    column_init(list, events_side_pool(events), sizeof(struct root), ORDER_NONE);
}

static inline struct roots
roots_of(const struct column *list)
{
    return (struct roots){list, 0, (size_t)list->n};
}

static inline struct root
roots_at(struct roots roots, uint64_t i)
{
    struct root root;
    column_read(roots.list, roots.first + i, &root);
    return root;
}

static inline int64_t
root_end_ns(const struct root *root)
{
    return ns_add(root->ts_ns, root->dur_ns);
}

/* `warmup` and `wrapup` stand around the steps and are none themselves. */
static inline bool
root_is_bookend(const struct root *root)
{
    return slice_is(root->name, "warmup") || slice_is(root->name, "wrapup");
}

static inline struct root
root_of(const struct events *events, struct event event)
{
    return (struct root){
        .name = events_text(events, event.name),
        .ts_ns = event.ts_ns,
        .dur_ns = event.dur_ns,
        .thread = event_thread(event),
        .external_id = event.external_id,
        .index = event_index(event),
    };
}
