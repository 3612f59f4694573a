/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a batch that went well: state, offsets and the commit. */
#include "runner_internal.h"

#include <stdlib.h>

#include "allocator.h"
#include "clock.h"
#include "log.h"

enum { FLUSH_STEP_MS = 1000 };

/* What is finished and not committed; `ret` has room for every part. */
static size_t
offsets_to_commit(const struct runner *runner, struct topic_partition *ret)
{
    size_t n = 0;
    /* What a tick sends goes with its offset, moved or not, so that the group's
     * generation is checked: a member that has lost the partition can't send it. */
    bool ticked = runner->settings.states && states_changed(runner->settings.states);
    for (size_t i = 0; i < runner->n_parts; i++) {
        const struct part *part = &runner->parts[i];
        if (part->next > part->committed || (ticked && part->next >= 0))
            ret[n++] = (struct topic_partition){runner_topic(runner), part->partition,
                                                part->next};
    }
    return n;
}

static void
mark_committed(struct runner *runner, const struct topic_partition *offsets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct part *part = runner_find_part(runner, offsets[i].partition);
        if (part) {
            part->committed = part->restart = offsets[i].offset;
            part->moved_ms = clock_monotonic_ms();
        }
        journal_forget(runner->settings.journal, offsets[i].partition, offsets[i].offset);
    }
    runner->uncommitted = false;
    runner->failures = 0;
}

static enum err_kind
send_state(void *state, const struct outgoing *record, struct err *err)
{
    struct runner *runner = state;
    return runner_produce(runner, record, err);
}

/*
 * The state says what was sent. Without a transaction around both it leaves only once
 * that is acknowledged: a process that dies in between sends again, instead of believing
 * that it had.
 */
static enum err_kind
produce_state(struct runner *runner, struct err *err)
{
    struct states *states = runner->settings.states;
    if (!states || !states_changed(states))
        return ERR_OK;
    while (!runner->delivery.ops->transactional) {
        enum err_kind kind = producer_flush(runner->producer, FLUSH_STEP_MS, err);
        if (!kind)
            break;
        if (kind != ERR_RETRY || producer_pending(runner->producer) == 0)
            return kind;
        runner_on_waiting(runner);
    }
    return states_produce(states, send_state, runner, err);
}

/* The broker refused something, and no input that could be a dead letter gave it. */
static enum err_kind
check_refused(const struct runner *runner, enum err_kind kind, struct err *err)
{
    if (kind != ERR_RECORD || !runner->settings.states)
        return kind;
    for (size_t i = 0; i < runner->n_inputs; i++)
        if (runner->inputs[i].refused)
            return kind;
    struct err why = *err;
    return err_fatal(err, EXIT_CONFIG, "state_refused",
                     "the broker refused a record of the worker's state: %s; look at the "
                     "settings of %s",
                     why.msg, runner->settings.worker->state->topic);
}

enum err_kind
runner_send_state(struct runner *runner, struct err *err)
{
    if (!runner->settings.states || !runner->delivery.ops->transactional)
        return ERR_OK;
    enum err_kind kind = check_refused(runner, produce_state(runner, err), err);
    return kind == ERR_RETRY || kind == ERR_RECORD ? runner_give_up_batch(runner, err)
                                                   : kind;
}

static enum err_kind
commit_state(struct runner *runner, struct err *err)
{
    if (!runner->settings.states)
        return ERR_OK;
    return states_commit(runner->settings.states, runner->producer, err);
}

enum err_kind
runner_try_commit(struct runner *runner, struct err *err)
{
    struct topic_partition *offsets = calloc(runner->n_parts + 1, sizeof *offsets);
    if (!offsets)
        return err_no_memory(err, "the offsets of a batch");
    size_t n = offsets_to_commit(runner, offsets);
    int64_t since_ms = clock_monotonic_ms();
    runner->delivery.delivered = false;
    enum err_kind kind = produce_state(runner, err);
    if (!kind)
        kind = runner->delivery.ops->commit(&runner->delivery, offsets, n, err);
    kind = check_refused(runner, kind, err);
    if (kind && runner->failure.kind) {
        *err = runner->failure;
        kind = err->kind;
    }
    if (!kind) {
        kind = commit_state(runner, err);
        mark_committed(runner, offsets, n);
        runner_widen_batch(runner);
        status_commit(&runner->status, runner->n_inputs, clock_monotonic_ms() - since_ms);
        log_event(LOG_DEBUG, "batch committed",
                  LOG_FIELDS(LOG_INTEGER("records", runner->n_inputs)));
        runner_jobs_committed(runner);
        runner_drop_inputs(runner);
        allocator_trim();
    } else if (kind == ERR_RETRY && runner->delivery.delivered) {
        log_err(LOG_WARNING, err); /* the offsets are sent again with the next batch */
        runner->uncommitted = true;
        kind = commit_state(runner, err);
        runner_drop_inputs(runner);
    }
    runner_read_clock(runner);
    runner->batch_since_ms = runner_now_ms(runner);
    free(offsets);
    return kind;
}

enum err_kind
runner_commit_batch(struct runner *runner, struct err *err)
{
    enum err_kind kind = runner_try_commit(runner, err);
    return kind == ERR_RETRY || kind == ERR_RECORD ? runner_give_up_batch(runner, err)
                                                   : kind;
}

bool
runner_batch_is_due(const struct runner *runner)
{
    if (runner->n_inputs == 0 && !runner->uncommitted)
        return false;
    return runner->n_inputs >= runner->batch_limit || runner->jobs ||
           runner->batch_bytes >= (size_t)runner->settings.batch_bytes ||
           (runner->settings.states && states_full(runner->settings.states)) ||
           runner_now_ms(runner) - runner->batch_since_ms >=
               runner->settings.batch_time_ms;
}
