/* SPDX-License-Identifier: Apache-2.0 */
/* Two small numbers for each of many ids, found by the id. */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap_entry {
    uint32_t id; /* 0: free */
    uint32_t value;
    uint32_t mark; /* a second number, for whoever walks over the ids */
};

/* Zeroed is empty. Entries move when one is added. */
struct idmap {
    struct idmap_entry *entries;
    size_t n;
    size_t cap; /* below 2^32 */
};

void idmap_done(struct idmap *map);
/* Empties it and keeps its memory. */
void idmap_reset(struct idmap *map);
/* The entry of `id` (not 0); NULL: none. */
struct idmap_entry *idmap_find(const struct idmap *map, uint32_t id);
/* The entry of `id` (not 0), a new one zeroed but for the id. NULL: out of memory. */
struct idmap_entry *idmap_add(struct idmap *map, uint32_t id, struct err *err);
