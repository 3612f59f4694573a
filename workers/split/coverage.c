/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels belong to a set of roots. */
#include "coverage.h"

#include "arena.h"
#include "cleanup.h"
#include "ns.h"
#include "unions.h"

#include <stdlib.h>

/* One audit on its way. */
struct audit {
    const struct events *events;
    const struct idmap *without;
    struct idmap seen;      /* correlation ids that were added */
    struct interval *spans; /* merged, of the GPU annotations; NULL: by correlation */
    size_t n_spans;
};

static void
audit_done(struct audit *audit)
{
    idmap_done(&audit->seen);
    free(audit->spans);
}

/* --- by the spans of GPU annotations ----------------------------------------------- */

/* Marks the External ids of `roots`; false: one has none. */
static enum err_kind
note_ids(struct roots roots, struct idmap *ids, bool *ret_all, struct err *err)
{
    *ret_all = roots.n > 0;
    for (size_t i = 0; i < roots.n && *ret_all; i++) {
        *ret_all = roots.items[i].external_id != 0;
        if (*ret_all && !idmap_add(ids, roots.items[i].external_id, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
add_span(struct audit *audit, size_t *cap, struct event event, struct err *err)
{
    if (audit->n_spans == *cap) {
        size_t more = *cap ? *cap * 2 : 64;
        struct interval *spans = reallocarray(audit->spans, more, sizeof *spans);
        if (!spans)
            return err_no_memory(err, "the spans of GPU annotations");
        audit->spans = spans;
        *cap = more;
    }
    audit->spans[audit->n_spans++] = (struct interval){event.ts_ns, event_end_ns(event)};
    return ERR_OK;
}

/* The list is in the order of starts, so that merging is one walk. */
static void
merge_spans(struct audit *audit)
{
    size_t n = 0;
    for (size_t i = 0; i < audit->n_spans; i++) {
        struct interval span = audit->spans[i];
        if (n > 0 && span.start_ns <= audit->spans[n - 1].end_ns) {
            if (span.end_ns > audit->spans[n - 1].end_ns)
                audit->spans[n - 1].end_ns = span.end_ns;
        } else {
            audit->spans[n++] = span;
        }
    }
    audit->n_spans = n;
}

/* Fills audit->spans when every root has an id that some GPU annotation has. */
static enum err_kind
find_spans(struct audit *audit, struct roots roots, struct err *err)
{
    CLEANUP(idmap_done) struct idmap ids = {0};
    uint64_t n = events_gpu_annotation_count(audit->events);
    size_t found = 0;
    size_t cap = 0;
    bool all;
    if (n == 0)
        return ERR_OK;
    if (note_ids(roots, &ids, &all, err))
        return err->kind;
    if (!all)
        return ERR_OK;
    for (uint64_t i = 0; i < n; i++) {
        struct event event = events_gpu_annotation(audit->events, i);
        struct idmap_entry *entry =
            event.external_id ? idmap_find(&ids, event.external_id) : NULL;
        if (!entry)
            continue;
        found += entry->mark++ == 0;
        if (add_span(audit, &cap, event, err))
            return err->kind;
    }
    if (found < ids.n) {
        free(audit->spans);
        audit->spans = NULL;
        audit->n_spans = 0;
    }
    merge_spans(audit);
    return ERR_OK;
}

/* Whether a kernel's start lies in a merged span, both ends included. */
static bool
lies_in_span(const struct audit *audit, int64_t ts_ns)
{
    size_t low = 0;
    size_t high = audit->n_spans;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (audit->spans[middle].start_ns <= ts_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && ts_ns <= audit->spans[low - 1].end_ns;
}

static bool
is_dropped(const struct audit *audit, struct event kernel)
{
    return audit->without && kernel.correlation &&
           idmap_find(audit->without, kernel.correlation);
}

static int64_t
busy_in_spans(const struct audit *audit)
{
    int64_t busy_ns = 0;
    uint64_t n = events_gpu_count(audit->events);
    for (size_t i = 0; i < audit->n_spans; i++) {
        uint64_t at = events_gpu_from(audit->events, audit->spans[i].start_ns);
        for (; at < n; at++) {
            struct event kernel = events_gpu(audit->events, at);
            if (kernel.ts_ns > audit->spans[i].end_ns)
                break;
            if (!is_dropped(audit, kernel))
                busy_ns = ns_add(busy_ns, kernel.dur_ns);
        }
    }
    return busy_ns;
}

/* --- by correlation ---------------------------------------------------------------- */

/* Kernels of an id that no span gave already. */
static int64_t
busy_of_id(const struct audit *audit, event_id id)
{
    int64_t busy_ns = 0;
    struct event_run run = events_gpu_of(audit->events, id);
    if (audit->without && idmap_find(audit->without, id))
        return 0;
    for (uint64_t k = 0; k < run.n; k++) {
        struct event kernel = events_gpu_linked(audit->events, run.first + k);
        if (!audit->spans || !lies_in_span(audit, kernel.ts_ns))
            busy_ns = ns_add(busy_ns, kernel.dur_ns);
    }
    return busy_ns;
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
    for (; at < run.first + run.n; at++) {
        struct event event = events_correlated(audit->events, at);
        if (event.ts_ns >= end_ns)
            break;
        if (event_end_ns(event) > end_ns)
            continue;
        struct idmap_entry *entry = idmap_add(&audit->seen, event.correlation, err);
        if (!entry)
            return err->kind;
        if (entry->mark++ == 0)
            *busy_ns = ns_add(*busy_ns, busy_of_id(audit, event.correlation));
    }
    return ERR_OK;
}

static enum err_kind
add_roots(struct audit *audit, struct roots roots, int64_t *busy_ns, struct err *err)
{
    if (audit->spans) {
        *busy_ns = ns_add(*busy_ns, busy_in_spans(audit));
        return ERR_OK;
    }
    for (size_t i = 0; i < roots.n; i++) {
        const struct root *root = &roots.items[i];
        if (add_window(audit, root->thread, root->ts_ns, root_end_ns(root), busy_ns, err))
            return err->kind;
    }
    return ERR_OK;
}

/* --- the window of each thread ----------------------------------------------------- */

struct thread_window {
    uint32_t thread;
    int64_t start_ns;
    int64_t last_ns; /* start of the last root */
    int64_t end_ns;  /* its end */
};

static void
widen(struct thread_window *window, const struct root *root)
{
    if (root->ts_ns < window->start_ns)
        window->start_ns = root->ts_ns;
    if (root->ts_ns >= window->last_ns) {
        window->last_ns = root->ts_ns;
        window->end_ns = root_end_ns(root);
    }
}

static enum err_kind
add_threads(struct audit *audit, struct roots roots, int64_t *busy_ns, struct err *err)
{
    CLEANUP(arena_done) struct arena arena;
    CLEANUP(idmap_done) struct idmap places = {0};
    arena_init(&arena, SIZE_MAX);
    struct thread_window *windows = arena_calloc(&arena, roots.n, sizeof *windows);
    size_t n = 0;
    if (!windows)
        return err_no_memory(err, "the threads of a trace");
    for (size_t i = 0; i < roots.n; i++) {
        const struct root *root = &roots.items[i];
        struct idmap_entry *entry = idmap_add(&places, root->thread + 1, err);
        if (!entry)
            return err->kind;
        if (entry->mark++ == 0) {
            entry->value = (uint32_t)n;
            windows[n++] = (struct thread_window){root->thread, root->ts_ns, root->ts_ns,
                                                  root_end_ns(root)};
        }
        widen(&windows[entry->value], root);
    }
    for (size_t i = 0; i < n; i++)
        if (add_window(audit, windows[i].thread, windows[i].start_ns, windows[i].end_ns,
                       busy_ns, err))
            return err->kind;
    return ERR_OK;
}

/* --- the questions ----------------------------------------------------------------- */

enum err_kind
coverage_busy(const struct events *events,
              struct roots roots,
              int64_t *ret_ns,
              struct err *err)
{
    CLEANUP(audit_done) struct audit audit = {.events = events};
    int64_t busy_ns = 0;
    if (find_spans(&audit, roots, err) || add_roots(&audit, roots, &busy_ns, err))
        return err->kind;
    *ret_ns = busy_ns;
    return events_check(events, err);
}

enum err_kind
coverage_audit(const struct events *events,
               struct roots roots,
               const struct idmap *without,
               int64_t without_ns,
               struct coverage *ret_coverage,
               struct err *err)
{
    CLEANUP(audit_done) struct audit audit = {.events = events, .without = without};
    struct coverage coverage = {.busy_ns = events_gpu_busy_ns(events) - without_ns};
    if (find_spans(&audit, roots, err) ||
        add_roots(&audit, roots, &coverage.spans_ns, err))
        return err->kind;
    coverage.by_gpu_span = audit.spans != NULL;
    coverage.selected_ns = coverage.spans_ns;
    if (add_threads(&audit, roots, &coverage.selected_ns, err))
        return err->kind;
    *ret_coverage = coverage;
    return events_check(events, err);
}
