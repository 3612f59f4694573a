/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The join (events.md 4): result, logs and verdict of a run that came in several events,
 * in any order and any number. Pure: what is known of an input key and what an event
 * brings go in; records to send and changes of the state come out.
 *
 *   join_init     one input key
 *   join_load     each state record of it
 *   join_add      each part of the event (join_split() gives them)
 *   join_plan     who belongs to whom, and what must be derived anew
 *   join_missing  parts that are needed and lie elsewhere: the caller fetches them
 *   join_emit     the records, and what the state becomes
 *
 * What is derived depends on the set of parts alone, so any order and any repeats end
 * in the same record under each key. The wall clock decides when a waiting part is shown
 * and when parts are forgotten, nothing else.
 */
#pragma once

#include "audit_part.h"
#include "output.h"

/* Parts that are kept for one input key; of more the newest, with a warning. */
enum { JOIN_MAX_RESULTS = 256, JOIN_MAX_LOGS = 4096, JOIN_MAX_VERDICTS = 256 };

/* What follows the input key in the key of a state record: '#', a letter, 32 digits. */
enum { JOIN_SUFFIX_BYTES = 34 };

struct join_times {
    int64_t now_ms; /* wall clock */
    int64_t expiry_ms;
    int64_t retention_ms;
};

struct join_item {
    struct join_part part;
    struct slice bytes;                    /* data NULL: not at hand */
    const struct audit_identity *identity; /* of a result that was read; else NULL */
    bool is_new;                           /* the state does not have it */
    bool needed;                           /* for something that is derived now */
    bool dropped;                          /* leaves the state */
    bool in_head;    /* the state has it in the record of the head */
    bool has_record; /* the state has it in one of its own */
};

/* A result and what belongs to it; or, without a result, what has expired waiting. */
struct join_run {
    struct join_item *result;
    struct join_item **logs; /* one a tuner, sorted by tuner */
    size_t n_logs;
    struct join_item **verdicts; /* of a result at most one; else the greatest first */
    size_t n_verdicts;
    struct join_sent sent; /* as it was before, then as it is */
    uint8_t parts[JOIN_DIGEST_BYTES];
    bool changed;
};

/* A state record to write; `value` NULL: to remove. */
struct join_change {
    struct slice key; /* input key and suffix */
    const struct audit_part *value;
};

struct join {
    struct arena *arena;
    struct slice input_key;
    struct join_item *items; /* by kind, name, event time once planned */
    size_t n, cap;
    bool has_head;
    struct join_head head;
    struct join_times times;
    bool forget;           /* nothing has come for state_retention */
    struct join_run *runs; /* by event time; behind them one of what waited */
    size_t n_runs;
    struct join_change *changes;
    size_t n_changes;
};

/* The parts of one event, and the key that they go by. Lies in the arena. */
struct join_split {
    struct slice input_key;
    struct join_item *items;
    size_t n;
};

/*
 * Takes an event apart. Every payload is at hand (gather has been there); one whose claim
 * is still beside it is kept as a claim when bytes and event are too large for the state
 * topic together. Refusals of derive.h.
 */
enum err_kind join_split(const struct tuning_event *event,
                         const struct message *in,
                         int64_t now_ms,
                         struct arena *arena,
                         struct join_split *ret_split,
                         struct err *err);

void join_init(struct join *join, struct arena *arena, struct slice input_key);
/* A state record; what it points to must outlive the join. A part of an unknown kind is
 * left alone. ERR_RECORD "record_too_large" when the arena is full, as all below. */
enum err_kind
join_load(struct join *join, const struct audit_part *known, struct err *err);
enum err_kind join_add(struct join *join, const struct join_item *item, struct err *err);
enum err_kind
join_plan(struct join *join, const struct join_times *times, struct err *err);
/* The next part whose bytes are wanted and not at hand, from `*position` (0 at first) on;
 * NULL: no more. The caller fills `bytes`. */
struct join_item *join_missing(struct join *join, size_t *position);
/*
 * Derives what changed, adds what differs from what was last sent to `out`, and lists the
 * changes of the state in `join->changes`. `base` is the worker's provenance.
 */
enum err_kind join_emit(struct join *join,
                        const struct provenance *base,
                        struct emits *out,
                        struct err *err);

/* Key of the state record of a part, or (NULL) of the head. Null: the arena is full. */
struct slice
join_state_key(struct slice input_key, const struct join_part *part, struct arena *arena);
/* Order in which of two parts of one name the greater stands. */
int join_compare_standing(const struct join_part *a, const struct join_part *b);
