/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a trace document as text: finds the array of events, hands out each event with
 * the fields that Heddle uses as slices of the source's bytes, checks all of the grammar
 * (splitting.md 2.2), repairs what may be repaired, and goes on behind damage. Works in a
 * window of 256 KiB; an event that straddles it is put together up to a ceiling.
 *
 * Pass 1 and pass 2 call the same scan_run() over the same bytes and get the same calls.
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "feed.h"
#include "refusal.h"
#include "slice.h"
#include "source.h"

#include <stdbool.h>
#include <stdint.h>

/* Keys of an event, then keys of its `args`. The first 14 are the `duplicate_key` set. */
enum scan_key {
    SCAN_PH,
    SCAN_CAT,
    SCAN_NAME,
    SCAN_PID,
    SCAN_TID,
    SCAN_TS,
    SCAN_DUR,
    SCAN_ID,
    SCAN_ARGS,
    SCAN_CORRELATION, /* from here on: in args */
    SCAN_EXTERNAL_ID,
    SCAN_INPUT_DIMS,
    SCAN_INPUT_TYPE,
    SCAN_STREAM,
    SCAN_GRID,
    SCAN_BLOCK,
    SCAN_KEYS,
    SCAN_KEY_UNKNOWN = SCAN_KEYS,
};

#define SCAN_DUPLICATE_KEYS SCAN_GRID /* the first that is none of them */

enum scan_type {
    SCAN_NULL,
    SCAN_TRUE,
    SCAN_FALSE,
    SCAN_INTEGER,
    SCAN_DECIMAL,    /* a number with '.', 'e' or 'E' */
    SCAN_NON_FINITE, /* nan, inf, infinity in some spelling */
    SCAN_STRING,
    SCAN_ARRAY,
    SCAN_OBJECT,
};

/* A value as it stands in the source; a string without its quotes. Borrowed. */
struct scan_value {
    const char *text;
    uint32_t len;
    uint8_t type;  /* enum scan_type */
    uint8_t plain; /* the bytes of a string are its text: no escape, nothing to repair */
};

/* What was repaired in an element or in a top-level value, one bit each (2.2.6). */
enum scan_repair {
    SCAN_CONTROL_CHARACTER = 1,
    SCAN_BAD_ESCAPE = 2,
    SCAN_NON_FINITE_NUMBER = 4,
    SCAN_TRAILING_COMMA = 8,
    SCAN_INVALID_UTF8 = 16,
    SCAN_DUPLICATE_KEY = 32, /* not a repair, counted with them */
    SCAN_REPAIRS = 6,
};

struct scan_event {
    uint64_t index;   /* source index: every element counts */
    uint64_t offset;  /* of its first byte, in decompressed bytes */
    struct slice raw; /* from { to } */
    uint32_t present; /* bit per scan_key; `field` of other keys is not set */
    uint32_t repairs; /* enum scan_repair */
    struct scan_value field[SCAN_KEYS];
};

static inline bool
scan_has(const struct scan_event *event, enum scan_key key)
{
    return event->present >> key & 1;
}

/* Present, and not null. */
static inline bool
scan_given(const struct scan_event *event, enum scan_key key)
{
    return scan_has(event, key) && event->field[key].type != SCAN_NULL;
}

/* No setting of max_event_bytes goes beyond 1 GiB. */
#define SCAN_MAX_EVENT_BYTES (UINT64_C(1) << 30)

struct scan_marks;

/* Who listens. Everything handed out is borrowed for the call. NULL members are skipped.
 */
struct scan_listener {
    void *state;
    /*
     * A first scan makes marks; a second one over the same bytes goes past the elements
     * behind those that are not wanted, unread. What it found is the same in the end.
     */
    struct scan_marks *marks;
    /* An object of the array. An error ends the scan and is returned. */
    enum err_kind (*event)(void *state, const struct scan_event *event, struct err *err);
    /*
     * A top-level key other than traceEvents, in the order of the source, raw: the key
     * with its quotes, the value. `is_after`: it stands behind the array.
     */
    enum err_kind (*header)(void *state,
                            struct slice key,
                            struct slice value,
                            uint32_t repairs,
                            bool is_after,
                            struct err *err);
    /* Forget all that was handed out: the scan starts anew, with another decoder. */
    enum err_kind (*restart)(void *state, struct err *err);
};

/* What reading found: `manifest.input` of splitting.md 11.5. 0 or false: not there. */
struct scan_facts {
    /* document */
    bool is_array; /* else an object, if `is_document` */
    bool is_document;
    bool bom;
    bool unclosed_array;
    uint64_t keys_before;
    uint64_t keys_after;
    uint64_t missing_commas;
    uint64_t stray_commas;
    uint64_t non_object_elements;
    uint64_t oversized_events;
    uint64_t repaired_events;
    uint64_t repairs[SCAN_REPAIRS];        /* events with it, by bit of scan_repair */
    uint64_t header_repairs[SCAN_REPAIRS]; /* the same for values of top-level keys */
    uint64_t damaged_events;
    uint64_t damaged_header_keys;
    uint64_t header_damage_offset;
    uint64_t trailing_bytes;
    /* salvage */
    bool salvaged;
    struct refusal_number truncated_at;
    struct refusal_number corrupt_at;
    /* damage */
    uint64_t damaged_bytes;
    uint64_t first_damage_offset;
    struct refusal_number events_behind_the_end;
    /* index */
    uint64_t events; /* objects read, oversized ones included, damaged ones not */
    bool is_indexed; /* the document was read and held an object: `events` counts */
};

/* Where every SCAN_MARK_EVERY-th element begins, and what was found before it. */
enum { SCAN_MARK_EVERY = 2048 };

struct scan_mark {
    uint64_t offset;
    uint64_t last_event_end;
    bool is_wanted; /* it, or an element up to the next mark, is to be read again */
    struct scan_facts facts;
};

/* Zeroed is empty. */
struct scan_marks {
    struct scan_mark *items;
    size_t n;
    size_t cap;
    bool are_used; /* they are there; else the scan makes them */
};

void scan_marks_done(struct scan_marks *marks);

/* As feed_facts() and scan_facts together say it, see scan_run(). */
struct scan_answer {
    struct feed_facts container;
    struct scan_facts facts;
    struct refusal refusal; /* code NULL: go on with the events */
};

/*
 * Reads the document of `feed` from its first byte to its last and settles what that
 * means (2.1, 2.2): the answer's refusal, or the events were handed out. Events are
 * handed out before the end is known: a refusal takes them back. With `salvage` a
 * truncated or damaged trace keeps what was read. Rewinds the feed where damage asks for
 * it. An error is one of the feed, of the listener, or ERR_FATAL "out_of_memory".
 */
enum err_kind scan_run(const struct feed *feed,
                       const struct scan_listener *listener,
                       const struct split_limits *limits,
                       bool salvage,
                       struct scan_answer *ret_answer,
                       struct err *err);

/*
 * Appends the text of a string value after repair, as UTF-8: escapes read, a lone
 * surrogate and bytes that are no UTF-8 become U+FFFD.
 */
void scan_add_text(struct buf *out, struct scan_value value);

/*
 * Appends `raw`, an event or a value with `repairs`, as a chunk shows it: byte by byte
 * but for the repairs (2.2.6).
 */
void scan_add_repaired(struct buf *out, struct slice raw, uint32_t repairs);

/*
 * Appends a value as compact JSON (10): no spaces, ASCII with \u escapes, a number with
 * '.' or an exponent as the shortest double, a non-finite one as null.
 */
void scan_add_compact(struct buf *out, struct slice raw);

/* The variants of the structural index that this machine can run, best first. */
enum scan_variant { SCAN_AVX512, SCAN_AVX2, SCAN_SSE, SCAN_PORTABLE, SCAN_VARIANTS };

const char *scan_variant_name(enum scan_variant variant);
bool scan_variant_runs(enum scan_variant variant);
/* The variant in use; SCAN_VARIANTS forces the best again. For tests and measurements. */
enum scan_variant scan_variant_in_use(void);
void scan_variant_force(enum scan_variant variant);
