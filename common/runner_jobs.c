/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that take minutes: a job has each while its partition stands, and what it gave
 * goes the way of every other record. A result is kept until it is committed, so that a
 * batch that is given up costs no work.
 */
#include "runner_internal.h"

#include <inttypes.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "outbox.h"

enum err_kind
runner_open_jobs(struct runner *runner, struct err *err)
{
    const struct worker_jobs *ops = runner->settings.worker->jobs;
    if (!ops)
        return ERR_OK;
    runner->jobs =
        jobs_new(ops, runner->settings.worker_state, runner->settings.journal, err);
    return runner->jobs ? ERR_OK : err->kind;
}

void
runner_close_jobs(struct runner *runner, int status)
{
    if (!runner->jobs)
        return;
    if (!jobs_end(runner->jobs, runner->settings.drain_timeout_ms / 4)) {
        if (status)
            log_err(LOG_ERROR, &runner->failure);
        log_event(
            LOG_WARNING, "a record in work does not end: leaving without it",
            LOG_FIELDS(LOG_STR("code", "job_cancelled"), LOG_INTEGER("status", status)));
        _exit(status);
    }
    jobs_free(runner->jobs);
    runner->jobs = NULL;
}

enum err_kind
runner_job_is_finished(struct runner *runner,
                       struct part *part,
                       struct consumed *consumed,
                       bool *ret_is_finished,
                       struct err *err)
{
    const struct message *in = consumed_message(consumed);
    *ret_is_finished = jobs_finished(runner->jobs, in->partition, in->offset) != NULL;
    if (*ret_is_finished)
        return ERR_OK;
    if (part->held != consumed)
        part->attempts = 0;
    if (part->restart < 0)
        part->restart = in->offset;
    runner_hold_for_job(runner, part, consumed);
    if (jobs_has(runner->jobs, in->partition, in->offset))
        return ERR_OK; /* begun before a batch was given up */
    return jobs_start(runner->jobs, in, err);
}

/*
 * The job has what the worker gives in place of the error, or else the error: when its
 * batch is given up the record comes again and must meet the same.
 */
static void
give_up(struct runner *runner, struct job *job, const struct err *why)
{
    const struct worker_jobs *ops = runner->settings.worker->jobs;
    struct err failed = {0};
    job->err = *why;
    job->kind = why->kind;
    if (!job->task)
        return;
    arena_reset(job->out.arena);
    job->out = (struct emits){.arena = job->out.arena};
    enum err_kind kind = ops->give_up(runner->settings.worker_state, &job->in, job->task,
                                      &job->err, &job->out, &failed);
    if (kind == ERR_FATAL)
        job->err = failed;
    if (kind == ERR_FATAL || !kind)
        job->kind = kind;
}

enum err_kind
runner_job_take(struct runner *runner,
                const struct part *part,
                const struct message *in,
                const struct encoded **ret_records,
                size_t *ret_n,
                struct err *err)
{
    struct job *job = jobs_finished(runner->jobs, in->partition, in->offset);
    series_observe(runner->status.record_seconds, (double)job->took_ms / 1e3);
    if (job->kind == ERR_RETRY && runner_is_last_attempt(runner, part, &job->err))
        give_up(runner, job, &job->err);
    if (job->kind) {
        *err = job->err;
        if (job->kind == ERR_RETRY)
            jobs_drop(runner->jobs, in->partition, in->offset + 1);
        return err->kind;
    }
    enum err_kind kind =
        outbox_encode(runner->outbox, &job->out, ret_records, ret_n, err);
    if (kind != ERR_RECORD)
        return kind;
    give_up(runner, job, err);
    if (job->kind) {
        *err = job->err;
        return err->kind;
    }
    return outbox_encode(runner->outbox, &job->out, ret_records, ret_n, err);
}

void
runner_jobs_committed(struct runner *runner)
{
    for (size_t i = 0; runner->jobs && i < runner->n_parts; i++)
        jobs_drop(runner->jobs, runner->parts[i].partition, runner->parts[i].committed);
}

/* --- each turn --------------------------------------------------------------------- */

static enum err_kind
send_late(struct runner *runner,
          const struct job *late,
          int64_t worked_ms,
          struct err *err)
{
    const struct worker_jobs *ops = runner->settings.worker->jobs;
    const struct encoded *records = NULL;
    size_t n = 0;
    struct emits out = {.arena = &runner->arena};
    arena_reset(&runner->arena);
    if (ops->late(runner->settings.worker_state, &late->in, late->task, worked_ms, &out,
                  err) ||
        outbox_encode(runner->outbox, &out, &records, &n, err) ||
        runner_emit(runner, records, n, NULL, err))
        return err->kind;
    return runner_try_commit(runner, err);
}

/* A job that does not end can't be ended from here: the process leaves, and the record's
 * mark in the journal counts it. */
static enum err_kind
leave_over(struct runner *runner,
           const struct job *late,
           int64_t worked_ms,
           struct err *err)
{
    struct err unsent = {0};
    /* Of a partition that went away the new owner speaks. */
    if (jobs_has(runner->jobs, late->in.partition, late->in.offset) &&
        send_late(runner, late, worked_ms, &unsent))
        log_err(LOG_WARNING, &unsent);
    return err_fatal(err, EXIT_JOB_DEADLINE, "job_deadline",
                     "%s partition %d offset %" PRId64 " has been in work for %" PRId64
                     " s, its deadline is %" PRId64 " s",
                     late->in.topic, (int)late->in.partition, late->in.offset,
                     worked_ms / 1000,
                     *runner->settings.worker->jobs->deadline_ms / 1000);
}

enum err_kind
runner_jobs_turn(struct runner *runner, struct err *err)
{
    int64_t worked_ms = 0;
    int64_t now_ms = clock_monotonic_ms();
    for (size_t i = 0; i < runner->n_parts; i++) {
        struct part *part = &runner->parts[i];
        if (!part->in_work || part->due_ms != INT64_MAX)
            continue;
        const struct message *in = consumed_message(part->held);
        if (!jobs_finished(runner->jobs, in->partition, in->offset))
            continue;
        part->due_ms = now_ms;
        part->moved_ms = now_ms;
    }
    const struct job *late = jobs_late(runner->jobs, &worked_ms);
    return late ? leave_over(runner, late, worked_ms, err) : ERR_OK;
}
