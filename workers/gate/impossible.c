/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that can't be. */
#include "impossible.h"

enum { PAIRS = 4, PER_CHUNK = CHUNK_NUMBERS + PAIRS };

/* Two fields of a chunk of which the first may not be larger; `bad` names the one that
 * is told. */
static const struct pair {
    const char *bad;
    size_t smaller, larger, told;
} pairs[PAIRS] = {
    {"busy_union_us", offsetof(struct chunk_numbers, busy_union_ns),
     offsetof(struct chunk_numbers, wall_ns),
     offsetof(struct chunk_numbers, busy_union_ns)},
    {"gpu_busy_duration", offsetof(struct chunk_numbers, busy_union_ns),
     offsetof(struct chunk_numbers, gpu_busy_duration_ns),
     offsetof(struct chunk_numbers, gpu_busy_duration_ns)},
    {"compute_union_us", offsetof(struct chunk_numbers, compute_union_ns),
     offsetof(struct chunk_numbers, busy_union_ns),
     offsetof(struct chunk_numbers, compute_union_ns)},
    {"max_event_us", offsetof(struct chunk_numbers, max_event_ns),
     offsetof(struct chunk_numbers, wall_ns),
     offsetof(struct chunk_numbers, max_event_ns)},
};

struct finder {
    struct arena *arena;
    struct impossible *items;
    size_t n;
    bool no_memory;
};

static struct amount
amount_at(const struct chunk_numbers *numbers, size_t offset)
{
    struct number_field field = {NULL, offset, true};
    return number_get(numbers, &field);
}

static bool
is_wrong(struct amount amount)
{
    return amount.known && !amount_usable(amount);
}

/* `chunk` -1: the manifest. */
static void
add(struct finder *finder, int64_t chunk, const char *name, struct amount amount, bool ns)
{
    struct slice field = chunk < 0 ? arena_printf(finder->arena, "manifest.%s", name)
                                   : arena_printf(finder->arena, "chunks[%lld].%s",
                                                  (long long)chunk, name);
    if (ns)
        amount.value /= 1000.0;
    finder->no_memory |= field.data == NULL;
    finder->items[finder->n++] = (struct impossible){field, amount};
}

static void
check_fields(struct finder *finder,
             int64_t chunk,
             const void *numbers,
             const struct number_field *fields,
             size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct amount amount = number_get(numbers, &fields[i]);
        if (is_wrong(amount))
            add(finder, chunk, fields[i].name, amount, fields[i].duration);
    }
}

static void
check_pairs(struct finder *finder, int64_t chunk, const struct chunk_numbers *numbers)
{
    for (size_t i = 0; i < PAIRS; i++) {
        struct amount smaller = amount_at(numbers, pairs[i].smaller);
        struct amount larger = amount_at(numbers, pairs[i].larger);
        if (amount_usable(smaller) && amount_usable(larger) &&
            smaller.value > larger.value)
            add(finder, chunk, pairs[i].bad, amount_at(numbers, pairs[i].told), true);
    }
}

static bool
chunk_is_wrong(const struct chunk_numbers *numbers)
{
    for (size_t i = 0; i < CHUNK_NUMBERS; i++)
        if (is_wrong(number_get(numbers, &chunk_number_fields[i])))
            return true;
    for (size_t i = 0; i < PAIRS; i++) {
        struct amount smaller = amount_at(numbers, pairs[i].smaller);
        struct amount larger = amount_at(numbers, pairs[i].larger);
        if (amount_usable(smaller) && amount_usable(larger) &&
            smaller.value > larger.value)
            return true;
    }
    return false;
}

/* Room is taken for the few chunks that need it. */
static size_t
most_findings(const struct gate_split *split)
{
    size_t n = split->has_numbers ? TRACE_AMOUNTS : 0;
    for (size_t i = 0; i < split->n_chunks; i++)
        if (split->chunks[i].has_numbers && chunk_is_wrong(&split->chunks[i].numbers))
            n += PER_CHUNK;
    return n;
}

enum err_kind
impossible_find(const struct gate_split *split,
                struct arena *arena,
                const struct impossible **ret_found,
                size_t *ret_n,
                struct err *err)
{
    struct finder finder = {.arena = arena};
    finder.items = arena_alloc(arena, most_findings(split) * sizeof finder.items[0]);
    if (!finder.items)
        return err_no_memory(err, "impossible numbers");
    if (split->has_numbers)
        check_fields(&finder, -1, &split->numbers, trace_number_fields, TRACE_AMOUNTS);
    for (size_t i = 0; i < split->n_chunks; i++) {
        const struct gate_chunk *chunk = &split->chunks[i];
        if (!chunk->has_numbers)
            continue;
        check_fields(&finder, (int64_t)i, &chunk->numbers, chunk_number_fields,
                     CHUNK_NUMBERS);
        check_pairs(&finder, (int64_t)i, &chunk->numbers);
    }
    *ret_found = finder.items;
    *ret_n = finder.n;
    return finder.no_memory ? err_no_memory(err, "impossible numbers") : ERR_OK;
}
