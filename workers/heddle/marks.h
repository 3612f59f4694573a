/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of dead letters, as lines of text (dead_journal.h keeps them in a file).
 * Pure. A mark counts only for the very record it was made for, so an offset that a topic
 * made anew gives out again has none.
 *
 *   heddle-dead 1 CLUSTER
 *   run                               a requeue begins: what follows is this run's
 *   from TOPIC PARTITION OFFSET       where a topic that it writes to ended then
 *   sending|requeued|open|dropped PARTITION OFFSET ID
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "record.h"
#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LETTER_ID_BYTES = 33,  /* hex digits and the terminator */
    MARKS_MAX = 1 << 22,   /* lines about dead letters in one journal */
    MARKS_FROM_MAX = 4096, /* partitions that one run writes to */
};

enum mark_state {
    MARK_OPEN,     /* not sent after all */
    MARK_SENDING,  /* about to be sent, or sent; only the origin topic knows */
    MARK_REQUEUED, /* acknowledged by its origin topic */
    MARK_DROPPED,
};

struct mark {
    int32_t partition;
    int64_t offset;
    enum mark_state state;
    uint32_t run; /* that it belongs to; 0: none */
    uint32_t sequence;
    bool claimed;
    char id[LETTER_ID_BYTES];
};

struct mark_from {
    char *topic;
    int32_t partition;
    int64_t offset;
};

struct marks {
    struct mark *items; /* sorted by partition and offset, one each */
    size_t n, cap;
    uint32_t run; /* the last */
    struct mark_from *from;
    size_t n_from, cap_from; /* of the last run */
    struct mark **by_id;     /* of the last run, for marks_claim() */
    size_t n_by_id;
};

#define MARKS_INIT ((struct marks){0})

void marks_done(struct marks *marks);

/*
 * What identifies the record that a dead letter becomes in `topic`: key, value, `attempt`
 * as it will be there, and when it first failed (-1: unknown). Equal ids are records that
 * nothing tells apart. False when there is no memory.
 */
bool letter_id(struct slice topic,
               const struct message *in,
               int64_t attempt,
               int64_t first_failed_at_ms,
               char ret_id[LETTER_ID_BYTES]);

/*
 * Reads a journal of `cluster_id` into empty marks. A last line without its line feed is
 * a write that a crash cut short: `*ret_len` leaves it out. ERR_FATAL EXIT_CONFIG
 * "journal_damaged" with the line, or "journal_full" at a ceiling.
 */
enum err_kind marks_read(struct marks *marks,
                         struct slice text,
                         const char *cluster_id,
                         size_t *ret_len,
                         struct err *err);
/* The mark of that dead letter; NULL: none. Borrowed. */
const struct mark *marks_find(const struct marks *marks,
                              int32_t partition,
                              int64_t offset,
                              const char id[LETTER_ID_BYTES]);

/* Whether a run ended before it knew what became of all it was sending. */
bool marks_unsure(const struct marks *marks);
/* Where the search for what the last run sent begins; 0 for what it did not name. */
int64_t marks_from(const struct marks *marks, const char *topic, int32_t partition);
/* Prepares marks_claim(). ERR_FATAL "out_of_memory". */
enum err_kind marks_begin_claims(struct marks *marks, struct err *err);
/*
 * A record with this id was found where the last run wrote: one dead letter of that id
 * was sent. Those known to be requeued are counted first, for equal records are as good
 * as each other.
 */
void marks_claim(struct marks *marks, const char id[LETTER_ID_BYTES]);
/* What is still unsure was never sent. Appends the lines of what is now settled. */
void marks_settle(struct marks *marks, struct buf *lines);

void marks_line_first(struct buf *out, const char *cluster_id);
void marks_line_run(struct buf *out);
void marks_line_from(struct buf *out, const char *topic, int32_t partition, int64_t end);
void marks_line(struct buf *out,
                enum mark_state state,
                int32_t partition,
                int64_t offset,
                const char id[LETTER_ID_BYTES]);
