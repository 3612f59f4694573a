/* SPDX-License-Identifier: Apache-2.0 */
/* Places to which a second scan may jump. */
#include "scan_state.h"

#include <stdlib.h>

enum { FIRST_MARKS = 16 };

void
scan_marks_done(struct scan_marks *marks)
{
    free(marks->items);
    *marks = (struct scan_marks){0};
}

static enum err_kind
add_mark(const struct scan *scan, struct scan_marks *marks, struct err *err)
{
    if (marks->n == marks->cap) {
        size_t cap = marks->cap ? marks->cap * 2 : FIRST_MARKS;
        struct scan_mark *items = reallocarray(marks->items, cap, sizeof *items);
        if (!items)
            return err_no_memory(err, "the marks of a trace");
        marks->items = items;
        marks->cap = cap;
    }
    marks->items[marks->n++] = (struct scan_mark){
        .offset = scan_offset(scan),
        .last_event_end = scan->last_event_end,
        .facts = *scan->facts,
    };
    return ERR_OK;
}

/* To the next mark that is wanted, or to the last one: the end must be read. */
static enum err_kind
jump(struct scan *scan, const struct scan_marks *marks, size_t from, struct err *err)
{
    size_t to = from;
    while (to + 1 < marks->n && !marks->items[to].is_wanted)
        to++;
    if (to == from)
        return ERR_OK;
    const struct scan_mark *mark = &marks->items[to];
    *scan->facts = mark->facts;
    scan->next_index = (uint64_t)to * SCAN_MARK_EVERY;
    scan->last_event_end = mark->last_event_end;
    return window_seek(&scan->window, mark->offset, &scan->at, err);
}

enum err_kind
scan_pass_mark(struct scan *scan, struct scan_marks *marks, struct err *err)
{
    size_t n = (size_t)(scan->next_index / SCAN_MARK_EVERY);
    if (marks->are_used)
        return n < marks->n ? jump(scan, marks, n, err) : ERR_OK;
    return n == marks->n ? add_mark(scan, marks, err) : ERR_OK;
}
