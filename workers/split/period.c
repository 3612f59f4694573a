/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest block that a list of labels repeats. */
#include "period.h"

#include "wide.h"

#include <stdlib.h>

enum { MIN_REPEATS = 3 };

/* Calls and first position of a label. */
struct use {
    size_t n;
    size_t first;
};

/* The label that occurs least often but MIN_REPEATS times; first seen on a tie. */
static bool
find_rarest(const uint32_t *labels, size_t n, struct use *uses, uint32_t *ret_label)
{
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        struct use *use = &uses[labels[i]];
        if (use->n++ == 0)
            use->first = i;
    }
    for (size_t i = 0; i < n; i++) {
        struct use *use = &uses[labels[i]];
        if (use->first != i || use->n < MIN_REPEATS)
            continue;
        if (!found || use->n < uses[*ret_label].n)
            *ret_label = labels[i];
        found = true;
    }
    return found;
}

static int
compare_lengths(const void *a, const void *b)
{
    size_t x = *(const size_t *)a;
    size_t y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The distinct distances of the label's positions, ascending. */
static size_t
list_distances(const uint32_t *labels, size_t n, uint32_t label, size_t *distances)
{
    size_t count = 0;
    size_t last = n;
    for (size_t i = 0; i < n; i++) {
        if (labels[i] != label)
            continue;
        if (last < n)
            distances[count++] = i - last;
        last = i;
    }
    qsort(distances, count, sizeof *distances, compare_lengths);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || distances[kept - 1] != distances[i])
            distances[kept++] = distances[i];
    return kept;
}

/* The longest run in which every label is the one `length` further on. */
static bool
measure(const uint32_t *labels, size_t n, size_t length, struct period *ret_period)
{
    size_t best = 0;
    size_t start = 0;
    size_t run = 0;
    if (length == 0 || length > n / MIN_REPEATS)
        return false;
    for (size_t i = 0; i + length < n; i++) {
        run = labels[i] == labels[i + length] ? run + 1 : 0;
        if (run > best) {
            best = run;
            start = i + 1 - run;
        }
    }
    *ret_period = (struct period){length, start, (best + length) / length};
    return best > 0 && ret_period->repeats >= MIN_REPEATS &&
           2 * ret_period->repeats * length > n;
}

/* A multiple of a period that was kept, and hardly better. */
static bool
is_multiple(const struct period *kept, size_t n_kept, struct period period, size_t n)
{
    for (size_t i = 0; i < n_kept; i++)
        if (period.length % kept[i].length == 0 &&
            (int128)20 * period.repeats * period.length <=
                (int128)20 * kept[i].repeats * kept[i].length + (int128)n)
            return true;
    return false;
}

static uint64_t
score(struct period period, size_t n)
{
    return (uint64_t)(((uint128)2000 * period.repeats * period.length + n) /
                      ((uint128)2 * n));
}

enum err_kind
period_find(const uint32_t *labels,
            size_t n,
            uint32_t n_labels,
            struct arena *arena,
            struct period *ret_period,
            struct err *err)
{
    uint32_t rarest = 0;
    struct use *uses = arena_calloc(arena, n_labels, sizeof *uses);
    if (!uses)
        return err_no_memory(err, "the labels of a call tree");
    *ret_period = (struct period){0};
    if (!find_rarest(labels, n, uses, &rarest))
        return ERR_OK;
    size_t *distances = arena_calloc(arena, uses[rarest].n, sizeof *distances);
    struct period *kept = arena_calloc(arena, uses[rarest].n, sizeof *kept);
    if (!distances || !kept)
        return err_no_memory(err, "the labels of a call tree");
    size_t n_kept = 0;
    size_t n_distances = list_distances(labels, n, rarest, distances);
    for (size_t i = 0; i < n_distances; i++) {
        struct period period;
        if (!measure(labels, n, distances[i], &period) ||
            is_multiple(kept, n_kept, period, n))
            continue;
        kept[n_kept++] = period;
        if (!ret_period->length || score(period, n) > score(*ret_period, n))
            *ret_period = period;
    }
    return ERR_OK;
}
