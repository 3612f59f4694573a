/* SPDX-License-Identifier: Apache-2.0 */
/* Sends events and remembers them once they are delivered. */
#include "feeder.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "serde.h"
#include "topics.h"

enum { WAIT_MS = 100, QUEUE_TIMEOUT_MS = 10000 };
/* Largest encoded event: the inline parts, twice over, and the names. */
#define RECORD_MAX_BYTES ((size_t)64 << 20)

const char *
feed_topic(enum feed_kind kind)
{
    return kind == FEED_RUNS ? TOPIC_TUNINGS : TOPIC_TRACES;
}

struct feeder {
    struct feeder_events events;
    struct producer *producer;
    struct serde *serdes[FEED_KINDS];
    struct arena arena; /* of the event at hand */
    struct buf record;
    struct delivery *on_way;
    size_t n_on_way;
    size_t bytes_on_way;
    int64_t heard_ms; /* when the last report came, or the first event left */
    struct feeder_counts counts[FEED_KINDS];
    struct err failed; /* ends the feeding; kind ERR_OK while there is none */
};

CLEANUP_DEFINE(struct delivery, delivery_free);

struct delivery *
delivery_new(const char *name, struct sent *sent, size_t n_files)
{
    struct delivery *delivery = calloc(1, sizeof *delivery);
    if (!delivery)
        return NULL;
    delivery->name = strdup(name);
    delivery->files = calloc(n_files ? n_files : 1, sizeof delivery->files[0]);
    delivery->sent = sent;
    if (delivery->name && delivery->files)
        return delivery;
    delivery_free(delivery);
    return NULL;
}

bool
delivery_add(struct delivery *delivery, const char *path, const struct sent_file *file)
{
    char *copy = strdup(path);
    if (!copy)
        return false;
    delivery->files[delivery->n_files++] = (struct delivery_file){copy, *file};
    return true;
}

void
delivery_free(struct delivery *delivery)
{
    if (!delivery)
        return;
    for (size_t i = 0; i < delivery->n_files; i++)
        free(delivery->files[i].path);
    free(delivery->files);
    free(delivery->name);
    free(delivery);
}

static enum err_kind
remember(const struct delivery *delivery, struct err *err)
{
    if (!delivery->sent)
        return ERR_OK;
    for (size_t i = 0; i < delivery->n_files; i++)
        if (sent_put_file(delivery->sent, delivery->files[i].path,
                          &delivery->files[i].file, err))
            return err->kind;
    return sent_put_event(delivery->sent, delivery->name, delivery->event_id, err);
}

static void
set_off(struct feeder *feeder, struct delivery *delivery)
{
    if (feeder->n_on_way++ == 0)
        feeder->heard_ms = clock_monotonic_ms();
    feeder->bytes_on_way += delivery->bytes;
    delivery->next = feeder->on_way;
    if (delivery->next)
        delivery->next->previous = delivery;
    feeder->on_way = delivery;
}

static void
arrive(struct feeder *feeder, struct delivery *delivery)
{
    feeder->n_on_way--;
    feeder->bytes_on_way -= delivery->bytes;
    if (delivery->previous)
        delivery->previous->next = delivery->next;
    else
        feeder->on_way = delivery->next;
    if (delivery->next)
        delivery->next->previous = delivery->previous;
    delivery->previous = delivery->next = NULL;
}

static void
keep_first(struct feeder *feeder, const struct err *err)
{
    if (!feeder->failed.kind)
        feeder->failed = *err;
}

/* A producer_report_fn. */
static void
on_report(void *state, void *token, const struct err *err)
{
    struct feeder *feeder = state;
    CLEANUP(delivery_freep) struct delivery *delivery = token;
    struct err failed = {0};
    struct feeder_counts *counts = &feeder->counts[delivery->kind];
    arrive(feeder, delivery);
    feeder->heard_ms = clock_monotonic_ms();
    if (!err) {
        counts->delivered++;
        counts->bytes += delivery->bytes;
        if (remember(delivery, &failed))
            keep_first(feeder, &failed);
    } else if (err->kind == ERR_RECORD) {
        counts->refused++;
        feeder->events.refused(feeder->events.state, delivery->name, err);
    } else {
        counts->undelivered++;
        keep_first(feeder, err);
    }
}

struct feeder *
feeder_new(const struct kafka_settings *kafka,
           const struct feeder_events *events,
           struct err *err)
{
    struct feeder *feeder = calloc(1, sizeof *feeder);
    if (!feeder) {
        err_no_memory(err, "the feeder");
        return NULL;
    }
    feeder->events = *events;
    buf_init(&feeder->record, RECORD_MAX_BYTES);
    feeder->serdes[FEED_RUNS] = serde_new(&tuning_event_type, NULL, err);
    if (feeder->serdes[FEED_RUNS])
        feeder->serdes[FEED_TRACES] = serde_new(&trace_event_type, NULL, err);
    if (feeder->serdes[FEED_TRACES])
        feeder->producer = producer_new(kafka, on_report, feeder, err);
    if (feeder->producer)
        return feeder;
    feeder_free(feeder);
    return NULL;
}

void
feeder_free(struct feeder *feeder)
{
    if (!feeder)
        return;
    if (feeder->producer)
        producer_free(feeder->producer);
    /* The producer reports no more: what it still held is ours again. */
    while (feeder->on_way) {
        CLEANUP(delivery_freep) struct delivery *delivery = feeder->on_way;
        arrive(feeder, delivery);
    }
    for (size_t i = 0; i < FEED_KINDS; i++)
        if (feeder->serdes[i])
            serde_free(feeder->serdes[i]);
    arena_done(&feeder->arena);
    buf_done(&feeder->record);
    free(feeder);
}

static bool
stopped(const struct feeder *feeder)
{
    return feeder->events.stop && *feeder->events.stop;
}

enum err_kind
feeder_poll(struct feeder *feeder, int timeout_ms, struct err *err)
{
    producer_poll(feeder->producer, timeout_ms);
    if (feeder->failed.kind)
        *err = feeder->failed;
    return feeder->failed.kind;
}

static enum err_kind
check_silence(struct feeder *feeder, struct err *err)
{
    int limit = feeder->events.silence_ms;
    if (limit == 0 || feeder->n_on_way == 0 ||
        clock_monotonic_ms() - feeder->heard_ms < limit)
        return ERR_OK;
    err_set(
        err, ERR_RETRY, "broker_silent",
        "the broker has acknowledged nothing for %d s; is it up? Run it again when it "
        "answers, what is missing is sent then",
        limit / 1000);
    keep_first(feeder, err);
    return ERR_RETRY;
}

static enum err_kind
wait_for_room(struct feeder *feeder, size_t bytes, struct err *err)
{
    if (feeder_poll(feeder, 0, err))
        return err->kind;
    while (feeder->n_on_way > 0 && (feeder->n_on_way >= FEEDER_MAX_EVENTS ||
                                    feeder->bytes_on_way + bytes > FEEDER_MAX_BYTES)) {
        if (stopped(feeder))
            return err_set(err, ERR_RETRY, "interrupted", "interrupted");
        feeder->events.waiting(feeder->events.state);
        if (feeder_poll(feeder, WAIT_MS, err) || check_silence(feeder, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
send_record(struct feeder *feeder,
            struct slice key,
            int64_t timestamp_ms,
            struct delivery **delivery,
            struct err *err)
{
    struct outgoing outgoing = {.topic = feed_topic((*delivery)->kind),
                                .key = key,
                                .value = buf_slice(&feeder->record),
                                .timestamp_ms = timestamp_ms,
                                .token = *delivery};
    (*delivery)->bytes = feeder->record.len;
    if (wait_for_room(feeder, feeder->record.len, err))
        return err->kind;
    set_off(feeder, *delivery);
    if (producer_send(feeder->producer, &outgoing, QUEUE_TIMEOUT_MS, err)) {
        arrive(feeder, *delivery);
        return err->kind;
    }
    *delivery = NULL;
    return ERR_OK;
}

enum err_kind
feeder_send(struct feeder *feeder,
            const struct tuning_parts *parts,
            struct delivery *delivery,
            struct err *err)
{
    CLEANUP(delivery_freep) struct delivery *owned = delivery;
    struct tuning_event event;
    struct slice key;
    owned->kind = FEED_RUNS;
    arena_reset(&feeder->arena);
    buf_reset(&feeder->record);
    if (tuning_build(parts, &feeder->arena, &event, &key, err) ||
        serde_encode(feeder->serdes[FEED_RUNS], &event, &feeder->record, err))
        return err->kind;
    memcpy(owned->event_id, event.origin.event_id.data, DIGEST_HEX);
    return send_record(feeder, key, origin_timestamp_ms(&event.origin), &owned, err);
}

enum err_kind
feeder_send_trace(struct feeder *feeder,
                  const struct trace_parts *parts,
                  struct delivery *delivery,
                  struct err *err)
{
    CLEANUP(delivery_freep) struct delivery *owned = delivery;
    struct trace_event event;
    owned->kind = FEED_TRACES;
    arena_reset(&feeder->arena);
    buf_reset(&feeder->record);
    if (trace_build(parts, &feeder->arena, &event, err) ||
        serde_encode(feeder->serdes[FEED_TRACES], &event, &feeder->record, err))
        return err->kind;
    memcpy(owned->event_id, event.origin.event_id.data, DIGEST_HEX);
    return send_record(feeder, event.request.request_id,
                       origin_timestamp_ms(&event.origin), &owned, err);
}

enum err_kind
feeder_flush(struct feeder *feeder, struct err *err)
{
    int64_t stop_at = INT64_MAX;
    while (feeder->n_on_way > 0 && clock_monotonic_ms() < stop_at) {
        feeder->events.waiting(feeder->events.state);
        producer_poll(feeder->producer, WAIT_MS);
        if (check_silence(feeder, err))
            break;
        if (stopped(feeder) && stop_at == INT64_MAX)
            stop_at = clock_monotonic_ms() + FEEDER_STOP_MS;
    }
    for (const struct delivery *left = feeder->on_way; left; left = left->next)
        feeder->counts[left->kind].undelivered++;
    if (feeder->failed.kind)
        *err = feeder->failed;
    else if (feeder->n_on_way > 0)
        return err_set(err, ERR_RETRY, "interrupted",
                       "interrupted before all was acknowledged; run it again, what is "
                       "missing is sent then");
    return feeder->failed.kind;
}

void
feeder_resume(struct feeder *feeder)
{
    feeder->failed = (struct err){0};
}

const struct feeder_counts *
feeder_counts(const struct feeder *feeder, enum feed_kind kind)
{
    return &feeder->counts[kind];
}
