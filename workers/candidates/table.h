/* SPDX-License-Identifier: Apache-2.0 */
/* The candidate table: rows of an accepted chunk, in order, with what they are worth
 * (kernel-table.md 2 to 6, 10). */
#pragma once

#include "candidate_table.h"
#include "category.h"
#include "err.h"
#include "split_record.h"

#include "arena.h"

struct table_limits {
    int64_t max_rows;   /* at most 0: no limit */
    double min_gpu_pct; /* dispatch floor, for the notes */
};

enum { DEVICE_NAME_BYTES = 4096 }; /* a longer name is cut */

/*
 * The table of `chunk`: its rows are in `hot_kernels`, none is suppressed yet. What it
 * makes lies in `arena` or in the chunk. ERR_FATAL "out_of_memory".
 */
enum err_kind table_build(const struct split_chunk *chunk,
                          const struct categories *categories,
                          const struct table_limits *limits,
                          struct arena *arena,
                          struct kernel_table *ret_table,
                          struct err *err);
/* Moves the rows to `suppressed_kernels`; `codes` (struct slice) is kept. */
void table_suppress(struct kernel_table *table, struct list codes);
