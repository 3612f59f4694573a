/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The split record (splitting.md 11.5): what the splitter made of a trace. Topic
 * heddle.splits, key: the request_id of attempt 1. Times are nanoseconds.
 */
#pragma once

#include "origin.h"
#include "request.h"

/* What became of a trace. */
enum split_result {
    SPLIT_RESULT_SPLIT = 0,
    SPLIT_RESULT_REFUSED,
};

/* Family of a chunk: the mode that it serves. */
enum chunk_kind {
    CHUNK_KIND_MIXED = 0,
    CHUNK_KIND_DECODE_ONLY,
    CHUNK_KIND_PREFILLDECODE,
    CHUNK_KIND_GENERIC,
    CHUNK_KIND_RANGE,
};

/* How sure the phases are. */
enum phase_confidence {
    PHASE_CONFIDENCE_HIGH = 0,
    PHASE_CONFIDENCE_LOW,
    PHASE_CONFIDENCE_UNKNOWN,
};

/* How much the annotations of steps say. */
enum annotation_tier {
    ANNOTATION_TIER_DETAILED = 0,
    ANNOTATION_TIER_NATIVE,
};

/* How GPU time was attributed to roots. */
enum attribution_strategy {
    ATTRIBUTION_STRATEGY_GPU_SPAN = 0,
    ATTRIBUTION_STRATEGY_CORRELATION,
};

/* What a branch was found by. */
enum branch_source {
    BRANCH_SOURCE_PERIOD = 0,
    BRANCH_SOURCE_FRAME_FAMILY,
};

/* Phase of a step. */
enum step_phase {
    STEP_PHASE_PREFILL = 0,
    STEP_PHASE_PREFILLDECODE,
    STEP_PHASE_DECODE,
    STEP_PHASE_NONE,
};

/* Where the phase is from. */
enum phase_source {
    PHASE_SOURCE_NAME = 0,
    PHASE_SOURCE_SHAPE,
    PHASE_SOURCE_DEFAULT,
    PHASE_SOURCE_BOOKEND,
};

/* What windows were chosen by. */
enum window_source {
    WINDOW_SOURCE_ANNOTATIONS = 0,
    WINDOW_SOURCE_SHAPES,
    WINDOW_SOURCE_DURATION,
    WINDOW_SOURCE_RANGE,
};

/* What a GPU event is. */
enum kernel_category {
    KERNEL_CATEGORY_KERNEL = 0,
    KERNEL_CATEGORY_GPU_MEMCPY,
    KERNEL_CATEGORY_GPU_MEMSET,
};

/* What launched a kernel. */
enum launch_kind {
    LAUNCH_KIND_EAGER = 0,
    LAUNCH_KIND_GRAPH,
    LAUNCH_KIND_UNLINKED,
};

/* Whose dims they are. */
enum dims_from {
    DIMS_FROM_OP = 0,
    DIMS_FROM_ANCESTOR,
};

/* A value of the manifest's map `input`. */
enum finding_kind { FINDING_BOOLEAN = 0, FINDING_LONG, FINDING_STRING };

struct finding_value {
    int32_t kind; /* enum finding_kind */
    bool boolean;
    int64_t number;
    struct slice text;
};

struct split_finding {
    struct slice key;
    struct finding_value value;
};

/* The window of a kind. */
struct split_pick {
    struct slice kind;
    bool has_steps;
    struct list steps; /* two int64_t: [first, last) */
};

/* The trace that was read. */
struct split_trace {
    struct slice name; /* nullable */
    struct slice uri;
    bool has_size;
    int64_t size;
    struct slice sha256; /* nullable */
};

/* The effective parameters of the splitter. */
struct split_parameters {
    int32_t num_steps;
    bool has_conc;
    int64_t conc;
    bool has_osl;
    double osl;
    bool has_r;
    double r;
    bool has_max_num_seq;
    int64_t max_num_seq;
    struct slice mode;
    struct slice iterations;
    bool llm_inference;
    bool allow_degraded;
    bool salvage;
};

/* Why a trace was not split (splitting.md 13.2). */
struct split_refusal {
    struct slice code;
    struct slice option;    /* nullable */
    struct slice parameter; /* nullable */
    struct slice reason;    /* nullable */
    bool has_n_steps;
    int64_t n_steps;
    bool has_bytes;
    int64_t bytes;
    bool has_offset;
    int64_t offset;
    bool has_events;
    int64_t events;
    bool has_damaged_events;
    int64_t damaged_events;
    struct slice limit; /* nullable */
    bool has_gpu_events;
    int64_t gpu_events;
    struct slice method; /* nullable */
    bool has_coverage;
    double coverage;
    bool has_wanted;
    int32_t wanted; /* enum chunk_kind */
    bool has_kinds;
    struct list kinds; /* int32_t, enum chunk_kind */
    bool has_expected_size;
    int64_t expected_size;
    bool has_size;
    int64_t size;
    struct slice expected_sha256; /* nullable */
    struct slice sha256;          /* nullable */
};

/* A way of finding roots and what it found. */
struct root_candidate {
    struct slice method;
    int32_t status;
    int64_t n_roots;
    double coverage;
};

/* The concurrency given is not the peak observed. */
struct conc_mismatch {
    int64_t given;
    int64_t observed;
};

/* Facts of the trace and of the decision (splitting.md 11.5). */
struct split_manifest {
    bool has_status;
    int32_t status;
    bool aborted;
    struct slice method; /* nullable */
    bool has_phase_confidence;
    int32_t phase_confidence; /* enum phase_confidence */
    bool has_n_roots;
    int64_t n_roots;
    struct slice root_family; /* nullable */
    bool has_root_family_known;
    bool root_family_known;
    bool has_suspiciously_few_roots;
    bool suspiciously_few_roots;
    bool has_annotation_tier;
    int32_t annotation_tier; /* enum annotation_tier */
    bool has_root_threads;
    int32_t root_threads;
    bool has_attribution_strategy;
    int32_t attribution_strategy; /* enum attribution_strategy */
    bool has_coverage_selected_roots;
    double coverage_selected_roots;
    bool has_coverage_root_spans_only;
    double coverage_root_spans_only;
    bool has_root_span_share;
    double root_span_share;
    bool has_graded_coverage;
    double graded_coverage;
    struct slice reason; /* nullable */
    bool has_candidates;
    struct list candidates; /* struct root_candidate */
    bool has_near_miss_annotations;
    int64_t near_miss_annotations;
    struct slice near_miss_example; /* nullable */
    bool has_annotated;
    bool annotated;
    bool has_phases_unknown;
    bool phases_unknown;
    bool has_batch_threshold;
    int64_t batch_threshold;
    bool has_period;
    int64_t period;
    bool has_period_depth;
    int32_t period_depth;
    struct slice period_label_tier; /* nullable */
    bool has_branch_source;
    int32_t branch_source; /* enum branch_source */
    bool has_branch_coverage;
    double branch_coverage;
    bool has_dropped_low_gpu_roots;
    int64_t dropped_low_gpu_roots;
    bool has_bookend_enhancement;
    bool bookend_enhancement;
    bool has_warmup_gpu_pct;
    double warmup_gpu_pct;
    bool has_wrapup_gpu_pct;
    double wrapup_gpu_pct;
    bool has_startup_transient_trimmed;
    bool startup_transient_trimmed;
    struct slice startup_transient_kernel; /* nullable */
    bool has_startup_transient_collective_ratio;
    double startup_transient_collective_ratio;
    bool has_startup_transient_noise_ratio;
    double startup_transient_noise_ratio;
    bool has_startup_transient_same_phase_only;
    bool startup_transient_same_phase_only;
    bool has_gap_fill;
    bool gap_fill;
    bool has_n_overlapping_roots;
    int64_t n_overlapping_roots;
    bool has_n_gpu_events_in_trace;
    int64_t n_gpu_events_in_trace;
    bool has_gpu_busy_ns;
    int64_t gpu_busy_ns;
    bool has_wall_ns;
    int64_t wall_ns;
    bool has_busy_union_ns;
    int64_t busy_union_ns;
    bool has_compute_union_ns;
    int64_t compute_union_ns;
    bool has_comm_union_ns;
    int64_t comm_union_ns;
    bool has_exposed_comm_ns;
    int64_t exposed_comm_ns;
    bool has_copy_ns;
    int64_t copy_ns;
    bool has_stream_overlap_ns;
    int64_t stream_overlap_ns;
    bool has_idle_ratio;
    double idle_ratio;
    bool has_max_event_ns;
    int64_t max_event_ns;
    bool has_kernel_count;
    int64_t kernel_count;
    bool has_host_launch_count;
    int64_t host_launch_count;
    bool has_graph_launch_count;
    int64_t graph_launch_count;
    bool has_graph_launches_with_kernels;
    int64_t graph_launches_with_kernels;
    bool has_graph_kernels;
    int64_t graph_kernels;
    bool has_unlinked_busy_ns;
    int64_t unlinked_busy_ns;
    bool has_off_root_thread_busy_ns;
    int64_t off_root_thread_busy_ns;
    bool has_overlap_excess_ns;
    int64_t overlap_excess_ns;
    bool has_overlap_device_ns;
    int64_t overlap_device_ns;
    bool has_overlap_worst_ns;
    int64_t overlap_worst_ns;
    struct slice overlap_worst_event; /* nullable */
    struct slice overlap_pid;         /* nullable */
    struct slice overlap_tid;         /* nullable */
    bool has_n_gpu_events_extracted;
    int64_t n_gpu_events_extracted;
    bool has_n_gpu_events_outside_iterations;
    int64_t n_gpu_events_outside_iterations;
    bool has_gpu_event_retention;
    double gpu_event_retention;
    bool has_gpu_events_repeated;
    int64_t gpu_events_repeated;
    bool has_flows_repeated;
    int64_t flows_repeated;
    bool has_steps_without_gpu_events;
    int64_t steps_without_gpu_events;
    bool has_absent_kinds;
    struct list absent_kinds; /* int32_t, enum chunk_kind */
    bool has_kinds_without_gpu_events;
    struct list kinds_without_gpu_events; /* int32_t, enum chunk_kind */
    bool has_r_clamped;
    bool r_clamped;
    bool has_analytic_ratio_incomplete;
    bool analytic_ratio_incomplete;
    bool has_conc_mismatch;
    struct conc_mismatch conc_mismatch;
    struct list input; /* struct split_finding, sorted by key */
};

/* A step: one iteration of the workload. */
struct split_step {
    int64_t step;
    int64_t event;
    struct slice name;
    int32_t phase;        /* enum step_phase */
    int32_t phase_source; /* enum phase_source */
    bool trimmed;
    int64_t ts_ns;
    int64_t dur_ns;
    struct list tile; /* int64_t */
    int64_t batch_size;
    int64_t num_requests;
    int64_t context_requests;
    int64_t context_sum;
    int64_t generation_requests;
    int64_t generation_sum;
    int64_t num_gpu_events;
    bool has_gpu_start_ns;
    int64_t gpu_start_ns;
    bool has_gpu_end_ns;
    int64_t gpu_end_ns;
    int64_t gpu_extent_ns;
    int64_t gpu_busy_ns;
};

/* How windows were chosen. */
struct split_windows {
    int32_t source;      /* enum window_source */
    struct list regions; /* struct list of two int64_t: [first, last) */
    bool has_reference_ratio;
    double reference_ratio;
    int32_t num_steps;
    struct list picks; /* struct split_pick, sorted by key */
    bool has_peak;
    int64_t peak;
    bool has_cv;
    double cv;
    bool has_windows_passing;
    int64_t windows_passing;
    bool has_analytic_ratio;
    double analytic_ratio;
    bool has_analytic_steps;
    int64_t analytic_steps;
};

/* A kind without a chunk, and why. */
struct absent_chunk {
    int32_t kind; /* enum chunk_kind */
    struct slice reason;
};

/* Steps of a chunk by phase. */
struct phase_counts {
    int64_t num_prefill;
    int64_t num_prefilldecode;
    int64_t num_decode;
    int64_t num_none;
    int64_t avg_bs;
    int64_t avg_conc;
    int64_t num_defaulted;
};

/* Calls of one kernel that were launched alike. */
struct launch_group {
    int32_t kind;    /* enum launch_kind */
    struct slice op; /* nullable */
    bool has_dims_from;
    int32_t dims_from;       /* enum dims_from */
    struct slice input_dims; /* nullable */
    struct slice input_type; /* nullable */
    int64_t calls;
    int64_t total_ns;
};

/* Operands of the same kernel launched eagerly outside the chunk. */
struct eager_shape {
    struct slice input_dims;
    struct slice input_type; /* nullable */
    int64_t calls;
    int64_t total_ns;
};

/* A device kernel name of a chunk and its figures. */
struct kernel_row {
    struct slice name;
    int32_t category; /* enum kernel_category */
    int64_t calls;
    int64_t total_ns;
    int64_t min_ns;
    int64_t max_ns;
    int64_t mean_ns;
    double share;
    bool collective;
    struct list streams; /* struct slice */
    int64_t graph_launch_calls;
    int64_t unknown_launcher_calls;
    int64_t combinations;
    struct list launches; /* struct launch_group */
    int64_t omitted_launches;
    int64_t omitted_launch_calls;
    int64_t omitted_launch_ns;
    struct list eager_shapes; /* struct eager_shape */
    int64_t omitted_eager_shapes;
    struct slice launch_grid;  /* nullable */
    struct slice launch_block; /* nullable */
    struct slice frame;        /* nullable */
    int64_t frame_calls;
};

/* A window of the trace, cut out and measured. */
struct split_chunk {
    int32_t kind; /* enum chunk_kind */
    struct slice file;
    struct list steps; /* int64_t */
    int64_t num_steps;
    int64_t event_count;
    int64_t num_gpu_events;
    int64_t gpu_duration_ns;
    int64_t gpu_busy_duration_ns;
    double busy_ratio;
    double busy_union_ratio;
    int64_t extent_union_ns;
    bool has_wall_ns;
    int64_t wall_ns;
    int64_t busy_union_ns;
    int64_t compute_union_ns;
    int64_t comm_union_ns;
    int64_t exposed_comm_ns;
    int64_t copy_ns;
    int64_t stream_overlap_ns;
    bool has_idle_ratio;
    double idle_ratio;
    bool has_max_event_ns;
    int64_t max_event_ns;
    int64_t kernel_count;
    int64_t host_launch_count;
    int64_t graph_launch_count;
    int64_t graph_launches_with_kernels;
    int64_t graph_kernels;
    int64_t unlinked_busy_ns;
    int64_t off_root_thread_busy_ns;
    struct phase_counts phase;
    int64_t steps_without_gpu_events;
    int64_t gpu_events_repeated;
    bool has_batch_size_from_ops;
    int64_t batch_size_from_ops;
    int64_t unknown_launcher_gpu_events;
    struct list kernels; /* struct kernel_row */
    struct slice uri;    /* nullable */
    bool has_bytes;
    int64_t bytes;
    struct slice sha256; /* nullable */
};

/* What the splitter made of a trace. Key: request_id of attempt 1. Times are long counts
 * of nanoseconds (heddle.scale 3: thousandths of the unit in the name). */
struct split_record {
    struct split_trace trace;
    bool has_request;
    struct request request;
    struct split_parameters split;
    int32_t result; /* enum split_result */
    bool has_refusal;
    struct split_refusal refusal;
    struct split_manifest manifest;
    struct list steps; /* struct split_step */
    bool has_windows;
    struct split_windows windows;
    struct list absent; /* struct absent_chunk */
    struct list chunks; /* struct split_chunk */
    bool has_origin;
    struct origin origin;
    bool has_provenance;
    struct provenance provenance;
};

extern const struct record_type split_record_type;
