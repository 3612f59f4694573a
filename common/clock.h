/* SPDX-License-Identifier: Apache-2.0 */
/* Time, from the system. Core and domain code get it handed in. */
#pragma once

#include <stdint.h>

/* Milliseconds and microseconds since 1970-01-01T00:00:00Z. */
int64_t clock_now_ms(void);
int64_t clock_now_us(void);
/* Milliseconds and nanoseconds that only grow; for deadlines and durations. */
int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_ns(void);
