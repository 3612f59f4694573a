/* SPDX-License-Identifier: Apache-2.0 */
/* The partitions that are ours, and the record that one may be held at. */
#include "runner_internal.h"

#include "clock.h"
#include "log.h"

struct part *
runner_find_part(struct runner *runner, int32_t partition)
{
    for (size_t i = 0; i < runner->n_parts; i++)
        if (runner->parts[i].partition == partition)
            return &runner->parts[i];
    return NULL;
}

int64_t
runner_stands_since(const struct part *part)
{
    if (part->in_work && part->attempts == 0)
        return 0; /* its job has a deadline of its own */
    return part->held ? part->held_since_ms : part->moved_ms;
}

struct consumed *
runner_release(struct runner *runner, struct part *part)
{
    struct consumed *consumed = part->held;
    struct err err;
    part->held = NULL;
    part->in_work = false;
    if (consumed &&
        consumer_resume(runner->consumer, runner_topic(runner), part->partition, &err))
        log_err(LOG_WARNING, &err);
    runner_show_held(runner);
    return consumed;
}

/* The partition owns the record from here on, and gives no other. */
static void
pause_at(struct runner *runner, struct part *part, struct consumed *consumed)
{
    const struct message *in = consumed_message(consumed);
    struct err err;
    if (part->held)
        return;
    if (consumer_pause(runner->consumer, in->topic, in->partition, &err))
        log_err(LOG_WARNING, &err);
    part->held = consumed;
}

void
runner_hold_for_job(struct runner *runner, struct part *part, struct consumed *consumed)
{
    pause_at(runner, part, consumed);
    part->in_work = true;
    part->due_ms = INT64_MAX;
    runner_show_held(runner);
}

enum err_kind
runner_hold(struct runner *runner,
            struct part *part,
            struct consumed *consumed,
            const struct err *why)
{
    const struct message *in = consumed_message(consumed);
    int64_t now_ms = clock_monotonic_ms();
    bool is_first = !part->held || (part->in_work && part->attempts == 1);
    pause_at(runner, part, consumed);
    part->in_work = false;
    if (is_first) {
        part->held_since_ms = now_ms;
        log_event(LOG_WARNING, why->msg,
                  LOG_FIELDS(LOG_STR("code", why->code),
                             LOG_STR("next", "the partition is paused, and the record "
                                             "tried again"),
                             LOG_POSITION(in->topic, in->partition, in->offset)));
    }
    part->held_why = *why;
    part->due_ms = now_ms + backoff_delay_ms(&runner->settings.retry, part->attempts + 1,
                                             backoff_random(&runner->random));
    series_add(part->outcomes.retry, 1);
    runner_show_held(runner);
    return ERR_OK;
}
