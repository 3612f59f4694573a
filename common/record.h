/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record on its way through a worker: what came in, and what is to go out.
 */
#pragma once

#include "arena.h"
#include "err.h"
#include "field.h"
#include "slice.h"

#include <stdint.h>

struct header {
    struct slice name;
    struct slice value;
};

/* One Kafka record as it was consumed. Everything is borrowed from the consumer. */
struct message {
    const char *topic;
    int32_t partition;
    int64_t offset;
    int64_t timestamp_ms; /* -1: none */
    struct slice key;     /* data NULL: no key */
    struct slice value;   /* data NULL: a tombstone */
    const struct header *headers;
    size_t n_headers;
};

/* One record to produce. What it points to lives in the arena of its list. */
struct emit {
    const char *topic;              /* name of the topic as events.md 1 has it */
    struct slice key;               /* data NULL: no key */
    const struct record_type *type; /* NULL: a tombstone */
    const void *value;              /* a struct of `type` */
    int64_t timestamp_ms;
};

/* What one input gives, in order. Emptied by the runner before each record. */
struct emits {
    struct arena
        *arena; /* for everything a derivation makes; lives until it is produced */
    struct emit *items;
    size_t n;
    size_t cap;
};

/*
 * Appends a record; `key` and `value` must lie in `out->arena`, in the input, or be
 * static. ERR_FATAL "out_of_memory".
 */
enum err_kind emits_add(struct emits *out,
                        const char *topic,
                        struct slice key,
                        const struct record_type *type,
                        const void *value,
                        int64_t timestamp_ms,
                        struct err *err);
/* Appends the tombstone of `key`. */
enum err_kind emits_add_tombstone(struct emits *out,
                                  const char *topic,
                                  struct slice key,
                                  int64_t timestamp_ms,
                                  struct err *err);
