/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verdict of the gate (gates.md 1.3). Topic heddle.audit.splits, key: the request_id of
 * attempt 1. Times are nanoseconds.
 */
#pragma once

#include "origin.h"
#include "request.h"
#include "warning.h"

/* Accepted or refused. */
enum verdict_kind {
    VERDICT_KIND_ACCEPTED = 0,
    VERDICT_KIND_REFUSED,
};

/* What a person should know about a verdict. */
struct verdict_warning {
    struct slice code;
    int32_t severity;   /* enum severity */
    struct list fields; /* struct warning_field, sorted by key */
    struct slice message;
};

/* What the checks of trace health measured; null: unknown, which is neither 0 nor
 * healthy. */
struct verdict_measures {
    bool has_idle_pct;
    double idle_pct;
    bool has_compute_pct;
    double compute_pct;
    bool has_exposed_comm_pct;
    double exposed_comm_pct;
    bool has_graph_coverage;
    double graph_coverage;
    bool has_graded_coverage;
    double graded_coverage;
    bool has_root_span_share;
    double root_span_share;
    bool has_startup_transient_trimmed;
    bool startup_transient_trimmed;
    bool has_off_root_share;
    double off_root_share;
    bool has_steps_with_gpu_share;
    double steps_with_gpu_share;
    bool has_dominant_event_share;
    double dominant_event_share;
    bool has_overlap_share;
    double overlap_share;
};

/* The one retry that a refusal asks for. */
struct retry_request {
    struct slice requested_mode;
    int32_t attempt;
    struct slice retry_of;
    struct slice from_mode;
    struct slice source_warning_code;
};

/* That this verdict is of a retry. */
struct auto_retry {
    bool applied;
    struct slice from_mode;
    struct slice to_mode;
    struct slice source_warning_code;
};

/* Figures of the whole trace, each ratio with its terms; reported, never compared. */
struct selfcert_measures {
    bool has_attributed_pct;
    double attributed_pct;
    bool has_gpu_busy_ns;
    int64_t gpu_busy_ns;
    bool has_unlinked_busy_ns;
    int64_t unlinked_busy_ns;
    bool has_attributed_kernels;
    int64_t attributed_kernels;
    bool has_op_meta_coverage;
    double op_meta_coverage;
    bool has_kernel_count;
    int64_t kernel_count;
    bool has_host_launch_count;
    int64_t host_launch_count;
    bool has_kernel_per_launch;
    double kernel_per_launch;
    bool has_graph_launch_coverage;
    double graph_launch_coverage;
    bool has_graph_launch_count;
    int64_t graph_launch_count;
    bool has_graph_launches_with_kernels;
    int64_t graph_launches_with_kernels;
    bool has_busy_fraction;
    double busy_fraction;
    bool has_busy_union_ns;
    int64_t busy_union_ns;
    bool has_wall_ns;
    int64_t wall_ns;
    bool has_idle_pct_full_trace;
    double idle_pct_full_trace;
    bool has_idle_ratio;
    double idle_ratio;
};

/* Can this capture be analysed, and would the answer be true? Advisory: nothing steers by
 * it. */
struct selfcert {
    int32_t schema_version;
    struct slice probe_version;
    struct slice trace_digest; /* nullable */
    struct slice framework;
    bool has_has_steady_state_semantics;
    bool has_steady_state_semantics;
    struct list blocking_reasons; /* struct slice */
    struct list usable_by;        /* struct slice */
    struct list warnings;         /* struct slice */
    bool decode_conclusions_valid;
    bool silently_wrong;
    struct slice severity;
    struct selfcert_measures measures;
};

/* What the gate says of a split: one for each attempt. Key: request_id of attempt 1. */
struct verdict {
    int32_t verdict; /* enum verdict_kind */
    struct slice verdict_class;
    struct slice requested_mode;
    struct slice accepted_chunk;        /* nullable */
    struct slice accepted_chunk_uri;    /* nullable */
    struct slice accepted_chunk_sha256; /* nullable */
    bool has_busy_ratio;
    double busy_ratio;
    double threshold;
    struct list warnings; /* struct verdict_warning */
    bool has_measures;
    struct verdict_measures measures;
    bool suppress_candidates;
    bool has_retry;
    struct retry_request retry;
    bool retry_exhausted;
    bool has_auto_retry;
    struct auto_retry auto_retry;
    bool has_selfcert;
    struct selfcert selfcert;
    struct request request;
    struct slice trace_sha256; /* nullable */
    struct origin origin;
    struct provenance provenance;
};

extern const struct record_type verdict_type;
