/* SPDX-License-Identifier: Apache-2.0 */
/* The next record of the batch: fresh from its topic, or a held one that is due. */
#include "runner_internal.h"

#include "log.h"

enum { JOB_POLL_MS = 10 }; /* how soon a finished job is seen */

static int
time_to_poll_ms(const struct runner *runner)
{
    int64_t now_ms = runner_now_ms(runner);
    int64_t left_ms =
        runner->jobs && jobs_open(runner->jobs) > 0 ? JOB_POLL_MS : RUNNER_POLL_MS;
    if (runner->n_inputs > 0) {
        int64_t due_ms = runner->batch_since_ms + runner->settings.batch_time_ms - now_ms;
        left_ms = due_ms < left_ms ? due_ms : left_ms;
    }
    for (size_t i = 0; i < runner->n_parts; i++)
        if (runner->parts[i].held && runner->parts[i].due_ms - now_ms < left_ms)
            left_ms = runner->parts[i].due_ms - now_ms;
    return left_ms > 0 ? (int)left_ms : 0;
}

/* Due: the held record of a paused partition. NULL: none is. */
static struct consumed *
poll_held(struct runner *runner)
{
    int64_t now_ms = runner_now_ms(runner);
    for (size_t i = 0; i < runner->n_parts; i++)
        if (runner->parts[i].held && runner->parts[i].due_ms <= now_ms)
            return runner->parts[i].held;
    return NULL;
}

/* A record of a paused partition came all the same: it must come again after the held. */
static void
go_back(struct runner *runner, const struct part *part)
{
    const struct message *held = consumed_message(part->held);
    const struct topic_partition to = {held->topic, held->partition, held->offset + 1};
    struct err err;
    if (consumer_seek(runner->consumer, &to, 1, &err))
        err_fatal(&runner->failure, EXIT_TRY_AGAIN, "seek_failed",
                  "%s; start the process again", err.msg);
}

/* Whether the record is still ours to do, and not done already. */
static bool
is_wanted(struct runner *runner, const struct message *in)
{
    const struct part *part = runner_find_part(runner, in->partition);
    if (part && part->held)
        go_back(runner, part);
    return part && !part->held && in->offset >= part->next && !runner->rewind_due;
}

enum err_kind
runner_poll(struct runner *runner, struct consumed **ret, struct err *err)
{
    *ret = poll_held(runner);
    if (*ret) {
        runner_read_clock(runner);
        return ERR_OK;
    }
    struct consumed *consumed =
        consumer_poll(runner->consumer, time_to_poll_ms(runner), err);
    runner_read_clock(runner);
    runner_tell_broker(runner, consumer_connected(runner->consumer),
                       runner_now_ms(runner));
    if (err->kind == ERR_FATAL)
        return err->kind;
    if (err->kind)
        log_err(LOG_WARNING, err); /* the library goes on by itself */
    if (consumed && !is_wanted(runner, consumed_message(consumed))) {
        consumed_free(consumed);
        consumed = NULL;
    }
    if (runner->failure.kind) {
        consumed_free(consumed);
        *err = runner->failure;
        return err->kind;
    }
    *ret = consumed;
    err_clear(err);
    return ERR_OK;
}
