/* SPDX-License-Identifier: Apache-2.0 */
/* Xorshift: small, and the same on every machine. */
#include "chance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "process.h"

static uint64_t chance;

void
chance_start(void)
{
    const char *given = getenv("TEST_SEED");
    chance = given ? strtoull(given, NULL, 10) : (uint64_t)process_now_ms();
    if (chance == 0)
        chance = 1; /* 0 would stay 0 for ever */
    printf("TEST_SEED=%" PRIu64 "\n", chance);
    fflush(stdout);
}

uint64_t
chance_next(uint64_t below)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return chance % below;
}
