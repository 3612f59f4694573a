/* SPDX-License-Identifier: Apache-2.0 */
/* Identities of rows. */
#include "identity_set.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

static size_t
hash_of(const struct identity *identity)
{
    uint64_t hash = UINT64_C(14695981039346656037) + identity->is_name;
    for (size_t i = 0; i < identity->text.len; i++)
        hash = (hash ^ (unsigned char)identity->text.data[i]) * UINT64_C(1099511628211);
    return (size_t)(hash ^ (hash >> 32));
}

/* Where it is, or where it belongs. */
static uint32_t *
slot_of(const struct identity_set *set, const struct identity *identity)
{
    size_t at = hash_of(identity) & (set->n_slots - 1);
    for (; set->slots[at]; at = (at + 1) & (set->n_slots - 1)) {
        const struct identity *other = &set->items[set->slots[at] - 1];
        if (other->is_name == identity->is_name &&
            slice_equal(other->text, identity->text))
            break;
    }
    return &set->slots[at];
}

static bool
grow(struct identity_set *set, struct arena *arena)
{
    size_t n_slots = set->n_slots ? 2 * set->n_slots : FIRST_SLOTS;
    struct identity *items = arena_calloc(arena, n_slots / 2, sizeof items[0]);
    uint32_t *slots = arena_calloc(arena, n_slots, sizeof slots[0]);
    if (!items || !slots)
        return false;
    if (set->n)
        memcpy(items, set->items, set->n * sizeof items[0]);
    *set = (struct identity_set){items, set->n, slots, n_slots};
    for (size_t i = 0; i < set->n; i++)
        *slot_of(set, &items[i]) = (uint32_t)i + 1;
    return true;
}

bool
identity_set_add(struct identity_set *set,
                 struct identity identity,
                 struct arena *arena,
                 bool *ret_added)
{
    *ret_added = false;
    if (2 * (set->n + 1) > set->n_slots && !grow(set, arena))
        return false;
    uint32_t *slot = slot_of(set, &identity);
    if (*slot)
        return true;
    set->items[set->n++] = identity;
    *slot = (uint32_t)set->n;
    *ret_added = true;
    return true;
}

bool
identity_set_has(const struct identity_set *set, struct identity identity)
{
    return set->n_slots && *slot_of(set, &identity);
}
