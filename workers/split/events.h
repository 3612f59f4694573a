/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of a trace (splitting.md 3): what the algorithm of sections 4 to 10 works on.
 * An event costs 40 bytes, a flow or instant 16, metadata nothing: texts are numbers into
 * one table, ids are numbers that are equal when the ids are.
 *
 * Filled by events_add() during pass 1, in file order; events_close() pairs what is left,
 * sorts, and builds the ways in. With a budget (index_memory) records live in pages that
 * come and go; so access is by value, through functions, never by pointer.
 */
#pragma once

#include "column.h"
#include "err.h"
#include "scan.h"
#include "source.h"
#include "texts.h"

#include <stdbool.h>
#include <stdint.h>

/* Categories that the algorithm tells apart; compared exactly. */
enum event_category {
    CATEGORY_OTHER,
    CATEGORY_CPU_OP,
    CATEGORY_CUDA_RUNTIME,
    CATEGORY_CUDA_DRIVER,
    CATEGORY_PYTHON_FUNCTION,
    CATEGORY_ANNOTATION, /* rule 7: user_annotation without Input Dims; a CPU event */
    CATEGORY_GPU_ANNOTATION,
    CATEGORY_KERNEL,
    CATEGORY_GPU_MEMCPY,
    CATEGORY_GPU_MEMSET,
};

/*
 * An id (correlation, External id, flow id, stream) as a number. 0: none. Equal numbers
 * are equal ids. Small integers are their own number, see event_id_text().
 */
typedef uint32_t event_id;

/* Set in an id that is a text of events_texts() and no small integer. */
#define EVENT_ID_TEXT (UINT32_C(1) << 31)

enum { EVENT_CATEGORY_SHIFT = 36, EVENT_THREAD_SHIFT = 40 };

/* Most that `place` can hold; more is refused as trace_too_large. */
#define EVENT_MAX_INDEX  ((UINT64_C(1) << 36) - 1)
#define EVENT_MAX_THREAD ((UINT32_C(1) << 24) - 1)

struct event {
    int64_t ts_ns;
    int64_t dur_ns; /* >= 0 */
    uint64_t place; /* source index, category, thread: see below */
    uint32_t name;  /* text */
    event_id correlation;
    event_id external_id;
    uint32_t detail; /* CPU: events_shape(); GPU: events_launch(); 0: nothing recorded */
};

static inline uint64_t
event_index(struct event event)
{
    return event.place & EVENT_MAX_INDEX;
}

static inline enum event_category
event_category(struct event event)
{
    return (enum event_category)(event.place >> EVENT_CATEGORY_SHIFT & 15);
}

/* Number of the (pid, tid) pair: events_thread(). */
static inline uint32_t
event_thread(struct event event)
{
    return (uint32_t)(event.place >> EVENT_THREAD_SHIFT);
}

static inline int64_t
event_end_ns(struct event event)
{
    int64_t end;
    if (__builtin_add_overflow(event.ts_ns, event.dur_ns, &end))
        return INT64_MAX;
    return end;
}

static inline bool
event_is_runtime(struct event event)
{
    enum event_category category = event_category(event);
    return category == CATEGORY_CUDA_RUNTIME || category == CATEGORY_CUDA_DRIVER;
}

/* A flow under its id (s or f), or an instant under its time. */
struct event_mark {
    int64_t key;    /* flow: event_id; instant: ts_ns */
    uint64_t index; /* source index */
};

/* The two elements of a joined B/E pair. */
struct event_pair {
    uint64_t begin; /* source index of B, which is event_index() */
    uint64_t end;
};

/* pid and tid of a thread; the id of a missing one is that of the empty text. */
struct event_thread {
    event_id pid;
    event_id tid;
};

/* `Input Dims` and `Input type` of an op, raw JSON as texts; scan_add_compact() prints.
 */
struct event_shape {
    uint32_t dims; /* text; valid if has_dims_key */
    uint32_t type; /* text; valid if has_type_key */
    bool has_dims_key;
    bool has_type_key;
    bool has_dims; /* a list that holds at least one non-empty list (10) */
};

/* Of a GPU event: args.stream, and args.grid and args.block when they are lists. */
struct event_launch {
    event_id stream; /* 0: none */
    uint32_t grid;   /* text, raw JSON; 0: none */
    uint32_t block;
};

/* Counts of section 3 for `manifest.input`. */
struct event_counts {
    uint64_t event_objects; /* with a string ph, or ts and name; none: not_a_trace */
    uint64_t non_event_objects;
    uint64_t metadata;
    uint64_t string_number;
    uint64_t bad_number;
    uint64_t without_dur;
    uint64_t negative_dur;
    uint64_t begin_end_pairs;
    uint64_t unmatched_begin_end;
    uint64_t gpu_events_without_correlation;
};

/* A run of records in one of the lists below. */
struct event_run {
    uint64_t first;
    uint64_t n;
};

struct events;

/*
 * `limits` is borrowed for the call; `spill` is borrowed, and needed only when
 * limits->index_memory is set. NULL: out of memory.
 */
struct events *events_new(const struct split_limits *limits,
                          const struct split_spill *spill);
void events_free(struct events *events);
/* Empties it, for a scan that starts anew: the `restart` of a scan_listener. */
enum err_kind events_reset(void *index, struct err *err);
/*
 * Takes the next event of the scan (rules 1 to 10): the `event` of a scan_listener whose
 * state is the index. ERR_FATAL "out_of_memory", the spill's error, or ERR_RECORD
 * "trace_too_large" when max_strings is passed (events_limit()).
 */
enum err_kind events_add(void *index, const struct scan_event *event, struct err *err);
/* After the last event, once. The lists can be read from then on. */
enum err_kind events_close(struct events *events, struct err *err);
/* The setting that events_add() stumbled over; NULL: none. */
const char *events_limit(const struct events *events);

const struct event_counts *events_counts(const struct events *events);
const struct texts *events_texts(const struct events *events);
/* Text of a name. */
struct slice events_text(const struct events *events, uint32_t text);

/* Sum of dur over all GPU events (kernels, copies, sets); stays at INT64_MAX. */
int64_t events_gpu_busy_ns(const struct events *events);

/*
 * The lists. cpu, gpu, gpu annotations, annotations and instants are in (ts, source
 * index) order; flows in (id, source index) order. Annotations are copies of CPU events.
 * `i` must be below the count. A failed page-in gives zeros and marks the index:
 * events_check().
 */
uint64_t events_cpu_count(const struct events *events);
struct event events_cpu(const struct events *events, uint64_t i);
/* The list that it reads from, of struct event: for those that walk over all of it. */
const struct column *events_cpu_list(const struct events *events);
uint64_t events_gpu_count(const struct events *events);
struct event events_gpu(const struct events *events, uint64_t i);
uint64_t events_gpu_annotation_count(const struct events *events);
struct event events_gpu_annotation(const struct events *events, uint64_t i);
uint64_t events_annotation_count(const struct events *events);
struct event events_annotation(const struct events *events, uint64_t i);
uint64_t events_instant_count(const struct events *events);
struct event_mark events_instant(const struct events *events, uint64_t i);
uint64_t events_flow_count(const struct events *events);
struct event_mark events_flow(const struct events *events, uint64_t i);

/* Position of the first event of the list with ts >= `ts_ns` (the count: none). */
uint64_t events_cpu_from(const struct events *events, int64_t ts_ns);
uint64_t events_gpu_from(const struct events *events, int64_t ts_ns);
uint64_t events_instant_from(const struct events *events, int64_t ts_ns);

/*
 * GPU events with a correlation id, in source order: position `k` of the run in
 * events_gpu_linked(). Flows of an id: a run of events_flow().
 */
struct event_run events_gpu_of(const struct events *events, event_id correlation);
struct event events_gpu_linked(const struct events *events, uint64_t k);
/* How many such events there are. */
uint64_t events_gpu_linked_count(const struct events *events);
/* Its position in events_gpu(). */
uint64_t events_gpu_linked_at(const struct events *events, uint64_t k);
struct event_run events_flows_of(const struct events *events, event_id id);

/*
 * Correlated CPU events (rule 10: annotations are none) of a thread, (ts, source index)
 * order: a run of events_correlated(); and the first position in it with ts >= `ts_ns`.
 */
struct event_run events_correlated_of(const struct events *events, uint32_t thread);
struct event events_correlated(const struct events *events, uint64_t k);
uint64_t
events_correlated_from(const struct events *events, struct event_run run, int64_t ts_ns);

/* The element that closes the B at source index `begin`; false: it is no pair. */
bool events_pair_end(const struct events *events, uint64_t begin, uint64_t *ret_end);

/* Threads are numbered from 1 to below the count; details likewise. */
uint32_t events_thread_count(const struct events *events);
struct event_thread events_thread(const struct events *events, uint32_t thread);
struct event_shape events_shape(const struct events *events, uint32_t detail);
struct event_launch events_launch(const struct events *events, uint32_t detail);

enum { EVENT_ID_DIGITS = 12 };

/* Canonical text of an id; `scratch` holds it when it is a small integer. */
struct slice
events_id_text(const struct events *events, event_id id, char scratch[EVENT_ID_DIGITS]);

/*
 * Pages for a list beside the index, borrowed: with a ceiling those of the index; else
 * some of their own in the spill, if there is one, so that the list costs little memory.
 */
struct column_pool *events_side_pool(const struct events *events);
/* ERR_OK, or what went wrong while pages were read: check it at the end of each stage. */
enum err_kind events_check(const struct events *events, struct err *err);
