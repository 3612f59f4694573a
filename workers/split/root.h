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

struct roots {
    struct root *items;
    size_t n;
};

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
