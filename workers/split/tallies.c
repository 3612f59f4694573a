/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and time by row and by a key. */
#include "tallies.h"
#include "ns.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX_BYTES = 1 << 30 };

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "the kernel table of a chunk");
}

enum err_kind
tallies_init(struct tallies *tallies, struct err *err)
{
    *tallies = (struct tallies){.keys = texts_new(KEYS_MAX_BYTES)};
    return tallies->keys ? ERR_OK : no_memory(err);
}

void
tallies_done(struct tallies *tallies)
{
    if (tallies->keys)
        texts_free(tallies->keys);
    free(tallies->entries);
}

static bool
make_room(struct tallies *tallies)
{
    if (tallies->n < tallies->cap)
        return true;
    size_t cap = tallies->cap ? tallies->cap * 2 : 64;
    struct tally_entry *entries = reallocarray(tallies->entries, cap, sizeof *entries);
    if (!entries)
        return false;
    tallies->entries = entries;
    tallies->cap = cap;
    return true;
}

enum err_kind
tallies_add(struct tallies *tallies,
            uint32_t row,
            const void *bytes,
            size_t len,
            int64_t dur_ns,
            struct err *err)
{
    struct tally_key key = {.row = row};
    uint32_t number;
    memcpy(key.bytes, bytes, len);
    struct slice text = {(const char *)&key, sizeof key};
    if (!texts_add(tallies->keys, text, &number) || !make_room(tallies))
        return no_memory(err);
    /* Text 0 is the empty one, so that the first key is 1. */
    if (number > tallies->n)
        tallies->entries[tallies->n++] =
            (struct tally_entry){.key = key, .order = number};
    struct tally_entry *entry = &tallies->entries[number - 1];
    entry->calls++;
    entry->total_ns = ns_add(entry->total_ns, dur_ns);
    return ERR_OK;
}

static int
compare_seen(const void *a, const void *b)
{
    const struct tally_entry *x = a;
    const struct tally_entry *y = b;
    if (x->key.row != y->key.row)
        return x->key.row < y->key.row ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int
compare_heaviest(const void *a, const void *b)
{
    const struct tally_entry *x = a;
    const struct tally_entry *y = b;
    if (x->key.row == y->key.row && x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    if (x->key.row == y->key.row && x->calls != y->calls)
        return x->calls > y->calls ? -1 : 1;
    return compare_seen(a, b);
}

void
tallies_sort_heaviest(struct tallies *tallies)
{
    if (tallies->n)
        qsort(tallies->entries, tallies->n, sizeof *tallies->entries, compare_heaviest);
}

void
tallies_sort_seen(struct tallies *tallies)
{
    if (tallies->n)
        qsort(tallies->entries, tallies->n, sizeof *tallies->entries, compare_seen);
}

struct tally_entry *
tallies_row(const struct tallies *tallies, uint32_t row, size_t *ret_n)
{
    size_t low = 0;
    size_t high = tallies->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tallies->entries[middle].key.row < row)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < tallies->n && tallies->entries[end].key.row == row)
        end++;
    *ret_n = end - low;
    return tallies->entries + low;
}
