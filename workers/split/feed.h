/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as decompressed text, piece by piece, for the scanner. Each piece comes with
 * the bytes that the scanner could not use yet right in front of it, so that an event is
 * one run of memory. feed_direct_* decodes when asked; feed_thread.h decodes ahead in a
 * thread of its own.
 */
#pragma once

#include "err.h"
#include "refusal.h"
#include "source.h"
#include "unpack.h"

#include <stddef.h>

enum {
    FEED_PIECE = 256 << 10, /* bytes of a piece at most: it stays in the L2 cache */
    FEED_KEEP = 256 << 10,  /* bytes that can be kept in front of a piece */
    FEED_PADDING = 64,      /* bytes behind a piece that may be read and written */
};

struct feed {
    void *state;
    /*
     * The next piece, with the last `keep` bytes of the one before in front of it:
     * *ret_text points at these (keep <= FEED_KEEP), *ret_len counts both. No new byte:
     * the end. Valid until the next call.
     */
    enum err_kind (*next)(
        void *state, size_t keep, char **ret_text, size_t *ret_len, struct err *err);
    /* Back to the first byte. */
    enum err_kind (*rewind)(void *state, struct err *err);
    /* How the text ended; final once next() gave no new byte. */
    const struct unpack_end *(*end)(void *state);
};

/* As the record names it; filled by scan_run(). */
struct feed_facts {
    const char *container; /* static: plain, gzip, zstd; NULL: not known */
    uint64_t gzip_members;
    uint64_t container_trailing_bytes;
    uint64_t bytes; /* decompressed; up to the damage of a container */
    bool high_ratio;
};

struct feed_direct;

/* A feed that decodes `unpack` (borrowed) when asked. NULL: out of memory. */
struct feed_direct *feed_direct_new(struct unpack *unpack);
void feed_direct_free(struct feed_direct *direct);
struct feed feed_direct_feed(struct feed_direct *direct);
