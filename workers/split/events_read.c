/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a trace: made, closed, read. */
#include "events_state.h"

#include "scan_value.h"

#include <stdio.h>
#include <stdlib.h>

/* A table by small id is made when it takes at most so many places per record. */
enum { FIRST_SPREAD = 8, FIRST_LEAST = 4096 };

/* Records of a run that are looked at one by one. */
enum { RUN_STEPS = 16 };

static bool
make_tables(struct events *events)
{
    events->texts = texts_new(events->max_texts);
    events->threads = texts_new(events->max_texts);
    events->shapes = texts_new(events->max_texts);
    events->launches = texts_new(events->max_texts);
    return events->texts && events->threads && events->shapes && events->launches;
}

static void
free_tables(struct events *events)
{
    texts_free(events->texts);
    texts_free(events->threads);
    texts_free(events->shapes);
    texts_free(events->launches);
    events->texts = events->threads = events->shapes = events->launches = NULL;
}

static void
make_columns(struct events *events)
{
    struct column_pool *pool = events->pool;
    column_init(&events->cpu, pool, sizeof(struct event), ORDER_EVENT);
    column_init(&events->gpu, pool, sizeof(struct event), ORDER_EVENT);
    column_init(&events->gpu_annotations, pool, sizeof(struct event), ORDER_EVENT);
    column_init(&events->annotations, pool, sizeof(struct event), ORDER_EVENT);
    column_init(&events->instants, pool, sizeof(struct event_mark), ORDER_MARK);
    column_init(&events->flows, pool, sizeof(struct event_mark), ORDER_MARK);
    column_init(&events->pairs, pool, sizeof(struct event_mark), ORDER_MARK);
    column_init(&events->begins, pool, sizeof(struct begin), ORDER_EVENT);
    column_init(&events->gpu_links, pool, sizeof(struct event_link), ORDER_LINK);
    column_init(&events->correlated, pool, sizeof(struct event_ref), ORDER_REF);
}

struct events *
events_new(const struct split_limits *limits, const struct split_spill *spill)
{
    /* Half of the budget is for texts, a quarter for pages, the rest to sort them. */
    enum { TEXT_SHARE = 2, PAGE_SHARE = 4, SIDE_BYTES = 4 << 20 };
    struct events *events = calloc(1, sizeof *events);
    if (!events)
        return NULL;
    uint64_t budget = limits->index_memory;
    events->max_texts = limits->max_strings;
    if (budget && budget / TEXT_SHARE < events->max_texts)
        events->max_texts = budget / TEXT_SHARE;
    events->pool = column_pool_new(budget / PAGE_SHARE, spill);
    bool has_side = spill && !budget;
    if (has_side)
        events->side = column_pool_new(SIDE_BYTES, spill);
    if (events->pool && (events->side || !has_side) && make_tables(events)) {
        make_columns(events);
        return events;
    }
    events_free(events);
    return NULL;
}

static void
drop_columns(struct events *events)
{
    column_done(&events->cpu);
    column_done(&events->gpu);
    column_done(&events->gpu_annotations);
    column_done(&events->annotations);
    column_done(&events->instants);
    column_done(&events->flows);
    column_done(&events->pairs);
    column_done(&events->begins);
    column_done(&events->gpu_links);
    column_done(&events->correlated);
    free(events->open);
    free(events->gpu_first);
    free(events->flow_first);
    events->open = NULL;
    events->n_open = 0;
    events->gpu_first = events->flow_first = NULL;
    events->n_gpu_first = events->n_flow_first = 0;
}

void
events_free(struct events *events)
{
    if (!events)
        return;
    drop_columns(events);
    free_tables(events);
    column_pool_free(events->pool);
    column_pool_free(events->side);
    buf_done(&events->scratch);
    free(events);
}

enum err_kind
events_reset(void *index, struct err *err)
{
    struct events *events = index;
    drop_columns(events);
    free_tables(events);
    events->counts = (struct event_counts){0};
    events->gpu_busy_ns = 0;
    events->limit = NULL;
    memset(events->seen, 0, sizeof events->seen);
    make_columns(events);
    return make_tables(events) ? ERR_OK : err_no_memory(err, "the index of the trace");
}

static enum err_kind
too_many(struct events *events, struct err *err)
{
    events->limit = "max_bytes";
    return err_set(err, ERR_RECORD, "trace_too_large",
                   "the trace has more than 2^32 events of one kind");
}

static enum err_kind
link_gpu(struct events *events, struct err *err)
{
    if (events->gpu.n > UINT32_MAX)
        return too_many(events, err);
    for (uint64_t i = 0; i < events->gpu.n; i++) {
        struct event event = events_gpu(events, i);
        struct event_link link = {event.correlation, (uint32_t)i, event_index(event)};
        enum err_kind kind =
            link.group ? column_add(&events->gpu_links, &link, err) : ERR_OK;
        if (kind)
            return kind;
    }
    return column_sort(&events->gpu_links, err);
}

static enum err_kind
link_correlated(struct events *events, struct err *err)
{
    if (events->cpu.n > UINT32_MAX)
        return too_many(events, err);
    for (uint64_t i = 0; i < events->cpu.n; i++) {
        struct event event = events_cpu(events, i);
        struct event_ref ref = {event_thread(event), (uint32_t)i};
        if (event.correlation == 0 || event_category(event) == CATEGORY_ANNOTATION)
            continue;
        enum err_kind kind = column_add(&events->correlated, &ref, err);
        if (kind)
            return kind;
    }
    return column_sort(&events->correlated, err);
}

static uint32_t
group_at(const struct column *column, uint64_t i)
{
    struct event_link link;
    struct event_mark mark;
    if (column->order == ORDER_MARK) {
        column_read(column, i, &mark);
        return (uint32_t)mark.key;
    }
    column_read(column, i, &link);
    return link.group;
}

/*
 * Where the records of each small id begin: table[id] to table[id + 1]. Left out when the
 * ids lie too far apart, or with a budget: searching finds them, too.
 */
static enum err_kind
make_first(const struct column *column,
           uint32_t **ret_table,
           uint32_t *ret_n,
           struct err *err)
{
    uint64_t n = column->n;
    uint32_t most = 0;
    if (!column->chunks || n > UINT32_MAX)
        return ERR_OK;
    for (uint64_t i = n; i > 0 && most == 0; i--)
        if (group_at(column, i - 1) < EVENT_ID_TEXT)
            most = group_at(column, i - 1);
    if (most == 0 || most / FIRST_SPREAD > n + FIRST_LEAST)
        return ERR_OK;
    uint32_t *table = malloc(((size_t)most + 2) * sizeof *table);
    if (!table)
        return err_no_memory(err, "the links of the trace");
    uint64_t i = 0;
    for (uint32_t id = 0; id <= most + 1; id++) {
        while (i < n && group_at(column, i) < id)
            i++;
        table[id] = (uint32_t)i;
    }
    *ret_table = table;
    *ret_n = most + 1;
    return ERR_OK;
}

enum err_kind
events_close(struct events *events, struct err *err)
{
    struct column *lists[] = {
        &events->cpu,      &events->gpu,   &events->annotations, &events->gpu_annotations,
        &events->instants, &events->flows, &events->pairs};
    enum err_kind kind = ERR_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !kind; i++)
        kind = column_sort(lists[i], err);
    if (!kind)
        kind = link_gpu(events, err);
    if (!kind)
        kind = link_correlated(events, err);
    if (!kind)
        kind =
            make_first(&events->gpu_links, &events->gpu_first, &events->n_gpu_first, err);
    if (!kind)
        kind =
            make_first(&events->flows, &events->flow_first, &events->n_flow_first, err);
    return kind ? kind : events_check(events, err);
}

const char *
events_limit(const struct events *events)
{
    return events->limit;
}

const struct event_counts *
events_counts(const struct events *events)
{
    return &events->counts;
}

const struct texts *
events_texts(const struct events *events)
{
    return events->texts;
}

struct slice
events_text(const struct events *events, uint32_t text)
{
    return texts_text(events->texts, text);
}

int64_t
events_gpu_busy_ns(const struct events *events)
{
    return events->gpu_busy_ns;
}

static struct event
event_at(const struct column *column, uint64_t i)
{
    struct event event;
    column_read(column, i, &event);
    return event;
}

static struct event_mark
mark_at(const struct column *column, uint64_t i)
{
    struct event_mark mark;
    column_read(column, i, &mark);
    return mark;
}

uint64_t
events_cpu_count(const struct events *events)
{
    return events->cpu.n;
}

struct event
events_cpu(const struct events *events, uint64_t i)
{
    return event_at(&events->cpu, i);
}

const struct column *
events_cpu_list(const struct events *events)
{
    return &events->cpu;
}

uint64_t
events_gpu_count(const struct events *events)
{
    return events->gpu.n;
}

struct event
events_gpu(const struct events *events, uint64_t i)
{
    return event_at(&events->gpu, i);
}

uint64_t
events_gpu_annotation_count(const struct events *events)
{
    return events->gpu_annotations.n;
}

struct event
events_gpu_annotation(const struct events *events, uint64_t i)
{
    return event_at(&events->gpu_annotations, i);
}

uint64_t
events_annotation_count(const struct events *events)
{
    return events->annotations.n;
}

struct event
events_annotation(const struct events *events, uint64_t i)
{
    return event_at(&events->annotations, i);
}

uint64_t
events_instant_count(const struct events *events)
{
    return events->instants.n;
}

struct event_mark
events_instant(const struct events *events, uint64_t i)
{
    return mark_at(&events->instants, i);
}

uint64_t
events_flow_count(const struct events *events)
{
    return events->flows.n;
}

struct event_mark
events_flow(const struct events *events, uint64_t i)
{
    return mark_at(&events->flows, i);
}

/* First record in [first, end) whose key, an int64 in front, is not below `key`. */
static uint64_t
first_from(const struct column *column, uint64_t first, uint64_t end, int64_t key)
{
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        int64_t here = column->order == ORDER_MARK ? mark_at(column, middle).key
                                                   : event_at(column, middle).ts_ns;
        if (here < key)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

uint64_t
events_cpu_from(const struct events *events, int64_t ts_ns)
{
    return first_from(&events->cpu, 0, events->cpu.n, ts_ns);
}

uint64_t
events_gpu_from(const struct events *events, int64_t ts_ns)
{
    return first_from(&events->gpu, 0, events->gpu.n, ts_ns);
}

uint64_t
events_instant_from(const struct events *events, int64_t ts_ns)
{
    return first_from(&events->instants, 0, events->instants.n, ts_ns);
}

static uint64_t
first_of_group(const struct column *column, uint64_t group)
{
    uint64_t first = 0;
    uint64_t end = column->n;
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        if (group_at(column, middle) < group)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static struct event_run
run_of(const struct column *column, const uint32_t *table, uint32_t n, event_id id)
{
    if (id == 0)
        return (struct event_run){0};
    if (table && id < EVENT_ID_TEXT) {
        if (id >= n)
            return (struct event_run){0};
        return (struct event_run){table[id], table[id + 1] - table[id]};
    }
    uint64_t first = first_of_group(column, id);
    if (first == column->n || group_at(column, first) != id)
        return (struct event_run){first, 0};
    /* A run is short as a rule: its end is looked for from its start. */
    uint64_t len = 1;
    while (first + len < column->n && len < RUN_STEPS &&
           group_at(column, first + len) == id)
        len++;
    if (len == RUN_STEPS)
        len = first_of_group(column, (uint64_t)id + 1) - first;
    return (struct event_run){first, len};
}

struct event_run
events_gpu_of(const struct events *events, event_id correlation)
{
    return run_of(&events->gpu_links, events->gpu_first, events->n_gpu_first,
                  correlation);
}

struct event
events_gpu_linked(const struct events *events, uint64_t k)
{
    struct event_link link;
    column_read(&events->gpu_links, k, &link);
    return events_gpu(events, link.position);
}

uint64_t
events_gpu_linked_count(const struct events *events)
{
    return events->gpu_links.n;
}

uint64_t
events_gpu_linked_at(const struct events *events, uint64_t k)
{
    struct event_link link;
    column_read(&events->gpu_links, k, &link);
    return link.position;
}

struct event_run
events_flows_of(const struct events *events, event_id id)
{
    return run_of(&events->flows, events->flow_first, events->n_flow_first, id);
}

static struct event_ref
ref_at(const struct events *events, uint64_t k)
{
    struct event_ref ref;
    column_read(&events->correlated, k, &ref);
    return ref;
}

static uint64_t
first_of_thread(const struct events *events, uint64_t thread)
{
    uint64_t first = 0;
    uint64_t end = events->correlated.n;
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        if (ref_at(events, middle).group < thread)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

struct event_run
events_correlated_of(const struct events *events, uint32_t thread)
{
    uint64_t first = first_of_thread(events, thread);
    return (struct event_run){first,
                              first_of_thread(events, thread + UINT64_C(1)) - first};
}

struct event
events_correlated(const struct events *events, uint64_t k)
{
    return events_cpu(events, ref_at(events, k).position);
}

uint64_t
events_correlated_from(const struct events *events, struct event_run run, int64_t ts_ns)
{
    uint64_t first = run.first;
    uint64_t end = run.first + run.n;
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        if (events_correlated(events, middle).ts_ns < ts_ns)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

bool
events_pair_end(const struct events *events, uint64_t begin, uint64_t *ret_end)
{
    const struct column *pairs = &events->pairs;
    uint64_t at = first_from(pairs, 0, pairs->n, (int64_t)begin);
    if (at == pairs->n || mark_at(pairs, at).key != (int64_t)begin)
        return false;
    *ret_end = mark_at(pairs, at).index;
    return true;
}

/* Number 0 of each table is the empty text, which is no struct. */
uint32_t
events_thread_count(const struct events *events)
{
    return texts_count(events->threads);
}

struct event_thread
events_thread(const struct events *events, uint32_t thread)
{
    struct event_thread ret = {0};
    struct slice text = texts_text(events->threads, thread);
    if (text.len == sizeof ret)
        memcpy(&ret, text.data, sizeof ret);
    return ret;
}

struct event_shape
events_shape(const struct events *events, uint32_t detail)
{
    struct event_shape ret = {0};
    struct slice text = texts_text(events->shapes, detail);
    if (text.len == sizeof ret)
        memcpy(&ret, text.data, sizeof ret);
    return ret;
}

struct event_launch
events_launch(const struct events *events, uint32_t detail)
{
    struct event_launch ret = {0};
    struct slice text = texts_text(events->launches, detail);
    if (text.len == sizeof ret)
        memcpy(&ret, text.data, sizeof ret);
    return ret;
}

struct slice
events_id_text(const struct events *events, event_id id, char scratch[EVENT_ID_DIGITS])
{
    if (id == 0)
        return (struct slice){0};
    if (id & EVENT_ID_TEXT)
        return texts_text(events->texts, id & ~EVENT_ID_TEXT);
    int len = snprintf(scratch, EVENT_ID_DIGITS, "%u", id - 1);
    return (struct slice){scratch, (size_t)len};
}

struct column_pool *
events_side_pool(const struct events *events)
{
    return events->side ? events->side : events->pool;
}

enum err_kind
events_check(const struct events *events, struct err *err)
{
    enum err_kind kind = column_pool_check(events->pool, err);
    return kind || !events->side ? kind : column_pool_check(events->side, err);
}

/* The list's own items, one after the other: the brackets may stand in strings. */
bool
scan_has_list(struct scan_value value)
{
    const char *at = value.text + 1;
    const char *end = value.text + value.len;
    for (;;) {
        struct scan_value item;
        uint32_t repairs;
        while (at < end && (scan_is_space(*at) || *at == ','))
            at++;
        struct scan_text rest = {at, end, true};
        if (scan_value_read(rest, NULL, &item, &at, &repairs) != SCAN_READ)
            return false;
        if (item.type != SCAN_ARRAY)
            continue;
        const char *inner = item.text + 1;
        while (scan_is_space(*inner))
            inner++;
        if (*inner != ']')
            return true;
    }
}
