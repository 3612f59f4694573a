/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a batch that can't be delivered: given up and read again. */
#include "runner_internal.h"

#include <stdlib.h>

#include "log.h"
#include "watchdog.h"

enum { MAX_REWIND_WAIT_MS = 5000 };

void
runner_remember_refusal(struct runner *runner,
                        const struct message *in,
                        const struct err *why)
{
    struct part *part = runner_find_part(runner, in->partition);
    if (!part)
        return;
    part->refused = in->offset;
    part->refused_why = *why;
    part->refused_why.stage = "emit";
}

/*
 * The broker refuses a whole request for one record in it. So the batch is halved until
 * that record is alone; then it is known, and innocent ones never become dead letters.
 */
void
runner_narrow_batch(struct runner *runner)
{
    for (size_t i = 0; i < runner->n_inputs; i++) {
        const struct input *input = &runner->inputs[i];
        if (!input->refused)
            continue;
        if (runner->n_inputs == 1)
            runner_remember_refusal(runner, consumed_message(input->consumed),
                                    input->refused);
        runner->batch_limit = runner->n_inputs > 1 ? runner->n_inputs / 2 : 1;
        return;
    }
}

void
runner_widen_batch(struct runner *runner)
{
    size_t most = (size_t)runner->settings.batch_records;
    runner->batch_limit = runner->batch_limit < most / 2 ? runner->batch_limit * 2 : most;
}

/* After an abort the group's word counts, not what we took to be committed. */
static enum err_kind
ask_restarts(struct runner *runner, struct topic_partition *to, struct err *err)
{
    const struct patience patience = {runner_wait_for_coordinator, runner};
    if (!runner->delivery.ops->transactional)
        return ERR_OK;
    if (consumer_committed(runner->consumer, to, runner->n_parts, &patience, err))
        return err->kind;
    for (size_t i = 0; i < runner->n_parts; i++) {
        struct part *part = &runner->parts[i];
        if (to[i].offset >= 0)
            part->committed = part->restart = to[i].offset;
        to[i].offset = part->restart;
    }
    return ERR_OK;
}

static enum err_kind
seek_parts(struct runner *runner, struct topic_partition *to, struct err *err)
{
    for (size_t i = 0; i < runner->n_parts; i++) {
        struct part *part = &runner->parts[i];
        consumed_free(runner_release(runner, part));
        part->next = part->restart;
        to[i] = (struct topic_partition){runner_topic(runner), part->partition,
                                         part->restart};
    }
    enum err_kind kind = ask_restarts(runner, to, err);
    for (size_t i = 0; i < runner->n_parts && !kind; i++)
        runner->parts[i].next = to[i].offset;
    return kind ? kind : consumer_seek(runner->consumer, to, runner->n_parts, err);
}

enum err_kind
runner_rewind(struct runner *runner, struct err *err)
{
    struct topic_partition *to = calloc(runner->n_parts + 1, sizeof *to);
    if (!to)
        return err_no_memory(err, "the offsets to go back to");
    enum err_kind kind = seek_parts(runner, to, err);
    free(to);
    runner->rewind_due = false;
    if (kind != ERR_RETRY || watchdog_stopping())
        return kind == ERR_RETRY ? ERR_OK : kind; /* nothing is read any more */
    struct err why = *err;
    return err_fatal(err, EXIT_TRY_AGAIN, "seek_failed", "%s; start the process again",
                     why.msg);
}

enum err_kind
runner_give_up_batch(struct runner *runner, struct err *err)
{
    const struct backoff wait = {runner->settings.retry.first_ms, MAX_REWIND_WAIT_MS};
    bool refused = err->kind == ERR_RECORD;
    log_event(LOG_WARNING, "batch given up, its records are read again",
              LOG_FIELDS(LOG_STR("code", err->code), LOG_STR("why", err->msg),
                         LOG_INTEGER("records", runner->n_inputs)));
    runner_narrow_batch(runner);
    status_abort(&runner->status);
    if (runner->delivery.ops->abort(&runner->delivery, err) == ERR_FATAL)
        return err->kind;
    runner_drop_inputs(runner);
    if (!refused)
        watchdog_wait(backoff_delay_ms(&wait, ++runner->failures + 1,
                                       backoff_random(&runner->random)));
    return runner_rewind(runner, err);
}
