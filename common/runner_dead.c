/* SPDX-License-Identifier: Apache-2.0 */
/* A record that is refused: a dead letter of it, and a line that says so. */
#include "runner_internal.h"

#include <inttypes.h>

#include "clock.h"
#include "log.h"
#include "topics.h"

enum { MAX_LINES_A_SECOND = 20 };

/* A flood of bad records must not become a flood of lines: the rest is counted. */
static void
log_dead_letter(struct runner *runner, const struct message *in, const struct err *why)
{
    struct line_limit *limit = &runner->dead_lines;
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - limit->since_ms >= 1000) {
        if (limit->left_out)
            log_event(LOG_WARNING, "more dead letters than lines for them",
                      LOG_FIELDS(LOG_INTEGER("left_out", limit->left_out)));
        limit->since_ms = now_ms;
        limit->lines = 0;
        limit->left_out = 0;
    }
    if (limit->lines++ >= MAX_LINES_A_SECOND) {
        limit->left_out++;
        return;
    }
    log_event(LOG_WARNING, why->msg,
              LOG_FIELDS(LOG_STR("code", why->code),
                         LOG_STR("stage", why->stage ? why->stage : "derive"),
                         LOG_POSITION(in->topic, in->partition, in->offset)));
}

enum err_kind
runner_bury(struct runner *runner,
            const struct message *in,
            size_t index,
            const struct err *why,
            struct err *err)
{
    struct outgoing record = {
        .topic = TOPIC_DEAD,
        .key = in->key,
        .value = in->value,
        .timestamp_ms = in->timestamp_ms,
        .token = runner_token(runner, index, true),
    };
    if (dead_letter_headers(&runner->settings.dead, in, why, clock_now_ms(),
                            &runner->arena, &record.headers, &record.n_headers, err))
        return err->kind;
    size_t headers_bytes = headers_size(record.headers, record.n_headers);
    if (record_check_size(TOPIC_DEAD, record_size(in->key, in->value, headers_bytes),
                          err)) {
        struct err small = *err;
        return err_fatal(err, EXIT_CONFIG, "dead_letter_too_large",
                         "%s partition %d offset %" PRId64 " can't be dead-lettered: %s",
                         in->topic, (int)in->partition, in->offset, small.msg);
    }
    if (runner_produce(runner, &record, err))
        return err->kind;
    log_dead_letter(runner, in, why);
    status_dead(&runner->status, why);
    return ERR_OK;
}
