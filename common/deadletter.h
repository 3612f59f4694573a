/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of a dead letter (events.md 8): written, read, and taken off again. Key,
 * value, timestamp and the record's own headers stay as they came; ours are set once:
 * those that a former dead letter left are replaced, so a record that fails again and
 * again does not grow.
 */
#pragma once

#include "arena.h"
#include "err.h"
#include "record.h"

#include <stdbool.h>

#define DEAD_HEADER_PREFIX "heddle.dead."

#define DEAD_ORIGIN_TOPIC       DEAD_HEADER_PREFIX "origin.topic"
#define DEAD_ORIGIN_PARTITION   DEAD_HEADER_PREFIX "origin.partition"
#define DEAD_ORIGIN_OFFSET      DEAD_HEADER_PREFIX "origin.offset"
#define DEAD_ORIGIN_TIMESTAMP   DEAD_HEADER_PREFIX "origin.timestamp"
#define DEAD_GROUP              DEAD_HEADER_PREFIX "group"
#define DEAD_WORKER             DEAD_HEADER_PREFIX "worker"
#define DEAD_WORKER_VERSION     DEAD_HEADER_PREFIX "worker.version"
#define DEAD_STAGE              DEAD_HEADER_PREFIX "stage"
#define DEAD_CODE               DEAD_HEADER_PREFIX "code"
#define DEAD_MESSAGE            DEAD_HEADER_PREFIX "message"
#define DEAD_ATTEMPT            DEAD_HEADER_PREFIX "attempt"
#define DEAD_FIRST_FAILED_AT    DEAD_HEADER_PREFIX "first_failed_at"
#define DEAD_SCHEMA_ID          DEAD_HEADER_PREFIX "schema.id"
#define DEAD_SCHEMA_FINGERPRINT DEAD_HEADER_PREFIX "schema.fingerprint"
#define DEAD_SRC                DEAD_HEADER_PREFIX "src"

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

/* What the headers of a dead letter say; borrowed from its record. A text that is absent
 * is null. */
struct dead_letter {
    struct slice code;
    struct slice stage;
    struct slice worker;
    struct slice src; /* hex SHA-256 of the value */
    struct slice origin_topic;
    int64_t origin_partition;   /* -1: unknown */
    int64_t origin_offset;      /* -1: unknown */
    int64_t first_failed_at_ms; /* -1: unknown */
    int64_t attempt;            /* 1 when it is unknown */
};

/* Reads them. False when the record is no dead letter of ours: it has no code or does not
 * say which topic it came from; what it does say is in `ret_letter` all the same. */
bool dead_letter_read(const struct message *in, struct dead_letter *ret_letter);

/*
 * The headers that the dead letter `in` goes back to its topic with, in `arena`: its own,
 * in order, without those of a dead letter (Connect's names included), then the attempt
 * counted up by one and, when it is known, when it first failed. ERR_FATAL
 * "out_of_memory".
 */
enum err_kind dead_letter_requeue_headers(const struct message *in,
                                          struct arena *arena,
                                          const struct header **ret_headers,
                                          size_t *ret_n,
                                          struct err *err);
