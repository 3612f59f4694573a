/* SPDX-License-Identifier: Apache-2.0 */
/* The orders of column.h, and a sort in place for records in memory. */
#pragma once

#include "column.h"

/* Two words, compared one after the other, without sign. */
struct sort_key {
    uint64_t high;
    uint64_t low;
};

struct sort_key column_key(enum column_order order, const void *record);

static inline bool
sort_key_less(struct sort_key a, struct sort_key b)
{
    return a.high != b.high ? a.high < b.high : a.low < b.low;
}

/* Sorts `n` records of the order's own size in place; takes no memory. */
void column_sort_memory(enum column_order order, void *records, uint64_t n);

/* Sorts the records of a column without a budget. */
enum err_kind column_sort_chunks(struct column *column, struct err *err);
