/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing, at most half full. */
#include "id_set.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 256 };

static size_t
slot_of(const struct id_set *set, struct id id)
{
    uint64_t h =
        (id.a ^ (id.b * UINT64_C(0x9E3779B97F4A7C15))) * UINT64_C(0xD6E8FEB86659FD93);
    size_t i = (size_t)(h ^ (h >> 32)) & (set->cap - 1);
    while ((set->slots[i].a || set->slots[i].b) &&
           (set->slots[i].a != id.a || set->slots[i].b != id.b))
        i = (i + 1) & (set->cap - 1);
    return i;
}

static bool
grow(struct id_set *set)
{
    struct id_set bigger = {.n = set->n, .cap = set->cap ? set->cap * 2 : FIRST_CAP};
    bigger.slots = calloc(bigger.cap, sizeof bigger.slots[0]);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < set->cap; i++)
        if (set->slots[i].a || set->slots[i].b)
            bigger.slots[slot_of(&bigger, set->slots[i])] = set->slots[i];
    free(set->slots);
    *set = bigger;
    return true;
}

enum id_added
id_set_add(struct id_set *set, struct id id)
{
    if (set->n * 2 >= set->cap && (set->n >= ID_SET_MAX || !grow(set)))
        return ID_NO_ROOM;
    struct id *slot = &set->slots[slot_of(set, id)];
    if (slot->a || slot->b)
        return ID_KNOWN;
    *slot = id;
    set->n++;
    return ID_NEW;
}

void
id_set_reset(struct id_set *set)
{
    if (set->slots)
        memset(set->slots, 0, set->cap * sizeof set->slots[0]);
    set->n = 0;
}

void
id_set_done(struct id_set *set)
{
    free(set->slots);
    *set = (struct id_set){0};
}
