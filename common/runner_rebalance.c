/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions come and go. */
#include "runner_internal.h"

#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "watchdog.h"

/* A partition whose state is not at hand is not worked on: the run ends. */
static bool
take_state(struct runner *runner, int32_t partition)
{
    struct err err = {0};
    if (!runner->settings.states || runner->failure.kind)
        return !runner->failure.kind;
    enum err_kind kind = states_take(runner->settings.states, partition, &err);
    if (kind && !watchdog_stopping())
        runner->failure = err;
    return !kind;
}

void
runner_on_assigned(void *state, const struct topic_partition *parts, size_t n)
{
    struct runner *runner = state;
    struct part *grown =
        realloc(runner->parts, (runner->n_parts + n + 1) * sizeof *runner->parts);
    if (!grown) {
        err_no_memory(&runner->failure, "the assigned partitions");
        return;
    }
    runner->parts = grown;
    for (size_t i = 0; i < n; i++) {
        if (runner_find_part(runner, parts[i].partition) ||
            !take_state(runner, parts[i].partition))
            continue;
        runner->parts[runner->n_parts++] = (struct part){
            .partition = parts[i].partition,
            .next = parts[i].offset,
            .committed = parts[i].offset,
            .restart = parts[i].offset,
            .refused = NO_OFFSET,
            .moved_ms = clock_monotonic_ms(),
            .outcomes = status_outcomes(&runner->status, parts[i].partition),
        };
        journal_forget(runner->settings.journal, parts[i].partition, parts[i].offset);
        log_event(LOG_INFO, "partition assigned",
                  LOG_FIELDS(
                      LOG_POSITION(parts[i].topic, parts[i].partition, parts[i].offset)));
    }
    atomic_store(&runner->status.joined, true);
    atomic_store(&runner->status.n_assigned, (int)runner->n_parts);
    series_add(runner->status.rebalances, 1);
    series_set(runner->status.assigned, (double)runner->n_parts);
}

static void
forget_part(struct runner *runner, int32_t partition)
{
    struct part *part = runner_find_part(runner, partition);
    if (!part)
        return;
    consumed_free(runner_release(runner, part));
    if (runner->jobs)
        jobs_drop(runner->jobs, partition, INT64_MAX);
    const struct partition_offsets unknown = {-1, -1, -1, -1, false};
    status_partition(&runner->status, partition, &unknown);
    if (runner->settings.states)
        states_release(runner->settings.states, partition);
    *part = runner->parts[--runner->n_parts];
}

/* Inside a callback nothing can be sought: the rest is read again after the poll. */
static void
drop_batch(struct runner *runner)
{
    struct err err = {0};
    status_abort(&runner->status);
    runner_narrow_batch(runner);
    if (runner->delivery.ops->abort(&runner->delivery, &err) == ERR_FATAL)
        runner->failure = err;
    runner_drop_inputs(runner);
    runner->rewind_due = true;
}

/* Past the bound the group has given the partitions away: a zombie must not go on. */
static void
commit_before_revoke(struct runner *runner)
{
    struct err err = {0};
    int64_t bound_ms = consumer_session_timeout_ms(runner->consumer) * 3 / 4;
    watchdog_arm(WATCH_REVOKE, bound_ms, EXIT_TXN_DEADLINE,
                 "the commit before partitions go to another member");
    enum err_kind kind = runner_try_commit(runner, &err);
    if (kind == ERR_RETRY || kind == ERR_RECORD) {
        log_err(LOG_WARNING, &err);
        drop_batch(runner);
    } else if (kind) {
        runner->failure = err;
    }
    watchdog_disarm(WATCH_REVOKE);
}

void
runner_on_revoked(void *state, const struct topic_partition *parts, size_t n, bool lost)
{
    struct runner *runner = state;
    bool open = runner->n_inputs > 0 || runner->uncommitted;
    if (open && lost)
        drop_batch(runner);
    else if (open && !runner->failure.kind)
        commit_before_revoke(runner);
    for (size_t i = 0; i < n; i++)
        forget_part(runner, parts[i].partition);
    runner_show_held(runner);
    log_event(lost ? LOG_WARNING : LOG_INFO,
              lost ? "partitions lost, open work dropped" : "partitions released",
              LOG_FIELDS(LOG_INTEGER("partitions", n)));
    atomic_store(&runner->status.n_assigned, (int)runner->n_parts);
    series_add(runner->status.rebalances, 1);
    series_set(runner->status.assigned, (double)runner->n_parts);
}
