/* SPDX-License-Identifier: Apache-2.0 */
/* Distinct texts under small numbers. */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20, FIRST_SLOTS = 1 << 10, FIRST_TEXTS = 256 };

/* Most texts: the upper half of the numbers is for ids that are small integers. */
#define MAX_TEXTS ((UINT32_C(1) << 31) - 1)

struct entry {
    const char *text;
    uint32_t len;
    uint32_t hash;
};

struct texts {
    uint64_t max;
    uint64_t bytes; /* of texts and entries */
    bool is_full;
    struct entry *entries;
    uint32_t n;
    uint32_t cap;
    uint32_t *slots;  /* number + 1; 0: free */
    uint32_t n_slots; /* a power of two */
    char **blocks;
    size_t n_blocks;
    char *room;
    size_t room_len;
};

static uint64_t
load_8(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

/* The last bytes of a text as one word; they overlap what was read before. */
static uint64_t
load_last(struct slice text)
{
    uint64_t word = 0;
    if (text.len >= sizeof word)
        return load_8(text.data + text.len - sizeof word);
    for (size_t i = 0; i < text.len; i++)
        word = word << 8 | (unsigned char)text.data[i];
    return word;
}

/*
 * Multiply and fold, two words side by side. The order of texts does not depend on it; a
 * hostile trace that finds collisions costs time, bounded by the limits.
 */
static uint32_t
hash_text(struct slice text)
{
    const uint64_t prime = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t a = text.len * prime;
    uint64_t b = ~a;
    const char *at = text.data;
    size_t left = text.len;
    for (; left > 16; at += 16, left -= 16) {
        a = (a ^ load_8(at)) * prime;
        a ^= a >> 32;
        b = (b ^ load_8(at + 8)) * prime;
        b ^= b >> 29;
    }
    if (left > 8)
        b = (b ^ load_8(at)) * prime;
    a = (a ^ load_last(text)) * prime;
    a = (a ^ a >> 32 ^ b) * prime;
    return (uint32_t)(a ^ a >> 32);
}

struct texts *
texts_new(uint64_t max)
{
    struct texts *texts = calloc(1, sizeof *texts);
    uint32_t number;
    if (!texts)
        return NULL;
    texts->max = max;
    texts->n_slots = FIRST_SLOTS;
    texts->slots = calloc(FIRST_SLOTS, sizeof *texts->slots);
    if (texts->slots && texts_add(texts, SLICE(""), &number))
        return texts;
    texts_free(texts);
    return NULL;
}

void
texts_free(struct texts *texts)
{
    if (!texts)
        return;
    for (size_t i = 0; i < texts->n_blocks; i++)
        free(texts->blocks[i]);
    free(texts->blocks);
    free(texts->entries);
    free(texts->slots);
    free(texts);
}

static bool
grow_slots(struct texts *texts)
{
    uint32_t n_slots = texts->n_slots * 2;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < texts->n; i++) {
        uint32_t at = texts->entries[i].hash & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = i + 1;
    }
    free(texts->slots);
    texts->slots = slots;
    texts->n_slots = n_slots;
    return true;
}

static bool
grow_entries(struct texts *texts)
{
    uint32_t cap = texts->cap ? texts->cap * 2 : FIRST_TEXTS;
    struct entry *entries = reallocarray(texts->entries, cap, sizeof *entries);
    if (!entries)
        return false;
    texts->entries = entries;
    texts->cap = cap;
    return true;
}

static bool
add_block(struct texts *texts, size_t len)
{
    size_t size = len > BLOCK_BYTES ? len : BLOCK_BYTES;
    char **blocks = reallocarray(texts->blocks, texts->n_blocks + 1, sizeof *blocks);
    if (!blocks)
        return false;
    texts->blocks = blocks;
    char *block = malloc(size);
    if (!block)
        return false;
    texts->blocks[texts->n_blocks++] = block;
    texts->room = block;
    texts->room_len = size;
    return true;
}

static const char *
keep_text(struct texts *texts, struct slice text)
{
    if (text.len == 0)
        return "";
    if (text.len > texts->room_len && !add_block(texts, text.len))
        return NULL;
    char *copy = texts->room;
    memcpy(copy, text.data, text.len);
    texts->room += text.len;
    texts->room_len -= text.len;
    return copy;
}

static bool
add_entry(struct texts *texts, struct slice text, uint32_t hash, uint32_t slot)
{
    uint64_t cost = text.len + sizeof(struct entry) + 2 * sizeof(uint32_t);
    if (texts->n && (cost > texts->max - texts->bytes || texts->n == MAX_TEXTS ||
                     text.len > UINT32_MAX)) {
        texts->is_full = true;
        return false;
    }
    if (texts->n == texts->cap && !grow_entries(texts))
        return false;
    const char *copy = keep_text(texts, text);
    if (!copy)
        return false;
    texts->entries[texts->n++] = (struct entry){copy, (uint32_t)text.len, hash};
    texts->slots[slot] = texts->n;
    texts->bytes += texts->n > 1 ? cost : 0;
    return true;
}

bool
texts_add(struct texts *texts, struct slice text, uint32_t *ret_number)
{
    if (texts->n >= texts->n_slots / 2 && !grow_slots(texts))
        return false;
    uint32_t hash = hash_text(text);
    uint32_t slot = hash & (texts->n_slots - 1);
    for (; texts->slots[slot]; slot = (slot + 1) & (texts->n_slots - 1)) {
        const struct entry *entry = &texts->entries[texts->slots[slot] - 1];
        if (entry->hash == hash && entry->len == text.len &&
            memcmp(entry->text, text.data, text.len) == 0) {
            *ret_number = texts->slots[slot] - 1;
            return true;
        }
    }
    *ret_number = texts->n;
    return add_entry(texts, text, hash, slot);
}

bool
texts_is_full(const struct texts *texts)
{
    return texts->is_full;
}

uint32_t
texts_count(const struct texts *texts)
{
    return texts->n;
}

uint64_t
texts_bytes(const struct texts *texts)
{
    return texts->bytes;
}

struct slice
texts_text(const struct texts *texts, uint32_t number)
{
    const struct entry *entry = &texts->entries[number];
    return (struct slice){entry->text, entry->len};
}
