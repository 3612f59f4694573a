/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a chunk: what they took, who launched them with what (splitting.md 10).
 */
#pragma once

#include "arena.h"
#include "launches.h"

enum { MAX_LAUNCHES = 16, MAX_LAUNCH_ROWS = MAX_LAUNCHES + 2, MAX_EAGER_SHAPES = 4 };

struct launch_row {
    enum launcher kind;
    enum dims_origin dims_from;
    struct slice op; /* null slices are null in the record */
    struct slice input_dims;
    struct slice input_type;
    uint64_t calls;
    int64_t total_ns;
};

struct kernel_entry {
    struct slice name;
    enum event_category category;
    uint64_t calls;
    int64_t total_ns;
    int64_t min_ns;
    int64_t max_ns;
    int64_t mean_ns;
    double share;
    bool is_collective;
    struct slice *streams;
    size_t n_streams;
    uint64_t graph_launch_calls;
    uint64_t unknown_launcher_calls;
    uint64_t combinations;
    struct launch_row launches[MAX_LAUNCH_ROWS];
    size_t n_launches;
    uint64_t omitted_launches;
    uint64_t omitted_launch_calls;
    int64_t omitted_launch_ns;
    struct launch_row eager_shapes[MAX_EAGER_SHAPES]; /* op is not set */
    size_t n_eager_shapes;
    uint64_t omitted_eager_shapes;
    struct slice launch_grid;
    struct slice launch_block;
    struct slice frame;
    uint64_t frame_calls;
};

struct kernel_table {
    struct kernel_entry *rows;
    size_t n;
    uint64_t unknown_launcher_gpu_events;
};

/* What a table is made of. */
struct kernel_input {
    struct symbols *symbols;
    struct launch_texts *texts;
    struct launches *launches;      /* of the chunk's GPU events */
    const struct gpu_list *gpu;     /* step order, id order, source order */
    const struct index_set *inside; /* the chunk's GPU events */
};

/* The table lies in `arena`, texts in the index, in the input's texts or there. */
enum err_kind kernel_table_make(const struct kernel_input *input,
                                struct arena *arena,
                                struct kernel_table *ret_table,
                                struct err *err);
