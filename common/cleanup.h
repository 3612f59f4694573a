/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners on the stack: `CLEANUP(buf_done) struct buf out = BUF_INIT;` calls
 * `buf_done(&out)` when `out` goes out of scope. For a pointer owner define the
 * helper once: `CLEANUP_DEFINE(codec, codec_free)` gives `codec_freep`.
 */
#pragma once

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Defines `FREE_FN##p(TYPE **)`, which frees `*p` unless it is NULL. */
#define CLEANUP_DEFINE(type, free_fn)                                                    \
    static inline void free_fn##p(type **p)                                              \
    {                                                                                    \
        if (*p)                                                                          \
            free_fn(*p);                                                                 \
    }                                                                                    \
    struct cleanup_needs_semicolon
