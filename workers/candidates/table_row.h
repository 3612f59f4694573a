/* SPDX-License-Identifier: Apache-2.0 */
/* A row of the candidate table, from what is known of its kernel (kernel-table.md 3, 4).
 */
#pragma once

#include "amount.h"
#include "candidate_table.h"
#include "shapes.h"

/* A row of the chunk and what its name and launches say. */
struct table_entry {
    const struct kernel_row *row;
    struct slice name; /* cut */
    struct launcher launcher;
    const char *category;
    const char *collective_op; /* NULL: no collective */
};

struct table_totals {
    double busy;   /* kernels alone */
    double all;    /* copies, too */
    double eager;  /* of kernels, by an op */
    double others; /* of kernels, unclassified */
    struct amount wall;
};

static inline bool
table_is_kernel(const struct kernel_row *row)
{
    return row->category == KERNEL_CATEGORY_KERNEL;
}

/* What shares of wall time are taken of: the wall, else the sum of all rows. */
double table_denominator(const struct table_totals *totals);
/* Three decimals; unknown when `whole` is 0. */
struct amount table_percent(double ns, double whole);
/* `position` from 1; texts are borrowed from the entry or lie in `arena`. False: no
 * memory. */
bool table_row_make(const struct table_entry *entry,
                    const struct table_totals *totals,
                    size_t position,
                    struct arena *arena,
                    struct candidate_row *row);
