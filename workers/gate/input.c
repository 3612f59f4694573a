/* SPDX-License-Identifier: Apache-2.0 */
/* Names of what the gate looks at. */
#include "input.h"

const char *const split_status_names[STATUS_UNKNOWN] = {
    "SPLITTABLE",
    "DEGRADED",
    "NOT_SPLITTABLE",
};

#define CHUNK(name)                                                                      \
    {                                                                                    \
#name, offsetof(struct chunk_numbers, name), false                               \
    }
#define CHUNK_US(name, member)                                                           \
    {                                                                                    \
        name, offsetof(struct chunk_numbers, member), true                               \
    }

const struct number_field chunk_number_fields[CHUNK_NUMBERS] = {
    CHUNK(num_steps),
    CHUNK(num_gpu_events),
    CHUNK_US("gpu_duration", gpu_duration_ns),
    CHUNK_US("gpu_busy_duration", gpu_busy_duration_ns),
    CHUNK(busy_ratio),
    CHUNK_US("wall_us", wall_ns),
    CHUNK_US("busy_union_us", busy_union_ns),
    CHUNK_US("compute_union_us", compute_union_ns),
    CHUNK_US("exposed_comm_us", exposed_comm_ns),
    CHUNK_US("max_event_us", max_event_ns),
    CHUNK(steps_without_gpu_events),
};

#define TRACE(name)                                                                      \
    {                                                                                    \
#name, offsetof(struct trace_numbers, name), false                               \
    }
#define TRACE_US(name, member)                                                           \
    {                                                                                    \
        name, offsetof(struct trace_numbers, member), true                               \
    }

const struct number_field trace_number_fields[TRACE_AMOUNTS] = {
    TRACE(graded_coverage),
    TRACE(root_span_share),
    TRACE(startup_transient_collective_ratio),
    TRACE(startup_transient_noise_ratio),
    TRACE_US("gpu_busy_us", gpu_busy_ns),
    TRACE(graph_launch_count),
    TRACE(graph_launches_with_kernels),
    TRACE(graph_kernels),
    TRACE_US("off_root_thread_busy_us", off_root_thread_busy_ns),
    TRACE_US("overlap_excess_us", overlap_excess_ns),
    TRACE_US("overlap_device_us", overlap_device_ns),
    TRACE_US("overlap_worst_us", overlap_worst_ns),
};

enum split_status
split_status_of(struct slice name)
{
    for (int i = 0; i < STATUS_UNKNOWN; i++)
        if (slice_is(name, split_status_names[i]))
            return (enum split_status)i;
    return STATUS_UNKNOWN;
}
