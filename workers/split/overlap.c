/* SPDX-License-Identifier: Apache-2.0 */
/* The stream whose events run into each other most. */
#include "overlap.h"

#include "ns.h"
#include "slice.h"

#include <stdlib.h>

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
    struct stream *streams = calloc((size_t)n_threads + 1, sizeof *streams);
    const struct overlap *worst = NULL;
    if (!streams)
        return err_no_memory(err, "the streams of a trace");
    uint64_t n = events_gpu_count(events);
    for (uint64_t i = 0; i < n; i++) {
        struct event event = events_gpu(events, i);
        add(&streams[event_thread(event)], event);
    }
    for (uint32_t i = 0; i < n_threads; i++) {
        streams[i].sums.thread = i;
        if (streams[i].is_used && (!worst || is_worse(events, &streams[i].sums, worst)))
            worst = &streams[i].sums;
    }
    *ret_overlap = worst ? *worst : (struct overlap){0};
    free(streams);
    return events_check(events, err);
}
