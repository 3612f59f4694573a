/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters laid out: tables for people, JSON lines for machines. Pure. */
#pragma once

#include "buf.h"
#include "letters.h"
#include "record.h"

#include <stdbool.h>

/* Which letters are listed, and how. */
struct letters_list {
    bool json;
    bool actions;  /* what the plan says of each; else its state alone */
    bool settled;  /* requeued and dropped ones too (without `actions`) */
    int64_t limit; /* at most so many lines; 0: all (without `actions`) */
    bool done;     /* the plan was carried out */
    bool drop;     /* the plan drops; else it requeues */
};

/*
 * Appends a line a letter, in their order. JSON: {"partition", "offset", "state", "code",
 * "stage", "origin" {"topic", "partition", "offset"}, "worker", "attempt",
 * "first_failed_at", "timestamp", "size", "key"}, with `actions` also "action" (requeue,
 * drop, leave; requeued, dropped when done) and "reason"; null for what is unknown,
 * times in milliseconds. Returns how many.
 */
size_t letters_list(const struct letters *letters,
                    const struct letters_list *how,
                    struct buf *out);
/*
 * Appends counts by code and origin topic, sorted by both: open, quarantined, unsure,
 * requeued, dropped, oldest, newest. Groups without anything to do are left out unless
 * `settled`. ERR_FATAL "out_of_memory".
 */
enum err_kind letters_stats(const struct letters *letters,
                            bool settled,
                            bool json,
                            struct buf *out,
                            struct err *err);
/* Appends text for a terminal, at most `max` characters (0: all): control characters and
 * what is no UTF-8 become question marks; with `lines`, line feeds and tabs stay. */
void letters_text_clean(struct buf *out, struct slice text, size_t max, bool lines);
/* Appends one dead letter for a person: facts, headers, key, and `value` (the decoded
 * JSON; null: the bytes as text or base64). */
void letter_show(const struct letters *letters,
                 const struct letter *letter,
                 const struct message *in,
                 struct slice value,
                 struct buf *out);
