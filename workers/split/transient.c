/* SPDX-License-Identifier: Apache-2.0 */
/* Is the first step a start-up transient? */
#include "transient.h"

#include "cleanup.h"
#include "idmap.h"
#include "median.h"
#include "ns.h"
#include "step_name.h"
#include "wide.h"

#include <stdlib.h>

enum { MIN_RATIO = 5 };

/* A kernel name that the first step owns. */
struct kernel_times {
    uint32_t name;
    int64_t first_ns; /* in the first step */
    int64_t step_ns;  /* in the step that is looked at */
    int64_t *others;  /* in the others, where not 0 */
    size_t n;
    size_t cap;
};

struct comparison {
    struct idmap places; /* name + 1 -> place in kernels */
    struct kernel_times *kernels;
    size_t n;
    size_t cap;
};

static void
comparison_done(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n; i++)
        free(comparison->kernels[i].others);
    free(comparison->kernels);
    idmap_done(&comparison->places);
}

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "the kernels of the first step");
}

bool
transient_can_stall(const struct events *events, struct symbols *symbols)
{
    uint64_t n = events_gpu_count(events);
    for (uint64_t i = 0; i < n; i++)
        if (symbols_has(symbols, events_gpu(events, i).name, SYMBOL_STALL))
            return true;
    return false;
}

/* The times of a name of the first step; NULL with err ok: of no such name. */
static struct kernel_times *
find_kernel(struct comparison *comparison, uint32_t name)
{
    struct idmap_entry *entry = idmap_find(&comparison->places, name + 1);
    return entry ? &comparison->kernels[entry->value] : NULL;
}

static enum err_kind
add_first(struct comparison *comparison, struct event kernel, struct err *err)
{
    struct kernel_times *times = find_kernel(comparison, kernel.name);
    if (times) {
        times->first_ns = ns_add(times->first_ns, kernel.dur_ns);
        return ERR_OK;
    }
    if (comparison->n == comparison->cap) {
        size_t cap = comparison->cap ? comparison->cap * 2 : 64;
        struct kernel_times *more = reallocarray(comparison->kernels, cap, sizeof *more);
        if (!more)
            return no_memory(err);
        comparison->kernels = more;
        comparison->cap = cap;
    }
    struct idmap_entry *entry = idmap_add(&comparison->places, kernel.name + 1, err);
    if (!entry)
        return err->kind;
    entry->value = (uint32_t)comparison->n;
    comparison->kernels[comparison->n++] =
        (struct kernel_times){.name = kernel.name, .first_ns = kernel.dur_ns};
    return ERR_OK;
}

/* Each kernel that the step owns. */
typedef enum err_kind kernel_fn(struct comparison *, struct event, struct err *);

static enum err_kind
each_kernel(struct ownership *own,
            size_t place,
            struct comparison *comparison,
            kernel_fn *fn,
            struct err *err)
{
    event_id id;
    bool is_owned;
    struct step_walk walk = step_walk_begin(own, place);
    while (step_walk_next_id(&walk, &id, &is_owned)) {
        struct event_run run = events_gpu_of(own->events, id);
        for (uint64_t k = 0; is_owned && k < run.n; k++)
            if (fn(comparison, events_gpu_linked(own->events, run.first + k), err))
                return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
add_other(struct comparison *comparison, struct event kernel, struct err *err)
{
    (void)err;
    struct kernel_times *times = find_kernel(comparison, kernel.name);
    if (times)
        times->step_ns = ns_add(times->step_ns, kernel.dur_ns);
    return ERR_OK;
}

/* Takes the sums of a step over into the lists. */
static enum err_kind
close_step(struct comparison *comparison, struct err *err)
{
    for (size_t i = 0; i < comparison->n; i++) {
        struct kernel_times *times = &comparison->kernels[i];
        if (times->step_ns == 0)
            continue;
        if (times->n == times->cap) {
            size_t cap = times->cap ? times->cap * 2 : 64;
            int64_t *more = reallocarray(times->others, cap, sizeof *more);
            if (!more)
                return no_memory(err);
            times->others = more;
            times->cap = cap;
        }
        times->others[times->n++] = times->step_ns;
        times->step_ns = 0;
    }
    return ERR_OK;
}

/* first/median as a fraction. */
struct ratio {
    int128 over;
    int128 under;
    uint32_t name;
    bool is_found;
};

static int
compare_names(const void *a, const void *b, void *events)
{
    const struct kernel_times *x = a;
    const struct kernel_times *y = b;
    return slice_compare(events_text(events, x->name), events_text(events, y->name));
}

static bool
is_larger(struct ratio a, struct ratio b)
{
    return wide_compare(wide_multiply((uint128)a.over, (uint128)b.under),
                        wide_multiply((uint128)b.over, (uint128)a.under)) > 0;
}

static double
ratio_double(struct ratio ratio)
{
    return ratio.is_found ? wide_fraction((uint128)ratio.over, (uint128)ratio.under)
                          : 0.0;
}

/* c >= 5 and c >= 5·max(x, 1). */
static bool
is_transient(struct ratio c, struct ratio x)
{
    struct ratio limit = x.over < x.under ? (struct ratio){1, 1, 0, false} : x;
    struct wide reach = wide_multiply((uint128)c.over, (uint128)limit.under);
    struct wide bound = wide_multiply((uint128)limit.over, (uint128)c.under);
    return c.is_found && wide_compare(reach, wide_scale(bound, MIN_RATIO)) >= 0;
}

static void
judge(struct comparison *comparison,
      const struct events *events,
      struct symbols *symbols,
      struct transient *transient)
{
    struct ratio best[2] = {{0, 1, 0, false}, {0, 1, 0, false}};
    if (comparison->n)
        qsort_r(comparison->kernels, comparison->n, sizeof *comparison->kernels,
                compare_names, (void *)(uintptr_t)events);
    for (size_t i = 0; i < comparison->n; i++) {
        struct kernel_times *times = &comparison->kernels[i];
        if (times->n == 0 || times->first_ns <= 0)
            continue;
        struct ratio ratio = {(int128)2 * times->first_ns,
                              median_twice(times->others, times->n), times->name, true};
        bool stalls = symbols_has(symbols, times->name, SYMBOL_STALL);
        if (is_larger(ratio, best[stalls]))
            best[stalls] = ratio;
    }
    transient->is_trimmed = is_transient(best[true], best[false]);
    if (!transient->is_trimmed)
        return;
    transient->kernel = events_text(events, best[true].name);
    transient->collective_ratio = ratio_double(best[true]);
    transient->noise_ratio = ratio_double(best[false]);
}

static enum root_phase
phase_at(const struct ownership *own, size_t place)
{
    struct step_numbers numbers;
    step_name_read(roots_at(own->roots, place).name, &numbers);
    return step_phase_of(&numbers);
}

/* How many later steps have the phase of the first, when that is one of serving. */
static size_t
count_same_phase(const struct ownership *own)
{
    struct step_numbers numbers;
    size_t n = 0;
    if (!step_kind_is_serving(step_name_read(roots_at(own->roots, 0).name, &numbers)))
        return 0;
    for (size_t i = 1; i < own->roots.n; i++)
        n += phase_at(own, i) == step_phase_of(&numbers);
    return n;
}

enum err_kind
transient_find(struct ownership *own,
               struct symbols *symbols,
               struct transient *ret_transient,
               struct err *err)
{
    CLEANUP(comparison_done) struct comparison comparison = {0};
    size_t same = count_same_phase(own);
    *ret_transient = (struct transient){
        .is_looked_for = true,
        .same_phase_only = same > 0 && same < own->roots.n - 1,
    };
    if (each_kernel(own, 0, &comparison, add_first, err))
        return err->kind;
    for (size_t i = 1; i < own->roots.n; i++) {
        if (same > 0 && phase_at(own, i) != phase_at(own, 0))
            continue;
        if (each_kernel(own, i, &comparison, add_other, err) ||
            close_step(&comparison, err))
            return err->kind;
    }
    judge(&comparison, own->events, symbols, ret_transient);
    return ERR_OK;
}
