/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a chunk, and its numbers (splitting.md 9, 10). */
#pragma once

#include "arena.h"
#include "index_set.h"
#include "kernel_table.h"
#include "params.h"
#include "steps.h"
#include "time_figures.h"

/* Where the events of a chunk come from. Metadata are in every chunk. */
enum chunk_part {
    PART_CPU,
    PART_FLOW,
    PART_GPU,
    PART_GPU_ANNOTATION,
    PART_INSTANT,
    CHUNK_PARTS,
};

struct chunk_phases {
    uint64_t n[4]; /* by enum root_phase */
    uint64_t num_defaulted;
    int64_t avg_bs;
    int64_t avg_conc;
};

struct chunk {
    enum split_mode kind;
    struct slice file;
    uint64_t first_step; /* half open */
    uint64_t last_step;
    uint64_t num_steps;
    uint64_t event_count;
    uint64_t num_gpu_events;
    int64_t gpu_duration_ns;
    int64_t extent_union_ns;
    struct time_figures time;
    struct launch_figures launch;
    struct chunk_phases phases;
    uint64_t steps_without_gpu_events;
    uint64_t gpu_events_repeated;
    bool has_batch_size;
    int64_t batch_size_from_ops;
    struct kernel_table kernels;
    struct index_set parts[CHUNK_PARTS];
    struct index_set all; /* of the parts */
};

void chunk_done(struct chunk *chunk);

/* What chunks are cut from. */
struct chunk_input {
    const struct events *events;
    struct symbols *symbols;
    struct launch_texts *texts;
    struct ownership *own;
    const struct steps *steps;
    const struct idmap *root_threads;
    struct slice base;
};

/* The chunk of `n` >= 1 roots of the ownership. Lists lie in `arena`. */
enum err_kind chunk_make(const struct chunk_input *input,
                         enum split_mode kind,
                         const size_t *places,
                         size_t n,
                         struct arena *arena,
                         struct chunk *ret_chunk,
                         struct err *err);
