/* SPDX-License-Identifier: Apache-2.0 */
/* Wall and monotonic time. */
#include "clock.h"

#include <time.h>

static int64_t
read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t
clock_now_ms(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000;
}

int64_t
clock_now_us(void)
{
    return read_ns(CLOCK_REALTIME) / 1000;
}

int64_t
clock_monotonic_ms(void)
{
    return read_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t
clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}
