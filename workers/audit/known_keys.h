/* SPDX-License-Identifier: Apache-2.0 */
/* The names that an object is known to carry, found by length first. */
#pragma once

#include "slice.h"

#include <stddef.h>

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

/* -1 when the name is not known. */
static inline int
known_key_find(const struct known_row *rows, size_t n_rows, struct slice name)
{
    if (name.len >= n_rows)
        return -1;
    const struct known_row *row = &rows[name.len];
    for (size_t i = 0; i < row->n; i++)
        if (row->keys[i].name[0] == name.data[0] &&
            memcmp(row->keys[i].name, name.data, name.len) == 0)
            return row->keys[i].key;
    return -1;
}
