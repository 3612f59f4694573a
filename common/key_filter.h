/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of digests that may say "perhaps" for one that was never added (less than one of
 * a hundred) and never "no" for one that was: what it does not know need not be looked
 * up. It grows in layers, each four times the one before, out of a budget that several
 * filters share. When that is spent, or there is no memory, it is full: it gives its
 * memory back and answers "perhaps" to everything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_FILTER_LAYERS = 6, KEY_FILTER_KEY_BYTES = 16 };

struct key_filter_layer {
    uint64_t *words;
    size_t n_blocks;
};

struct key_filter {
    size_t *budget; /* bytes that may still be taken; borrowed */
    struct key_filter_layer layers[KEY_FILTER_LAYERS];
    size_t n_layers;
    size_t n; /* keys in all layers; of a full one, what they were */
    size_t capacity;
    bool full;
};

/* Caller's storage, empty. One thread uses the filters of a budget. */
void key_filter_init(struct key_filter *filter, size_t *budget);
/* Gives the memory back; the filter is empty, and not full. */
void key_filter_clear(struct key_filter *filter);
/* It becomes full: for one that can't be filled. */
void key_filter_give_up(struct key_filter *filter);
/* `key`: KEY_FILTER_KEY_BYTES of a digest, every bit as good as random. */
bool key_filter_has(const struct key_filter *filter, const uint8_t *key);
/* Adds it; what key_filter_has() said before. */
bool key_filter_add(struct key_filter *filter, const uint8_t *key);
