/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a trace as it was read, and what is asked of it, to the trace event (events.md 2,
 * 6) and its key. Pure.
 */
#pragma once

#include "arena.h"
#include "digest.h"
#include "err.h"
#include "trace_ask.h"

#include <stdint.h>

/* A larger trace is claimed. */
#define TRACE_INLINE_BYTES ((size_t)512 << 10)

enum { TRACE_REQUEST_ID_BYTES = 33 }; /* 32 digits and the terminator */

/* Everything is borrowed. */
struct trace_parts {
    struct slice path;  /* absolute */
    struct slice bytes; /* data NULL: not held, so it is claimed */
    int64_t size;
    char sha256[DIGEST_HEX];
    int64_t event_time_us; /* modification time */
    struct trace_ask ask;  /* filled */
    struct slice node;
};

/* The name in the event: that of the file. */
struct slice trace_name_of(const struct trace_parts *parts);
/*
 * SHA-256, 32 digits of it, over what is asked of which bytes: the same trace with the
 * same request is the same id. ERR_FATAL "out_of_memory".
 */
enum err_kind trace_request_id(const struct trace_parts *parts,
                               char ret_id[TRACE_REQUEST_ID_BYTES],
                               struct err *err);
/* As tuning_event_id(): needs the digest, not the bytes. */
enum err_kind
trace_event_id(const struct trace_parts *parts, char ret_id[DIGEST_HEX], struct err *err);
/*
 * The event, and its request's id, which is its key, in the arena or borrowed from
 * `parts`. ERR_RECORD "text_invalid" when the name is not UTF-8, ERR_FATAL
 * "out_of_memory".
 */
enum err_kind trace_build(const struct trace_parts *parts,
                          struct arena *arena,
                          struct trace_event *ret_event,
                          struct err *err);
