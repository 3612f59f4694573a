/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of source indices: a bit for each, in pages that exist where the set has members.
 * A window of a trace lies in few pages, so a set costs a bit for each event near it.
 */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INDEX_PAGE_BITS = 15, INDEX_PAGE_WORDS = (1 << INDEX_PAGE_BITS) / 64 };

/* Zeroed is empty. */
struct index_set {
    uint64_t **pages;
    size_t n_pages;
    uint64_t n; /* members */
};

void index_set_done(struct index_set *set);
enum err_kind index_set_add(struct index_set *set, uint64_t index, struct err *err);
/* Adds all members of `other`. */
enum err_kind
index_set_join(struct index_set *set, const struct index_set *other, struct err *err);
/* The first member >= `index`; false: none. */
bool index_set_next(const struct index_set *set, uint64_t index, uint64_t *ret_index);

static inline bool
index_set_holds(const struct index_set *set, uint64_t index)
{
    uint64_t page = index >> INDEX_PAGE_BITS;
    if (page >= set->n_pages || !set->pages[page])
        return false;
    uint64_t bit = index & ((UINT64_C(1) << INDEX_PAGE_BITS) - 1);
    return set->pages[page][bit / 64] >> (bit % 64) & 1;
}
