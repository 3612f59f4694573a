/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and time by row and by a key of any bytes, in the order they come up: what a
 * kernel table groups by.
 */
#pragma once

#include "err.h"
#include "slice.h"
#include "texts.h"

#include <stddef.h>
#include <stdint.h>

enum { TALLY_KEY_BYTES = 16 };

struct tally_key {
    uint32_t row;
    char bytes[TALLY_KEY_BYTES];
};

struct tally_entry {
    struct tally_key key;
    uint32_t order; /* in which it came up */
    uint64_t calls;
    int64_t total_ns;
};

struct tallies {
    struct texts *keys;
    struct tally_entry *entries;
    size_t n;
    size_t cap;
};

enum err_kind tallies_init(struct tallies *tallies, struct err *err);
void tallies_done(struct tallies *tallies);
/* Counts a call under `row` and the `len` bytes at `bytes`, at most TALLY_KEY_BYTES. */
enum err_kind tallies_add(struct tallies *tallies,
                          uint32_t row,
                          const void *bytes,
                          size_t len,
                          int64_t dur_ns,
                          struct err *err);
/* Sorts by row; in it by total, calls, both descending, then first seen. */
void tallies_sort_heaviest(struct tallies *tallies);
/* Sorts by row; in it as they came up. */
void tallies_sort_seen(struct tallies *tallies);
/* The entries of a row, once sorted. */
struct tally_entry *
tallies_row(const struct tallies *tallies, uint32_t row, size_t *ret_n);
