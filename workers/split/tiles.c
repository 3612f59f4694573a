/* SPDX-License-Identifier: Apache-2.0 */
/* The time that each step owns. */
#include "tiles.h"

#include "median.h"

#include <stdlib.h>

/* A root in the order of its thread. */
struct entry {
    struct tile_root root;
    size_t step;
};

static int
compare(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    if (x->root.thread != y->root.thread)
        return x->root.thread < y->root.thread ? -1 : 1;
    if (x->root.ts_ns != y->root.ts_ns)
        return x->root.ts_ns < y->root.ts_ns ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

/* The roots of one thread, in order; `lengths` has room for each. */
static void
tile_thread(const struct entry *roots, size_t n, int64_t *lengths, struct tiles *tiles)
{
    for (size_t i = 0; i + 1 < n; i++) {
        struct tile_root root = roots[i].root;
        int64_t end_ns = ns_add(root.ts_ns, root.dur_ns);
        int64_t next_ns = roots[i + 1].root.ts_ns;
        if (next_ns < end_ns)
            tiles->n_overlapping++;
        else
            end_ns = next_ns;
        tiles->tiles[roots[i].step] = (struct interval){root.ts_ns, end_ns};
        lengths[i] = ns_subtract(end_ns, root.ts_ns);
    }
    struct tile_root last = roots[n - 1].root;
    int64_t length_ns = last.dur_ns;
    if (n > 1) {
        int64_t median_ns = (int64_t)(median_twice(lengths, n - 1) / 2);
        if (median_ns > length_ns)
            length_ns = median_ns;
    }
    tiles->tiles[roots[n - 1].step] =
        (struct interval){last.ts_ns, ns_add(last.ts_ns, length_ns)};
}

static void
tile_all(const struct entry *entries, int64_t *lengths, struct tiles *tiles)
{
    size_t first = 0;
    for (size_t i = 1; i <= tiles->n; i++)
        if (i == tiles->n || entries[i].root.thread != entries[first].root.thread) {
            tile_thread(entries + first, i - first, lengths, tiles);
            first = i;
        }
    for (size_t i = 0; i < tiles->n; i++)
        if (i == 0 || tiles->tiles[i].end_ns > tiles->greatest_end_ns)
            tiles->greatest_end_ns = tiles->tiles[i].end_ns;
}

enum err_kind
tiles_make(const struct tile_root *roots,
           size_t n,
           struct arena *arena,
           struct tiles *ret_tiles,
           struct err *err)
{
    struct entry *entries = arena_calloc(arena, n, sizeof *entries);
    int64_t *lengths = arena_calloc(arena, n, sizeof *lengths);
    *ret_tiles = (struct tiles){
        .tiles = arena_calloc(arena, n, sizeof *ret_tiles->tiles),
        .n = n,
    };
    if (!entries || !lengths || !ret_tiles->tiles)
        return err_no_memory(err, "the tiles of a trace");
    for (size_t i = 0; i < n; i++)
        entries[i] = (struct entry){roots[i], i};
    if (n > 0)
        qsort(entries, n, sizeof *entries, compare);
    tile_all(entries, lengths, ret_tiles);
    return ERR_OK;
}
