/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every topic of Heddle and what a record of it may be (events.md 1). The one table that
 * the runner's size check, the embedded broker and `heddle topics` go by: its rows are
 * those of ops/topics.tsv, which the build reads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct topic {
    const char *name;
    const char *value;  /* what a record's value is */
    const char *key;    /* what a record's key is */
    int32_t partitions; /* default on a real Kafka */
    bool compact;       /* cleanup.policy compact; otherwise delete */
    size_t max_message_bytes;
};

#define TOPIC_TUNINGS       "heddle.tunings"
#define TOPIC_AUDIT_TUNINGS "heddle.audit.tunings"
#define TOPIC_STATE_AUDIT   "heddle.state.audit"
#define TOPIC_TRACES        "heddle.traces"
#define TOPIC_SPLITS        "heddle.splits"
#define TOPIC_AUDIT_SPLITS  "heddle.audit.splits"
#define TOPIC_CANDIDATES    "heddle.candidates"
#define TOPIC_WARNINGS      "heddle.warnings"
#define TOPIC_DEAD          "heddle.dead"

enum { TOPIC_PARTITIONS_EMBEDDED = 2 }; /* of every topic on the embedded broker */
enum { TOPICS_MAX = 64 };               /* rows of the table, at most */

/*
 * What a producer adds around key, value and headers in a record batch, at most: batch
 * header, record lengths, timestamps. Counted against max.message.bytes.
 */
enum { TOPIC_RECORD_OVERHEAD_BYTES = 512 };

/* A setting that a topic should have: "cleanup.policy" = "compact". */
struct topic_setting {
    const char *name;
    const char *value;
};

enum { TOPIC_SETTINGS = 5, TOPIC_VALUE_BYTES = 24 };

/* The settings of one topic; the values of the last two lie in `text`. */
struct topic_settings {
    struct topic_setting items[TOPIC_SETTINGS];
    char text[2][TOPIC_VALUE_BYTES];
};

/*
 * What `topic` should be set to; `retention_ms` is -1 for ever (events.md 1: retention
 * counts event time, so any other value may delete a record within minutes).
 */
void topic_settings_wanted(const struct topic *topic,
                           int64_t retention_ms,
                           struct topic_settings *ret_settings);

/* All topics, in the order of events.md 1. Static. */
const struct topic *topics_all(size_t *ret_n);
/* The topic of that name; NULL when it is none of ours. */
const struct topic *topic_find(const char *name);
/* The largest maximum of the named topics (NULL-terminated) and of heddle.dead. */
size_t topics_largest(const char *const *names);
/* The smallest maximum of the named topics; of all topics when none is ours. */
size_t topics_smallest(const char *const *names);
