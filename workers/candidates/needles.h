/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many words looked for in one pass over a text. A needle is found anywhere, a word only
 * where no letter, digit or underscore of the lower case borders it. Which line of a
 * table is the first with a hit is then a question of positions, not of further passes.
 */
#pragma once

#include "arena.h"
#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of a table: texts are separated by blanks. "a..b" is both, in this order. */
struct needle_line {
    const char *answer;
    const char *needles;
    const char *words;
};

enum {
    NEEDLES_MAX = 192,   /* texts of a table */
    NEEDLES_LINES = 24,  /* its lines */
    NEEDLES_CLASSES = 38 /* letters, digits, underscore, the rest */
};

struct needle {
    const char *text;
    uint8_t len;
    bool word;
    uint8_t line;
    int16_t after; /* needle that must stand before this one; -1: none */
    int16_t next;  /* of the same first two characters; -1: none */
    bool partial;  /* the first of a pair: no hit of its own */
};

struct needle_set {
    const struct needle_line *lines;
    size_t n_lines;
    struct needle items[NEEDLES_MAX];
    size_t n;
    int16_t first[NEEDLES_CLASSES * NEEDLES_CLASSES];
    /* Which classes of character may follow these two: a bit each. */
    uint64_t third[NEEDLES_CLASSES * NEEDLES_CLASSES];
    uint8_t classes[256];
};

/* Fills `ret_set` from a static table. */
void
needles_init(struct needle_set *ret_set, const struct needle_line *lines, size_t n_lines);
/* The answer of the first line that has a hit in `text` (any case), NULL without one. */
const char *needles_first(const struct needle_set *set, struct slice text);
