/* SPDX-License-Identifier: Apache-2.0 */
/* Two small numbers for each of many ids, found by the id. */
#include "idmap.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 64 };

void
idmap_done(struct idmap *map)
{
    free(map->entries);
    *map = (struct idmap){0};
}

void
idmap_reset(struct idmap *map)
{
    if (map->cap)
        memset(map->entries, 0, map->cap * sizeof *map->entries);
    map->n = 0;
}

/* Neighbouring ids, as correlations are, go to places far apart. */
static size_t
place_of(const struct idmap *map, uint32_t id)
{
    uint64_t mixed = id * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)((mixed >> 32) * map->cap >> 32);
}

static struct idmap_entry *
probe(const struct idmap *map, uint32_t id)
{
    size_t at = place_of(map, id);
    while (map->entries[at].id && map->entries[at].id != id)
        at = at + 1 < map->cap ? at + 1 : 0;
    return &map->entries[at];
}

struct idmap_entry *
idmap_find(const struct idmap *map, uint32_t id)
{
    if (map->n == 0)
        return NULL;
    struct idmap_entry *entry = probe(map, id);
    return entry->id ? entry : NULL;
}

/* By a quarter: most of a table that doubles lies idle, at millions of launches. */
static bool
grow(struct idmap *map)
{
    struct idmap old = *map;
    size_t cap = old.cap ? old.cap + old.cap / 4 : FIRST_CAP;
    struct idmap_entry *entries = calloc(cap, sizeof *entries);
    if (!entries)
        return false;
    *map = (struct idmap){entries, old.n, cap};
    for (size_t i = 0; i < old.cap; i++)
        if (old.entries[i].id)
            *probe(map, old.entries[i].id) = old.entries[i];
    free(old.entries);
    return true;
}

struct idmap_entry *
idmap_add(struct idmap *map, uint32_t id, struct err *err)
{
    if (map->n >= map->cap / 4 * 3 && !grow(map)) {
        err_no_memory(err, "the ids of a trace");
        return NULL;
    }
    struct idmap_entry *entry = probe(map, id);
    if (!entry->id) {
        *entry = (struct idmap_entry){.id = id};
        map->n++;
    }
    return entry;
}
