/* SPDX-License-Identifier: Apache-2.0 */
/* The choices of a test that kills at random: one seed repeats them all. */
#pragma once

#include <stdint.h>

/* Takes TEST_SEED or else the clock, and prints it. Call it before chance_next(). */
void chance_start(void);
/* 0 ... below - 1; `below` is at least 1. */
uint64_t chance_next(uint64_t below);
