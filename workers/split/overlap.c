/* SPDX-License-Identifier: Apache-2.0 */
/* The stream whose events run into each other most. */
#include "overlap.h"

#include "cleanup.h"
#include "ns.h"
#include "slice.h"

/* Events that touch by less than this are taken as one after the other. */
enum { SLACK_NS = 1000 };

struct stream {
    struct overlap sums;
    bool is_used;
    struct event last;
};

static void
add(struct stream *stream, struct event event)
{
    struct overlap *sums = &stream->sums;
    int64_t excess_ns =
        stream->is_used ? ns_subtract(event_end_ns(stream->last), event.ts_ns) : 0;
    if (excess_ns > SLACK_NS) {
        sums->excess_ns = ns_add(sums->excess_ns, excess_ns);
        if (excess_ns > sums->worst_ns) {
            sums->worst_ns = excess_ns;
            sums->event = stream->last.name;
            sums->has_event = true;
        }
    }
    sums->device_ns = ns_add(sums->device_ns, event.dur_ns);
    stream->last = event;
    stream->is_used = true;
}

/* Order by pid, then tid, as bytes. */
static int
compare_threads(const struct events *events, uint32_t a, uint32_t b)
{
    char scratch[2][EVENT_ID_DIGITS];
    struct event_thread x = events_thread(events, a);
    struct event_thread y = events_thread(events, b);
    int order = slice_compare(events_id_text(events, x.pid, scratch[0]),
                              events_id_text(events, y.pid, scratch[1]));
    if (order)
        return order;
    return slice_compare(events_id_text(events, x.tid, scratch[0]),
                         events_id_text(events, y.tid, scratch[1]));
}

static bool
is_worse(const struct events *events, const struct overlap *a, const struct overlap *b)
{
    if (a->excess_ns != b->excess_ns)
        return a->excess_ns > b->excess_ns;
    if (a->device_ns != b->device_ns)
        return a->device_ns > b->device_ns;
    return compare_threads(events, a->thread, b->thread) < 0;
}

enum err_kind
overlap_find(const struct events *events, struct overlap *ret_overlap, struct err *err)
{
    uint32_t n_threads = events_thread_count(events);
    CLEANUP(column_done) struct column streams; /* by thread */
    struct overlap worst = {0};
    bool is_found = false;
    struct stream stream;
    column_init(&streams, events_side_pool(events), sizeof stream, ORDER_NONE);
    if (column_fill(&streams, n_threads, err))
        return err->kind;
    uint64_t n = events_gpu_count(events);
    for (uint64_t i = 0; i < n; i++) {
        struct event event = events_gpu(events, i);
        column_read(&streams, event_thread(event), &stream);
        add(&stream, event);
        column_write(&streams, event_thread(event), &stream);
    }
    for (uint32_t i = 0; i < n_threads; i++) {
        column_read(&streams, i, &stream);
        stream.sums.thread = i;
        if (!stream.is_used || (is_found && !is_worse(events, &stream.sums, &worst)))
            continue;
        worst = stream.sums;
        is_found = true;
    }
    *ret_overlap = worst;
    return events_check(events, err);
}
