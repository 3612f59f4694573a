/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one operator in one source are one task (kernel-table.md 9). */
#pragma once

#include "amount.h"
#include "arena.h"
#include "err.h"

struct group_row {
    struct slice kernel_id;
    struct slice name;
    double duration_us;
    int64_t call_count;
    struct amount gpu_pct;
    struct slice source_file; /* resolved; null or blank: none */
    bool reusable_native_kernel;
    bool not_dispatchable; /* shape_dispatchable is false */
};

struct task_group {
    struct slice task_group_id;
    struct slice task_group_key; /* canonical JSON */
    struct slice operation;
    struct slice source_path;
    struct slice *kernel_ids;
    size_t n_kernel_ids;
    struct slice primary_kernel_id; /* the longest member */
    double aggregate_duration_us;   /* three decimals */
    int64_t aggregate_call_count;
    double aggregate_gpu_pct; /* three decimals */
};

/* The groups of the routable rows, longest first; they lie in `arena`. ERR_FATAL
 * "out_of_memory". */
enum err_kind groups_build(const struct group_row *rows,
                           size_t n,
                           struct arena *arena,
                           struct task_group **ret_groups,
                           size_t *ret_n,
                           struct err *err);
