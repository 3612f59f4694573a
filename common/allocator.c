/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of the allocator. */
#include "allocator.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

enum {
    POOLS = 2,
    KEEP_BYTES = 1 << 20,
    LARGE_BYTES = 256 * 1024,
    TRIM_EVERY_MS = 2000,
};

static struct {
    bool on;
    int64_t trimmed_ms;
} bound;

void
allocator_bound(void)
{
    mallopt(M_ARENA_MAX, POOLS);
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
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
