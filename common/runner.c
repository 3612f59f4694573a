/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a runner and its loop. */
#include "runner_internal.h"

#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "outbox.h"
#include "watchdog.h"

enum {
    SERVE_EVERY_RECORDS = 64, /* delivery reports */
    LATE_JOB_MS = 30000,      /* the loop itself should have left by then */
    SEND_STATE_EVERY_RECORDS = 512,
};

static enum err_kind
emit_due(void *state, struct emits *out, struct err *err)
{
    struct runner *runner = state;
    const struct encoded *records = NULL;
    size_t n = 0;
    if (outbox_encode(runner->outbox, out, &records, &n, err))
        return err->kind;
    return runner_emit(runner, records, n, NULL, err);
}

/* Between two batches: what the state has to do by the wall clock, committed at once. */
static enum err_kind
tick(struct runner *runner, struct err *err)
{
    struct states *states = runner->settings.states;
    if (!states || runner->n_inputs > 0 || runner->uncommitted)
        return ERR_OK;
    enum err_kind kind = states_tick(states, &runner->arena, emit_due, runner, err);
    if (!kind && states_changed(states))
        return runner_commit_batch(runner, err);
    return kind == ERR_RETRY ? runner_give_up_batch(runner, err) : kind;
}

static enum err_kind
turn(struct runner *runner, struct err *err)
{
    struct consumed *consumed = NULL;
    if (runner->jobs && runner_jobs_turn(runner, err))
        return err->kind;
    if (runner_poll(runner, &consumed, err))
        return err->kind;
    if (runner->rewind_due)
        return runner_rewind(runner, err);
    if (consumed && runner_work(runner, consumed, err))
        return err->kind;
    if (runner->n_inputs % SERVE_EVERY_RECORDS == 0)
        producer_poll(runner->producer, 0);
    if (consumed && runner->n_inputs % SEND_STATE_EVERY_RECORDS == 0 &&
        runner_send_state(runner, err))
        return err->kind;
    if (runner->failure.kind) {
        *err = runner->failure;
        return err->kind;
    }
    if (runner_batch_is_due(runner) && runner_commit_batch(runner, err))
        return err->kind;
    if (tick(runner, err))
        return err->kind;
    runner_show(runner);
    return ERR_OK;
}

/* What is in work may end within half of the drain's time; the rest is left to the next
 * start. */
static enum err_kind
drain_jobs(struct runner *runner, struct err *err)
{
    if (!runner->jobs)
        return ERR_OK;
    int64_t until_ms = clock_monotonic_ms() + runner->settings.drain_timeout_ms / 2;
    jobs_hold_back(runner->jobs);
    while (jobs_begun(runner->jobs) > 0 && clock_monotonic_ms() < until_ms)
        if (turn(runner, err))
            return err->kind;
    return ERR_OK;
}

/*
 * Delivered, but the offsets did not get through: a rebalance refuses commits until this
 * member has answered it, which takes a poll. The drain's deadline bounds the tries.
 */
static enum err_kind
commit_offsets(struct runner *runner, struct err *err)
{
    enum err_kind kind = ERR_OK;
    while (!kind && runner->uncommitted) {
        struct err passing = {0};
        consumed_free(consumer_poll(runner->consumer, RUNNER_POLL_MS, &passing));
        if (runner->failure.kind || passing.kind == ERR_FATAL) {
            *err = runner->failure.kind ? runner->failure : passing;
            return err->kind;
        }
        runner_read_clock(runner);
        status_turned(&runner->status, runner_now_ms(runner));
        kind = runner_try_commit(runner, err);
    }
    return kind;
}

/* What is open when the process is asked to stop: committed, or left to the next start.
 */
static enum err_kind
finish_batch(struct runner *runner, struct err *err)
{
    if (runner->n_inputs == 0 && !runner->uncommitted)
        return ERR_OK;
    enum err_kind kind = runner_try_commit(runner, err);
    if (!kind)
        kind = commit_offsets(runner, err);
    if (kind != ERR_RETRY && kind != ERR_RECORD)
        return kind;
    struct err why = *err;
    if (!runner->delivery.ops->transactional)
        return err_fatal(err, EXIT_TRY_AGAIN, why.code, "%s", why.msg);
    log_event(LOG_WARNING, "the open batch was given up, the next start reads it again",
              LOG_FIELDS(LOG_STR("code", why.code), LOG_STR("why", why.msg),
                         LOG_INTEGER("records", runner->n_inputs)));
    status_abort(&runner->status);
    return runner->delivery.ops->abort(&runner->delivery, err);
}

/* In the watchdog's thread. */
static int
look(void *state)
{
    struct runner *runner = state;
    bool is_over = status_overdue(&runner->status, RUNNER_JOB_FACTOR);
    if (runner->jobs && jobs_longest_ms(runner->jobs) >=
                            *runner->settings.worker->jobs->deadline_ms + LATE_JOB_MS)
        is_over = true;
    return is_over ? EXIT_JOB_DEADLINE : EXIT_OK;
}

/*
 * Said before the clients are closed: that may take until the drain's deadline, which
 * ends the process without another word.
 */
static void
fail(struct runner *runner, const struct err *why)
{
    log_err(LOG_ERROR, why);
    runner->failure = *why; /* nothing is committed on the way out */
}

enum err_kind
runner_run(struct runner *runner, struct err *err)
{
    watchdog_look(look, runner);
    watchdog_excuse(runner_is_cut_off, runner);
    enum err_kind kind = runner_open_clients(runner, err);
    bool opened = !kind;
    while (!kind && !watchdog_stopping())
        kind = turn(runner, err);
    atomic_store(&runner->status.stopping, true);
    if (!kind)
        kind = drain_jobs(runner, err);
    if (!kind)
        kind = finish_batch(runner, err);
    else if (!opened && kind == ERR_RETRY)
        kind = ERR_OK; /* asked to stop before anything was taken */
    if (kind)
        fail(runner, err);
    else
        *err = (struct err){0};
    int status = kind ? err_exit_code(err) : EXIT_OK;
    runner_close_clients(runner, status);
    watchdog_look(NULL, NULL);
    runner_close_jobs(runner, status);
    return kind;
}

struct runner *
runner_new(const struct runner_settings *settings, struct err *err)
{
    struct runner *runner = calloc(1, sizeof *runner);
    if (!runner) {
        err_no_memory(err, "the runner");
        return NULL;
    }
    runner->settings = *settings;
    runner->random = (uint64_t)clock_now_us();
    runner->batch_limit = (size_t)settings->batch_records;
    arena_init(&runner->arena, 0);
    enum err_kind kind = runner_status_init(
        &runner->status, settings->metrics, settings->worker->input, settings->dead.group,
        settings->delivery->name, settings->job_deadline_ms, err);
    if (!kind)
        runner->outbox = outbox_new(settings->schemas, err);
    if (runner->outbox && !runner_open_jobs(runner, err))
        return runner;
    runner_free(runner);
    return NULL;
}

void
runner_free(struct runner *runner)
{
    if (!runner)
        return;
    runner_close_jobs(runner, EXIT_OK);
    outbox_free(runner->outbox);
    arena_done(&runner->arena);
    runner_status_done(&runner->status);
    free(runner->parts);
    free(runner->inputs);
    free(runner);
}

bool
runner_ready(struct runner *runner, struct buf *ret_json)
{
    return status_ready(&runner->status, ret_json);
}

bool
runner_alive(struct runner *runner)
{
    return status_alive(&runner->status);
}
