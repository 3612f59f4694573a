/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gate looks at (gates.md 1.1, 1.2), wherever it came from: a split record, its
 * JSON, the tables of an older splitter, a vector. Durations are nanoseconds.
 */
#pragma once

#include "amount.h"
#include "mode.h"

#include <stddef.h>
#include <stdint.h>

/* The fields of a chunk that are read (6.1). */
struct chunk_numbers {
    struct amount num_steps;
    struct amount num_gpu_events;
    struct amount gpu_duration_ns;
    struct amount gpu_busy_duration_ns;
    struct amount busy_ratio;
    struct amount wall_ns;
    struct amount busy_union_ns;
    struct amount compute_union_ns;
    struct amount exposed_comm_ns;
    struct amount max_event_ns;
    struct amount steps_without_gpu_events;
};

struct gate_chunk {
    struct slice kind; /* as the splitter calls it */
    struct slice file;
    bool has_numbers;
    struct chunk_numbers numbers;
};

enum known_bool { BOOL_UNKNOWN, BOOL_FALSE, BOOL_TRUE };

/* The fields of the manifest that are read (6.1). */
struct trace_numbers {
    struct amount graded_coverage;
    struct amount root_span_share;
    enum known_bool startup_transient_trimmed;
    struct slice startup_transient_kernel; /* nullable */
    struct amount startup_transient_collective_ratio;
    struct amount startup_transient_noise_ratio;
    struct amount gpu_busy_ns;
    struct amount graph_launch_count;
    struct amount graph_launches_with_kernels;
    struct amount graph_kernels;
    struct amount off_root_thread_busy_ns;
    struct amount overlap_excess_ns;
    struct amount overlap_device_ns;
    struct amount overlap_worst_ns;
};

enum split_status {
    STATUS_SPLITTABLE = 0,
    STATUS_DEGRADED,
    STATUS_NOT_SPLITTABLE,
    STATUS_UNKNOWN, /* refused before detection */
};

extern const char *const split_status_names[STATUS_UNKNOWN];
/* STATUS_UNKNOWN for another name, or null. */
enum split_status split_status_of(struct slice name);

struct gate_split {
    enum split_status status;
    bool aborted;
    bool failed;
    struct slice refusal_code; /* nullable */
    const struct gate_chunk *chunks;
    size_t n_chunks;
    bool has_numbers;
    struct trace_numbers numbers;
};

struct gate_request {
    struct slice request_id;
    struct slice framework;
    struct slice framework_kind;
    struct slice requested_mode; /* nullable */
    int64_t attempt;
    struct slice retry_of, from_mode, source_warning_code; /* nullable */
};

/* A field of the two records of numbers: for readers and checks that go over all. */
struct number_field {
    const char *name; /* as in the split record */
    size_t offset;    /* of a struct amount */
    bool duration;    /* microseconds there, nanoseconds here */
};

enum { CHUNK_NUMBERS = 11, TRACE_AMOUNTS = 12 };
extern const struct number_field chunk_number_fields[CHUNK_NUMBERS];
/* Those that are figures, in the order of 6.1. */
extern const struct number_field trace_number_fields[TRACE_AMOUNTS];

static inline struct amount *
number_at(void *numbers, const struct number_field *field)
{
    return (struct amount *)(void *)((char *)numbers + field->offset);
}

static inline struct amount
number_get(const void *numbers, const struct number_field *field)
{
    return *(const struct amount *)(const void *)((const char *)numbers + field->offset);
}
