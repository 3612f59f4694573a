/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the runner share. A record meets them in this order: runner_poll.c
 * takes it, runner_record.c turns it into what it gives (runner_dead.c when it is
 * refused, runner_parts.c when it is to be tried again), runner_commit.c commits its
 * batch, and runner_rewind.c gives up a batch that can't be. runner_rebalance.c follows
 * the assignment, runner_show.c says what goes on.
 *
 * All of it runs in the record path's thread but for what the watchdog and the admin port
 * ask of the status and of the jobs.
 */
#pragma once

#include "arena.h"
#include "clock.h"
#include "delivery.h"
#include "err.h"
#include "jobs.h"
#include "kafka.h"
#include "outbox.h"
#include "runner.h"
#include "runner_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RUNNER_POLL_MS = 100, /* how soon a request to stop is seen */
    RUNNER_MAX_TRACE_HEADERS = 2,
};

enum { NO_OFFSET = -1 };

/* A partition that is ours. */
struct part {
    int32_t partition;
    int64_t next;          /* after the last finished record */
    int64_t committed;     /* as the group has it */
    int64_t restart;       /* where to go back to when a batch is given up */
    struct consumed *held; /* tried again later; the partition is paused */
    bool in_work;          /* ... or a job has it: due when that is finished */
    struct err held_why;
    unsigned attempts; /* at the held record */
    int64_t due_ms;
    int64_t held_since_ms;
    int64_t moved_ms; /* when the committed offset last advanced, or nothing was to do */
    bool stuck;       /* and said so */
    int64_t refused;  /* offset of a record whose results the broker refuses */
    struct err refused_why;
    struct status_outcomes outcomes;
};

/* A record of the open batch, kept until it is delivered. */
struct input {
    struct consumed *consumed;
    struct err *refused; /* why the broker did not take what it gave; owned */
};

/* At most so many lines of dead letters a second; the others are counted. */
struct line_limit {
    int64_t since_ms;
    int lines;
    uint64_t left_out;
};

struct runner {
    struct runner_settings settings;
    struct runner_status status;
    struct outbox *outbox;
    struct arena arena; /* of the record in work */
    struct producer *producer;
    struct consumer *consumer;
    struct delivery delivery;

    struct part *parts;
    size_t n_parts;

    struct input *inputs; /* the open batch */
    size_t n_inputs;
    size_t cap_inputs;
    size_t batch_bytes;
    uint64_t batch_number;
    int64_t batch_since_ms; /* when it was opened, or last committed in vain */
    bool uncommitted;       /* delivered, but the offsets did not get through */
    bool rewind_due;        /* the batch was given up where no seek is possible */
    unsigned failures;      /* batches given up in a row */
    size_t batch_limit;     /* of records; narrows around one that the broker refuses */

    /* Of the record in work, borrowed from it. */
    struct header trace[RUNNER_MAX_TRACE_HEADERS];
    size_t n_trace;

    struct err failure;        /* from a callback; ends the run */
    atomic_bool broker_lost;   /* and said so */
    atomic_llong connected_ms; /* when a broker was connected last */
    uint64_t random;
    int64_t now_ns; /* the clock as it was last read, once or twice a record */
    int64_t shown_ms;
    struct line_limit dead_lines;
    struct jobs *jobs; /* NULL: the worker has none */
};

/* Reads the clock: after whatever may have taken long. */
static inline void
runner_read_clock(struct runner *runner)
{
    runner->now_ns = clock_monotonic_ns();
}

static inline int64_t
runner_now_ms(const struct runner *runner)
{
    return runner->now_ns / 1000000;
}

/* The input topic. */
static inline const char *
runner_topic(const struct runner *runner)
{
    return runner->settings.worker->input;
}

/* --- runner_clients.c --------------------------------------------------------------- */

/* Opens the delivery first, which fences a former process of our name, then reads. */
enum err_kind runner_open_clients(struct runner *runner, struct err *err);
/* Leaves the group; `status` is the exit code should the library hang. */
void runner_close_clients(struct runner *runner, int status);

/* --- runner_parts.c ----------------------------------------------------------------- */

/* NULL: the partition is not ours. */
struct part *runner_find_part(struct runner *runner, int32_t partition);
/* Since when the partition stands at its record, monotonic; 0: it does not. */
int64_t runner_stands_since(const struct part *part);
/* Pauses the partition at the record, which it owns now, to try it again later. */
enum err_kind runner_hold(struct runner *runner,
                          struct part *part,
                          struct consumed *consumed,
                          const struct err *why);
/* The same while a job has the record. */
void
runner_hold_for_job(struct runner *runner, struct part *part, struct consumed *consumed);
/* Ends the hold of a partition, which flows again. The record, if any, is the caller's.
 */
struct consumed *runner_release(struct runner *runner, struct part *part);

/* --- runner_poll.c ------------------------------------------------------------------ */

/*
 * A record of the batch to come, in `*ret`: fresh, or a held one that is due. NULL in it
 * when there is none now. ERR_FATAL when the run is to end.
 */
enum err_kind runner_poll(struct runner *runner, struct consumed **ret, struct err *err);

/* --- runner_record.c ---------------------------------------------------------------- */

/* One record, from the poll into the batch, or to its partition's hold. Takes it. */
enum err_kind
runner_work(struct runner *runner, struct consumed *consumed, struct err *err);
/* Whether the attempt that failed for this reason was the record's last one. */
bool runner_is_last_attempt(const struct runner *runner,
                            const struct part *part,
                            const struct err *why);
/* Hands one record to the producer, at the stage "emit". */
enum err_kind
runner_produce(struct runner *runner, const struct outgoing *record, struct err *err);
/* ERR_RETRY or ERR_RECORD: not all of it is taken; the whole batch is to be given up. */
enum err_kind runner_emit(struct runner *runner,
                          const struct encoded *records,
                          size_t n,
                          void *token,
                          struct err *err);

/* --- runner_dead.c ------------------------------------------------------------------ */

/* Sends the input of that index as it came, with what went wrong in its headers. */
enum err_kind runner_bury(struct runner *runner,
                          const struct message *in,
                          size_t index,
                          const struct err *why,
                          struct err *err);

/* --- runner_jobs.c ------------------------------------------------------------------ */

/* Starts the threads of a worker that has jobs; ends them, `status` is the exit code
 * should one hang. */
enum err_kind runner_open_jobs(struct runner *runner, struct err *err);
void runner_close_jobs(struct runner *runner, int status);
/*
 * Whether the record's job is finished. Otherwise it is in work from now on, or already,
 * and its partition, which owns the record now, stands until it is finished.
 */
enum err_kind runner_job_is_finished(struct runner *runner,
                                     struct part *part,
                                     struct consumed *consumed,
                                     bool *ret_is_finished,
                                     struct err *err);
/*
 * What the finished job gave, encoded; in place of a last ERR_RETRY, and of a record that
 * its topic does not take, what the worker gives then.
 */
enum err_kind runner_job_take(struct runner *runner,
                              const struct part *part,
                              const struct message *in,
                              const struct encoded **ret_records,
                              size_t *ret_n,
                              struct err *err);
/* Each turn: makes due what is finished. ERR_FATAL EXIT_JOB_DEADLINE "job_deadline". */
enum err_kind runner_jobs_turn(struct runner *runner, struct err *err);
/* What is committed is done with. */
void runner_jobs_committed(struct runner *runner);

/* --- runner_inputs.c ---------------------------------------------------------------- */

/* Puts a record into the open batch, which owns it on success. */
enum err_kind
runner_add_input(struct runner *runner, struct consumed *consumed, struct err *err);
/* Takes the last input out of the batch again. */
struct consumed *runner_take_last_input(struct runner *runner);
/* Ends the batch, and gives up what its records asked of the state. */
void runner_drop_inputs(struct runner *runner);
/* What the reports on the records of an input are known by. */
void *runner_token(const struct runner *runner, size_t index, bool dead);
/* What the broker says of one record that was produced; a report_fn. */
void runner_on_report(void *state, void *token, const struct err *err);

/* --- runner_commit.c ---------------------------------------------------------------- */

bool runner_batch_is_due(const struct runner *runner);
/*
 * In a transaction the state may go out while the batch is open: less is left for its
 * end, where everything waits. ERR_FATAL.
 */
enum err_kind runner_send_state(struct runner *runner, struct err *err);
/* ERR_RETRY or ERR_RECORD: the batch can't be delivered and must be given up. */
enum err_kind runner_try_commit(struct runner *runner, struct err *err);
/* The same, and gives it up if it must be. */
enum err_kind runner_commit_batch(struct runner *runner, struct err *err);

/* --- runner_rewind.c ---------------------------------------------------------------- */

/* Remembers that the broker refuses what this record gives: dead when it comes again. */
void runner_remember_refusal(struct runner *runner,
                             const struct message *in,
                             const struct err *why);
/* Makes the batches to come smaller when a record of this one was refused. */
void runner_narrow_batch(struct runner *runner);
/* Wins back what narrowing cost, a doubling for each batch that goes through. */
void runner_widen_batch(struct runner *runner);
/* Aborts the batch for the reason in `err` and goes back to the committed offsets. */
enum err_kind runner_give_up_batch(struct runner *runner, struct err *err);
/* Leaves the records of the batch to be read again, from the committed offsets. */
enum err_kind runner_rewind(struct runner *runner, struct err *err);

/* --- runner_rebalance.c ------------------------------------------------------------- */

void runner_on_assigned(void *state, const struct topic_partition *parts, size_t n);
void
runner_on_revoked(void *state, const struct topic_partition *parts, size_t n, bool lost);

/* --- runner_show.c ------------------------------------------------------------------ */

/* Counts the turn of the loop; twice a second renews gauges and what readiness says. */
void runner_show(struct runner *runner);
void runner_show_held(struct runner *runner);
/* One line when no broker answers, one when it is back. */
void runner_tell_broker(struct runner *runner, bool up, int64_t now_ms);
/* For the watchdog: a call that does not end is no hang while no broker answers. */
bool runner_is_cut_off(void *state);
/* While a batch waits for its acknowledgements: nothing polls the consumer meanwhile. */
void runner_on_waiting(void *state);
/* Between two questions to a coordinator. False: the process is asked to stop. */
bool runner_wait_for_coordinator(void *state);
