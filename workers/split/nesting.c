/* SPDX-License-Identifier: Apache-2.0 */
/* The innermost of the events around a moment. */
#include "nesting.h"

#include <stdlib.h>

void
nesting_done(struct nesting *nesting)
{
    free(nesting->items);
    *nesting = (struct nesting){0};
}

enum err_kind
nesting_push(struct nesting *nesting,
             struct event event,
             uint32_t position,
             struct err *err)
{
    if (nesting->n == nesting->cap) {
        size_t cap = nesting->cap ? nesting->cap * 2 : 4;
        struct nested *items = reallocarray(nesting->items, cap, sizeof *items);
        if (!items)
            return err_no_memory(err, "the open calls of a thread");
        nesting->items = items;
        nesting->cap = cap;
    }
    nesting->items[nesting->n++] =
        (struct nested){event.ts_ns, event_end_ns(event), event_index(event), position};
    return ERR_OK;
}

/* Of two that start together: shorter, then later in the source. */
static bool
is_inner(const struct nested *a, const struct nested *b)
{
    return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->index > b->index;
}

const struct nested *
nesting_at(struct nesting *nesting, int64_t ts_ns)
{
    while (nesting->n && nesting->items[nesting->n - 1].end_ns <= ts_ns)
        nesting->n--;
    const struct nested *best = NULL;
    for (size_t i = nesting->n; i-- > 0;) {
        const struct nested *item = &nesting->items[i];
        if (best && item->ts_ns < best->ts_ns)
            break;
        if (item->end_ns > ts_ns && (!best || is_inner(item, best)))
            best = item;
    }
    return best;
}

/* Of equal spans the lower source index is the outer one. */
static bool
encloses(const struct nested *item, struct event event)
{
    int64_t end_ns = event_end_ns(event);
    if (item->ts_ns > event.ts_ns || item->end_ns < end_ns)
        return false;
    if (item->ts_ns == event.ts_ns && item->end_ns == end_ns)
        return item->index < event_index(event);
    return true;
}

const struct nested *
nesting_around(struct nesting *nesting, struct event event)
{
    while (nesting->n && nesting->items[nesting->n - 1].end_ns < event.ts_ns)
        nesting->n--;
    const struct nested *best = NULL;
    for (size_t i = nesting->n; i-- > 0;) {
        const struct nested *item = &nesting->items[i];
        if (best && item->ts_ns < best->ts_ns)
            break;
        if (encloses(item, event) && (!best || is_inner(item, best)))
            best = item;
    }
    return best;
}
