/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before an attempt: doubled each time, with a ceiling and jitter. */
#pragma once

#include <stdint.h>

struct backoff {
    int64_t first_ms; /* before the second attempt */
    int64_t max_ms;
};

/*
 * Delay before attempt `attempt` (2 is the first retry), in milliseconds: between half
 * and all of the doubled delay. `random` is any number; equal ones give equal delays.
 */
int64_t
backoff_delay_ms(const struct backoff *backoff, unsigned attempt, uint64_t random);

/* The next number of a small generator, for jitter. `*state` is any number. */
uint64_t backoff_random(uint64_t *state);
