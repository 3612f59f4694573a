/* SPDX-License-Identifier: Apache-2.0 */
/* Batch sizes of steps, and which of them hold a prefill (splitting.md 8.3). */
#pragma once

#include "arena.h"
#include "err.h"
#include "slice.h"
#include "steady.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Labels n steps: `ret_is_prefill` has room for each. The threshold is `max_num_seq`
 * when that is known, else it is found in the sizes; *ret_threshold may stay unknown.
 */
enum err_kind batch_label(const struct batch_size *sizes,
                          size_t n,
                          struct batch_size max_num_seq,
                          struct arena *arena,
                          bool *ret_is_prefill,
                          struct batch_size *ret_threshold,
                          struct err *err);

/* An op that only moves or views memory; its shapes say nothing about the batch. */
bool batch_is_memory_op(struct slice name);

/* How often each size was seen in a step. */
struct batch_count {
    struct arena *arena;
    struct batch_tally *tallies;
    size_t n;
    size_t cap;
};

/* Counts the operands of `dims`, compact JSON, whose first element is an integer. */
enum err_kind
batch_count_dims(struct batch_count *count, struct slice dims, struct err *err);
/* The most frequent size, first seen on ties; then the count starts anew. */
struct batch_size batch_count_take(struct batch_count *count);

/* The first dimension of the first operand of compact `dims`. */
struct batch_size batch_first_dim(struct slice dims);
