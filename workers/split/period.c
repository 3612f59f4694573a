/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest block that a list of labels repeats. */
#include "period.h"

#include "cleanup.h"
#include "wide.h"

enum { MIN_REPEATS = 3 };

/* Calls and first position of a label. */
struct use {
    uint64_t n;
    uint64_t first;
};

static uint32_t
label_at(const struct column *labels, uint64_t i)
{
    uint32_t label;
    column_read(labels, i, &label);
    return label;
}

static struct use
use_at(const struct column *uses, uint32_t label)
{
    struct use use;
    column_read(uses, label, &use);
    return use;
}

static enum err_kind
count_uses(const struct column *labels,
           uint64_t n_labels,
           struct column *uses,
           struct err *err)
{
    if (column_fill(uses, n_labels, err))
        return err->kind;
    for (uint64_t i = 0; i < labels->n; i++) {
        uint32_t label = label_at(labels, i);
        struct use use = use_at(uses, label);
        if (use.n++ == 0)
            use.first = i;
        column_write(uses, label, &use);
    }
    return column_pool_check(uses->pool, err);
}

/* The label that occurs least often but MIN_REPEATS times; first seen on a tie. */
static bool
find_rarest(const struct column *uses, uint32_t *ret_label)
{
    struct use best = {0};
    for (uint32_t label = 0; label < uses->n; label++) {
        struct use use = use_at(uses, label);
        if (use.n < MIN_REPEATS)
            continue;
        if (best.n && (use.n > best.n || (use.n == best.n && use.first > best.first)))
            continue;
        best = use;
        *ret_label = label;
    }
    return best.n > 0;
}

/* The distances of the label's positions, ascending: 0 and the distance. */
static enum err_kind
list_distances(const struct column *labels,
               uint32_t label,
               struct column *distances,
               struct err *err)
{
    uint64_t n = labels->n;
    uint64_t last = n;
    for (uint64_t i = 0; i < n; i++) {
        if (label_at(labels, i) != label)
            continue;
        const uint32_t distance[] = {0, (uint32_t)(i - last)};
        if (last < n && column_add(distances, distance, err))
            return err->kind;
        last = i;
    }
    return column_sort(distances, err);
}

/* The longest run in which every label is the one `length` further on. */
static bool
measure(const struct column *labels, uint64_t length, struct period *ret_period)
{
    uint64_t n = labels->n;
    uint64_t best = 0;
    uint64_t start = 0;
    uint64_t run = 0;
    if (length == 0 || length > n / MIN_REPEATS)
        return false;
    for (uint64_t i = 0; i + length < n; i++) {
        run = label_at(labels, i) == label_at(labels, i + length) ? run + 1 : 0;
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
is_multiple(const struct column *kept, struct period period, uint64_t n)
{
    for (uint64_t i = 0; i < kept->n; i++) {
        struct period other;
        column_read(kept, i, &other);
        if (other.length && period.length % other.length == 0 &&
            (int128)20 * period.repeats * period.length <=
                (int128)20 * other.repeats * other.length + (int128)n)
            return true;
    }
    return false;
}

static uint64_t
score(struct period period, uint64_t n)
{
    return (uint64_t)(((uint128)2000 * period.repeats * period.length + n) /
                      ((uint128)2 * n));
}

/* `distances` are ascending; equal ones are looked at once. */
static enum err_kind
choose(const struct column *labels,
       const struct column *distances,
       struct period *ret_period,
       struct err *err)
{
    CLEANUP(column_done) struct column kept;
    uint64_t n = labels->n;
    uint32_t last = 0;
    column_init(&kept, labels->pool, sizeof(struct period), ORDER_NONE);
    for (uint64_t i = 0; i < distances->n; i++) {
        struct period period;
        uint32_t distance[2];
        column_read(distances, i, distance);
        if (distance[1] == last)
            continue;
        last = distance[1];
        if (!measure(labels, last, &period) || is_multiple(&kept, period, n))
            continue;
        if (column_add(&kept, &period, err))
            return err->kind;
        if (!ret_period->length || score(period, n) > score(*ret_period, n))
            *ret_period = period;
    }
    return column_pool_check(labels->pool, err);
}

enum err_kind
period_find(const struct column *labels,
            uint64_t n_labels,
            struct period *ret_period,
            struct err *err)
{
    CLEANUP(column_done) struct column uses;
    CLEANUP(column_done) struct column distances;
    uint32_t rarest = 0;
    column_init(&uses, labels->pool, sizeof(struct use), ORDER_NONE);
    column_init(&distances, labels->pool, 2 * sizeof(uint32_t), ORDER_REF);
    *ret_period = (struct period){0};
    if (count_uses(labels, n_labels, &uses, err))
        return err->kind;
    if (!find_rarest(&uses, &rarest))
        return ERR_OK;
    if (list_distances(labels, rarest, &distances, err))
        return err->kind;
    return choose(labels, &distances, ret_period, err);
}
