/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the scanner share while they read one document. */
#pragma once

#include "scan.h"
#include "scan_window.h"
#include "texts.h"

struct scan {
    struct window window;
    size_t at; /* next byte, a place in the window */
    const struct scan_listener *listener;
    uint64_t max_event; /* bytes */
    struct scan_facts *facts;
    struct refusal refusal; /* of the document; code NULL: none */
    struct texts *keys;     /* distinct top-level keys */
    uint64_t next_index;
    uint64_t last_event_end;       /* offset */
    bool is_truncated;             /* the text ends before the document does */
    struct refusal_number lost_at; /* events behind the end of the document */
};

static inline uint64_t
scan_offset(const struct scan *scan)
{
    return scan->window.base + scan->at;
}

enum scan_resumed {
    RESUMED_NOWHERE, /* up to the end of the text */
    RESUMED_AT_EVENT,
    RESUMED_AT_CLOSE, /* at the ] of the array */
};

/*
 * The element at scan->at is damaged: the next place where reading goes on (2.2.7), to
 * which scan->at moves.
 */
enum err_kind
scan_resume(struct scan *scan, enum scan_resumed *ret_resumed, struct err *err);

/* What stands between scan->at and the end of the text, which it moves to. */
struct scan_rest {
    bool has_events; /* the event-start form occurs */
    bool is_open;    /* by strings and brackets, what begins here is not closed */
    uint64_t bytes;  /* without white space and NUL at both ends */
};

enum err_kind
scan_pass_rest(struct scan *scan, struct scan_rest *ret_rest, struct err *err);

/*
 * The element at scan->at is above max_event: goes behind it without keeping it, or, when
 * it is broken (*ret_is_whole false), back to its first byte.
 */
enum err_kind scan_pass_oversized(struct scan *scan, bool *ret_is_whole, struct err *err);

/*
 * Does an object above max_event read at scan->at, and does it look like an event? Comes
 * back to its first byte.
 */
enum err_kind scan_try_oversized(struct scan *scan, bool *ret_is_event, struct err *err);

/*
 * An element begins at scan->at, whose index is a multiple of SCAN_MARK_EVERY: makes a
 * mark of it, or jumps to the next one that is wanted.
 */
enum err_kind
scan_pass_mark(struct scan *scan, struct scan_marks *marks, struct err *err);

/* Reads the array of events behind its [, to behind its ]. */
enum err_kind scan_array(struct scan *scan, bool is_bare, struct err *err);

/* Goes over white space; *ret_byte is what comes next, -1 at the end of the text. */
enum err_kind scan_peek(struct scan *scan, int *ret_byte, struct err *err);

/* What the document and the end of its container mean together (2.1, 2.2). */
void scan_settle(const struct scan *scan,
                 const struct unpack_end *end,
                 bool salvage,
                 struct scan_answer *answer);
