/* SPDX-License-Identifier: Apache-2.0 */
/* The names that an object is known to carry, each found by one look into a table. */
#pragma once

#include "slice.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct known_key {
    const char *name;
    uint32_t len;
    int key;
};

enum { KNOWN_SLOTS = 256 };

/* By length, first, middle and last letter. The factors keep the names of both tables
 * apart; two in one slot are an error of the compiler (-Woverride-init). */
#define KNOWN_SLOT(len, first, middle, last)                                             \
    (((len)*17UL + (first)*43UL + (middle)*9UL + (last)*14UL) % KNOWN_SLOTS)

#define KNOWN_KEY(name, first, middle, last, key)                                        \
    [KNOWN_SLOT(sizeof(name) - 1, first, middle, last)] = {(name), sizeof(name) - 1,     \
                                                           (key)}

static inline uint64_t
known_load8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint32_t
known_load4(const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* memcmp() of a few bytes costs its call: two loads that overlap say the same. */
static inline bool
known_same(const char *a, const char *b, size_t len)
{
    if (len < 4 || len > 16)
        return memcmp(a, b, len) == 0;
    if (len < 8)
        return !((known_load4(a) ^ known_load4(b)) |
                 (known_load4(a + len - 4) ^ known_load4(b + len - 4)));
    return !((known_load8(a) ^ known_load8(b)) |
             (known_load8(a + len - 8) ^ known_load8(b + len - 8)));
}

/* -1 when the name is not known. */
static inline int
known_key_find(const struct known_key known[KNOWN_SLOTS], struct slice name)
{
    if (name.len == 0)
        return -1;
    const unsigned char *text = (const unsigned char *)name.data;
    uint32_t len = (uint32_t)name.len;
    const struct known_key *at =
        &known[KNOWN_SLOT(len, text[0], text[name.len / 2], text[name.len - 1])];
    bool same = at->len == name.len && known_same(at->name, name.data, name.len);
    return same ? at->key : -1;
}
