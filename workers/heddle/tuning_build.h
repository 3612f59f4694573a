/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the parts of a run to the tuning event (events.md 2, 3) and its key (4). Pure:
 * what was read, and where and when, is handed in.
 */
#pragma once

#include "arena.h"
#include "digest.h"
#include "err.h"
#include "slice.h"
#include "tuning_event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that travel in one event, all parts together; what is above is claimed. */
#define TUNING_INLINE_BYTES ((size_t)1 << 20)

/* One part as it was read. */
struct tuning_part {
    bool present;
    struct slice bytes; /* data NULL: too large to be held, so it is claimed */
    struct slice path;  /* absolute; data NULL: no file, so it can't be claimed */
    int64_t size;
    char sha256[DIGEST_HEX];
    int64_t event_time_us;
};

struct tuning_log {
    struct slice tuner;
    struct tuning_part part;
};

/* Everything is borrowed. */
struct tuning_parts {
    struct slice workspace;  /* "" when unknown */
    struct slice trace;      /* used where the workspace does not say it; nullable */
    struct slice started_at; /* nullable */
    const struct default_entry *defaults; /* sorted by key */
    size_t n_defaults;
    struct tuning_part result;
    struct tuning_log *logs; /* sorted by tuner */
    size_t n_logs;
    struct tuning_part e2e;
    struct slice node;
};

/* "heddle-feed/VERSION". */
extern const struct slice tuning_producer;

/*
 * SHA-256 of the event without `origin` in line form, each payload replaced by its
 * SHA-256: needs the digests, not the bytes. ERR_FATAL "out_of_memory".
 */
enum err_kind tuning_event_id(const struct tuning_parts *parts,
                              char ret_id[DIGEST_HEX],
                              struct err *err);

/*
 * The event and its key, in the arena or borrowed from `parts`. Parts are inline up to
 * TUNING_INLINE_BYTES together; above, the largest ones become claims until the rest
 * fits (a part without a file stays inline). ERR_RECORD "text_invalid" when a name is not
 * UTF-8, "event_without_parts", ERR_FATAL "out_of_memory".
 */
enum err_kind tuning_build(const struct tuning_parts *parts,
                           struct arena *arena,
                           struct tuning_event *ret_event,
                           struct slice *ret_key,
                           struct err *err);

/* Timestamp of an event's record in ms: that of captured_at_us, rounded down. */
int64_t origin_timestamp_ms(const struct origin *origin);
