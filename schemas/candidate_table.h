/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A candidate table (kernel-table.md 11). Topic heddle.candidates, key: the request_id of
 * attempt 1. Times are nanoseconds.
 */
#pragma once

#include "origin.h"
#include "request.h"
#include "warning.h"

/* A signature of operands and its calls. */
struct input_shape {
    int64_t call_num;
    struct slice shape;
};

/* What a kernel must keep to. */
struct kernel_contract {
    struct slice kind;
    struct slice collective_op;
};

/* A kernel of the table (kernel-table.md 4). */
struct candidate_row {
    struct slice kernel_id;
    struct slice name;
    struct slice device_kernel_name;
    struct list device_kernel_names; /* struct slice */
    bool name_truncated;
    struct slice operation;
    int64_t duration_ns;
    int64_t call_count;
    bool has_mean_ns;
    int64_t mean_ns;
    int64_t min_ns;
    int64_t max_ns;
    struct list streams; /* struct slice */
    bool has_gpu_pct;
    double gpu_pct;
    struct slice gpu_pct_basis;
    bool has_kernel_time_pct;
    double kernel_time_pct;
    bool has_percent_of_total;
    double percent_of_total;
    struct slice launch_kind;
    struct slice kernel_category;
    struct list shapes;       /* struct slice */
    struct list input_shapes; /* struct input_shape */
    struct list input_dtypes; /* struct slice */
    struct slice shape_provenance;
    struct slice shape_missing_reason;
    bool has_shape_dispatchable;
    bool shape_dispatchable;
    struct slice launch_grid;         /* nullable */
    struct slice launch_block;        /* nullable */
    struct list tile_from_name;       /* struct slice */
    struct slice trace_launcher_file; /* nullable */
    bool has_trace_launcher_line;
    int64_t trace_launcher_line;
    struct slice trace_launcher_function; /* nullable */
    struct list notes;                    /* struct slice */
    bool is_multigpu;
    int32_t num_gpus_recommended;
    bool has_kernel_contract;
    struct kernel_contract kernel_contract;
    bool duration_includes_wait;
    struct slice candidate_source; /* nullable */
    struct slice library;          /* nullable */
    struct slice bound_type;
    bool has_efficiency_percent;
    double efficiency_percent;
    bool has_flops_per_byte;
    double flops_per_byte;
    bool roofline_measured;
    struct slice source_file;
    struct slice source_resolution_method;
    bool reusable_native_kernel;
    struct slice skip_reason;
    struct list recommended_backends; /* struct slice */
    struct list benchmark_files;      /* struct slice */
    int32_t op_fanout_index;
    int32_t op_fanout_total;
};

/* What the limit of rows cut off. */
struct omitted_rows {
    int64_t rows;
    int64_t total_ns;
    bool has_gpu_pct;
    double gpu_pct;
};

/* A note on the health of the table. */
struct table_note {
    struct slice code;
    int32_t severity; /* enum severity */
    bool has_share_pct;
    double share_pct;
    bool has_attributed_pct;
    double attributed_pct;
    bool has_rows;
    int64_t rows;
};

/* The kernels of the accepted chunk. */
struct kernel_table {
    struct slice chunk;
    struct slice mode;
    bool has_wall_ns;
    int64_t wall_ns;
    struct list hot_kernels;        /* struct candidate_row */
    struct list suppressed_kernels; /* struct candidate_row */
    struct list suppressed_by;      /* struct slice */
    struct omitted_rows omitted;
    struct list notes; /* struct table_note */
};

/* Kernels that may be tuned: of an accepted chunk, or as another tool listed them. Key:
 * request_id of attempt 1. */
struct candidate_table {
    struct slice analysis_id;
    bool has_request;
    struct request request;
    struct slice trace_sha256; /* nullable */
    bool has_table;
    struct kernel_table table;
    struct slice raw; /* nullable */
    struct origin origin;
    struct provenance provenance;
};

extern const struct record_type candidate_table_type;
