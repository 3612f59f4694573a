/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU events of a chunk, or of all of a trace, in (ts, source index) order. */
#pragma once

#include "events.h"
#include "index_set.h"

#include <stdbool.h>
#include <stdint.h>

struct cpu_view {
    const struct events *events;
    const struct index_set *only; /* members; NULL: every event */
    uint64_t first;               /* positions in events_cpu() */
    uint64_t last;
};

static inline struct cpu_view
cpu_view_all(const struct events *events)
{
    return (struct cpu_view){events, NULL, 0, events_cpu_count(events)};
}

/* The next event at or behind `*position`, which moves behind it; false: none. */
static inline bool
cpu_view_next(const struct cpu_view *view, uint64_t *position, struct event *ret_event)
{
    const struct column *list = events_cpu_list(view->events);
    if (*position < view->first)
        *position = view->first;
    while (*position < view->last) {
        column_read(list, (*position)++, ret_event);
        if (!view->only || index_set_holds(view->only, event_index(*ret_event)))
            return true;
    }
    return false;
}
