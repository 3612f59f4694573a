/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels belong to a set of roots. */
#include "coverage.h"

#include "cleanup.h"
#include "idlist.h"
#include "ns.h"
#include "unions.h"

/* One audit on its way. */
struct audit {
    const struct events *events;
    const struct ownership *without;
    struct column seen;  /* bool by events_gpu_linked(): the id that begins there */
    struct column spans; /* struct interval: merged, of the GPU annotations */
    bool by_spans;
};

static void
audit_init(struct audit *audit, const struct events *events)
{
    struct column_pool *pool = events_side_pool(events);
    *audit = (struct audit){.events = events};
    column_init(&audit->seen, pool, sizeof(bool), ORDER_NONE);
    column_init(&audit->spans, pool, sizeof(struct interval), ORDER_NONE);
}

static void
audit_done(struct audit *audit)
{
    column_done(&audit->seen);
    column_done(&audit->spans);
}

/* --- by the spans of GPU annotations ----------------------------------------------- */

/* The External ids of `roots`; *ret_all false: one has none. */
static enum err_kind
list_ids(struct roots roots, struct idlist *ids, bool *ret_all, struct err *err)
{
    *ret_all = roots.n > 0;
    for (size_t i = 0; i < roots.n && *ret_all; i++) {
        event_id id = roots_at(roots, i).external_id;
        *ret_all = id != 0;
        if (id && idlist_add(ids, id, err))
            return err->kind;
    }
    return idlist_close(ids, err);
}

/* Annotations come in the order of their starts, so that merging is one walk. */
static enum err_kind
add_span(struct audit *audit, struct interval span, struct err *err)
{
    struct column *spans = &audit->spans;
    struct interval last;
    if (spans->n == 0)
        return column_add(spans, &span, err);
    column_read(spans, spans->n - 1, &last);
    if (span.start_ns > last.end_ns)
        return column_add(spans, &span, err);
    if (span.end_ns > last.end_ns) {
        last.end_ns = span.end_ns;
        column_write(spans, spans->n - 1, &last);
    }
    return ERR_OK;
}

/* Takes the spans of the annotations with these ids, and counts the ids that have one. */
static enum err_kind
add_spans(struct audit *audit, struct idlist *ids, struct err *err)
{
    uint64_t n = events_gpu_annotation_count(audit->events);
    uint64_t found = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct event event = events_gpu_annotation(audit->events, i);
        event_id id = event.external_id;
        uint64_t place;
        uint32_t is_found;
        if (!id || !idlist_find(ids, id, &place, &is_found))
            continue;
        found += !is_found;
        idlist_set(ids, place, id, true);
        if (add_span(audit, (struct interval){event.ts_ns, event_end_ns(event)}, err))
            return err->kind;
    }
    audit->by_spans = found == idlist_count(ids);
    return events_check(audit->events, err);
}

/* Fills audit->spans when every root has an id that some GPU annotation has. */
static enum err_kind
find_spans(struct audit *audit, struct roots roots, struct err *err)
{
    CLEANUP(idlist_done) struct idlist ids = {.near = 0};
    bool all;
    if (events_gpu_annotation_count(audit->events) == 0)
        return ERR_OK;
    idlist_init(&ids, audit->spans.pool);
    if (list_ids(roots, &ids, &all, err))
        return err->kind;
    return all ? add_spans(audit, &ids, err) : ERR_OK;
}

static struct interval
span_at(const struct audit *audit, uint64_t i)
{
    struct interval span;
    column_read(&audit->spans, i, &span);
    return span;
}

/* Whether a kernel's start lies in a merged span, both ends included. */
static bool
lies_in_span(const struct audit *audit, int64_t ts_ns)
{
    uint64_t low = 0;
    uint64_t high = audit->spans.n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (span_at(audit, middle).start_ns <= ts_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && ts_ns <= span_at(audit, low - 1).end_ns;
}

/* Owned by the first root of those that are left out. */
static bool
is_dropped(const struct audit *audit, event_id id)
{
    size_t place;
    return audit->without && id && ownership_find(audit->without, id, &place) &&
           place == 0;
}

static int64_t
busy_in_spans(const struct audit *audit)
{
    int64_t busy_ns = 0;
    uint64_t n = events_gpu_count(audit->events);
    for (uint64_t i = 0; i < audit->spans.n; i++) {
        struct interval span = span_at(audit, i);
        uint64_t at = events_gpu_from(audit->events, span.start_ns);
        for (; at < n; at++) {
            struct event kernel = events_gpu(audit->events, at);
            if (kernel.ts_ns > span.end_ns)
                break;
            if (!is_dropped(audit, kernel.correlation))
                busy_ns = ns_add(busy_ns, kernel.dur_ns);
        }
    }
    return busy_ns;
}

/* --- by correlation ---------------------------------------------------------------- */

/* Kernels of an id that no span gave already. */
static int64_t
busy_of_run(const struct audit *audit, event_id id, struct event_run run)
{
    int64_t busy_ns = 0;
    if (is_dropped(audit, id))
        return 0;
    for (uint64_t k = 0; k < run.n; k++) {
        struct event kernel = events_gpu_linked(audit->events, run.first + k);
        if (!audit->by_spans || !lies_in_span(audit, kernel.ts_ns))
            busy_ns = ns_add(busy_ns, kernel.dur_ns);
    }
    return busy_ns;
}

/* The kernels of an id, when they did not count yet. */
static void
add_id(struct audit *audit, event_id id, int64_t *busy_ns)
{
    bool is_seen;
    struct event_run run = events_gpu_of(audit->events, id);
    if (run.n == 0)
        return;
    column_read(&audit->seen, run.first, &is_seen);
    if (is_seen)
        return;
    is_seen = true;
    column_write(&audit->seen, run.first, &is_seen);
    *busy_ns = ns_add(*busy_ns, busy_of_run(audit, id, run));
}

/* Adds what the correlated events of `thread` in [start, end) launched. */
static enum err_kind
add_window(struct audit *audit,
           uint32_t thread,
           int64_t start_ns,
           int64_t end_ns,
           int64_t *busy_ns,
           struct err *err)
{
    struct event_run run = events_correlated_of(audit->events, thread);
    uint64_t at = events_correlated_from(audit->events, run, start_ns);
    if (column_fill(&audit->seen, events_gpu_linked_count(audit->events), err))
        return err->kind;
    for (; at < run.first + run.n; at++) {
        struct event event = events_correlated(audit->events, at);
        if (event.ts_ns >= end_ns)
            break;
        if (event_end_ns(event) <= end_ns)
            add_id(audit, event.correlation, busy_ns);
    }
    return ERR_OK;
}

static enum err_kind
add_roots(struct audit *audit, struct roots roots, int64_t *busy_ns, struct err *err)
{
    if (audit->by_spans) {
        *busy_ns = ns_add(*busy_ns, busy_in_spans(audit));
        return ERR_OK;
    }
    for (size_t i = 0; i < roots.n; i++) {
        struct root root = roots_at(roots, i);
        if (add_window(audit, root.thread, root.ts_ns, root_end_ns(&root), busy_ns, err))
            return err->kind;
    }
    return ERR_OK;
}

/* --- the window of each thread ----------------------------------------------------- */

struct thread_window {
    bool has_root;
    int64_t start_ns;
    int64_t last_ns; /* start of the last root */
    int64_t end_ns;  /* its end */
};

static void
widen(struct thread_window *window, const struct root *root)
{
    if (!window->has_root || root->ts_ns < window->start_ns)
        window->start_ns = root->ts_ns;
    if (!window->has_root || root->ts_ns >= window->last_ns) {
        window->last_ns = root->ts_ns;
        window->end_ns = root_end_ns(root);
    }
    window->has_root = true;
}

static enum err_kind
add_threads(struct audit *audit, struct roots roots, int64_t *busy_ns, struct err *err)
{
    CLEANUP(column_done) struct column windows; /* by thread */
    struct thread_window window;
    column_init(&windows, audit->spans.pool, sizeof window, ORDER_NONE);
    if (column_fill(&windows, events_thread_count(audit->events), err))
        return err->kind;
    for (size_t i = 0; i < roots.n; i++) {
        struct root root = roots_at(roots, i);
        column_read(&windows, root.thread, &window);
        widen(&window, &root);
        column_write(&windows, root.thread, &window);
    }
    for (uint32_t thread = 0; thread < windows.n; thread++) {
        column_read(&windows, thread, &window);
        if (window.has_root &&
            add_window(audit, thread, window.start_ns, window.end_ns, busy_ns, err))
            return err->kind;
    }
    return ERR_OK;
}

/* --- the questions ----------------------------------------------------------------- */

enum err_kind
coverage_busy(const struct events *events,
              struct roots roots,
              int64_t *ret_ns,
              struct err *err)
{
    CLEANUP(audit_done) struct audit audit;
    int64_t busy_ns = 0;
    audit_init(&audit, events);
    if (find_spans(&audit, roots, err) || add_roots(&audit, roots, &busy_ns, err))
        return err->kind;
    *ret_ns = busy_ns;
    return events_check(events, err);
}

enum err_kind
coverage_audit(const struct events *events,
               struct roots roots,
               const struct ownership *without,
               struct coverage *ret_coverage,
               struct err *err)
{
    CLEANUP(audit_done) struct audit audit;
    struct coverage coverage = {.busy_ns = events_gpu_busy_ns(events)};
    audit_init(&audit, events);
    audit.without = without;
    if (without)
        coverage.busy_ns -= ownership_work(without, 0).busy_ns;
    if (find_spans(&audit, roots, err) ||
        add_roots(&audit, roots, &coverage.spans_ns, err))
        return err->kind;
    coverage.by_gpu_span = audit.by_spans;
    coverage.selected_ns = coverage.spans_ns;
    if (add_threads(&audit, roots, &coverage.selected_ns, err))
        return err->kind;
    *ret_coverage = coverage;
    return events_check(events, err);
}
