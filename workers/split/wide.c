/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers wider than 64 bits, for comparisons that must be exact. */
#include "wide.h"

#include <math.h>

enum { PARTS = 4, PART_BITS = 64 };

struct wide
wide_of(uint128 value)
{
    return (struct wide){{(uint64_t)value, (uint64_t)(value >> PART_BITS), 0, 0}};
}

struct wide
wide_scale(struct wide value, uint64_t factor)
{
    uint128 carry = 0;
    for (int i = 0; i < PARTS; i++) {
        carry += (uint128)value.part[i] * factor;
        value.part[i] = (uint64_t)carry;
        carry >>= PART_BITS;
    }
    return value;
}

struct wide
wide_add(struct wide a, struct wide b)
{
    uint128 carry = 0;
    for (int i = 0; i < PARTS; i++) {
        carry += (uint128)a.part[i] + b.part[i];
        a.part[i] = (uint64_t)carry;
        carry >>= PART_BITS;
    }
    return a;
}

struct wide
wide_subtract(struct wide a, struct wide b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < PARTS; i++) {
        uint128 take = (uint128)b.part[i] + borrow;
        borrow = take > a.part[i];
        a.part[i] -= (uint64_t)take;
    }
    return a;
}

struct wide
wide_multiply(uint128 a, uint128 b)
{
    struct wide low = wide_scale(wide_of(a), (uint64_t)b);
    struct wide high = wide_scale(wide_of(a), (uint64_t)(b >> PART_BITS));
    struct wide shifted = {{0, high.part[0], high.part[1], high.part[2]}};
    return wide_add(low, shifted);
}

int
wide_compare(struct wide a, struct wide b)
{
    for (int i = PARTS - 1; i >= 0; i--)
        if (a.part[i] != b.part[i])
            return a.part[i] > b.part[i] ? 1 : -1;
    return 0;
}

bool
wide_is_zero(struct wide value)
{
    return !(value.part[0] | value.part[1] | value.part[2] | value.part[3]);
}

/* The 64 bits from bit `at` up, and whether a bit below is set. */
static uint64_t
window(struct wide value, int at, bool *ret_sticky)
{
    int part = at / PART_BITS;
    int shift = at % PART_BITS;
    uint64_t bits = value.part[part] >> shift;
    if (shift && part + 1 < PARTS)
        bits |= value.part[part + 1] << (PART_BITS - shift);
    uint64_t below = shift ? value.part[part] << (PART_BITS - shift) : 0;
    for (int i = 0; i < part; i++)
        below |= value.part[i];
    *ret_sticky = below != 0;
    return bits;
}

/* A bit below the last one that counts settles ties: one rounding, the processor's. */
double
wide_double(struct wide value)
{
    int top = PARTS - 1;
    while (top > 0 && value.part[top] == 0)
        top--;
    if (top == 0)
        return (double)value.part[0];
    int at = top * PART_BITS - __builtin_clzll(value.part[top]);
    bool sticky;
    uint64_t bits = window(value, at, &sticky);
    return ldexp((double)(bits | sticky), at);
}

/*
 * Long division, bit by bit, to 64 bits of quotient: the one rounding is then that of a
 * double.
 */
double
wide_fraction(uint128 over, uint128 under)
{
    int shift = 0;
    if (over == 0)
        return 0.0;
    while (over < under) {
        over <<= 1;
        shift++;
    }
    uint128 quotient = over / under;
    uint128 rest = over % under;
    while (quotient >> (PART_BITS - 1) == 0) {
        bool is_over = rest >= under - rest;
        rest = is_over ? rest - (under - rest) : rest << 1;
        quotient = quotient << 1 | is_over;
        shift++;
    }
    struct wide value = wide_scale(wide_of(quotient), 2);
    value.part[0] |= rest != 0;
    return ldexp(wide_double(value), -(shift + 1));
}

double
wide_ratio(int64_t part, int64_t whole)
{
    uint64_t size = part < 0 ? 0 - (uint64_t)part : (uint64_t)part;
    double ratio = wide_fraction(size, (uint128)whole);
    return part < 0 ? -ratio : ratio;
}
