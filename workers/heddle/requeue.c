/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters on their way back. */
#include "requeue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cleanup.h"
#include "clock.h"
#include "deadletter.h"
#include "topics.h"

enum {
    OPEN_TIMEOUT_MS = 10000,
    POLL_MS = 250,
    SEND_TIMEOUT_MS = 30000,
    FLUSH_STEP_MS = 1000,
    FLUSH_TIMEOUT_MS = 60000,
    BATCH_RECORDS = 500,
    BATCH_BYTES = 32 << 20,
    ORIGINS_MAX = 256,     /* topics that one run writes to */
    LINES_BYTES = 1 << 30, /* of the journal, at once */
};

CLEANUP_DEFINE(struct topic_reader, topic_reader_free);

/* --- what an earlier run has left --------------------------------------------------- */

struct search {
    const struct kafka_settings *kafka;
    struct marks *marks;
    const char *topic;
};

static int64_t
search_from(void *state, int32_t partition)
{
    const struct search *search = state;
    return marks_from(search->marks, search->topic, partition);
}

static enum err_kind
look_at(const struct search *search, const struct message *in, struct err *err)
{
    char id[LETTER_ID_BYTES];
    struct dead_letter facts;
    if (!header_last(in->headers, in->n_headers, DEAD_ATTEMPT).data)
        return ERR_OK; /* it was never requeued */
    dead_letter_read(in, &facts);
    if (!letter_id(slice_of(search->topic), in, facts.attempt, facts.first_failed_at_ms,
                   id))
        return err_no_memory(err, "a record");
    marks_claim(search->marks, id);
    return ERR_OK;
}

static enum err_kind
search_topic(struct search *search, struct err *err)
{
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader = topic_reader_new_from(
        search->kafka, search->topic, search_from, search, OPEN_TIMEOUT_MS, err);
    if (!reader)
        return err->kind;
    for (;;) {
        bool done = false;
        const struct message *in = topic_reader_next(reader, POLL_MS, &done, err);
        if (err->kind || (in && look_at(search, in, err)))
            return err->kind;
        if (!in && done)
            return ERR_OK;
    }
}

/* A topic that is gone holds nothing that was sent to it. */
static bool
is_gone(const struct err *err)
{
    return strcmp(err->code, "topic_unknown") == 0;
}

enum err_kind
requeue_settle(const struct kafka_settings *kafka,
               struct marks *marks,
               struct dead_journal *journal,
               struct err *err)
{
    CLEANUP(buf_done) struct buf lines;
    buf_init(&lines, LINES_BYTES);
    if (!marks_unsure(marks))
        return ERR_OK;
    fprintf(stderr, "heddle dead: an earlier requeue did not end; looking for what it "
                    "sent\n");
    if (marks_begin_claims(marks, err))
        return err->kind;
    for (size_t i = 0; i < marks->n_from; i++) {
        struct search search = {kafka, marks, marks->from[i].topic};
        bool before = i > 0 && strcmp(marks->from[i - 1].topic, search.topic) == 0;
        if (before || search_topic(&search, err) == ERR_OK)
            continue;
        if (!is_gone(err))
            return err->kind;
        *err = (struct err){0};
    }
    marks_settle(marks, &lines);
    return journal ? dead_journal_append(journal, &lines, err) : ERR_OK;
}

/* --- a run -------------------------------------------------------------------------- */

struct run {
    const struct requeue *requeue;
    struct producer *producer;
    const char *topics[ORIGINS_MAX + 1]; /* NULL-terminated; names of the letters */
    size_t n_topics;
    struct letter *batch[BATCH_RECORDS];
    size_t n_batch;
    size_t batch_bytes;
    size_t n_sent, n_wanted;
    struct arena arena;
    struct buf lines;
};

static void
run_done(struct run *run)
{
    if (run->producer)
        producer_free(run->producer);
    arena_done(&run->arena);
    buf_done(&run->lines);
}

static enum err_kind
add_topic(struct run *run, const char *topic, struct err *err)
{
    for (size_t i = 0; i < run->n_topics; i++)
        if (strcmp(run->topics[i], topic) == 0)
            return ERR_OK;
    if (run->n_topics == ORIGINS_MAX)
        return err_fatal(err, EXIT_USAGE, "too_many_topics",
                         "the dead letters come from more than %d topics; ask for fewer "
                         "with --origin-topic",
                         ORIGINS_MAX);
    run->topics[run->n_topics++] = topic;
    return ERR_OK;
}

static const char *
topic_of(const struct run *run, const struct letter *letter)
{
    return letters_text(run->requeue->letters, letter->origin_topic).data;
}

static void
add_mark(struct run *run, const struct letter *letter, enum mark_state state)
{
    marks_line(&run->lines, state, letter->partition, letter->offset, letter->id);
}

static enum err_kind
write_lines(struct run *run, struct err *err)
{
    return dead_journal_append(run->requeue->journal, &run->lines, err);
}

/* Where the topics end now is where the next run would look for what this one sent. */
static enum err_kind
add_ends(struct run *run, const char *topic, struct err *err)
{
    size_t n = 0;
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader = topic_reader_new(run->requeue->kafka, topic,
                                                   TOPIC_FROM_END, OPEN_TIMEOUT_MS, err);
    if (!reader)
        return err->kind;
    const struct partition_range *ranges = topic_reader_ranges(reader, &n);
    for (size_t i = 0; i < n; i++)
        marks_line_from(&run->lines, topic, ranges[i].partition, ranges[i].end);
    return ERR_OK;
}

static enum err_kind
write_intent(struct run *run, struct err *err)
{
    const struct letters *letters = run->requeue->letters;
    for (size_t i = 0; i < letters->n; i++)
        if (letters->items[i].action == LETTER_TAKE &&
            add_topic(run, topic_of(run, &letters->items[i]), err))
            return err->kind;
    marks_line_run(&run->lines);
    for (size_t i = 0; i < run->n_topics; i++)
        if (add_ends(run, run->topics[i], err))
            return err->kind;
    for (size_t i = 0; i < letters->n; i++)
        if (letters->items[i].action == LETTER_TAKE)
            add_mark(run, &letters->items[i], MARK_SENDING);
    return write_lines(run, err);
}

static void
leave(struct letter *letter, const char *reason)
{
    letter->action = LETTER_LEAVE;
    letter->reason = reason;
}

static void
refuse(struct letter *letter, const struct err *err)
{
    letter->outcome = OUTCOME_REFUSED;
    leave(letter, strcmp(err->code, "record_too_large") == 0
                      ? "record_too_large"
                      : "record_refused_by_broker");
}

static void
on_report(void *state, void *token, const struct err *err)
{
    (void)state;
    struct letter *letter = token;
    if (!err) {
        letter->outcome = OUTCOME_SENT;
    } else if (err->kind == ERR_RECORD) {
        refuse(letter, err);
    } else {
        letter->outcome = OUTCOME_UNSURE;
    }
}

/* Waits for every answer. What each letter got is told by on_report(). */
static enum err_kind
wait_for_answers(struct run *run, struct err *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + FLUSH_TIMEOUT_MS;
    for (;;) {
        struct err answer = {0};
        enum err_kind kind = producer_flush(run->producer, FLUSH_STEP_MS, &answer);
        if (producer_pending(run->producer) == 0) {
            if (kind != ERR_RETRY && kind != ERR_FATAL)
                return ERR_OK;
            *err = answer;
            return kind;
        }
        if (kind == ERR_FATAL || clock_monotonic_ms() >= deadline_ms) {
            *err = answer;
            return kind == ERR_FATAL
                       ? kind
                       : err_fatal(err, EXIT_UNREACHABLE, "broker_unreachable",
                                   "%d records are not acknowledged after %d s; run the "
                                   "command again once the broker answers",
                                   producer_pending(run->producer),
                                   FLUSH_TIMEOUT_MS / 1000);
        }
    }
}

static enum err_kind
end_batch(struct run *run, struct err *err)
{
    if (run->n_batch == 0)
        return ERR_OK;
    enum err_kind kind = wait_for_answers(run, err);
    struct err unwritten = {0};
    for (size_t i = 0; i < run->n_batch; i++) {
        struct letter *letter = run->batch[i];
        if (letter->outcome == OUTCOME_SENT) {
            add_mark(run, letter, MARK_REQUEUED);
            letter->state = LETTER_REQUEUED;
            run->n_sent++;
        } else if (letter->outcome == OUTCOME_REFUSED) {
            add_mark(run, letter, MARK_OPEN);
        } else {
            letter->outcome = OUTCOME_UNSURE;
            letter->state = LETTER_UNSURE;
            leave(letter, "unsure");
        }
    }
    run->n_batch = 0;
    run->batch_bytes = 0;
    if (write_lines(run, &unwritten) && kind == ERR_OK) {
        *err = unwritten;
        kind = unwritten.kind;
    }
    fprintf(stderr, "heddle dead: %zu of %zu requeued\n", run->n_sent, run->n_wanted);
    return kind;
}

static enum err_kind
send(struct run *run, struct letter *letter, const struct message *in, struct err *err)
{
    struct outgoing record = {
        .topic = topic_of(run, letter),
        .key = in->key,
        .value = in->value,
        .timestamp_ms = in->timestamp_ms,
        .token = letter,
    };
    arena_reset(&run->arena);
    if (dead_letter_requeue_headers(in, &run->arena, &record.headers, &record.n_headers,
                                    err))
        return err->kind;
    letter->outcome = OUTCOME_QUEUED;
    enum err_kind kind = producer_send(run->producer, &record, SEND_TIMEOUT_MS, err);
    if (kind == ERR_RETRY || kind == ERR_FATAL) {
        letter->outcome = OUTCOME_NONE;
        return kind;
    }
    if (kind == ERR_RECORD)
        refuse(letter, err);
    *err = (struct err){0};
    run->batch[run->n_batch++] = letter;
    run->batch_bytes += in->value.len;
    return ERR_OK;
}

/* The record at a letter's place is the letter that was planned with. */
static bool
is_same(const struct run *run, const struct letter *letter, const struct message *in)
{
    char id[LETTER_ID_BYTES];
    return letter_id(letters_text(run->requeue->letters, letter->origin_topic), in,
                     letter->attempt + 1, letter->first_failed_at_ms, id) &&
           strcmp(id, letter->id) == 0;
}

static enum err_kind
visit(struct run *run, const struct message *in, struct err *err)
{
    struct letter *letter =
        letters_find(run->requeue->letters, in->partition, in->offset);
    if (!letter || letter->action != LETTER_TAKE || letter->outcome != OUTCOME_NONE ||
        !is_same(run, letter, in))
        return ERR_OK;
    if (send(run, letter, in, err))
        return err->kind;
    if (run->n_batch < BATCH_RECORDS && run->batch_bytes < BATCH_BYTES)
        return ERR_OK;
    return end_batch(run, err);
}

static enum err_kind
send_all(struct run *run, struct err *err)
{
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader = topic_reader_new(
        run->requeue->kafka, TOPIC_DEAD, TOPIC_FROM_START, OPEN_TIMEOUT_MS, err);
    if (!reader)
        return err->kind;
    while (!*run->requeue->stop) {
        bool done = false;
        const struct message *in = topic_reader_next(reader, POLL_MS, &done, err);
        if (err->kind || (in && visit(run, in, err)))
            return err->kind;
        if (!in && done)
            return ERR_OK;
    }
    return err_fatal(err, EXIT_TRY_AGAIN, "interrupted",
                     "told to stop; the same command goes on with what is left");
}

/* What was not sent is open again. */
static void
open_unsent(struct run *run, const char *reason)
{
    const struct letters *letters = run->requeue->letters;
    for (size_t i = 0; i < letters->n; i++) {
        struct letter *letter = &letters->items[i];
        if (letter->action != LETTER_TAKE || letter->outcome != OUTCOME_NONE)
            continue;
        add_mark(run, letter, MARK_OPEN);
        leave(letter, reason);
    }
}

/* An error that came first is the one to tell. */
static enum err_kind
finish(struct run *run, struct err *err)
{
    enum err_kind kind = err->kind;
    struct err later = {0};
    if (end_batch(run, &later) && !kind)
        *err = later;
    open_unsent(run, err->kind ? "not_sent" : "gone");
    if (write_lines(run, &later) && !err->kind)
        *err = later;
    return err->kind;
}

enum err_kind
requeue_run(const struct requeue *requeue, struct err *err)
{
    CLEANUP(run_done)
    struct run run = {
        .requeue = requeue,
        .n_wanted = letters_count(requeue->letters, LETTER_TAKE),
    };
    buf_init(&run.lines, LINES_BYTES);
    if (run.n_wanted == 0)
        return ERR_OK;
    if (write_intent(&run, err)) {
        buf_reset(&run.lines);
        open_unsent(&run, "not_sent");
        return err->kind;
    }
    struct kafka_settings kafka = *requeue->kafka;
    kafka.topics = run.topics;
    run.producer = producer_new(&kafka, on_report, NULL, err);
    if (run.producer)
        send_all(&run, err);
    return finish(&run, err);
}
