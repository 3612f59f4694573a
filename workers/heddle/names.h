/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts as small numbers: every distinct text gets the next id, so that facts about a
 * million records hold four bytes a name, and a count by name is an array.
 */
#pragma once

#include "err.h"
#include "slice.h"

#include <stddef.h>
#include <stdint.h>

/* At most this many distinct texts, and this many bytes of them. */
enum { NAMES_MAX = 1 << 25 };
#define NAMES_MAX_BYTES ((size_t)2 << 30)

struct names {
    struct name *items; /* by id */
    size_t n;
    size_t cap;
    uint32_t *slots; /* id + 1; 0: free */
    size_t n_slots;  /* a power of two, above n */
    size_t bytes;
};

#define NAMES_INIT ((struct names){0})

void names_done(struct names *names);
/*
 * The id of `text`, new or known; the text is copied. ERR_FATAL "out_of_memory", or
 * "too_many_names" at one of the ceilings.
 */
enum err_kind
names_put(struct names *names, struct slice text, uint32_t *ret_id, struct err *err);
/* The text of an id. Borrowed, terminated. */
struct slice names_get(const struct names *names, uint32_t id);
