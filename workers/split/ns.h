/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of times. Those of hostile traces stay at the ends of the range. */
#pragma once

#include <stdint.h>

static inline int64_t
ns_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t
ns_subtract(int64_t a, int64_t b)
{
    int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference))
        return difference;
    return b < 0 ? INT64_MAX : INT64_MIN;
}
