/* SPDX-License-Identifier: Apache-2.0 */
/* Delays between attempts. */
#include "backoff.h"

int64_t
backoff_delay_ms(const struct backoff *backoff, unsigned attempt, uint64_t random)
{
    int64_t delay_ms = backoff->first_ms > 0 ? backoff->first_ms : 1;
    for (unsigned i = 2; i < attempt && delay_ms < backoff->max_ms; i++)
        delay_ms = delay_ms > backoff->max_ms / 2 ? backoff->max_ms : delay_ms * 2;
    if (delay_ms > backoff->max_ms && backoff->max_ms > 0)
        delay_ms = backoff->max_ms;
    int64_t half_ms = delay_ms / 2;
    return delay_ms - (int64_t)(random % ((uint64_t)half_ms + 1));
}

/* SplitMix64. */
uint64_t
backoff_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
