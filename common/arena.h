/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory with one lifetime: everything that is made for one record is taken here and
 * given back at once by arena_reset(). Blocks are kept for the next record, so a worker
 * that has seen its largest record allocates no more. A ceiling bounds what one record
 * may take.
 */
#pragma once

#include "slice.h"

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *first;
    struct arena_block *current;
    size_t taken; /* bytes handed out since the last reset, alignment included */
    size_t max;   /* ceiling for `taken`; 0: ARENA_MAX_BYTES */
};

/* The ceiling of an arena that names none: 256 MiB. */
#define ARENA_MAX_BYTES ((size_t)256 << 20)
#define ARENA_INIT      ((struct arena){0})

void arena_init(struct arena *arena, size_t max);
void arena_done(struct arena *arena);
/* Takes everything back. Keeps blocks up to a fixed total (see arena.c) for the next use.
 */
void arena_reset(struct arena *arena);
/* The same, with a total of the caller's. */
void arena_reset_keeping(struct arena *arena, size_t keep);
/*
 * `size` bytes aligned for any type, not cleared; NULL at the ceiling or out of memory.
 * Size 0 gives a valid pointer to nothing.
 */
void *arena_alloc(struct arena *arena, size_t size);
/* As arena_alloc for `n` items of `size` bytes, cleared, safe against overflow. */
void *arena_calloc(struct arena *arena, size_t n, size_t size);
/* A terminated copy of `text`; a null slice when there is no room. */
struct slice arena_copy(struct arena *arena, struct slice text);
/* Formatted text, terminated; a null slice when there is no room. */
struct slice arena_printf(struct arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
