/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a record: what was odd about its input, sorted and without repeats. */
#pragma once

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "slice.h"

#include <stdint.h>

/* All notes of one record together, repeats counted once; more than a record can hold
 * anyway. */
enum { NOTES_MAX_BYTES = 2 * 1024 * 1024 };

struct notes {
    struct arena *arena;
    struct slice *items;
    size_t n, cap;
    size_t bytes; /* of all items, repeats included until they are dropped */
};

/*
 * Adds `kind`:`name`. ERR_RECORD "record_too_large" at the ceiling or when the arena is
 * full. `name` is copied.
 */
enum err_kind
notes_add(struct notes *notes, const char *kind, struct slice name, struct err *err);
/* Adds `kind`:`number`. */
enum err_kind
notes_add_number(struct notes *notes, const char *kind, size_t number, struct err *err);
/* Adds `kind`:`a`:`b`. */
enum err_kind notes_add_numbers(
    struct notes *notes, const char *kind, size_t a, size_t b, struct err *err);
/* Sorts by code point and drops repeats. ERR_RECORD "record_too_large" when more than the
 * ceiling is left. */
enum err_kind notes_sort(struct notes *notes, struct err *err);
/* Appends them as a JSON array in line form. */
void notes_write(const struct notes *notes, struct buf *out);

/* ERR_RECORD "record_too_large": the arena of a record is full. */
enum err_kind audit_full(struct err *err);
