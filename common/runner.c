/* SPDX-License-Identifier: Apache-2.0 */
/* The record path, in the order a record meets it. */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "outbox.h"
#include "runner_status.h"
#include "states.h"
#include "topics.h"
#include "watchdog.h"

enum {
    POLL_MS = 100,            /* how soon a request to stop is seen */
    SHOW_EVERY_MS = 500,      /* gauges */
    SERVE_EVERY_RECORDS = 64, /* delivery reports */
    FLUSH_STEP_MS = 1000,
    LOST_AFTER_MS = 3000, /* without a connection: say so */
    CLOSE_TIMEOUT_MS = 10000,
    CLUSTER_TIMEOUT_MS = 5000,
    MAX_REWIND_WAIT_MS = 5000,
    WAIT_STEP_MS = 100,      /* between two questions to a coordinator */
    MAX_LINES_A_SECOND = 20, /* of dead letters in the log */
    FIRST_INPUTS = 256,
    RECORD_LANE = 0, /* of the journal */
    MAX_TRACE_HEADERS = 2,
    MAX_TRACE_BYTES = 512, /* of a value: the W3C's own ceiling for tracestate */
};

/* A report's token: batch number, position in the batch plus one, dead letter or not. */
enum { TOKEN_INDEX_BITS = 24, TOKEN_DEAD = 1 };

enum { NONE = -1 }; /* no such offset */

/* A partition that is ours. */
struct part {
    int32_t partition;
    int64_t next;          /* after the last finished record */
    int64_t committed;     /* as the group has it */
    int64_t restart;       /* where to go back to when a batch is given up */
    struct consumed *held; /* tried again later; the partition is paused */
    struct err held_why;
    unsigned attempts; /* at the held record */
    int64_t due_ms;
    int64_t held_since_ms;
    int64_t moved_ms; /* when the committed offset last advanced, or nothing was to do */
    bool stuck;       /* and said so */
    int64_t refused;  /* offset of a record whose results the broker refuses */
    struct err refused_why;
};

/* A record of the open batch, kept until it is delivered. */
struct input {
    struct consumed *consumed;
    struct err *refused; /* why the broker did not take what it gave; owned */
};

struct runner {
    struct runner_settings settings;
    struct runner_status status;
    struct outbox *outbox;
    struct arena arena; /* of the record in work */
    struct producer *producer;
    struct consumer *consumer;
    struct delivery delivery;

    struct part *parts;
    size_t n_parts;

    struct input *inputs; /* the open batch */
    size_t n_inputs;
    size_t cap_inputs;
    size_t batch_bytes;
    uint64_t batch_number;
    int64_t batch_since_ms; /* when it was opened, or last committed in vain */
    bool uncommitted;       /* delivered, but the offsets did not get through */
    bool rewind_due;        /* the batch was given up where no seek is possible */
    unsigned failures;      /* batches given up in a row */
    size_t batch_limit;     /* of records; narrows around one that the broker refuses */

    struct header trace[MAX_TRACE_HEADERS]; /* of the record in work, borrowed from it */
    size_t n_trace;

    struct err failure;   /* from a callback; ends the run */
    bool broker_lost;     /* and said so */
    int64_t connected_ms; /* when a broker was connected last */
    uint64_t random;
    int64_t shown_ms;
    int64_t lines_since_ms;
    int lines;
    uint64_t lines_left_out;
};

/* --- parts and inputs --------------------------------------------------------------- */

static struct part *
find_part(struct runner *runner, int32_t partition)
{
    for (size_t i = 0; i < runner->n_parts; i++)
        if (runner->parts[i].partition == partition)
            return &runner->parts[i];
    return NULL;
}

static const char *
topic_of(const struct runner *runner)
{
    return runner->settings.worker->input;
}

/* Since when the partition stands at its record; 0: it does not. */
static int64_t
stands_since(const struct part *part)
{
    return part->held ? part->held_since_ms : part->moved_ms;
}

static void
show_held(struct runner *runner)
{
    const struct part *oldest = NULL;
    double n = 0;
    for (size_t i = 0; i < runner->n_parts; i++) {
        const struct part *part = &runner->parts[i];
        n += part->held != NULL;
        if (stands_since(part) && (!oldest || stands_since(part) < stands_since(oldest)))
            oldest = part;
    }
    series_set(runner->status.paused, n);
    const struct err no_progress = {.code = "no_progress"};
    if (!oldest) {
        status_held(&runner->status, NULL, NULL, 0);
        return;
    }
    const struct message at = {.topic = topic_of(runner),
                               .partition = oldest->partition,
                               .offset = oldest->next};
    status_held(&runner->status, &at, oldest->held ? &oldest->held_why : &no_progress,
                stands_since(oldest));
}

/* One line when a partition has stood still for long, one when it goes on. */
static bool
tell_stuck(struct runner *runner, struct part *part)
{
    int64_t since_ms = stands_since(part);
    bool stuck = since_ms && clock_monotonic_ms() - since_ms >
                                 STATUS_STUCK_MS + runner->settings.batch_time_ms;
    if (stuck && !part->stuck)
        log_event(
            LOG_ERROR, "a partition with data does not advance: not ready",
            LOG_FIELDS(LOG_STR("code", "partition_stuck"),
                       LOG_STR("why", part->held ? part->held_why.code : "no_progress"),
                       LOG_POSITION(topic_of(runner), part->partition, part->next)));
    if (!stuck && part->stuck)
        log_event(
            LOG_INFO, "the partition advances again",
            LOG_FIELDS(LOG_POSITION(topic_of(runner), part->partition, part->next)));
    part->stuck = stuck;
    return stuck;
}

/* Ends the hold of a partition, which flows again. The record is the caller's. */
static struct consumed *
release(struct runner *runner, struct part *part)
{
    struct consumed *consumed = part->held;
    struct err err;
    part->held = NULL;
    if (consumed &&
        consumer_resume(runner->consumer, topic_of(runner), part->partition, &err))
        log_err(LOG_WARNING, &err);
    show_held(runner);
    return consumed;
}

static enum err_kind
add_input(struct runner *runner, struct consumed *consumed, struct err *err)
{
    if (runner->n_inputs == runner->cap_inputs) {
        size_t cap = runner->cap_inputs ? runner->cap_inputs * 2 : FIRST_INPUTS;
        struct input *inputs = realloc(runner->inputs, cap * sizeof *inputs);
        if (!inputs)
            return err_no_memory(err, "the records of a batch");
        runner->inputs = inputs;
        runner->cap_inputs = cap;
    }
    const struct message *in = consumed_message(consumed);
    runner->inputs[runner->n_inputs++] = (struct input){consumed, NULL};
    runner->batch_bytes += in->value.len + in->key.len;
    return ERR_OK;
}

/* Takes the last input out of the batch again. */
static struct consumed *
take_last_input(struct runner *runner)
{
    struct consumed *consumed = runner->inputs[--runner->n_inputs].consumed;
    const struct message *in = consumed_message(consumed);
    runner->batch_bytes -= in->value.len + in->key.len;
    return consumed;
}

static void
drop_inputs(struct runner *runner)
{
    for (size_t i = 0; i < runner->n_inputs; i++) {
        consumed_free(runner->inputs[i].consumed);
        free(runner->inputs[i].refused);
    }
    runner->n_inputs = 0;
    runner->batch_bytes = 0;
    runner->batch_number++;
    if (runner->settings.states) /* what was not committed by now is given up */
        states_abort(runner->settings.states);
}

static void *
token_of(const struct runner *runner, size_t index, unsigned dead)
{
    uint64_t number = runner->batch_number << (TOKEN_INDEX_BITS + 1);
    return (void *)(uintptr_t)(number | (index + 1) << 1 | dead);
}

/* What the broker says of one record that was produced. */
static void
on_report(void *state, void *token, const struct err *err)
{
    struct runner *runner = state;
    if (!err || err->kind != ERR_RECORD)
        return; /* the flush tells of the other kinds */
    uint64_t number = (uintptr_t)token;
    size_t index = (number >> 1 & (((uint64_t)1 << TOKEN_INDEX_BITS) - 1)) - 1;
    if (number >> (TOKEN_INDEX_BITS + 1) !=
            (runner->batch_number & (UINT64_MAX >> (TOKEN_INDEX_BITS + 1))) ||
        index >= runner->n_inputs)
        return; /* of a batch that was given up: its records come again */
    struct input *input = &runner->inputs[index];
    if (number & TOKEN_DEAD) {
        err_fatal(&runner->failure, EXIT_CONFIG, "dead_letter_refused",
                  "the broker refused a dead letter: %s; look at the settings of %s",
                  err->msg, TOPIC_DEAD);
        return;
    }
    if (!input->refused)
        input->refused = malloc(sizeof *input->refused);
    if (!input->refused) {
        err_no_memory(&runner->failure, "a refused record");
        return;
    }
    *input->refused = *err;
    input->refused->stage = "emit";
}

/* --- the next record ---------------------------------------------------------------- */

static int
time_to_poll_ms(const struct runner *runner)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t left_ms = POLL_MS;
    if (runner->n_inputs > 0) {
        int64_t due_ms = runner->batch_since_ms + runner->settings.batch_time_ms - now_ms;
        left_ms = due_ms < left_ms ? due_ms : left_ms;
    }
    for (size_t i = 0; i < runner->n_parts; i++)
        if (runner->parts[i].held && runner->parts[i].due_ms - now_ms < left_ms)
            left_ms = runner->parts[i].due_ms - now_ms;
    return left_ms > 0 ? (int)left_ms : 0;
}

/* One line when no broker answers, one when it is back. */
static void
tell_broker(struct runner *runner, bool up)
{
    int64_t now_ms = clock_monotonic_ms();
    atomic_store(&runner->status.connected, up);
    if (up)
        runner->connected_ms = now_ms;
    if (up && runner->broker_lost) {
        runner->broker_lost = false;
        log_say(LOG_INFO, "the broker answers again");
    }
    bool lost = now_ms - runner->connected_ms > LOST_AFTER_MS;
    if (!lost || runner->broker_lost)
        return;
    runner->broker_lost = true;
    log_event(LOG_WARNING, "no broker answers, trying on until one does",
              LOG_FIELDS(LOG_STR("code", "broker_unreachable"),
                         LOG_STR("brokers", runner->settings.kafka->brokers)));
}

/* While a batch waits for its acknowledgements: nothing polls the consumer meanwhile. */
static void
on_waiting(void *state)
{
    struct runner *runner = state;
    status_turned(&runner->status);
    tell_broker(runner, runner->delivery.ops->transactional &&
                            producer_connected(runner->producer));
}

/* Due: the held record of a paused partition. NULL: none is. */
static struct consumed *
poll_held(struct runner *runner)
{
    int64_t now_ms = clock_monotonic_ms();
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
    const struct part *part = find_part(runner, in->partition);
    if (part && part->held)
        go_back(runner, part);
    return part && !part->held && in->offset >= part->next && !runner->rewind_due;
}

/*
 * A record of the batch to come, in `*ret`: fresh, or a held one that is due. NULL in it
 * when there is none now.
 */
static enum err_kind
poll_batch(struct runner *runner, struct consumed **ret, struct err *err)
{
    *ret = poll_held(runner);
    if (*ret)
        return ERR_OK;
    struct consumed *consumed =
        consumer_poll(runner->consumer, time_to_poll_ms(runner), err);
    tell_broker(runner, consumer_connected(runner->consumer));
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
    *err = (struct err){0};
    return ERR_OK;
}

/* --- one record --------------------------------------------------------------------- */

static enum err_kind
produce(struct runner *runner, const struct outgoing *record, struct err *err)
{
    if (runner->delivery.ops->produce(&runner->delivery, record, err))
        return err_at(err, "emit");
    status_emitted(&runner->status, record->topic);
    return ERR_OK;
}

/* From bytes to encoded records, all of them, before the first is produced. */
static enum err_kind
handle_one(struct runner *runner,
           const struct message *in,
           const struct encoded **ret_records,
           size_t *ret_n,
           struct err *err)
{
    struct emits out = {.arena = &runner->arena};
    *err = (struct err){0};
    arena_reset(&runner->arena);
    int64_t since_ns = clock_monotonic_ns();
    status_busy(&runner->status, in);
    journal_enter(runner->settings.journal, RECORD_LANE, in->partition, in->offset);
    enum err_kind kind =
        runner->settings.worker->on_record(runner->settings.worker_state, in, &out, err);
    if (!kind)
        kind = outbox_encode(runner->outbox, &out, ret_records, ret_n, err);
    journal_leave(runner->settings.journal, RECORD_LANE);
    status_idle(&runner->status);
    series_observe(runner->status.record_seconds,
                   (double)(clock_monotonic_ns() - since_ns) / 1e9);
    return kind;
}

/* The trace context goes on with what the record gives. */
static void
carry_trace(struct runner *runner, const struct message *in)
{
    static const char *const names[MAX_TRACE_HEADERS] = {"traceparent", "tracestate"};
    runner->n_trace = 0;
    for (size_t i = 0; i < MAX_TRACE_HEADERS; i++) {
        struct slice value = header_last(in->headers, in->n_headers, names[i]);
        if (value.data && value.len <= MAX_TRACE_BYTES)
            runner->trace[runner->n_trace++] = (struct header){slice_of(names[i]), value};
    }
}

/* ERR_RETRY or ERR_RECORD: not all of it is taken; the whole batch is to be given up. */
static enum err_kind
emit(struct runner *runner,
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
        if (produce(runner, &record, err))
            return err->kind;
    }
    return ERR_OK;
}

/* A flood of bad records must not become a flood of lines; what is left out is counted.
 */
static void
log_dead_letter(struct runner *runner, const struct message *in, const struct err *why)
{
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - runner->lines_since_ms >= 1000) {
        if (runner->lines_left_out)
            log_event(LOG_WARNING, "more dead letters than lines for them",
                      LOG_FIELDS(LOG_INTEGER("left_out", runner->lines_left_out)));
        runner->lines_since_ms = now_ms;
        runner->lines = 0;
        runner->lines_left_out = 0;
    }
    if (runner->lines++ >= MAX_LINES_A_SECOND) {
        runner->lines_left_out++;
        return;
    }
    log_event(LOG_WARNING, why->msg,
              LOG_FIELDS(LOG_STR("code", why->code),
                         LOG_STR("stage", why->stage ? why->stage : "derive"),
                         LOG_POSITION(in->topic, in->partition, in->offset)));
}

/* Sends the input as it came, with what went wrong in its headers. */
static enum err_kind
bury(struct runner *runner,
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
        .token = token_of(runner, index, TOKEN_DEAD),
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
    if (produce(runner, &record, err))
        return err->kind;
    log_dead_letter(runner, in, why);
    status_dead(&runner->status, why);
    return ERR_OK;
}

static void
finish(struct runner *runner, const struct message *in, const char *outcome)
{
    struct part *part = find_part(runner, in->partition);
    if (part)
        part->next = in->offset + 1;
    status_record(&runner->status, in->partition, outcome);
}

/* Pauses the partition at the record, to try it again later. */
static enum err_kind
hold(struct runner *runner,
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
    show_held(runner);
    return ERR_OK;
}

/* Counts the attempt; true when the record has had its last one. */
static bool
attempts_used_up(const struct runner *runner, struct part *part, struct err *why)
{
    part->attempts++;
    int64_t allowed = runner->settings.retry_attempts;
    if (allowed == 0 || part->attempts < allowed)
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
    struct err why = *err;
    switch (kind) {
    case ERR_OK:
        finish(runner, in, "ok");
        return ERR_OK;
    case ERR_RETRY:
        if (!attempts_used_up(runner, part, &why))
            return hold(runner, part, take_last_input(runner), &why);
        __attribute__((fallthrough));
    case ERR_RECORD:
        if (bury(runner, in, index, &why, err))
            return err->kind;
        finish(runner, in, "dead");
        return ERR_OK;
    case ERR_FATAL:
    default:
        return ERR_FATAL;
    }
}

static enum err_kind give_up_batch(struct runner *runner, struct err *err);

/* Puts the record into the batch, which owns it from here on. */
static enum err_kind
take_in(struct runner *runner,
        struct part *part,
        struct consumed *consumed,
        struct err *err)
{
    const struct message *in = consumed_message(consumed);
    bool again = part->held == consumed;
    if (add_input(runner, consumed, err)) {
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
        runner->batch_since_ms = clock_monotonic_ms();
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

/* So that it is a dead letter when it comes again. */
static void
remember_refusal(struct runner *runner, const struct message *in, const struct err *why)
{
    struct part *part = find_part(runner, in->partition);
    if (!part)
        return;
    part->refused = in->offset;
    part->refused_why = *why;
    part->refused_why.stage = "emit";
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
    if (was_refused(part, in, err) || is_crash_loop(runner, in, err))
        return err->kind;
    if (handle_one(runner, in, &records, &n, err))
        return err->kind;
    carry_trace(runner, in);
    enum err_kind kind = emit(runner, records, n, token_of(runner, index, 0), err);
    runner->n_trace = 0;
    if (!kind)
        return ERR_OK;
    *ret_choked = err->kind != ERR_FATAL;
    if (err->kind == ERR_RECORD)
        remember_refusal(runner, in, err);
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

/* One record, from the poll into the batch, or to its partition's hold. */
static enum err_kind
work(struct runner *runner, struct consumed *consumed, struct err *err)
{
    struct part *part = find_part(runner, consumed_message(consumed)->partition);
    if (!part) { /* poll_batch() gives none of a partition that is not ours */
        consumed_free(consumed);
        return ERR_OK;
    }
    bool again = part->held == consumed;
    bool choked = false;
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
        release(runner, part);
        log_event(LOG_INFO, "the record went through, its partition flows again",
                  LOG_FIELDS(LOG_INTEGER("partition", part->partition),
                             LOG_INTEGER("attempts", part->attempts + 1)));
    }
    return kind == ERR_RETRY || choked ? give_up_batch(runner, err) : kind;
}

/* --- the batch ---------------------------------------------------------------------- */

static bool
wait_for_coordinator(void *state)
{
    on_waiting(state);
    watchdog_wait(WAIT_STEP_MS);
    return !watchdog_stopping();
}

/* After an abort the group's word counts, not what we took to be committed. */
static enum err_kind
ask_restarts(struct runner *runner, struct topic_partition *to, struct err *err)
{
    const struct patience patience = {wait_for_coordinator, runner};
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
        consumed_free(release(runner, part));
        part->next = part->restart;
        to[i] =
            (struct topic_partition){topic_of(runner), part->partition, part->restart};
    }
    enum err_kind kind = ask_restarts(runner, to, err);
    for (size_t i = 0; i < runner->n_parts && !kind; i++)
        runner->parts[i].next = to[i].offset;
    return kind ? kind : consumer_seek(runner->consumer, to, runner->n_parts, err);
}

/* Leaves the records of the batch to be read again, from the committed offsets. */
static enum err_kind
rewind_parts(struct runner *runner, struct err *err)
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

/*
 * The broker refuses a whole request for one record in it. So the batch is halved until
 * that record is alone; then it is known, and innocent ones never become dead letters.
 */
static void
narrow_batch(struct runner *runner)
{
    for (size_t i = 0; i < runner->n_inputs; i++) {
        const struct input *input = &runner->inputs[i];
        if (!input->refused)
            continue;
        if (runner->n_inputs == 1)
            remember_refusal(runner, consumed_message(input->consumed), input->refused);
        runner->batch_limit = runner->n_inputs > 1 ? runner->n_inputs / 2 : 1;
        return;
    }
}

/* Wins back what narrowing cost, a doubling for each batch that goes through. */
static void
widen_batch(struct runner *runner)
{
    size_t most = (size_t)runner->settings.batch_records;
    runner->batch_limit = runner->batch_limit < most / 2 ? runner->batch_limit * 2 : most;
}

static enum err_kind
give_up_batch(struct runner *runner, struct err *err)
{
    const struct backoff wait = {runner->settings.retry.first_ms, MAX_REWIND_WAIT_MS};
    bool refused = err->kind == ERR_RECORD;
    log_event(LOG_WARNING, "batch given up, its records are read again",
              LOG_FIELDS(LOG_STR("code", err->code), LOG_STR("why", err->msg),
                         LOG_INTEGER("records", runner->n_inputs)));
    narrow_batch(runner);
    status_abort(&runner->status);
    if (runner->delivery.ops->abort(&runner->delivery, err) == ERR_FATAL)
        return err->kind;
    drop_inputs(runner);
    if (!refused)
        watchdog_wait(backoff_delay_ms(&wait, ++runner->failures + 1,
                                       backoff_random(&runner->random)));
    return rewind_parts(runner, err);
}

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
            ret[n++] =
                (struct topic_partition){topic_of(runner), part->partition, part->next};
    }
    return n;
}

static void
mark_committed(struct runner *runner, const struct topic_partition *offsets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct part *part = find_part(runner, offsets[i].partition);
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
    return produce(runner, record, err);
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
        on_waiting(runner);
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

static enum err_kind
commit_state(struct runner *runner, struct err *err)
{
    if (!runner->settings.states)
        return ERR_OK;
    return states_commit(runner->settings.states, runner->producer, err);
}

/* ERR_RETRY or ERR_RECORD: the batch can't be delivered and must be given up. */
static enum err_kind
try_commit(struct runner *runner, struct err *err)
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
        widen_batch(runner);
        status_commit(&runner->status, runner->n_inputs, clock_monotonic_ms() - since_ms);
        log_event(LOG_DEBUG, "batch committed",
                  LOG_FIELDS(LOG_INTEGER("records", runner->n_inputs)));
        drop_inputs(runner);
    } else if (kind == ERR_RETRY && runner->delivery.delivered) {
        log_err(LOG_WARNING, err); /* the offsets are sent again with the next batch */
        runner->uncommitted = true;
        kind = commit_state(runner, err);
        drop_inputs(runner);
    }
    runner->batch_since_ms = clock_monotonic_ms();
    free(offsets);
    return kind;
}

static enum err_kind
commit_batch(struct runner *runner, struct err *err)
{
    enum err_kind kind = try_commit(runner, err);
    return kind == ERR_RETRY || kind == ERR_RECORD ? give_up_batch(runner, err) : kind;
}

static bool
batch_is_due(const struct runner *runner)
{
    if (runner->n_inputs == 0 && !runner->uncommitted)
        return false;
    return runner->n_inputs >= runner->batch_limit ||
           runner->batch_bytes >= (size_t)runner->settings.batch_bytes ||
           (runner->settings.states && states_full(runner->settings.states)) ||
           clock_monotonic_ms() - runner->batch_since_ms >=
               runner->settings.batch_time_ms;
}

/* --- partitions come and go --------------------------------------------------------- */

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

static void
on_assigned(void *state, const struct topic_partition *parts, size_t n)
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
        if (find_part(runner, parts[i].partition) ||
            !take_state(runner, parts[i].partition))
            continue;
        runner->parts[runner->n_parts++] = (struct part){
            .partition = parts[i].partition,
            .next = parts[i].offset,
            .committed = parts[i].offset,
            .restart = parts[i].offset,
            .refused = NONE,
            .moved_ms = clock_monotonic_ms(),
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
    struct part *part = find_part(runner, partition);
    if (!part)
        return;
    consumed_free(release(runner, part));
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
    narrow_batch(runner);
    if (runner->delivery.ops->abort(&runner->delivery, &err) == ERR_FATAL)
        runner->failure = err;
    drop_inputs(runner);
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
    enum err_kind kind = try_commit(runner, &err);
    if (kind == ERR_RETRY || kind == ERR_RECORD) {
        log_err(LOG_WARNING, &err);
        drop_batch(runner);
    } else if (kind) {
        runner->failure = err;
    }
    watchdog_disarm(WATCH_REVOKE);
}

static void
on_revoked(void *state, const struct topic_partition *parts, size_t n, bool lost)
{
    struct runner *runner = state;
    bool open = runner->n_inputs > 0 || runner->uncommitted;
    if (open && lost)
        drop_batch(runner);
    else if (open && !runner->failure.kind)
        commit_before_revoke(runner);
    for (size_t i = 0; i < n; i++)
        forget_part(runner, parts[i].partition);
    show_held(runner);
    log_event(lost ? LOG_WARNING : LOG_INFO,
              lost ? "partitions lost, open work dropped" : "partitions released",
              LOG_FIELDS(LOG_INTEGER("partitions", n)));
    atomic_store(&runner->status.n_assigned, (int)runner->n_parts);
    series_add(runner->status.rebalances, 1);
    series_set(runner->status.assigned, (double)runner->n_parts);
}

/* --- the run ------------------------------------------------------------------------ */

/* What is known of the partition, and whether there is anything to do in it. */
static void
show_part(struct runner *runner, struct part *part)
{
    struct partition_offsets offsets = {
        .committed = part->committed,
        .start = NONE,
        .end = NONE,
        .stable = consumer_stable_end(runner->consumer, part->partition),
    };
    if (!consumer_watermarks(runner->consumer, topic_of(runner), part->partition,
                             &offsets.start, &offsets.end))
        offsets.end = NONE;
    int64_t read_to = consumer_read_to(runner->consumer, part->partition);
    bool settled = part->next == part->committed;
    int64_t readable = offsets.stable < 0 ? offsets.end : offsets.stable;
    offsets.drained = settled && offsets.end >= 0 && read_to >= offsets.end;
    if (settled && (read_to >= readable || part->next >= readable))
        part->moved_ms = clock_monotonic_ms();
    status_partition(&runner->status, part->partition, &offsets);
}

static void
show(struct runner *runner)
{
    int64_t now_ms = clock_monotonic_ms();
    double stuck = 0;
    status_turned(&runner->status);
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
    show_held(runner);
}

static enum err_kind
emit_due(void *state, struct emits *out, struct err *err)
{
    struct runner *runner = state;
    const struct encoded *records = NULL;
    size_t n = 0;
    if (outbox_encode(runner->outbox, out, &records, &n, err))
        return err->kind;
    return emit(runner, records, n, NULL, err);
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
        return commit_batch(runner, err);
    return kind == ERR_RETRY ? give_up_batch(runner, err) : kind;
}

static enum err_kind
turn(struct runner *runner, struct err *err)
{
    struct consumed *consumed = NULL;
    if (poll_batch(runner, &consumed, err))
        return err->kind;
    if (runner->rewind_due)
        return rewind_parts(runner, err);
    if (consumed && work(runner, consumed, err))
        return err->kind;
    if (runner->n_inputs % SERVE_EVERY_RECORDS == 0)
        producer_poll(runner->producer, 0);
    if (runner->failure.kind) {
        *err = runner->failure;
        return err->kind;
    }
    if (batch_is_due(runner) && commit_batch(runner, err))
        return err->kind;
    if (tick(runner, err))
        return err->kind;
    show(runner);
    return ERR_OK;
}

/* The embedded broker answers every transactional call and keeps none of it. */
static enum err_kind
check_broker(struct runner *runner, struct err *err)
{
    if (!runner->settings.refuse_embedded ||
        !producer_on_mock(runner->producer, CLUSTER_TIMEOUT_MS))
        return ERR_OK;
    return err_fatal(err, EXIT_CONFIG, "delivery_unavailable",
                     "the embedded broker has no transactions, so exactly-once would be "
                     "an empty promise there: start with --delivery at-least-once (a "
                     "record may then be seen twice after a crash, never lost), or use a "
                     "real Kafka (ops/kafka-local start)");
}

/* First of all, so that a former process of our name is fenced before we read. */
static enum err_kind
open_delivery(struct runner *runner, struct err *err)
{
    const struct runner_settings *settings = &runner->settings;
    runner->producer = settings->delivery->transactional
                           ? producer_new_transactional(
                                 settings->kafka, settings->kafka->client_id,
                                 settings->transaction_timeout_ms, on_report, runner, err)
                           : producer_new(settings->kafka, on_report, runner, err);
    if (!runner->producer)
        return err->kind;
    runner->delivery = (struct delivery){
        .ops = settings->delivery,
        .producer = runner->producer,
        .group = settings->dead.group,
        .name = settings->kafka->client_id,
        .waiting = on_waiting,
        .state = runner,
    };
    if (settings->delivery->open(&runner->delivery, err))
        return err->kind;
    return settings->delivery->transactional ? check_broker(runner, err) : ERR_OK;
}

static enum err_kind
open_clients(struct runner *runner, struct err *err)
{
    const struct runner_settings *settings = &runner->settings;
    const struct consumer_settings consumer = {
        .kafka = settings->kafka,
        .group = settings->dead.group,
        .topic = settings->worker->input,
        .group_instance_id = settings->group_instance_id,
        .start = settings->start,
        .read_committed = settings->delivery->transactional,
        .events = {on_assigned, on_revoked, wait_for_coordinator, runner},
    };
    runner->connected_ms = clock_monotonic_ms();
    if (open_delivery(runner, err))
        return err->kind;
    runner->consumer = consumer_new(&consumer, err);
    runner->delivery.consumer = runner->consumer;
    return runner->consumer ? ERR_OK : err->kind;
}

/* The library may hang in here: the status to leave with is settled before. */
static void
close_clients(struct runner *runner, int status)
{
    watchdog_arm(WATCH_CLOSE, CLOSE_TIMEOUT_MS, status, "leaving the group");
    if (runner->producer)
        runner->delivery.ops->close(&runner->delivery);
    drop_inputs(runner);
    for (size_t i = 0; i < runner->n_parts; i++) {
        consumed_free(runner->parts[i].held);
        runner->parts[i].held = NULL;
    }
    consumer_close(runner->consumer);
    producer_free(runner->producer);
    runner->consumer = NULL;
    runner->producer = NULL;
    watchdog_disarm(WATCH_CLOSE);
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
        consumed_free(consumer_poll(runner->consumer, POLL_MS, &passing));
        if (runner->failure.kind || passing.kind == ERR_FATAL) {
            *err = runner->failure.kind ? runner->failure : passing;
            return err->kind;
        }
        status_turned(&runner->status);
        kind = try_commit(runner, err);
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
    enum err_kind kind = try_commit(runner, err);
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
    return status_overdue(&runner->status, RUNNER_JOB_FACTOR) ? EXIT_JOB_DEADLINE
                                                              : EXIT_OK;
}

enum err_kind
runner_run(struct runner *runner, struct err *err)
{
    watchdog_look(look, runner);
    enum err_kind kind = open_clients(runner, err);
    bool opened = !kind;
    while (!kind && !watchdog_stopping())
        kind = turn(runner, err);
    atomic_store(&runner->status.stopping, true);
    if (!kind)
        kind = finish_batch(runner, err);
    else if (!opened && kind == ERR_RETRY)
        kind = ERR_OK; /* asked to stop before anything was taken */
    if (kind)
        runner->failure = *err; /* nothing is committed on the way out */
    else
        *err = (struct err){0};
    close_clients(runner, kind ? err_exit_code(err) : EXIT_OK);
    watchdog_look(NULL, NULL);
    return kind;
}

/* --- life --------------------------------------------------------------------------- */

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
    if (runner->outbox)
        return runner;
    runner_free(runner);
    return NULL;
}

void
runner_free(struct runner *runner)
{
    if (!runner)
        return;
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
