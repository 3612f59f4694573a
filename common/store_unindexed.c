/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted array: batches are merged into it, and the index takes it from front to back.
 */
#include "store_unindexed.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 1024 };

void
unindexed_init(struct unindexed *unindexed, size_t key_bytes)
{
    *unindexed = (struct unindexed){.key_bytes = key_bytes};
    arena_init(&unindexed->arena, SIZE_MAX);
}

void
unindexed_done(struct unindexed *unindexed)
{
    arena_done(&unindexed->arena);
    free(unindexed->entries);
    unindexed->entries = NULL;
    unindexed->n = unindexed->n_added = unindexed->capacity = 0;
}

void
unindexed_clear(struct unindexed *unindexed, size_t keep)
{
    arena_reset_keeping(&unindexed->arena, keep);
    if (unindexed->capacity * sizeof *unindexed->entries > keep) {
        free(unindexed->entries);
        unindexed->entries = NULL;
        unindexed->capacity = 0;
    }
    unindexed->n = unindexed->n_added = 0;
}

static int
compare(const struct unindexed_entry *entry,
        uint64_t prefix,
        const uint8_t *key,
        size_t len)
{
    if (entry->prefix != prefix)
        return entry->prefix < prefix ? -1 : 1;
    return memcmp(entry->key->key, key, len);
}

/* The first of `n` entries that is not before the key. */
static size_t
lower_bound(const struct unindexed_entry *entries,
            size_t n,
            uint64_t prefix,
            const uint8_t *key,
            size_t len)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (compare(&entries[middle], prefix, key, len) < 0)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

size_t
unindexed_find(const struct unindexed *unindexed, const uint8_t *key, size_t len)
{
    return lower_bound(unindexed->entries, unindexed->n, unindexed_prefix(key), key, len);
}

const struct unindexed_key *
unindexed_at(const struct unindexed *unindexed, size_t i, const uint8_t *key, size_t len)
{
    if (i >= unindexed->n)
        return NULL;
    const struct unindexed_key *found = unindexed->entries[i].key;
    return memcmp(found->key, key, len) == 0 ? found : NULL;
}

static bool
make_room(struct unindexed *unindexed)
{
    size_t n = unindexed->n + unindexed->n_added;
    if (n < unindexed->capacity)
        return true;
    size_t capacity = n ? 2 * n : FIRST_CAPACITY;
    struct unindexed_entry *entries =
        reallocarray(unindexed->entries, capacity, sizeof *entries);
    if (!entries)
        return false;
    unindexed->entries = entries;
    unindexed->capacity = capacity;
    return true;
}

bool
unindexed_add(struct unindexed *unindexed,
              const uint8_t *key,
              uint64_t number,
              bool fresh)
{
    size_t bytes = sizeof(struct unindexed_key) + unindexed->key_bytes;
    struct unindexed_key *copy =
        make_room(unindexed) ? arena_alloc(&unindexed->arena, bytes) : NULL;
    if (!copy)
        return false;
    copy->number = number;
    copy->fresh = fresh;
    memcpy(copy->key, key, unindexed->key_bytes);
    unindexed->entries[unindexed->n + unindexed->n_added++] =
        (struct unindexed_entry){unindexed_prefix(copy->key), copy};
    return true;
}

static int
compare_entries(const void *a, const void *b, void *key_bytes)
{
    const struct unindexed_entry *right = b;
    return compare(a, right->prefix, right->key->key, *(const size_t *)key_bytes);
}

struct insertion {
    struct unindexed_entry entry;
    size_t at; /* among the old entries */
};

/* A key that is there gets its number at once; the others are given, with their places.
 */
static size_t
find_places(struct unindexed *unindexed, struct insertion *ret)
{
    struct unindexed_entry *old = unindexed->entries;
    size_t n = 0;
    size_t from = 0;
    for (size_t i = 0; i < unindexed->n_added; i++) {
        struct unindexed_entry new = old[unindexed->n + i];
        from += lower_bound(old + from, unindexed->n - from, new.prefix, new.key->key,
                            unindexed->key_bytes);
        if (unindexed_at(unindexed, from, new.key->key, unindexed->key_bytes))
            old[from].key->number = new.key->number;
        else
            ret[n++] = (struct insertion){new, from};
    }
    return n;
}

bool
unindexed_merge(struct unindexed *unindexed)
{
    if (unindexed->n_added == 0)
        return true;
    struct insertion *new = calloc(unindexed->n_added, sizeof *new);
    if (!new)
        return false;
    qsort_r(unindexed->entries + unindexed->n, unindexed->n_added,
            sizeof *unindexed->entries, compare_entries, &unindexed->key_bytes);
    size_t n = find_places(unindexed, new);
    struct unindexed_entry *entries = unindexed->entries;
    size_t end = unindexed->n;
    for (size_t i = n; i-- > 0;) {
        size_t at = new[i].at;
        memmove(&entries[at + i + 1], &entries[at], (end - at) * sizeof *entries);
        entries[at + i] = new[i].entry;
        end = at;
    }
    unindexed->n += n;
    unindexed->n_added = 0;
    free(new);
    return true;
}

size_t
unindexed_bytes(const struct unindexed *unindexed)
{
    return unindexed->arena.taken + unindexed->capacity * sizeof *unindexed->entries;
}
