/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dead letters of a topic as facts, without their values: which fit a filter, what
 * became of them, and what an action would do with each. Pure.
 */
#pragma once

#include "err.h"
#include "marks.h"
#include "names.h"
#include "options.h"
#include "record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At most this many are held; more are an error that asks for a filter. */
enum { LETTERS_MAX = 1 << 20 };

/* The code shown for a record that is no dead letter of ours. */
#define LETTER_CODE_UNKNOWN "unknown"

enum letter_state {
    LETTER_OPEN,
    LETTER_QUARANTINED, /* open, and tried as often as is allowed */
    LETTER_UNSURE,      /* a run that was to requeue it did not end */
    LETTER_REQUEUED,
    LETTER_DROPPED,
};

enum letter_action {
    LETTER_PASS,  /* not asked for */
    LETTER_TAKE,  /* the action will be, or was, done to it */
    LETTER_LEAVE, /* it was asked for and can't be; `reason` says why */
};

/* What became of a letter while a plan was carried out. */
enum letter_outcome {
    OUTCOME_NONE,    /* not sent */
    OUTCOME_QUEUED,  /* sent, not yet answered */
    OUTCOME_SENT,    /* acknowledged */
    OUTCOME_REFUSED, /* the broker will not have it */
    OUTCOME_UNSURE,  /* failed in a way that leaves it open */
};

struct letter {
    int32_t partition;
    int64_t offset;
    int64_t timestamp_ms;
    int64_t first_failed_at_ms; /* -1: unknown */
    int64_t origin_partition;   /* -1: unknown */
    int64_t origin_offset;      /* -1: unknown */
    int64_t attempt;
    size_t size;           /* bytes of the value */
    uint32_t code;         /* ids of letters_text() */
    uint32_t stage;        /* of an empty text: unknown */
    uint32_t origin_topic; /* so too */
    uint32_t worker;       /* so too */
    uint32_t key;
    bool has_key;
    bool worn;                /* tried as often as is allowed */
    char id[LETTER_ID_BYTES]; /* of the record that it would become */
    enum letter_state state;
    enum letter_action action;
    enum letter_outcome outcome;
    const char *fault;  /* why it can't be requeued, whoever asks; NULL: it can */
    const char *reason; /* with LETTER_LEAVE */
};

/* PARTITION:OFFSET. */
struct letter_address {
    int32_t partition;
    int64_t offset;
    bool found;
};

struct letter_filter {
    struct option_list codes; /* patterns (* ? []); none: all */
    struct option_list origin_topics;
    struct option_list workers;
    int64_t since_ms; /* of letter_time_ms(), both ends included */
    int64_t until_ms;
    struct letter_address *addresses; /* sorted; none: all */
    size_t n_addresses;
};

struct letters {
    struct letter *items;
    size_t n, cap;
    struct names texts;
};

#define LETTERS_INIT ((struct letters){0})

void letters_done(struct letters *letters);
struct slice letters_text(const struct letters *letters, uint32_t id);

/* Reads PARTITION:OFFSET. ERR_FATAL EXIT_USAGE "bad_value". */
enum err_kind letter_address_read(const char *text,
                                  struct letter_address *ret_address,
                                  struct err *err);
/* Sorts them and takes repeats out; returns how many are left. */
size_t letter_addresses_sort(struct letter_address *addresses, size_t n);

/*
 * Adds the record of heddle.dead when it fits, and notes it in the filter's addresses.
 * Any record is taken: what is no dead letter of ours has the code "unknown" and can't be
 * requeued. `max_attempts`: from so many on it is quarantined. ERR_FATAL
 * "out_of_memory"; EXIT_USAGE "too_many_letters".
 */
enum err_kind letters_add(struct letters *letters,
                          const struct message *in,
                          const struct letter_filter *filter,
                          const struct marks *marks,
                          int64_t max_attempts,
                          struct err *err);
/* By partition and offset. */
void letters_sort(struct letters *letters);
/* NULL when it is not among them. They must be sorted. */
struct letter *
letters_find(const struct letters *letters, int32_t partition, int64_t offset);
/* When it first failed; when that is unknown, its record's time. */
int64_t letter_time_ms(const struct letter *letter);
/* "open", "quarantined", "unsure", "requeued", "dropped". */
const char *letter_state_name(const struct letter *letter);

/* What a plan is made by. */
struct letter_plan {
    bool drop;     /* else: requeue */
    bool again;    /* what was dropped is taken too */
    bool by_place; /* each letter was named by its place */
    int64_t limit; /* at most so many are taken; 0: all */
};
/* Whether a topic is there to be written to. */
typedef bool topic_exists_fn(void *state, struct slice topic);
/*
 * Sets action and reason of each, in order. Letters that were settled before are passed
 * over, or left with a reason when they were named by their place.
 */
void letters_plan(struct letters *letters,
                  const struct letter_plan *plan,
                  topic_exists_fn *exists,
                  void *state);
size_t letters_count(const struct letters *letters, enum letter_action action);
