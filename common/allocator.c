/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of the allocator. */
#include "allocator.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

enum {
    POOLS = 2,
    TRIM_EVERY_MS = 2000,
    /* What is kept, and from where on the system gives and takes it: a share of what the
     * limit has beyond a small one. A batch of the library and what packs it take 1 to
     * 2 MiB many times a second, and mapped anew each time two fifths of all page faults
     * are theirs. */
    KEEP_SHARE = 64,
    KEEP_MIN = 1 << 20,
    KEEP_MAX = 8 << 20,
    LARGE_SHARE = 128,
    LARGE_MIN = 256 * 1024,
    LARGE_MAX = 4 << 20,
};

#define SMALL_LIMIT ((int64_t)256 << 20)

static struct {
    bool on;
    int64_t trimmed_ms;
} bound;

static int
share_of(int64_t limit, int share, int min, int max)
{
    int64_t bytes = (limit - SMALL_LIMIT) / share;
    if (bytes < min)
        return min;
    return bytes > max ? max : (int)bytes;
}

void
allocator_bound(int64_t limit)
{
    mallopt(M_ARENA_MAX, POOLS);
    mallopt(M_TRIM_THRESHOLD, share_of(limit, KEEP_SHARE, KEEP_MIN, KEEP_MAX));
    mallopt(M_MMAP_THRESHOLD, share_of(limit, LARGE_SHARE, LARGE_MIN, LARGE_MAX));
    bound.on = true;
}

void
allocator_trim(void)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!bound.on || now_ms - bound.trimmed_ms < TRIM_EVERY_MS)
        return;
    bound.trimmed_ms = now_ms;
    malloc_trim(0);
}
