/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of every worker: takes records from its input topic, lets the worker turn
 * each into what it gives, produces that, and commits. One thread; a batch is committed
 * after so many records, so many bytes or so much time, whichever comes first.
 *
 * What becomes of a record is decided by the kind of its error (err.h):
 *   ERR_RECORD  a dead letter of it, and on to the next
 *   ERR_RETRY   its partition is paused and it is tried again after a growing delay while
 *               the other partitions flow; after the last attempt a dead letter with the
 *               error's final code, "retries_exhausted" without one
 *   ERR_FATAL   out, without a commit
 */
#pragma once

#include "backoff.h"
#include "deadletter.h"
#include "delivery.h"
#include "err.h"
#include "journal.h"
#include "kafka.h"
#include "metrics.h"
#include "states.h"
#include "worker.h"

#include <stdbool.h>
#include <stdint.h>

/* Borrowed for the runner's life. */
struct runner_settings {
    const struct worker *worker;
    void *worker_state; /* what worker->open() gave */
    const struct kafka_settings *kafka;
    const struct schema_source *schemas; /* NULL without a registry */
    const struct delivery_ops *delivery;
    int64_t transaction_timeout_ms; /* for a transactional delivery */
    bool refuse_embedded;           /* ... which the embedded broker can't keep */
    struct journal *journal;        /* NULL: none is kept */
    struct states *states;          /* NULL: the worker keeps no state */
    struct dead_letter_source dead; /* its group is the consumer group */
    const char *group_instance_id;  /* NULL: a dynamic member */
    enum topic_start start;
    int64_t batch_records;
    int64_t batch_bytes; /* of input */
    int64_t batch_time_ms;
    int64_t retry_attempts;   /* 0: no end */
    int64_t job_deadline_ms;  /* of one record: late after it, given up after twice */
    int64_t drain_timeout_ms; /* half of it is for jobs that are in work */
    struct backoff retry;
    struct metrics *metrics;
};

/* A record in work for so many times its deadline is taken never to return. */
enum { RUNNER_JOB_FACTOR = 2 };

struct runner;

/* Makes the metrics and the outbox; connects to nothing yet. */
struct runner *runner_new(const struct runner_settings *settings, struct err *err);
void runner_free(struct runner *runner);
/*
 * Runs until watchdog_stopping(), then finishes the batch and leaves the group. ERR_OK
 * after a clean drain; otherwise the error that ended it, which is in the log before the
 * clients are closed.
 */
enum err_kind runner_run(struct runner *runner, struct err *err);

/*
 * For /readyz, from any thread: whether records flow, with a JSON object that says why
 * not and which delivery is kept.
 */
bool runner_ready(struct runner *runner, struct buf *ret_json);
/* For /healthz, from any thread: whether the record path still turns. */
bool runner_alive(struct runner *runner);
