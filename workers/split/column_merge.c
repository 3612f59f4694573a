/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting in memory. A profiler writes a few long runs, each in order: these are merged
 * into new chunks while the old ones are given back, so the peak is one chunk a run above
 * the records themselves. Anything else is laid side by side and sorted in place.
 */
#include "column_sort.h"

#include <stdlib.h>

enum { MAX_RUNS = 64 };

/* The records of a column that are in order as they stand. */
struct stretch {
    uint64_t next;
    uint64_t end;
    struct sort_key key; /* of `next` */
};

struct merge {
    const struct column *from;
    struct column to;
    struct stretch runs[MAX_RUNS];
    unsigned n_runs;
    /* Per chunk of `from`: how many of its records were taken. */
    uint32_t *taken;
};

static struct sort_key
key_at(const struct column *column, uint64_t i)
{
    return column_key(column->order, column_at(column, i));
}

/* False: more runs than are worth merging. */
static bool
find_runs(struct merge *merge)
{
    const struct column *column = merge->from;
    struct sort_key before = key_at(column, 0);
    merge->n_runs = 1;
    merge->runs[0] = (struct stretch){0, column->n, before};
    for (uint64_t i = 1; i < column->n; i++) {
        struct sort_key here = key_at(column, i);
        if (sort_key_less(here, before)) {
            if (merge->n_runs == MAX_RUNS)
                return false;
            merge->runs[merge->n_runs - 1].end = i;
            merge->runs[merge->n_runs++] = (struct stretch){i, column->n, here};
        }
        before = here;
    }
    return true;
}

static void
take_chunk_off(struct merge *merge, uint64_t number)
{
    uint64_t left = merge->from->n - (number << COLUMN_CHUNK_SHIFT);
    if (++merge->taken[number] < (left < COLUMN_CHUNK ? left : COLUMN_CHUNK))
        return;
    free(merge->from->chunks[number]);
    merge->from->chunks[number] = NULL;
}

/* The run with the least record goes first; *ret_limit: up to the next best one's. */
static struct stretch *
least_run(struct merge *merge, struct sort_key *ret_limit)
{
    struct stretch *least = &merge->runs[0];
    *ret_limit = (struct sort_key){UINT64_MAX, UINT64_MAX};
    for (unsigned i = 1; i < merge->n_runs; i++) {
        struct stretch *run = &merge->runs[i];
        if (sort_key_less(run->key, least->key)) {
            *ret_limit = least->key;
            least = run;
        } else if (sort_key_less(run->key, *ret_limit)) {
            *ret_limit = run->key;
        }
    }
    return least;
}

static enum err_kind
merge_runs(struct merge *merge, struct err *err)
{
    const struct column *from = merge->from;
    while (merge->n_runs) {
        struct sort_key limit;
        struct stretch *run = least_run(merge, &limit);
        do {
            uint64_t here = run->next++;
            enum err_kind kind = column_add(&merge->to, column_at(from, here), err);
            if (kind)
                return kind;
            take_chunk_off(merge, here >> COLUMN_CHUNK_SHIFT);
            if (run->next == run->end)
                break;
            run->key = key_at(from, run->next);
        } while (!sort_key_less(limit, run->key));
        if (run->next == run->end)
            *run = merge->runs[--merge->n_runs];
    }
    return ERR_OK;
}

static enum err_kind
merge_column(struct merge *merge, struct column *column, struct err *err)
{
    merge->taken = calloc(column->cap >> COLUMN_CHUNK_SHIFT, sizeof *merge->taken);
    if (!merge->taken)
        return err_no_memory(err, "sorting the index");
    column_init(&merge->to, column->pool, column->size, column->order);
    enum err_kind kind = merge_runs(merge, err);
    free(merge->taken);
    if (kind) {
        column_done(&merge->to);
        return kind;
    }
    column_done(column);
    *column = merge->to;
    return ERR_OK;
}

/* All records in one block; each chunk is given back as soon as it was copied. */
static enum err_kind
sort_block(struct column *column, struct err *err)
{
    uint64_t n_chunks = column->cap >> COLUMN_CHUNK_SHIFT;
    size_t len = COLUMN_CHUNK * column->size;
    char *block = column->block;
    if (!block && !(block = reallocarray(NULL, n_chunks, len)))
        return err_no_memory(err, "sorting the index");
    for (uint64_t i = 0; i < n_chunks && !column->block; i++) {
        uint64_t left = column->n - (i << COLUMN_CHUNK_SHIFT);
        memcpy(block + i * len, column->chunks[i],
               (left < COLUMN_CHUNK ? left : COLUMN_CHUNK) * column->size);
        free(column->chunks[i]);
        column->chunks[i] = block + i * len;
    }
    column->block = block;
    column_sort_memory(column->order, block, column->n);
    return ERR_OK;
}

enum err_kind
column_sort_chunks(struct column *column, struct err *err)
{
    struct merge merge = {.from = column};
    if (column->n < 2)
        return ERR_OK;
    if (!find_runs(&merge))
        return sort_block(column, err);
    return merge.n_runs > 1 ? merge_column(&merge, column, err) : ERR_OK;
}
