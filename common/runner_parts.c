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
    return part->held ? part->held_since_ms : part->moved_ms;
}

struct consumed *
runner_release(struct runner *runner, struct part *part)
{
    struct consumed *consumed = part->held;
    struct err err;
    part->held = NULL;
    if (consumed &&
        consumer_resume(runner->consumer, runner_topic(runner), part->partition, &err))
        log_err(LOG_WARNING, &err);
    runner_show_held(runner);
    return consumed;
}

enum err_kind
runner_hold(struct runner *runner,
            struct part *part,
            struct consumed *consumed,
            const struct err *why)
{
    const struct message *in = consumed_message(consumed);
    int64_t now_ms = clock_monotonic_ms();
    if (!part->held) {
        struct err err;
        if (consumer_pause(runner->consumer, in->topic, in->partition, &err))
            log_err(LOG_WARNING, &err);
        part->held = consumed;
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
    status_record(&runner->status, in->partition, "retry");
    runner_show_held(runner);
    return ERR_OK;
}
