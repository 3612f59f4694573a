/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of pairs of numbers: the folders a walk has seen (device, inode), the problems a
 * watch has told (two words of a digest).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id {
    uint64_t a;
    uint64_t b;
};

/* The pair {0, 0} can't be kept; neither callers' pairs ever is. */
struct id_set {
    struct id *slots;
    size_t n;
    size_t cap; /* a power of two, or 0 */
};

enum id_added { ID_NEW = 1, ID_KNOWN, ID_NO_ROOM };

/* The most pairs of one set: 64 MiB of them at the fullest. */
#define ID_SET_MAX ((size_t)2 << 20)

enum id_added id_set_add(struct id_set *set, struct id id);
void id_set_reset(struct id_set *set); /* forgets the pairs, keeps the memory */
void id_set_done(struct id_set *set);
