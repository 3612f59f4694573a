/* SPDX-License-Identifier: Apache-2.0 */
/* One record, from the poll into the batch: derived, produced, settled by its error. */
#include "runner_internal.h"

#include "log.h"
#include "outbox.h"

enum {
    RECORD_LANE = 0,       /* of the journal */
    MAX_TRACE_BYTES = 512, /* of a value: the W3C's own ceiling for tracestate */
};

enum err_kind
runner_produce(struct runner *runner, const struct outgoing *record, struct err *err)
{
    if (runner->delivery.ops->produce(&runner->delivery, record, err))
        return err_at(err, "emit");
    status_emitted(&runner->status, record->topic);
    return ERR_OK;
}

/* From bytes to encoded records, all of them, before the first is produced. */
static enum err_kind
handle_one(struct runner *runner,
           const struct part *part,
           const struct message *in,
           const struct encoded **ret_records,
           size_t *ret_n,
           struct err *err)
{
    struct emits out = {.arena = &runner->arena};
    err_clear(err);
    arena_reset(&runner->arena);
    if (runner->jobs)
        return runner_job_take(runner, part, in, ret_records, ret_n, err);
    int64_t since_ns = runner->now_ns;
    status_busy(&runner->status, in, runner_now_ms(runner));
    journal_enter(runner->settings.journal, RECORD_LANE, in->partition, in->offset);
    enum err_kind kind =
        runner->settings.worker->on_record(runner->settings.worker_state, in, &out, err);
    if (!kind)
        kind = outbox_encode(runner->outbox, &out, ret_records, ret_n, err);
    journal_leave(runner->settings.journal, RECORD_LANE);
    status_idle(&runner->status);
    runner_read_clock(runner);
    series_observe(runner->status.record_seconds,
                   (double)(runner->now_ns - since_ns) / 1e9);
    return kind;
}

/* The trace context goes on with what the record gives. */
static void
carry_trace(struct runner *runner, const struct message *in)
{
    static const char *const names[RUNNER_MAX_TRACE_HEADERS] = {"traceparent",
                                                                "tracestate"};
    runner->n_trace = 0;
    for (size_t i = 0; i < RUNNER_MAX_TRACE_HEADERS; i++) {
        struct slice value = header_last(in->headers, in->n_headers, names[i]);
        if (value.data && value.len <= MAX_TRACE_BYTES)
            runner->trace[runner->n_trace++] = (struct header){slice_of(names[i]), value};
    }
}

enum err_kind
runner_emit(struct runner *runner,
            const struct encoded *records,
            size_t n,
            void *token,
            struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct outgoing record = {
            .topic = records[i].topic,
            .key = records[i].key,
            .value = records[i].value,
            .timestamp_ms = records[i].timestamp_ms,
            .headers = runner->trace,
            .n_headers = runner->n_trace,
            .token = token,
        };
        if (runner_produce(runner, &record, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
finish(struct part *part, const struct message *in, struct series *outcome)
{
    part->next = in->offset + 1;
    series_add(outcome, 1);
    return ERR_OK;
}

bool
runner_is_last_attempt(const struct runner *runner,
                       const struct part *part,
                       const struct err *why)
{
    int64_t allowed = runner->settings.retry_attempts;
    return !why->endless && allowed != 0 && part->attempts + 1 >= allowed;
}

/* Counts the attempt; true when the record has had its last one. */
static bool
attempts_used_up(const struct runner *runner, struct part *part, struct err *why)
{
    bool is_last = runner_is_last_attempt(runner, part, why);
    part->attempts++;
    if (!is_last)
        return false;
    struct err last = *why;
    const char *code = last.final_code ? last.final_code : "retries_exhausted";
    err_set(why, ERR_RECORD, code, "%u attempts: %s", part->attempts, last.msg);
    why->stage = last.stage;
    return true;
}

/*
 * What becomes of the last input of the batch, by the kind of its error. A record that is
 * to be tried again leaves the batch.
 */
static enum err_kind
settle(struct runner *runner, struct part *part, enum err_kind kind, struct err *err)
{
    size_t index = runner->n_inputs - 1;
    const struct message *in = consumed_message(runner->inputs[index].consumed);
    if (!kind)
        return finish(part, in, part->outcomes.ok);
    struct err why = *err;
    switch (kind) {
    case ERR_RETRY:
        if (!attempts_used_up(runner, part, &why))
            return runner_hold(runner, part, runner_take_last_input(runner), &why);
        __attribute__((fallthrough));
    case ERR_RECORD:
        if (runner_bury(runner, in, index, &why, err))
            return err->kind;
        return finish(part, in, part->outcomes.dead);
    case ERR_OK:
    case ERR_FATAL:
    default:
        return ERR_FATAL;
    }
}

/* Puts the record into the batch, which owns it from here on. */
static enum err_kind
take_in(struct runner *runner,
        struct part *part,
        struct consumed *consumed,
        struct err *err)
{
    const struct message *in = consumed_message(consumed);
    bool again = part->held == consumed;
    if (runner_add_input(runner, consumed, err)) {
        if (!again)
            consumed_free(consumed);
        return err->kind;
    }
    if (!again)
        part->attempts = 0;
    if (part->restart < 0)
        part->restart = in->offset;
    if (runner->batch_number == 0 && runner->n_inputs == 1)
        log_event(LOG_DEBUG, "first record",
                  LOG_FIELDS(LOG_POSITION(in->topic, in->partition, in->offset)));
    if (runner->n_inputs == 1)
        runner->batch_since_ms = runner_now_ms(runner);
    return ERR_OK;
}

/* Whether the broker refused what this record gave when it was alone in a batch. */
static bool
was_refused(const struct part *part, const struct message *in, struct err *err)
{
    if (part->refused != in->offset)
        return false;
    *err = part->refused_why;
    return true;
}

/* Whether the process died over this record again and again. */
static bool
is_crash_loop(const struct runner *runner, const struct message *in, struct err *err)
{
    unsigned crashes =
        journal_crashes(runner->settings.journal, in->partition, in->offset);
    if (crashes < JOURNAL_CRASH_LIMIT)
        return false;
    err_set(err, ERR_RECORD, "crash_loop", "the process died %u times over this record",
            crashes);
    return true;
}

/* A record that is not even tried is not given to a job either. */
static bool
is_hopeless(const struct runner *runner,
            const struct part *part,
            const struct message *in,
            struct err *err)
{
    return was_refused(part, in, err) || is_crash_loop(runner, in, err);
}

/* Derives and produces the last input of the batch. `*ret_choked`: not all was taken. */
static enum err_kind
derive_and_emit(struct runner *runner,
                const struct part *part,
                bool *ret_choked,
                struct err *err)
{
    const struct encoded *records = NULL;
    size_t n = 0;
    size_t index = runner->n_inputs - 1;
    const struct message *in = consumed_message(runner->inputs[index].consumed);
    *ret_choked = false;
    if (is_hopeless(runner, part, in, err))
        return err->kind;
    if (handle_one(runner, part, in, &records, &n, err))
        return err->kind;
    carry_trace(runner, in);
    enum err_kind kind =
        runner_emit(runner, records, n, runner_token(runner, index, false), err);
    runner->n_trace = 0;
    if (!kind)
        return ERR_OK;
    *ret_choked = err->kind != ERR_FATAL;
    if (err->kind == ERR_RECORD)
        runner_remember_refusal(runner, in, err);
    return err->kind;
}

/* What the record asked of the state belongs to the batch, or goes with the record. */
static enum err_kind
settle_state(struct runner *runner,
             int32_t partition,
             enum err_kind kind,
             struct err *err)
{
    if (!kind)
        return states_keep(runner->settings.states, partition, err);
    states_drop(runner->settings.states, partition);
    return kind;
}

static enum err_kind
give_to_job(struct runner *runner,
            struct part *part,
            struct consumed *consumed,
            bool *ret_is_ready,
            struct err *err)
{
    struct err ignored;
    if (is_hopeless(runner, part, consumed_message(consumed), &ignored))
        return ERR_OK;
    return runner_job_is_finished(runner, part, consumed, ret_is_ready, err);
}

enum err_kind
runner_work(struct runner *runner, struct consumed *consumed, struct err *err)
{
    struct part *part = runner_find_part(runner, consumed_message(consumed)->partition);
    if (!part) { /* runner_poll() gives none of a partition that is not ours */
        consumed_free(consumed);
        return ERR_OK;
    }
    bool again = part->held == consumed;
    bool choked = false;
    bool is_ready = true;
    if (runner->jobs && give_to_job(runner, part, consumed, &is_ready, err))
        return err->kind;
    if (!is_ready)
        return ERR_OK;
    if (take_in(runner, part, consumed, err))
        return err->kind;
    size_t index = runner->n_inputs - 1;
    enum err_kind kind = derive_and_emit(runner, part, &choked, err);
    if (runner->settings.states)
        kind = settle_state(runner, part->partition, kind, err);
    if (!choked)
        kind = settle(runner, part, kind, err);
    if (runner->n_inputs == index)
        return kind; /* held */
    if (again) {
        runner_release(runner, part);
        if (part->attempts > 0)
            log_event(LOG_INFO, "the record went through, its partition flows again",
                      LOG_FIELDS(LOG_INTEGER("partition", part->partition),
                                 LOG_INTEGER("attempts", part->attempts + 1)));
    }
    return kind == ERR_RETRY || choked ? runner_give_up_batch(runner, err) : kind;
}
