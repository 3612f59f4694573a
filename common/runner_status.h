/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running worker shows of itself: metrics, and whether it is ready. Written by the
 * record path, read by the admin port's thread: atomics, and one lock around a text.
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "metrics.h"
#include "record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    STATUS_TEXT_BYTES = 256,
    STATUS_STUCK_MS = 30000, /* a partition that stands still for so long: not ready */
};

struct runner_status {
    const char *input;    /* topic; static */
    const char *group;    /* borrowed */
    const char *delivery; /* static */

    struct metric *records; /* counter: partition, outcome */
    struct metric *emitted; /* counter: topic */
    struct metric *dead;    /* counter: stage, code */
    struct metric *lag;     /* gauges: group, topic, partition; NaN while unknown */
    struct metric *position;
    struct metric *start; /* gauges: topic, partition */
    struct metric *end;
    struct metric *stable;
    struct series *commits;
    struct series *aborts;
    struct series *batch_records; /* histogram */
    struct series *open_records;  /* gauge: of the open batch */
    struct series *stuck;         /* gauge: partitions */
    struct series *commit_seconds;
    struct series *record_seconds;
    struct series *rebalances;
    struct series *assigned;
    struct series *paused;
    struct series *broker_up;
    struct series *queued;
    struct series *late; /* counter: records in work past their deadline */
    int64_t job_deadline_ms;

    atomic_bool connected;
    atomic_bool joined; /* the group has given us our share, be it none */
    atomic_bool stopping;
    atomic_int n_assigned;
    atomic_llong turned_ms;     /* when the loop last turned, monotonic */
    atomic_llong busy_since_ms; /* of the record in work; 0: none */
    long long late_since_ms;    /* busy_since_ms of the record that was said to be late */
    atomic_llong held_since_ms; /* of the record tried again for longest; 0: none */

    atomic_int busy_partition;
    atomic_llong busy_offset;

    pthread_mutex_t lock; /* of the text */
    char held_text[STATUS_TEXT_BYTES];
};

/* Adds the metrics. ERR_FATAL "metric_invalid". */
enum err_kind runner_status_init(struct runner_status *status,
                                 struct metrics *metrics,
                                 const char *input,
                                 const char *group,
                                 const char *delivery,
                                 int64_t job_deadline_ms,
                                 struct err *err);
void runner_status_done(struct runner_status *status);

/* Times are of the monotonic clock. */
void status_turned(struct runner_status *status, int64_t now_ms);
/* Between the two calls the record is in work. */
void status_busy(struct runner_status *status, const struct message *in, int64_t now_ms);
void status_idle(struct runner_status *status);
/* The counters of what becomes of a partition's records. */
struct status_outcomes {
    struct series *ok;
    struct series *dead;
    struct series *retry;
};
struct status_outcomes status_outcomes(struct runner_status *status, int32_t partition);
void status_emitted(struct runner_status *status, const char *topic);
void status_dead(struct runner_status *status, const struct err *why);
void status_abort(struct runner_status *status);
void status_commit(struct runner_status *status, size_t records, int64_t took_ms);
/* The record that its partition has stood at for longest; NULL: none is. */
void status_held(struct runner_status *status,
                 const struct message *in,
                 const struct err *why,
                 int64_t since_ms);

/* What is known of a partition; negative numbers are unknown. */
struct partition_offsets {
    int64_t committed;
    int64_t start;
    int64_t end;
    int64_t stable; /* up to which a read_committed reader gets */
    bool drained;   /* all there is to read is committed, marks of transactions apart */
};
void status_partition(struct runner_status *status,
                      int32_t partition,
                      const struct partition_offsets *offsets);
/*
 * For the watchdog's thread: says once when a record is in work past its deadline. True
 * when it has been for `factor` times that.
 */
bool status_overdue(struct runner_status *status, int factor);

/* Answers of the admin port. */
bool status_ready(struct runner_status *status, struct buf *ret_json);
bool status_alive(struct runner_status *status);
