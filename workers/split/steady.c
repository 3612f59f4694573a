/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps stand for the steady state: regions, and windows by phase. */
#include "steady.h"

#include "wide.h"

#include <assert.h>
#include <math.h>

enum { NEAR_MANY = 10, NEAR_FEW = 5, MIN_MIDDLE = 8, STRIDES = 10 };
enum { ANNOTATED_RUN = 5, SHAPES_RUN = 1 };

/* --- regions near the peak --------------------------------------------------------- */

/* Whether `value` is within a tenth (a fifth of a short list) of the peak, or one. */
static bool
is_near(int64_t value, int64_t peak, int64_t k)
{
    return (int128)k * ((int128)peak - value) <= (peak > k ? peak : k);
}

static size_t
scan(const int64_t *values,
     size_t n,
     uint64_t num_steps,
     size_t min_run,
     struct window *regions)
{
    int64_t peak = values[0];
    for (size_t i = 1; i < n; i++)
        if (values[i] > peak)
            peak = values[i];
    int64_t k = n >= num_steps ? NEAR_MANY : NEAR_FEW;
    size_t count = 0;
    size_t counter = 0;
    size_t start = 0;
    bool is_open = false;
    for (size_t i = 0; i < n; i++) {
        bool near = is_near(values[i], peak, k);
        if (!is_open && near && ++counter > min_run) {
            is_open = true;
            start = i + 1 - counter;
        } else if (is_open && !near && --counter == 0) {
            is_open = false;
            regions[count++] = (struct window){start, i};
        }
    }
    if (is_open)
        regions[count++] = (struct window){start, n};
    return count;
}

/* Nothing lasted: what is left between the ends. */
static struct window
middle(size_t n, uint64_t num_steps)
{
    uint64_t cut = num_steps > n ? num_steps - n : 0;
    if (cut < MIN_MIDDLE)
        cut = MIN_MIDDLE;
    size_t half = (size_t)(cut < n ? cut : n) / 2;
    return (struct window){half, n - half > half + 1 ? n - half : half + 1};
}

enum err_kind
steady_regions(const int64_t *values,
               size_t n,
               uint64_t num_steps,
               size_t min_run,
               struct arena *arena,
               struct windows *ret_regions,
               struct err *err)
{
    *ret_regions = (struct windows){arena_calloc(arena, n + 1, sizeof(struct window)), 0};
    if (!ret_regions->items)
        return err_no_memory(err, "the regions of a trace");
    if (n == 0)
        return ERR_OK;
    ret_regions->n = scan(values, n, num_steps, min_run, ret_regions->items);
    if (ret_regions->n == 0)
        ret_regions->items[ret_regions->n++] = middle(n, num_steps);
    return ERR_OK;
}

/* The longest one, first on ties. */
static struct window
largest(struct windows regions)
{
    struct window best = regions.items[0];
    for (size_t i = 1; i < regions.n; i++)
        if (regions.items[i].last - regions.items[i].first > best.last - best.first)
            best = regions.items[i];
    return best;
}

/* --- windows in a region ----------------------------------------------------------- */

static size_t
count_set(const bool *flags, struct window window)
{
    size_t n = 0;
    for (size_t i = window.first; i < window.last; i++)
        n += flags[i];
    return n;
}

static size_t
length(struct window window)
{
    return window.last - window.first;
}

static double
share_of(const bool *flags, struct window window)
{
    return (double)count_set(flags, window) / (double)length(window);
}

static size_t
stride_of(uint64_t num_steps)
{
    uint64_t strides = num_steps / 2 < STRIDES ? num_steps / 2 : STRIDES;
    uint64_t stride = num_steps / (strides ? strides : 1);
    return stride ? (size_t)stride : 1;
}

/* The mean of what a step weighs, as a fraction. */
struct mean {
    int128 sum;
    int128 n;
};

static struct mean
mean_requests(const int64_t *requests, struct window window)
{
    struct mean mean = {0, (int128)length(window)};
    for (size_t i = window.first; i < window.last; i++)
        mean.sum += requests[i];
    return mean;
}

static struct mean
mean_size(const struct batch_size *sizes, struct window window)
{
    struct mean mean = {0, 0};
    assert(sizes);
    for (size_t i = window.first; i < window.last; i++)
        if (sizes[i].is_known) {
            mean.sum += sizes[i].size;
            mean.n++;
        }
    return mean.n ? mean : (struct mean){0, 1};
}

/* What the steps weigh: requests, or sizes where there are none. */
struct weights {
    const int64_t *requests;
    const struct batch_size *sizes;
};

static struct mean
mean_of(struct weights weights, struct window window)
{
    return weights.requests ? mean_requests(weights.requests, window)
                            : mean_size(weights.sizes, window);
}

/* The next candidate behind `*window`; false at the end of the region. */
static bool
next_candidate(struct window region, uint64_t num_steps, struct window *window)
{
    size_t step = stride_of(num_steps);
    if (length(region) < num_steps || region.last - window->last < step)
        return false;
    *window = (struct window){window->first + step, window->last + step};
    return true;
}

static struct window
first_candidate(struct window region, uint64_t num_steps)
{
    if (length(region) < num_steps)
        return region;
    return (struct window){region.first, region.first + (size_t)num_steps};
}

static bool
any_with_prefill(struct window region, uint64_t num_steps, const bool *is_prefill)
{
    struct window window = first_candidate(region, num_steps);
    do {
        if (count_set(is_prefill, window) > 0)
            return true;
    } while (next_candidate(region, num_steps, &window));
    return false;
}

/* The mixed choice: the share nearest to the reference, then the heaviest. */
static struct window
choose(struct window region,
       uint64_t num_steps,
       const bool *is_prefill,
       struct weights weights,
       double reference)
{
    bool with_prefill = any_with_prefill(region, num_steps, is_prefill);
    struct window window = first_candidate(region, num_steps);
    struct window best = window;
    double best_gap = HUGE_VAL;
    struct mean best_mean = {0, 1};
    do {
        if (with_prefill && count_set(is_prefill, window) == 0)
            continue;
        double gap = fabs(share_of(is_prefill, window) - reference);
        struct mean mean = mean_of(weights, window);
        bool is_heavier = mean.sum * best_mean.n > best_mean.sum * mean.n;
        if (gap < best_gap || (gap <= best_gap && is_heavier)) {
            best = window;
            best_gap = gap;
            best_mean = mean;
        }
    } while (next_candidate(region, num_steps, &window));
    return best;
}

/* The longest run of steps whose flag is `wanted`, cut to the first `num_steps`. */
static bool
longest_run(const bool *flags,
            bool wanted,
            struct window region,
            uint64_t num_steps,
            struct window *ret_window)
{
    struct window best = {0, 0};
    size_t start = region.first;
    for (size_t i = region.first; i < region.last; i++) {
        if (flags[i] != wanted)
            start = i + 1;
        else if (i + 1 - start > length(best))
            best = (struct window){start, i + 1};
    }
    if (length(best) > num_steps)
        best.last = best.first + (size_t)num_steps;
    *ret_window = best;
    return length(best) > 0;
}

static void
pick(struct steady *steady,
     const bool *is_prefill,
     struct weights weights,
     uint64_t num_steps,
     uint64_t mixed_steps)
{
    struct window region = largest(steady->regions);
    steady->is_picked[STEADY_MIXED] = true;
    steady->picks[STEADY_MIXED] =
        choose(region, mixed_steps, is_prefill, weights, steady->reference_ratio);
    steady->is_picked[STEADY_DECODE_ONLY] = longest_run(
        is_prefill, false, region, num_steps, &steady->picks[STEADY_DECODE_ONLY]);
    steady->is_picked[STEADY_PREFILLDECODE] = longest_run(
        is_prefill, true, region, num_steps, &steady->picks[STEADY_PREFILLDECODE]);
}

/* --- annotated --------------------------------------------------------------------- */

struct steady_analytic
steady_analytic_of(int64_t conc, double osl, double r)
{
    double ratio = (2.0 * (double)conc) / (osl * (1.0 + r));
    double steps = ceil(1.0 / ratio);
    bool is_countable = steps < (double)INT64_MAX;
    return (struct steady_analytic){ratio, is_countable ? (int64_t)steps : INT64_MAX};
}

enum err_kind
steady_annotated(const int64_t *requests,
                 const bool *is_prefill,
                 size_t n,
                 uint64_t num_steps,
                 const struct steady_analytic *analytic,
                 struct arena *arena,
                 struct steady *ret_steady,
                 struct err *err)
{
    *ret_steady = (struct steady){0};
    struct windows *regions = &ret_steady->regions;
    if (steady_regions(requests, n, num_steps, ANNOTATED_RUN, arena, regions, err))
        return err->kind;
    size_t total = 0;
    size_t prefills = 0;
    for (size_t i = 0; i < regions->n; i++) {
        total += length(regions->items[i]);
        prefills += count_set(is_prefill, regions->items[i]);
    }
    ret_steady->reference_ratio =
        analytic ? analytic->ratio : (double)prefills / (double)total;
    uint64_t mixed_steps = num_steps;
    if (analytic && (uint64_t)analytic->steps > num_steps)
        mixed_steps = (uint64_t)analytic->steps;
    pick(ret_steady, is_prefill, (struct weights){requests, NULL}, num_steps,
         mixed_steps);
    return ERR_OK;
}

/* --- shapes ------------------------------------------------------------------------ */

/* A region of known decode sizes as one of all steps, with the prefills beside it. */
static struct window
widen(struct window region, const size_t *positions, const bool *is_prefill, size_t n)
{
    struct window wide = {positions[region.first], positions[region.last - 1] + 1};
    while (wide.first > 0 && is_prefill[wide.first - 1])
        wide.first--;
    while (wide.last < n && is_prefill[wide.last])
        wide.last++;
    return wide;
}

static enum err_kind
regions_of_sizes(const struct batch_size *sizes,
                 const bool *is_prefill,
                 size_t n,
                 uint64_t num_steps,
                 struct arena *arena,
                 struct windows *regions,
                 struct err *err)
{
    size_t *positions = arena_calloc(arena, n, sizeof *positions);
    int64_t *values = arena_calloc(arena, n, sizeof *values);
    size_t known = 0;
    if (!positions || !values)
        return err_no_memory(err, "the regions of a trace");
    for (size_t i = 0; i < n; i++)
        if (!is_prefill[i] && sizes[i].is_known) {
            positions[known] = i;
            values[known++] = sizes[i].size;
        }
    if (steady_regions(values, known, num_steps, SHAPES_RUN, arena, regions, err))
        return err->kind;
    for (size_t i = 0; i < regions->n; i++)
        regions->items[i] = widen(regions->items[i], positions, is_prefill, n);
    if (known == 0) {
        size_t last = num_steps < n ? (size_t)num_steps : n;
        regions->items[regions->n++] = (struct window){0, last};
    }
    return ERR_OK;
}

enum err_kind
steady_shapes(const struct batch_size *sizes,
              const bool *is_prefill,
              size_t n,
              uint64_t num_steps,
              struct arena *arena,
              struct steady *ret_steady,
              struct err *err)
{
    *ret_steady = (struct steady){0};
    if (regions_of_sizes(sizes, is_prefill, n, num_steps, arena, &ret_steady->regions,
                         err))
        return err->kind;
    ret_steady->reference_ratio = share_of(is_prefill, largest(ret_steady->regions));
    pick(ret_steady, is_prefill, (struct weights){NULL, sizes}, num_steps, num_steps);
    return ERR_OK;
}
