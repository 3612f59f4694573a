/* SPDX-License-Identifier: Apache-2.0 */
/* The names that an object is known to carry, found by length first. */
#pragma once

#include "slice.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct known_key {
    const char *name;
    int key;
};

/* Those of one length; the position in an array of rows is the length. */
struct known_row {
    const struct known_key *keys;
    size_t n;
};

#define KNOWN_ROW(keys)                                                                  \
    {                                                                                    \
        (keys), sizeof(keys) / sizeof(keys)[0]                                           \
    }

static inline uint64_t
known_load8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* memcmp() of a few bytes costs its call: two loads that overlap say the same. */
static inline bool
known_same(const char *a, const char *b, size_t len)
{
    if (len < 8 || len > 16)
        return memcmp(a, b, len) == 0;
    return !((known_load8(a) ^ known_load8(b)) |
             (known_load8(a + len - 8) ^ known_load8(b + len - 8)));
}

/* -1 when the name is not known. */
static inline int
known_key_find(const struct known_row *rows, size_t n_rows, struct slice name)
{
    if (name.len >= n_rows)
        return -1;
    const struct known_row *row = &rows[name.len];
    for (size_t i = 0; i < row->n; i++)
        if (row->keys[i].name[0] == name.data[0] &&
            known_same(row->keys[i].name, name.data, name.len))
            return row->keys[i].key;
    return -1;
}
