/* SPDX-License-Identifier: Apache-2.0 */
/* The time that each step owns (splitting.md 6). */
#pragma once

#include "arena.h"
#include "err.h"
#include "unions.h"

#include <stdint.h>

/* Where a step's root lies. */
struct tile_root {
    uint32_t thread;
    int64_t ts_ns;
    int64_t dur_ns;
};

struct tiles {
    struct interval *tiles; /* one for each root, in their order */
    size_t n;
    uint64_t n_overlapping; /* roots that end behind the start of the next */
    int64_t greatest_end_ns;
};

/* Tiles of `roots` in step order; they lie in `arena`. ERR_FATAL "out_of_memory". */
enum err_kind tiles_make(const struct tile_root *roots,
                         size_t n,
                         struct arena *arena,
                         struct tiles *ret_tiles,
                         struct err *err);

/* Whether an event that starts at `ts_ns` lies in tile `i`: the last end of all counts
 * as inside. */
static inline bool
tiles_hold(const struct tiles *tiles, size_t i, int64_t ts_ns)
{
    struct interval tile = tiles->tiles[i];
    return ts_ns >= tile.start_ns &&
           (ts_ns < tile.end_ns ||
            (ts_ns == tile.end_ns && ts_ns == tiles->greatest_end_ns));
}
