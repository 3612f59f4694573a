/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest block that a list of labels repeats (splitting.md 5.4). */
#pragma once

#include "arena.h"
#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct period {
    size_t length; /* labels of a block; 0: nothing repeats */
    size_t start;  /* of the first block */
    size_t repeats;
};

/*
 * `labels` are numbers below `n_labels`: equal numbers are equal labels. `arena` for the
 * work. ERR_FATAL "out_of_memory".
 */
enum err_kind period_find(const uint32_t *labels,
                          size_t n,
                          uint32_t n_labels,
                          struct arena *arena,
                          struct period *ret_period,
                          struct err *err);
