/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with one lifetime. */
#include "arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALIGN = 16, BLOCK_BYTES = 64 * 1024 };

/* One huge record must not hold its memory for the rest of the process's life. */
#define KEEP_BYTES ((size_t)4 << 20)

struct arena_block {
    struct arena_block *next;
    size_t size; /* of the bytes behind the header */
    size_t used;
    _Alignas(ALIGN) char data[];
};

void
arena_init(struct arena *arena, size_t max)
{
    *arena = (struct arena){.max = max};
}

static void
free_from(struct arena_block *block)
{
    while (block) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void
arena_done(struct arena *arena)
{
    free_from(arena->first);
    *arena = (struct arena){.max = arena->max};
}

void
arena_reset(struct arena *arena)
{
    arena_reset_keeping(arena, KEEP_BYTES);
}

void
arena_reset_keeping(struct arena *arena, size_t keep)
{
    size_t kept = 0;
    struct arena_block **link = &arena->first;
    while (*link) {
        struct arena_block *block = *link;
        if (kept + block->size > keep) {
            *link = block->next;
            free(block);
            continue;
        }
        kept += block->size;
        block->used = 0;
        link = &block->next;
    }
    arena->current = arena->first;
    arena->taken = 0;
}

static struct arena_block *
block_new(size_t size)
{
    size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    struct arena_block *block = malloc(sizeof *block + bytes);
    if (!block)
        return NULL;
    block->next = NULL;
    block->size = bytes;
    block->used = 0;
    return block;
}

/* Moves to the next block with room, or links a new one in behind the current. */
static bool
make_room(struct arena *arena, size_t size)
{
    struct arena_block *block = arena->current ? arena->current->next : arena->first;
    for (; block; block = block->next)
        if (block->used == 0 && block->size >= size) {
            arena->current = block;
            return true;
        }
    block = block_new(size);
    if (!block)
        return false;
    if (arena->current) {
        block->next = arena->current->next;
        arena->current->next = block;
    } else {
        block->next = arena->first;
        arena->first = block;
    }
    arena->current = block;
    return true;
}

void *
arena_alloc(struct arena *arena, size_t size)
{
    size_t max = arena->max ? arena->max : ARENA_MAX_BYTES;
    if (size > max)
        return NULL;
    size_t need = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (need > max - arena->taken)
        return NULL;
    struct arena_block *block = arena->current;
    if (!block || need > block->size - block->used) {
        if (!make_room(arena, need ? need : ALIGN))
            return NULL;
        block = arena->current;
    }
    void *data = block->data + block->used;
    block->used += need;
    arena->taken += need;
    return data;
}

void *
arena_calloc(struct arena *arena, size_t n, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    void *data = arena_alloc(arena, bytes);
    if (data)
        memset(data, 0, bytes);
    return data;
}

struct slice
arena_copy(struct arena *arena, struct slice text)
{
    char *copy = arena_alloc(arena, text.len + 1);
    if (!copy)
        return (struct slice){NULL, 0};
    if (text.len)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return (struct slice){copy, text.len};
}

struct slice
arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = n < 0 ? NULL : arena_alloc(arena, (size_t)n + 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return (struct slice){text, text ? (size_t)n : 0};
}
