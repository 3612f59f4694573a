/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries that the index on the disk does not have yet, in the order of their keys. Keys
 * are spread over their whole range, so the entries of each batch would touch most pages
 * of a large index; those of many batches touch them once.
 */
#pragma once

#include "arena.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { UNINDEXED_REMOVED = 0 }; /* in place of a number: the key has no record */

/* The first bytes of a key, as a number that sorts like them. */
static inline uint64_t
unindexed_prefix(const uint8_t *key)
{
    uint64_t big;
    memcpy(&big, key, sizeof big);
    return be64toh(big);
}

struct unindexed_key {
    uint64_t number;
    bool fresh; /* the index has nothing of the key's group */
    uint8_t key[];
};

/* A key, and its prefix. */
struct unindexed_entry {
    uint64_t prefix;
    struct unindexed_key *key;
};

struct unindexed {
    size_t key_bytes; /* 8 or more */
    struct arena arena;
    struct unindexed_entry *entries;
    size_t n;       /* in order, each key once */
    size_t n_added; /* behind them, since unindexed_merge() */
    size_t capacity;
};

/* Caller's storage. It has no ceiling: its owner looks at unindexed_bytes(). */
void unindexed_init(struct unindexed *unindexed, size_t key_bytes);
void unindexed_done(struct unindexed *unindexed);
/* Forgets all; up to `keep` bytes of memory are kept. */
void unindexed_clear(struct unindexed *unindexed, size_t keep);
/* Copies a key that was not added since the last merge, in any order. False: no memory.
 */
bool unindexed_add(struct unindexed *unindexed,
                   const uint8_t *key,
                   uint64_t number,
                   bool fresh);
/* What was added takes effect, over what was there. False: no memory; nothing of it did.
 */
bool unindexed_merge(struct unindexed *unindexed);
/* Bytes that are held. */
size_t unindexed_bytes(const struct unindexed *unindexed);
/* The first entry not before `key`; `len` bytes of it count, 8 or more. */
size_t unindexed_find(const struct unindexed *unindexed, const uint8_t *key, size_t len);
/* That entry, when its first `len` bytes are those of `key`; else NULL. */
const struct unindexed_key *
unindexed_at(const struct unindexed *unindexed, size_t i, const uint8_t *key, size_t len);
