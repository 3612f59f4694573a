/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows were seen: a set of identities in an arena. Zero it to begin. */
#pragma once

#include "arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What tells rows apart: the trimmed kernel_id, else the name. */
struct identity {
    bool is_name;
    struct slice text; /* borrowed */
};

struct identity_set {
    struct identity *items;
    size_t n;
    uint32_t *slots; /* positions + 1 in `items`; open addressing */
    size_t n_slots;  /* a power of two, at most half of them taken */
};

/* `*ret_added`: it was not there before. False: no memory. */
bool identity_set_add(struct identity_set *set,
                      struct identity identity,
                      struct arena *arena,
                      bool *ret_added);
bool identity_set_has(const struct identity_set *set, struct identity identity);
