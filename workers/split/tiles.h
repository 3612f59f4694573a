/* SPDX-License-Identifier: Apache-2.0 */
/* The time that each step owns (splitting.md 6). */
#pragma once

#include "column.h"
#include "err.h"
#include "unions.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a step's root lies. */
struct tile_root {
    uint32_t thread;
    int64_t ts_ns;
    int64_t dur_ns;
};

/* Tiles, in pages as the index allows; zeroed is none. */
struct tiles {
    struct column tiles;    /* struct interval: one for each root, in their order */
    uint64_t n_overlapping; /* roots that end behind the start of the next */
    int64_t greatest_end_ns;
};

/*
 * Tiles of `roots` (struct tile_root) in step order, in pages of the same pool;
 * `n_threads` is above their threads. tiles_done() also after a failure.
 */
enum err_kind tiles_make(const struct column *roots,
                         uint32_t n_threads,
                         struct tiles *ret_tiles,
                         struct err *err);
void tiles_done(struct tiles *tiles);

static inline struct interval
tiles_at(const struct tiles *tiles, uint64_t i)
{
    struct interval tile;
    column_read(&tiles->tiles, i, &tile);
    return tile;
}

/* Whether an event that starts at `ts_ns` lies in one of the tiles: the last end of all
 * counts as inside. */
static inline bool
tiles_hold(const struct tiles *tiles, struct interval tile, int64_t ts_ns)
{
    return ts_ns >= tile.start_ns &&
           (ts_ns < tile.end_ns ||
            (ts_ns == tile.end_ns && ts_ns == tiles->greatest_end_ns));
}
