/* SPDX-License-Identifier: Apache-2.0 */
/* The window of the most even durations. */
#include "steady.h"

#include "wide.h"

#include <math.h>

enum { MIN_SCAN = 4 };

/* Sum and sum of squares of the durations in the window that slides. */
struct sums {
    uint128 sum;
    struct wide squares;
};

static void
sums_add(struct sums *sums, int64_t dur_ns)
{
    uint128 dur = (uint128)dur_ns;
    sums->sum += dur;
    sums->squares = wide_add(sums->squares, wide_of(dur * dur));
}

static void
sums_take(struct sums *sums, int64_t dur_ns)
{
    uint128 dur = (uint128)dur_ns;
    sums->sum -= dur;
    sums->squares = wide_subtract(sums->squares, wide_of(dur * dur));
}

/* n times the sum of squares, less the square of the sum: n² times the variance. */
static struct wide
spread_of(const struct sums *sums, size_t n)
{
    return wide_subtract(wide_scale(sums->squares, n),
                         wide_multiply(sums->sum, sums->sum));
}

/* The coefficient of variation is below 0.15. */
static bool
passes(const struct sums *sums, struct wide spread)
{
    struct wide square = wide_multiply(sums->sum, sums->sum);
    return sums->sum == 0 ||
           wide_compare(wide_scale(spread, 400), wide_scale(square, 9)) < 0;
}

static double
relative_spread(const struct sums *sums, struct wide spread)
{
    double sum = wide_double(wide_of(sums->sum));
    return sums->sum ? wide_double(spread) / (sum * sum) : 0.0;
}

/* The middle of a window that had to be larger than what was asked for. */
static struct window
narrow(struct window window, size_t num_steps, size_t n)
{
    size_t centre = (window.first + window.last) / 2;
    size_t half = num_steps / 2;
    size_t begin = centre - window.first > half ? centre - half : window.first;
    size_t end = begin + num_steps < n ? begin + num_steps : n;
    return (struct window){end > num_steps ? end - num_steps : 0, end};
}

struct steady_duration
steady_by_duration(const int64_t *durs_ns, size_t n, uint64_t num_steps)
{
    struct steady_duration answer = {0};
    struct sums sums = {0};
    uint64_t wanted = num_steps > MIN_SCAN ? num_steps : MIN_SCAN;
    size_t width = wanted < n ? (size_t)wanted : n;
    size_t best = 0;
    uint128 best_sum = 0;
    double least = HUGE_VAL; /* while none passes */
    double best_spread = 0;
    for (size_t i = 0; i < n; i++) {
        sums_add(&sums, durs_ns[i]);
        if (i >= width)
            sums_take(&sums, durs_ns[i - width]);
        if (i + 1 < width)
            continue;
        struct wide spread = spread_of(&sums, width);
        double relative = relative_spread(&sums, spread);
        bool is_passing = passes(&sums, spread);
        if (is_passing ? answer.windows_passing == 0 || sums.sum < best_sum
                       : answer.windows_passing == 0 && relative < least) {
            best = i + 1 - width;
            best_sum = sums.sum;
            best_spread = relative;
            least = relative;
        }
        answer.windows_passing += is_passing;
    }
    answer.cv = sqrt(best_spread);
    answer.window = (struct window){best, best + width};
    if (num_steps < width)
        answer.window = narrow(answer.window, (size_t)num_steps, n);
    return answer;
}
