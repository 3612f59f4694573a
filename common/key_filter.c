/* SPDX-License-Identifier: Apache-2.0 */
/* A Bloom filter in blocks of one cache line, one bit in each of its words. */
#include "key_filter.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_WORDS = 8,
    BLOCK_KEYS = 32, /* 16 bits a key */
    FIRST_BLOCKS = 256,
    GROWTH_BITS = 2, /* four times */
    WORD_BITS = 6,   /* 64 = 1 << 6 */
};

void
key_filter_init(struct key_filter *filter, size_t *budget)
{
    *filter = (struct key_filter){0};
    filter->budget = budget;
}

static size_t
bytes_of(size_t n_blocks)
{
    return n_blocks * BLOCK_WORDS * sizeof(uint64_t);
}

void
key_filter_clear(struct key_filter *filter)
{
    for (size_t i = 0; i < filter->n_layers; i++) {
        free(filter->layers[i].words);
        *filter->budget += bytes_of(filter->layers[i].n_blocks);
    }
    key_filter_init(filter, filter->budget);
}

void
key_filter_give_up(struct key_filter *filter)
{
    size_t n = filter->n;
    key_filter_clear(filter);
    filter->n = n;
    filter->full = true;
}

/* The block by the first eight bytes, the bits in it by the others. */
static uint64_t *
block_of(const struct key_filter_layer *layer, const uint8_t *key, uint64_t *ret_bits)
{
    uint64_t which;
    memcpy(&which, key, sizeof which);
    memcpy(ret_bits, key + sizeof which, sizeof *ret_bits);
    return layer->words + (which & (layer->n_blocks - 1)) * BLOCK_WORDS;
}

static uint64_t
bit_of(uint64_t bits, size_t word)
{
    return (uint64_t)1 << (bits >> (word * WORD_BITS) & 63);
}

static bool
layer_has(const struct key_filter_layer *layer, const uint8_t *key)
{
    uint64_t bits;
    const uint64_t *block = block_of(layer, key, &bits);
    for (size_t word = 0; word < BLOCK_WORDS; word++)
        if (!(block[word] & bit_of(bits, word)))
            return false;
    return true;
}

static void
layer_add(const struct key_filter_layer *layer, const uint8_t *key)
{
    uint64_t bits;
    uint64_t *block = block_of(layer, key, &bits);
    for (size_t word = 0; word < BLOCK_WORDS; word++)
        block[word] |= bit_of(bits, word);
}

bool
key_filter_has(const struct key_filter *filter, const uint8_t *key)
{
    if (filter->full)
        return true;
    for (size_t i = filter->n_layers; i-- > 0;)
        if (layer_has(&filter->layers[i], key))
            return true;
    return false;
}

static bool
grow(struct key_filter *filter)
{
    size_t n_blocks = (size_t)FIRST_BLOCKS << (GROWTH_BITS * filter->n_layers);
    if (filter->n_layers == KEY_FILTER_LAYERS || bytes_of(n_blocks) > *filter->budget)
        return false;
    uint64_t *words = calloc(n_blocks, bytes_of(1));
    if (!words)
        return false;
    *filter->budget -= bytes_of(n_blocks);
    filter->layers[filter->n_layers++] = (struct key_filter_layer){words, n_blocks};
    filter->capacity += n_blocks * BLOCK_KEYS;
    return true;
}

bool
key_filter_add(struct key_filter *filter, const uint8_t *key)
{
    if (key_filter_has(filter, key))
        return true;
    if (filter->n == filter->capacity && !grow(filter)) {
        key_filter_give_up(filter);
        return true;
    }
    layer_add(&filter->layers[filter->n_layers - 1], key);
    filter->n++;
    return false;
}
