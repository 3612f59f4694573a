/* SPDX-License-Identifier: Apache-2.0 */
/* A long list of equal records, in memory or in pages. */
#include "column.h"

#include "column_sort.h"

#include <assert.h>
#include <stdlib.h>

enum {
    PAGE_BYTES = 64 << 10,
    MIN_FRAMES = 16, /* a budget below that many pages is taken as that many */
    SHORT_BYTES = PAGE_BYTES / 4,
    FIRST_SHORT = 32, /* records */
    FIRST_CHUNKS = 16,
    MAX_FILLED = 128, /* bytes of a record */
};

struct frame {
    struct column *owner; /* NULL: free */
    uint64_t page;
    bool is_dirty;
    bool is_used; /* since the hand of the clock came by */
    char *data;   /* NULL until it is needed */
};

struct column_pool {
    const struct split_spill *spill; /* NULL: no budget */
    struct frame *frames;
    size_t n_frames;
    size_t hand;
    uint64_t spill_end; /* where the next new page goes */
    struct err failed;  /* kind 0: nothing */
};

struct column_pool *
column_pool_new(uint64_t budget, const struct split_spill *spill)
{
    struct column_pool *pool = calloc(1, sizeof *pool);
    if (!pool || budget == 0)
        return pool;
    pool->spill = spill;
    pool->n_frames = budget / PAGE_BYTES < MIN_FRAMES ? MIN_FRAMES : budget / PAGE_BYTES;
    pool->frames = calloc(pool->n_frames, sizeof *pool->frames);
    if (pool->frames)
        return pool;
    free(pool);
    return NULL;
}

static void
free_frames(struct column_pool *pool)
{
    for (size_t i = 0; i < pool->n_frames; i++) {
        free(pool->frames[i].data);
        pool->frames[i] = (struct frame){0};
    }
}

void
column_pool_free(struct column_pool *pool)
{
    if (!pool)
        return;
    free_frames(pool);
    free(pool->frames);
    free(pool);
}

enum err_kind
column_pool_check(const struct column_pool *pool, struct err *err)
{
    if (pool->failed.kind && err)
        *err = pool->failed;
    return pool->failed.kind;
}

void
column_init(struct column *column,
            struct column_pool *pool,
            size_t size,
            enum column_order order)
{
    *column = (struct column){.pool = pool, .size = size, .order = order};
    column->per_page = PAGE_BYTES / size;
    bool is_power = (column->per_page & (column->per_page - 1)) == 0;
    column->page_shift = is_power ? __builtin_ctzll(column->per_page) : -1;
}

/* The page of record `i`, and its place there. A division is what a read costs most. */
static uint64_t
page_of(const struct column *column, uint64_t i, size_t *ret_offset)
{
    uint64_t page =
        column->page_shift >= 0 ? i >> column->page_shift : i / column->per_page;
    *ret_offset = (i - page * column->per_page) * column->size;
    return page;
}

static void
leave_frames(struct column *column)
{
    for (uint64_t i = 0; i < column->n_pages; i++)
        if (column->pages[i].frame >= 0)
            column->pool->frames[column->pages[i].frame].owner = NULL;
    column->n_pages = 0;
}

static void
free_chunks(struct column *column)
{
    for (uint64_t i = 0; column->chunks && !column->block; i++) {
        if (i << COLUMN_CHUNK_SHIFT >= column->cap)
            break;
        free(column->chunks[i]);
    }
    free(column->block);
    free(column->chunks);
}

void
column_done(struct column *column)
{
    if (!column->pool)
        return;
    leave_frames(column);
    free_chunks(column);
    free(column->pages);
    *column = (struct column){0};
}

static enum err_kind
write_back(struct column_pool *pool, struct frame *frame, struct err *err)
{
    struct column_page *page = &frame->owner->pages[frame->page];
    if (page->spill == 0) {
        page->spill = pool->spill_end + 1;
        pool->spill_end += PAGE_BYTES;
    }
    enum err_kind kind = pool->spill->write(pool->spill->state, page->spill - 1,
                                            frame->data, PAGE_BYTES, err);
    frame->is_dirty = kind != ERR_OK;
    return kind;
}

static enum err_kind
empty_frame(struct column_pool *pool, struct frame *frame, struct err *err)
{
    if (!frame->owner)
        return ERR_OK;
    enum err_kind kind = frame->is_dirty ? write_back(pool, frame, err) : ERR_OK;
    if (kind)
        return kind;
    frame->owner->pages[frame->page].frame = -1;
    frame->owner = NULL;
    return ERR_OK;
}

/* A frame that is free, or was not used for a turn of the clock. */
static enum err_kind
take_frame(struct column_pool *pool, struct frame **ret_frame, struct err *err)
{
    for (;;) {
        struct frame *frame = &pool->frames[pool->hand];
        pool->hand = (pool->hand + 1) % pool->n_frames;
        if (frame->owner && frame->is_used) {
            frame->is_used = false;
            continue;
        }
        if (!frame->data && !(frame->data = malloc(PAGE_BYTES)))
            return err_no_memory(err, "a page of the index");
        *ret_frame = frame;
        return empty_frame(pool, frame, err);
    }
}

static enum err_kind
frame_of(struct column *column,
         uint64_t number,
         struct frame **ret_frame,
         struct err *err)
{
    struct column_pool *pool = column->pool;
    struct column_page *page = &column->pages[number];
    if (page->frame >= 0) {
        *ret_frame = &pool->frames[page->frame];
        (*ret_frame)->is_used = true;
        return ERR_OK;
    }
    struct frame *frame = NULL;
    enum err_kind kind = take_frame(pool, &frame, err);
    if (kind)
        return kind;
    if (page->spill == 0)
        memset(frame->data, 0, PAGE_BYTES);
    else
        kind = pool->spill->read(pool->spill->state, page->spill - 1, frame->data,
                                 PAGE_BYTES, err);
    if (kind)
        return kind;
    frame->owner = column;
    frame->page = number;
    frame->is_used = true;
    frame->is_dirty = page->spill == 0;
    page->frame = (int32_t)(frame - pool->frames);
    *ret_frame = frame;
    return ERR_OK;
}

static enum err_kind
add_page(struct column *column, struct err *err)
{
    if (column->n_pages == column->cap) {
        uint64_t cap = column->cap ? column->cap * 2 : 16;
        struct column_page *pages =
            reallocarray(column->pages, cap, sizeof *column->pages);
        if (!pages)
            return err_no_memory(err, "the index of the trace");
        column->pages = pages;
        column->cap = cap;
    }
    column->pages[column->n_pages++] = (struct column_page){.frame = -1};
    return ERR_OK;
}

static enum err_kind
add_paged(struct column *column, const void *record, struct err *err)
{
    size_t offset;
    uint64_t number = page_of(column, column->n, &offset);
    struct frame *frame;
    enum err_kind kind = ERR_OK;
    if (number == column->n_pages)
        kind = add_page(column, err);
    if (kind || (kind = frame_of(column, number, &frame, err)))
        return kind;
    memcpy(frame->data + offset, record, column->size);
    frame->is_dirty = true;
    column->n++;
    return ERR_OK;
}

/* A short list moves into pages when it is none any more. */
static enum err_kind
move_to_pages(struct column *column, struct err *err)
{
    char **chunks = column->chunks;
    uint64_t n = column->n;
    enum err_kind kind = ERR_OK;
    column->chunks = NULL;
    column->n = 0;
    column->cap = 0;
    for (uint64_t i = 0; i < n && !kind; i++)
        kind = add_paged(column, chunks[0] + i * column->size, err);
    free(chunks[0]);
    free(chunks);
    return kind;
}

/* Room for twice as many records of a short list. */
static enum err_kind
grow_short(struct column *column, uint64_t most, struct err *err)
{
    uint64_t cap = column->chunks ? column->cap * 2 : FIRST_SHORT;
    cap = cap < most ? cap : most;
    if (!column->chunks) {
        column->cap = 0;
        column->chunks = calloc(1, sizeof *column->chunks);
    }
    if (!column->chunks)
        return err_no_memory(err, "the index of the trace");
    char *chunk = reallocarray(column->chunks[0], cap, column->size);
    if (!chunk)
        return err_no_memory(err, "the index of the trace");
    column->chunks[0] = chunk;
    column->cap = cap;
    return ERR_OK;
}

static enum err_kind
add_to_spilled(struct column *column, const void *record, struct err *err)
{
    uint64_t most = SHORT_BYTES / column->size;
    enum err_kind kind = ERR_OK;
    most = most < COLUMN_CHUNK ? most : COLUMN_CHUNK;
    if (column->n >= most) {
        if (column->chunks)
            kind = move_to_pages(column, err);
        return kind ? kind : add_paged(column, record, err);
    }
    if (!column->chunks && column->n_pages)
        return add_paged(column, record, err);
    if ((kind = grow_short(column, most, err)))
        return kind;
    memcpy(column_at(column, column->n++), record, column->size);
    return ERR_OK;
}

enum err_kind
column_add_slowly(struct column *column, const void *record, struct err *err)
{
    if (column->pool->spill)
        return add_to_spilled(column, record, err);
    uint64_t n = column->cap >> COLUMN_CHUNK_SHIFT;
    /* The list of chunks doubles whenever their number is a power of two. */
    if (!column->chunks || n == 0 || (n >= FIRST_CHUNKS && (n & (n - 1)) == 0)) {
        uint64_t room = n ? 2 * n : FIRST_CHUNKS;
        char **chunks = reallocarray(column->chunks, room, sizeof *chunks);
        if (!chunks)
            return err_no_memory(err, "the index of the trace");
        column->chunks = chunks;
    }
    char *chunk = malloc(COLUMN_CHUNK * column->size);
    if (!chunk)
        return err_no_memory(err, "the index of the trace");
    column->chunks[n] = chunk;
    column->cap += COLUMN_CHUNK;
    memcpy(column_at(column, column->n++), record, column->size);
    return ERR_OK;
}

enum err_kind
column_fill(struct column *column, uint64_t n, struct err *err)
{
    static const char zeros[MAX_FILLED];
    enum err_kind kind = ERR_OK;
    assert(column->size <= sizeof zeros);
    while (column->n < n && !kind) {
        bool is_at_page = !column->chunks && column->n_pages &&
                          column->n == column->n_pages * column->per_page;
        if (!is_at_page) {
            kind = column_add(column, zeros, err);
            continue;
        }
        uint64_t left = n - column->n;
        kind = add_page(column, err);
        if (!kind)
            column->n += left < column->per_page ? left : column->per_page;
    }
    return kind;
}

/* The frame that page `page` is in; NULL: none can be had, which the pool remembers. */
static struct frame *
frame_with(const struct column *column, uint64_t page)
{
    struct column_pool *pool = column->pool;
    struct column *owner = (struct column *)(uintptr_t)column;
    struct frame *frame = NULL;
    struct err err;
    if (pool->failed.kind)
        return NULL;
    if (column->pages[page].frame >= 0) {
        frame = &pool->frames[column->pages[page].frame];
        frame->is_used = true;
        return frame;
    }
    err = (struct err){0};
    if (!frame_of(owner, page, &frame, &err))
        return frame;
    pool->failed = err;
    return NULL;
}

void
column_read_paged(const struct column *column, uint64_t i, void *ret_record)
{
    size_t offset;
    const struct frame *frame = frame_with(column, page_of(column, i, &offset));
    if (frame)
        memcpy(ret_record, frame->data + offset, column->size);
    else
        memset(ret_record, 0, column->size);
}

void
column_write(const struct column *column, uint64_t i, const void *record)
{
    size_t offset;
    if (column->chunks) {
        memcpy(column_at(column, i), record, column->size);
        return;
    }
    struct frame *frame = frame_with(column, page_of(column, i, &offset));
    if (!frame)
        return;
    memcpy(frame->data + offset, record, column->size);
    frame->is_dirty = true;
}

void
column_drop_last(struct column *column)
{
    column->n--;
}

void
column_reset(struct column *column)
{
    if (!column->pool->spill) {
        struct column kept = *column;
        column_done(column);
        column_init(column, kept.pool, kept.size, kept.order);
        return;
    }
    leave_frames(column);
    column->n = 0;
}

void
column_move(struct column *to, struct column *from)
{
    *to = *from;
    for (uint64_t i = 0; i < to->n_pages; i++)
        if (to->pages[i].frame >= 0)
            to->pool->frames[to->pages[i].frame].owner = to;
    column_init(from, to->pool, to->size, to->order);
}

/* One run of sorted records, read in order while it is merged. */
struct run {
    uint64_t next; /* record of the column */
    uint64_t end;
    char *buffer;
    uint64_t first; /* record at the buffer's start */
    uint64_t held;  /* records in the buffer */
};

/* The sorted runs lie in the spill, one record after the other, from `start` on. */
struct merge {
    struct column *column;
    uint64_t start;
    uint64_t run_len; /* records */
    uint64_t buffer_len;
    struct run *runs;
    size_t n_runs;
    size_t *heap; /* runs by their next record */
    size_t n_heap;
};

static enum err_kind
spill_records(const struct merge *merge,
              bool is_write,
              uint64_t first,
              char *records,
              uint64_t n,
              struct err *err)
{
    const struct split_spill *spill = merge->column->pool->spill;
    size_t size = merge->column->size;
    uint64_t offset = merge->start + first * size;
    if (is_write)
        return spill->write(spill->state, offset, records, n * size, err);
    return spill->read(spill->state, offset, records, n * size, err);
}

/* Sorts the column in pieces that the budget holds, and lays them into the spill. */
static enum err_kind
write_runs(struct merge *merge, char *room, struct err *err)
{
    struct column *column = merge->column;
    for (uint64_t first = 0; first < column->n; first += merge->run_len) {
        uint64_t n =
            column->n - first < merge->run_len ? column->n - first : merge->run_len;
        for (uint64_t i = 0; i < n; i++)
            column_read_paged(column, first + i, room + i * column->size);
        enum err_kind kind = column_pool_check(column->pool, err);
        if (kind)
            return kind;
        column_sort_memory(column->order, room, n);
        if ((kind = spill_records(merge, true, first, room, n, err)))
            return kind;
    }
    return ERR_OK;
}

static const char *
run_record(const struct merge *merge, size_t i)
{
    const struct run *run = &merge->runs[i];
    return run->buffer + (run->next - run->first) * merge->column->size;
}

static enum err_kind
run_load(struct merge *merge, struct run *run, struct err *err)
{
    uint64_t left = run->end - run->next;
    run->first = run->next;
    run->held = left < merge->buffer_len ? left : merge->buffer_len;
    return spill_records(merge, false, run->first, run->buffer, run->held, err);
}

static bool
run_less(const struct merge *merge, size_t a, size_t b)
{
    enum column_order order = merge->column->order;
    return sort_key_less(column_key(order, run_record(merge, a)),
                         column_key(order, run_record(merge, b)));
}

static void
heap_sink(struct merge *merge, size_t at)
{
    size_t *heap = merge->heap;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= merge->n_heap)
            return;
        if (child + 1 < merge->n_heap && run_less(merge, heap[child + 1], heap[child]))
            child++;
        if (!run_less(merge, heap[child], heap[at]))
            return;
        size_t kept = heap[at];
        heap[at] = heap[child];
        heap[child] = kept;
        at = child;
    }
}

static enum err_kind
begin_runs(struct merge *merge, char *room, struct err *err)
{
    const struct column *column = merge->column;
    for (size_t i = 0; i < merge->n_runs; i++) {
        struct run *run = &merge->runs[i];
        run->next = i * merge->run_len;
        run->end = run->next + merge->run_len;
        if (run->end > column->n)
            run->end = column->n;
        run->buffer = room + i * merge->buffer_len * column->size;
        enum err_kind kind = run_load(merge, run, err);
        if (kind)
            return kind;
        merge->heap[i] = i;
    }
    merge->n_heap = merge->n_runs;
    for (size_t i = merge->n_heap / 2; i > 0; i--)
        heap_sink(merge, i - 1);
    return ERR_OK;
}

/* The column anew, from its sorted runs. */
static enum err_kind
merge_runs(struct merge *merge, struct err *err)
{
    struct column *column = merge->column;
    leave_frames(column);
    column->n = 0;
    while (merge->n_heap) {
        struct run *run = &merge->runs[merge->heap[0]];
        enum err_kind kind = add_paged(column, run_record(merge, merge->heap[0]), err);
        if (!kind && ++run->next < run->end && run->next == run->first + run->held)
            kind = run_load(merge, run, err);
        if (kind)
            return kind;
        if (run->next == run->end)
            merge->heap[0] = merge->heap[--merge->n_heap];
        heap_sink(merge, 0);
    }
    return ERR_OK;
}

static enum err_kind
sort_paged(struct column *column, struct err *err)
{
    struct column_pool *pool = column->pool;
    size_t budget = pool->n_frames * PAGE_BYTES / 2;
    struct merge merge = {.column = column, .start = pool->spill_end};
    merge.run_len = budget / column->size;
    merge.n_runs = (size_t)((column->n + merge.run_len - 1) / merge.run_len);
    merge.buffer_len = merge.n_runs ? merge.run_len / merge.n_runs : 0;
    if (merge.buffer_len == 0)
        merge.buffer_len = 1;
    pool->spill_end += column->n * column->size;
    char *room = malloc(
        budget > merge.n_runs * column->size ? budget : merge.n_runs * column->size);
    merge.runs = calloc(merge.n_runs + 1, sizeof *merge.runs);
    merge.heap = calloc(merge.n_runs + 1, sizeof *merge.heap);
    enum err_kind kind = ERR_OK;
    if (!room || !merge.runs || !merge.heap)
        kind = err_no_memory(err, "sorting the index");
    if (!kind)
        kind = write_runs(&merge, room, err);
    if (!kind)
        kind = begin_runs(&merge, room, err);
    if (!kind)
        kind = merge_runs(&merge, err);
    free(room);
    free(merge.runs);
    free(merge.heap);
    return kind;
}

enum err_kind
column_sort(struct column *column, struct err *err)
{
    if (column->pool->spill && column->chunks)
        column_sort_memory(column->order, column->chunks[0], column->n);
    else if (column->pool->spill)
        return sort_paged(column, err);
    else
        return column_sort_chunks(column, err);
    return ERR_OK;
}
