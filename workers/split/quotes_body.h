/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the structural index that all variants share. A variant defines
 * line_masks(), prefix_xor() and add_places(), then includes this and calls
 * index_lines().
 */
#pragma once

#include "quotes.h"

/* One bit per byte of a line. */
struct masks {
    uint64_t quote;
    uint64_t backslash;
    uint64_t control; /* below 20 hex */
    uint64_t high;    /* 80 hex and above */
};

static inline struct masks line_masks(const char *text);
/* Bit i = exclusive or of the bits 0 to i. */
static inline uint64_t prefix_xor(uint64_t bits);
/* Writes base + i for each bit i, in order. */
static inline uint32_t *add_places(uint32_t *places, uint32_t base, uint64_t bits);

/* The bytes that a backslash before them escapes: odd places of each run. */
static inline uint64_t
escaped_bytes(uint64_t backslash, uint64_t *carry)
{
    const uint64_t odd = UINT64_C(0xAAAAAAAAAAAAAAAA);
    uint64_t start = backslash & ~*carry;
    uint64_t even_runs = ((start << 1) | odd) - start;
    uint64_t escape_or_end = even_runs ^ odd;
    uint64_t escaped = escape_or_end ^ (backslash | *carry);
    *carry = (escape_or_end & backslash) >> 63;
    return escaped;
}

static inline void
index_lines(const char *text,
            size_t from,
            size_t to,
            struct quotes_state *state,
            struct quotes *ret)
{
    uint32_t *places = ret->at;
    uint32_t *odd = ret->odd;
    for (size_t at = from; at < to; at += QUOTES_LINE) {
        struct masks masks = line_masks(text + at);
        if (masks.backslash | state->escaped)
            masks.quote &= ~escaped_bytes(masks.backslash, &state->escaped);
        uint64_t inside = prefix_xor(masks.quote) ^ state->in_string;
        state->in_string = (uint64_t)((int64_t)inside >> 63);
        *odd = (uint32_t)at;
        odd += (masks.backslash | masks.high | (masks.control & inside)) != 0;
        places = add_places(places, (uint32_t)at, masks.quote);
    }
    ret->n = (uint32_t)(places - ret->at);
    ret->n_odd = (uint32_t)(odd - ret->odd);
}

static inline uint64_t __attribute__((unused)) prefix_xor_by_shifts(uint64_t bits)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

/* Some are written in vain: a loop of a fixed count spares a branch that is missed. */
static inline uint32_t *__attribute__((unused))
add_places_by_count(uint32_t *places, uint32_t base, uint64_t bits)
{
    uint32_t *end = places + __builtin_popcountll(bits);
    while (bits) {
        for (int i = 0; i < 4; i++) {
            places[i] = base + (uint32_t)(bits ? __builtin_ctzll(bits) : 0);
            bits &= bits - 1;
        }
        places += 4;
    }
    return end;
}
