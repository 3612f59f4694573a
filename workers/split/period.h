/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest block that a list of labels repeats (splitting.md 5.4). */
#pragma once

#include "column.h"
#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct period {
    uint64_t length; /* labels of a block; 0: nothing repeats */
    uint64_t start;  /* of the first block */
    uint64_t repeats;
};

/*
 * `labels` (uint32_t) are numbers below `n_labels`: equal numbers are equal labels. What
 * it needs lies in pages as they do. ERR_FATAL "out_of_memory", the spill's error.
 */
enum err_kind period_find(const struct column *labels,
                          uint64_t n_labels,
                          struct period *ret_period,
                          struct err *err);
