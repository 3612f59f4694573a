/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the splitter gets from outside: the bytes of a trace as they were received, room
 * for an index that outgrows its memory, and the declared limits
 * (splitting.md 2.5, 12.2). The splitter itself opens nothing.
 */
#pragma once

#include "err.h"

#include <stddef.h>
#include <stdint.h>

/* The bytes of one trace as received, from the first to the last, as often as asked. */
struct split_source {
    void *state;
    /* Back to the first byte. */
    enum err_kind (*rewind)(void *state, struct err *err);
    /* Up to `cap` bytes; *ret_len = 0 is the end. May give fewer than there are. */
    enum err_kind (*read)(
        void *state, char *buf, size_t cap, size_t *ret_len, struct err *err);
};

/* A scratch file of our own; what was written at an offset is read there again. */
struct split_spill {
    void *state;
    enum err_kind (*write)(
        void *state, uint64_t offset, const void *data, size_t len, struct err *err);
    enum err_kind (*read)(
        void *state, uint64_t offset, void *data, size_t len, struct err *err);
};

/* Settings that decide what a trace may cost; all are part of the declared config. */
struct split_limits {
    uint64_t max_bytes;       /* decompressed bytes of one trace */
    uint64_t max_ratio;       /* decompressed / compressed */
    uint64_t max_event_bytes; /* one event; beyond it the event is skipped and counted */
    uint64_t max_strings;     /* bytes of distinct strings held */
    int zstd_window_log;      /* 10 to 27 */
    uint64_t index_memory;    /* bytes of the index in memory; 0: all of it */
};

#define SPLIT_LIMITS_DEFAULT                                                             \
    ((struct split_limits){.max_bytes = UINT64_C(1) << 40,                               \
                           .max_ratio = 1100,                                            \
                           .max_event_bytes = UINT64_C(64) << 20,                        \
                           .max_strings = UINT64_C(1) << 30,                             \
                           .zstd_window_log = 23})
