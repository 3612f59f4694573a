/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one partition of a topic from an offset up to the end that it has now. */
#pragma once

#include "kafka.h"

struct changelog_reading {
    const char *topic;
    int32_t partition;
    int64_t from;   /* first offset that is wanted */
    int timeout_ms; /* all of it */
    /* A record; what is not ERR_OK ends the reading. */
    enum err_kind (*record)(void *state, const struct message *in, struct err *err);
    /* About every second; false: the process is to stop. */
    bool (*waiting)(void *state, int64_t next, int64_t end);
    void *state;
};

/*
 * Reads every committed record before the end of the partition, which is its high
 * watermark: an open transaction of a process that died is waited for. `*ret_next` is the
 * offset after all of it. ERR_RECORD "changelog_shorter" when the partition ends before
 * `from` (it was made anew); ERR_RETRY "stopping"; ERR_FATAL EXIT_TRY_AGAIN
 * "restore_timeout", EXIT_UNREACHABLE "broker_unreachable", EXIT_CONFIG "topic_unknown",
 * "changelog_partitions" (the topic has fewer partitions than the input has).
 */
enum err_kind changelog_read(const struct kafka_settings *settings,
                             const struct changelog_reading *reading,
                             int64_t *ret_next,
                             struct err *err);
