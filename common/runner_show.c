/* SPDX-License-Identifier: Apache-2.0 */
/* What the runner shows of itself: gauges, readiness, and lines when it stands still. */
#include "runner_internal.h"

#include "log.h"
#include "watchdog.h"

enum {
    SHOW_EVERY_MS = 500,  /* gauges */
    LOST_AFTER_MS = 3000, /* without a connection: say so */
    WAIT_STEP_MS = 100,   /* between two questions to a coordinator */
    ANSWER_MS = 2000,     /* how long a broker may take to be there */
};

void
runner_show_held(struct runner *runner)
{
    const struct part *oldest = NULL;
    double n = 0;
    for (size_t i = 0; i < runner->n_parts; i++) {
        const struct part *part = &runner->parts[i];
        n += part->held != NULL;
        if (runner_stands_since(part) &&
            (!oldest || runner_stands_since(part) < runner_stands_since(oldest)))
            oldest = part;
    }
    series_set(runner->status.paused, n);
    const struct err no_progress = {.code = "no_progress"};
    if (!oldest) {
        status_held(&runner->status, NULL, NULL, 0);
        return;
    }
    const struct message at = {.topic = runner_topic(runner),
                               .partition = oldest->partition,
                               .offset = oldest->next};
    status_held(&runner->status, &at, oldest->held ? &oldest->held_why : &no_progress,
                runner_stands_since(oldest));
}

/* One line when a partition has stood still for long, one when it goes on. */
static bool
tell_stuck(struct runner *runner, struct part *part)
{
    int64_t since_ms = runner_stands_since(part);
    bool stuck = since_ms && runner_now_ms(runner) - since_ms >
                                 STATUS_STUCK_MS + runner->settings.batch_time_ms;
    if (stuck && !part->stuck)
        log_event(
            LOG_ERROR, "a partition with data does not advance: not ready",
            LOG_FIELDS(LOG_STR("code", "partition_stuck"),
                       LOG_STR("why", part->held ? part->held_why.code : "no_progress"),
                       LOG_POSITION(runner_topic(runner), part->partition, part->next)));
    if (!stuck && part->stuck)
        log_event(
            LOG_INFO, "the partition advances again",
            LOG_FIELDS(LOG_POSITION(runner_topic(runner), part->partition, part->next)));
    part->stuck = stuck;
    return stuck;
}

void
runner_tell_broker(struct runner *runner, bool up, int64_t now_ms)
{
    atomic_store(&runner->status.connected, up);
    if (up)
        atomic_store(&runner->connected_ms, now_ms);
    if (up && atomic_exchange(&runner->broker_lost, false))
        log_say(LOG_INFO, "the broker answers again");
    bool lost = now_ms - atomic_load(&runner->connected_ms) > LOST_AFTER_MS;
    if (!lost || atomic_exchange(&runner->broker_lost, true))
        return;
    log_event(LOG_WARNING, "no broker answers, trying on until one does",
              LOG_FIELDS(LOG_STR("code", "broker_unreachable"),
                         LOG_STR("brokers", runner->settings.kafka->brokers)));
}

bool
runner_is_cut_off(void *state)
{
    struct runner *runner = state;
    if (!runner->producer || producer_answered(runner->producer, ANSWER_MS))
        return false;
    int64_t now_ms = clock_monotonic_ms(); /* in the watchdog's thread */
    status_turned(&runner->status, now_ms);
    runner_tell_broker(runner, false, now_ms);
    return true;
}

void
runner_on_waiting(void *state)
{
    struct runner *runner = state;
    runner_read_clock(runner);
    status_turned(&runner->status, runner_now_ms(runner));
    series_set(runner->status.queued, producer_pending(runner->producer));
    runner_tell_broker(runner,
                       runner->delivery.ops->transactional &&
                           producer_connected(runner->producer),
                       runner_now_ms(runner));
}

bool
runner_wait_for_coordinator(void *state)
{
    runner_on_waiting(state);
    watchdog_wait(WAIT_STEP_MS);
    return !watchdog_stopping();
}

/* What is known of the partition, and whether there is anything to do in it. */
static void
show_part(struct runner *runner, struct part *part)
{
    struct partition_offsets offsets = {
        .committed = part->committed,
        .start = NO_OFFSET,
        .end = NO_OFFSET,
        .stable = consumer_stable_end(runner->consumer, part->partition),
    };
    if (!consumer_watermarks(runner->consumer, runner_topic(runner), part->partition,
                             &offsets.start, &offsets.end))
        offsets.end = NO_OFFSET;
    int64_t read_to = consumer_read_to(runner->consumer, part->partition);
    bool settled = part->next == part->committed;
    int64_t readable = offsets.stable < 0 ? offsets.end : offsets.stable;
    offsets.drained = settled && offsets.end >= 0 && read_to >= offsets.end;
    if (settled && (read_to >= readable || part->next >= readable))
        part->moved_ms = runner_now_ms(runner);
    status_partition(&runner->status, part->partition, &offsets);
}

void
runner_show(struct runner *runner)
{
    int64_t now_ms = runner_now_ms(runner);
    double stuck = 0;
    status_turned(&runner->status, now_ms);
    if (now_ms - runner->shown_ms < SHOW_EVERY_MS)
        return;
    runner->shown_ms = now_ms;
    series_set(runner->status.broker_up, consumer_connected(runner->consumer) ? 1 : 0);
    series_set(runner->status.queued, producer_pending(runner->producer));
    series_set(runner->status.open_records, (double)runner->n_inputs);
    for (size_t i = 0; i < runner->n_parts; i++) {
        show_part(runner, &runner->parts[i]);
        stuck += tell_stuck(runner, &runner->parts[i]);
    }
    series_set(runner->status.stuck, stuck);
    runner_show_held(runner);
}
