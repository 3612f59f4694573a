/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long list of equal records: appended, sorted once, read at any place. In memory, or
 * with a budget in pages of which as many stay in memory as the budget allows; the others
 * are in the spill (splitting.md 12.2). A list that takes no quarter of a page stays in
 * memory in any case, so that many short ones cost no pages.
 */
#pragma once

#include "err.h"
#include "source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct column_pool;

/* Pages of all columns of one index. `budget` in bytes, 0: all in memory, no spill. */
struct column_pool *column_pool_new(uint64_t budget, const struct split_spill *spill);
void column_pool_free(struct column_pool *pool);
/* What went wrong in a read that could not say so. */
enum err_kind column_pool_check(const struct column_pool *pool, struct err *err);

/* Where a page is: in a frame of the pool, in the spill, or (new) in neither. */
struct column_page {
    int32_t frame;  /* -1: none */
    uint64_t spill; /* offset + 1 in the spill; 0: it was never written */
};

/* How the records are ordered; each order is total. */
enum column_order {
    ORDER_EVENT, /* struct event: (ts, source index) */
    ORDER_MARK,  /* int64 key, then uint64: (key, index) */
    ORDER_LINK,  /* uint32 group, uint32 position, uint64 index: (group, index) */
    ORDER_REF,   /* uint32 group, uint32 position: (group, position) */
    ORDER_NONE,  /* as they were added: never sorted */
};

/* In memory, records lie in chunks of 2^12, so that none is copied while it grows. */
enum { COLUMN_CHUNK_SHIFT = 12, COLUMN_CHUNK = 1 << COLUMN_CHUNK_SHIFT };

struct column {
    struct column_pool *pool; /* borrowed */
    size_t size;              /* bytes of a record */
    enum column_order order;
    uint64_t n;
    uint64_t cap;
    char **chunks;             /* when the pool has no budget, or the list is short */
    char *block;               /* the chunks lie in it; NULL: each is its own */
    struct column_page *pages; /* with a budget */
    uint64_t n_pages;
    uint64_t per_page; /* records */
    int page_shift;    /* its logarithm; -1: it is no power of two */
};

void column_init(struct column *column,
                 struct column_pool *pool,
                 size_t size,
                 enum column_order order);
void column_done(struct column *column);
enum err_kind
column_add_slowly(struct column *column, const void *record, struct err *err);
void column_read_paged(const struct column *column, uint64_t i, void *ret_record);

static inline char *
column_at(const struct column *column, uint64_t i)
{
    return column->chunks[i >> COLUMN_CHUNK_SHIFT] +
           (i & (COLUMN_CHUNK - 1)) * column->size;
}

static inline enum err_kind
column_add(struct column *column, const void *record, struct err *err)
{
    if (!column->chunks || column->n == column->cap)
        return column_add_slowly(column, record, err);
    memcpy(column_at(column, column->n++), record, column->size);
    return ERR_OK;
}

/* Record `i` < n; zeros when its page could not be read, see column_pool_check(). */
static inline void
column_read(const struct column *column, uint64_t i, void *ret_record)
{
    if (column->chunks)
        memcpy(ret_record, column_at(column, i), column->size);
    else
        column_read_paged(column, i, ret_record);
}

/* Record `i` < n is `record` from now on; a page that can't be had: column_pool_check().
 */
void column_write(const struct column *column, uint64_t i, const void *record);

/* Adds zeros, if it has less than `n` records; what nobody touches costs no memory. */
enum err_kind column_fill(struct column *column, uint64_t n, struct err *err);
/* Takes the last record off. */
void column_drop_last(struct column *column);
/* Empties it, for a new list of the same records. */
void column_reset(struct column *column);
/* `to`, not initialised, has the records of `from` from then on, and `from` none. */
void column_move(struct column *to, struct column *from);

/* Sorts all records, once: none may be added afterwards. */
enum err_kind column_sort(struct column *column, struct err *err);
