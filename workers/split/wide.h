/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole numbers wider than 64 bits, for comparisons that must be exact: sums of squares
 * of times need more than 128 bits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/* 256 bits, least significant part first; never negative. */
struct wide {
    uint64_t part[4];
};

struct wide wide_of(uint128 value);
struct wide wide_multiply(uint128 a, uint128 b);
/* Multiplied by a small factor; what leaves 256 bits is lost. */
struct wide wide_scale(struct wide value, uint64_t factor);
struct wide wide_add(struct wide a, struct wide b);
/* a - b for a >= b. */
struct wide wide_subtract(struct wide a, struct wide b);
int wide_compare(struct wide a, struct wide b);
bool wide_is_zero(struct wide value);
/* The nearest double, ties to even. */
double wide_double(struct wide value);
/* The double nearest to over/under, both below 2^127, under > 0. */
double wide_fraction(uint128 over, uint128 under);
/* The double nearest to part/whole, whole > 0: one rounding, as if by exact division. */
double wide_ratio(int64_t part, int64_t whole);
