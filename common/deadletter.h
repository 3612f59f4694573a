/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of a dead letter (events.md 8). Key, value, timestamp and the record's own
 * headers stay as they came; ours are set once: those that a former dead letter left are
 * replaced, so a record that fails again and again does not grow.
 */
#pragma once

#include "arena.h"
#include "err.h"
#include "record.h"

#include <stdbool.h>

#define DEAD_HEADER_PREFIX "heddle.dead."

/* Ceilings of one added header's text. */
enum { DEAD_MESSAGE_BYTES = 1024, DEAD_TEXT_BYTES = 256 };

/* What is the same for every dead letter of a process. Borrowed. */
struct dead_letter_source {
    const char *group;
    const char *worker;
    const char *version;
    bool connect_names; /* write the names of Kafka Connect besides */
};

/*
 * The headers for `in`, which failed with `why` at `now_ms` (since 1970), in `arena`. The
 * attempt is that of an existing heddle.dead.attempt header (requeuing counts it up),
 * else 1; an existing heddle.dead.first_failed_at stays. ERR_FATAL "out_of_memory".
 */
enum err_kind dead_letter_headers(const struct dead_letter_source *source,
                                  const struct message *in,
                                  const struct err *why,
                                  int64_t now_ms,
                                  struct arena *arena,
                                  const struct header **ret_headers,
                                  size_t *ret_n,
                                  struct err *err);

/* Value of the last header of that name; a null slice when there is none. */
struct slice header_last(const struct header *headers, size_t n, const char *name);
/* Bytes that these headers take in a record, at most. */
size_t headers_size(const struct header *headers, size_t n);
