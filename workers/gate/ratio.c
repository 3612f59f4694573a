/* SPDX-License-Identifier: Apache-2.0 */
/* The ratio and its fallbacks. */
#include "ratio.h"

static double
at_most_one(double x)
{
    return x < 1 ? x : 1;
}

struct amount
ratio_quotient(const struct chunk_numbers *numbers)
{
    struct amount wall = numbers->gpu_duration_ns;
    struct amount busy = numbers->gpu_busy_duration_ns;
    if (!amount_usable(wall) || wall.value <= 0 || !amount_usable(busy))
        return AMOUNT_UNKNOWN;
    return AMOUNT(at_most_one(busy.value / wall.value));
}

struct amount
ratio_of(const struct chunk_numbers *numbers)
{
    if (amount_usable(numbers->busy_ratio))
        return AMOUNT(at_most_one(numbers->busy_ratio.value));
    return ratio_quotient(numbers);
}

double
ratio_events(const struct chunk_numbers *numbers)
{
    return amount_usable(numbers->num_gpu_events) ? floor(numbers->num_gpu_events.value)
                                                  : 0;
}

bool
ratio_is_empty(const struct chunk_numbers *numbers)
{
    struct amount busy = numbers->gpu_busy_duration_ns;
    return ratio_events(numbers) < 1 || (amount_usable(busy) && busy.value <= 0);
}
