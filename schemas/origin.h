/* SPDX-License-Identifier: Apache-2.0 */
/* The records that every event and every derived record carries (events.md 2). */
#pragma once

#include "field.h"
#include "record.h"

/* Where and when an event was captured, and by whom. */
struct origin {
    struct slice event_id; /* 64 lower-case hexadecimal digits */
    struct slice node;
    struct slice session;
    int64_t captured_at_us;
    struct slice producer;
};

/* One consumed record. */
struct input_ref {
    struct slice topic;
    int32_t partition;
    int64_t offset;
    struct slice sha256; /* of the value; 64 lower-case hexadecimal digits */
};

/* A fact gathered from outside: `outcome` is "fetched" (sha256) or "failed" (code). */
struct fact {
    struct slice subject;
    struct slice outcome;
    struct slice sha256; /* nullable */
    struct slice code;   /* nullable */
};

struct provenance {
    struct list inputs; /* struct input_ref, sorted by sha256 */
    struct slice worker;
    struct slice version;
    struct slice config_sha256;
    int64_t generation;
    struct list facts; /* struct fact */
};

/* Where a payload lies and what it must be. */
struct claim {
    struct slice uri;
    int64_t size;
    struct slice sha256;
};

enum payload_kind {
    PAYLOAD_NONE = 0, /* null */
    PAYLOAD_INLINE,   /* the bytes travel in the event */
    PAYLOAD_CLAIM,    /* the bytes lie elsewhere */
};

/* Bytes of a part: inline, claimed, or not there. */
struct payload {
    int32_t kind; /* enum payload_kind */
    struct slice bytes;
    struct claim claim;
};

/*
 * The provenance of what is derived from one record: `base` (a worker's context has it)
 * and `in` as its input, made in `arena`. The topic's name is borrowed from `in`.
 * ERR_FATAL "out_of_memory".
 */
enum err_kind provenance_of(const struct provenance *base,
                            const struct message *in,
                            struct arena *arena,
                            struct provenance *ret_provenance,
                            struct err *err);

extern const struct record_type origin_type;
extern const struct record_type provenance_type;
extern const struct record_type input_ref_type;
/* Branches [bytes, Claim] and [null, bytes, Claim] of a struct payload. */
extern const struct field payload_branches[2];
extern const struct field payload_or_null_branches[3];
