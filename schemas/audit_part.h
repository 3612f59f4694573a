/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the audit's join (events.md 4): a part that is known for an input key, or what
 * was done about the key. Topic heddle.state.audit, key: the input key and which part.
 */
#pragma once

#include "origin.h"

enum join_part_kind {
    JOIN_UNKNOWN, /* of a newer version; left alone */
    JOIN_RESULT,
    JOIN_LOG,
    JOIN_VERDICT,
};

enum { JOIN_DIGEST_BYTES = 16 };

struct join_part {
    int32_t kind;      /* enum join_part_kind */
    struct slice name; /* run_key, tuner, or the started_at it is about ("": none) */
    struct slice started_at; /* nullable; of a result */
    int64_t event_time_us;
    struct slice sha256;    /* of the bytes, 64 lower-case hexadecimal digits */
    struct payload payload; /* never PAYLOAD_NONE */
    bool claimed;           /* the event had a claim */
    struct slice workspace; /* of the event; "": none */
    struct slice trace;     /* nullable */
    struct list defaults;   /* struct default_entry of tuning_event.h; of a result */
    struct origin origin;   /* of the first event that brought it */
    struct input_ref input; /* the same event */
    int64_t arrived_ms;     /* wall clock */
};

/* What was last sent under a key of heddle.audit.tunings. */
struct join_sent {
    struct slice key;      /* run_key; "": the orphan record */
    struct slice parts;    /* digest of the parts it came from */
    struct slice content;  /* digest of what it says; "": a tombstone */
    struct slice warnings; /* digests, one after the other */
};

struct join_head {
    int64_t last_part_ms; /* when the last new part came */
    int64_t shown_ms;     /* waiting parts that arrived up to then have expired */
    int64_t due_ms;       /* when something is to be done */
    struct list sent;     /* struct join_sent, by key */
};

struct audit_part {
    struct slice input_key; /* valid UTF-8 */
    bool has_part;
    struct join_part part;
    bool has_head;
    struct join_head head;
};

extern const struct record_type audit_part_type;
