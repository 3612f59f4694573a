/* SPDX-License-Identifier: Apache-2.0 */
/* The time that each step owns. */
#include "tiles.h"

#include "cleanup.h"
#include "events.h"
#include "ns.h"
#include "wide.h"

/* The last root of a thread that was come to. */
struct latest {
    uint64_t step; /* + 1; 0: none */
    uint64_t n;    /* tiles of the thread that were made */
    int64_t ts_ns;
    int64_t dur_ns;
};

/* Length of a tile, sorted by thread and length. */
struct length {
    uint32_t thread;
    uint32_t ignored;
    uint64_t ns;
};

/* Tiles on their way. */
struct tiling {
    struct tiles *tiles;
    struct column order;   /* struct event: a root with its step as index, see below */
    struct column latest;  /* struct latest, by thread */
    struct column lengths; /* struct length */
};

static void
tiling_init(struct tiling *tiling, struct tiles *tiles, struct column_pool *pool)
{
    tiling->tiles = tiles;
    column_init(&tiling->order, pool, sizeof(struct event), ORDER_EVENT);
    column_init(&tiling->latest, pool, sizeof(struct latest), ORDER_NONE);
    column_init(&tiling->lengths, pool, sizeof(struct length), ORDER_LINK);
}

static void
tiling_done(struct tiling *tiling)
{
    column_done(&tiling->order);
    column_done(&tiling->latest);
    column_done(&tiling->lengths);
}

void
tiles_done(struct tiles *tiles)
{
    column_done(&tiles->tiles);
}

/* By start, then step; the name is the thread. */
static enum err_kind
sort_roots(struct tiling *tiling, const struct column *roots, struct err *err)
{
    for (uint64_t i = 0; i < roots->n; i++) {
        struct tile_root root;
        column_read(roots, i, &root);
        const struct event event = {
            .ts_ns = root.ts_ns,
            .dur_ns = root.dur_ns,
            .place = i,
            .name = root.thread,
        };
        if (column_add(&tiling->order, &event, err))
            return err->kind;
    }
    return column_sort(&tiling->order, err);
}

static void
put_tile(struct tiles *tiles, uint64_t step, int64_t start_ns, int64_t end_ns)
{
    const struct interval tile = {start_ns, end_ns};
    column_write(&tiles->tiles, step, &tile);
    if (end_ns > tiles->greatest_end_ns)
        tiles->greatest_end_ns = end_ns;
}

/* The tile of the root before, up to this one. */
static enum err_kind
close_tile(struct tiling *tiling,
           uint32_t thread,
           const struct latest *before,
           int64_t next_ns,
           struct err *err)
{
    int64_t end_ns = ns_add(before->ts_ns, before->dur_ns);
    if (next_ns < end_ns)
        tiling->tiles->n_overlapping++;
    else
        end_ns = next_ns;
    put_tile(tiling->tiles, before->step - 1, before->ts_ns, end_ns);
    int64_t length_ns = ns_subtract(end_ns, before->ts_ns);
    const struct length length = {thread, 0, (uint64_t)length_ns};
    return column_add(&tiling->lengths, &length, err);
}

static enum err_kind
close_all(struct tiling *tiling, struct err *err)
{
    for (uint64_t i = 0; i < tiling->order.n; i++) {
        struct event root;
        struct latest latest;
        column_read(&tiling->order, i, &root);
        column_read(&tiling->latest, root.name, &latest);
        if (latest.step) {
            if (close_tile(tiling, root.name, &latest, root.ts_ns, err))
                return err->kind;
            latest.n++;
        }
        latest.step = event_index(root) + 1;
        latest.ts_ns = root.ts_ns;
        latest.dur_ns = root.dur_ns;
        column_write(&tiling->latest, root.name, &latest);
    }
    return column_sort(&tiling->lengths, err);
}

static uint64_t
length_at(const struct tiling *tiling, uint64_t i)
{
    struct length length;
    column_read(&tiling->lengths, i, &length);
    return length.ns;
}

/* The last root of each thread: as long as the middle one of the others. */
static enum err_kind
close_last(struct tiling *tiling, struct err *err)
{
    uint64_t first = 0; /* length of the thread */
    for (uint64_t thread = 0; thread < tiling->latest.n; thread++) {
        struct latest latest;
        column_read(&tiling->latest, thread, &latest);
        if (!latest.step)
            continue;
        int64_t length_ns = latest.dur_ns;
        if (latest.n) {
            uint128 twice = (uint128)length_at(tiling, first + (latest.n - 1) / 2) +
                            length_at(tiling, first + latest.n / 2);
            int64_t median_ns = (int64_t)(twice / 2);
            if (median_ns > length_ns)
                length_ns = median_ns;
        }
        first += latest.n;
        put_tile(tiling->tiles, latest.step - 1, latest.ts_ns,
                 ns_add(latest.ts_ns, length_ns));
    }
    return column_pool_check(tiling->latest.pool, err);
}

enum err_kind
tiles_make(const struct column *roots,
           uint32_t n_threads,
           struct tiles *ret_tiles,
           struct err *err)
{
    CLEANUP(tiling_done) struct tiling tiling;
    tiling_init(&tiling, ret_tiles, roots->pool);
    *ret_tiles = (struct tiles){.greatest_end_ns = roots->n ? INT64_MIN : 0};
    column_init(&ret_tiles->tiles, roots->pool, sizeof(struct interval), ORDER_NONE);
    if (column_fill(&ret_tiles->tiles, roots->n, err) ||
        column_fill(&tiling.latest, n_threads, err) || sort_roots(&tiling, roots, err) ||
        close_all(&tiling, err))
        return err->kind;
    return close_last(&tiling, err);
}
