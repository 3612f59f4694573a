/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a whole topic without a group, up to the end that it had at the start. */
#include "kafka.h"

#include <stdlib.h>

#include "kafka_client.h"

#include "clock.h"

enum { DOWN_LIMIT_MS = 30000 };

static const struct kafka_property owned[] = {
    {"group.id", "heddle-reader"}, /* asked for by the library; nothing is committed */
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"enable.partition.eof", "true"},
    {"auto.offset.reset", "error"},
    {"statistics.interval.ms", KAFKA_STATISTICS_MS},
    {NULL, NULL},
};

struct topic_reader {
    struct kafka_client client; /* first: the opaque of the library's callbacks */
    char *topic;
    struct partition_range *ranges;
    bool *finished;
    bool *held; /* paused at its end; only these may be resumed (library 2.0.2) */
    int32_t n_partitions;
    int32_t n_open; /* not finished yet */
    bool done_told;
    bool stuck; /* a library call hangs: never destroy the client */
    int64_t down_since_ms;
    rd_kafka_message_t *current;
    struct message message;
    struct header headers[TOPIC_READER_HEADERS];
};

static enum err_kind
take_ranges(struct topic_reader *reader,
            const struct kafka_settings *settings,
            int timeout_ms,
            struct err *err)
{
    int32_t n = 0;
    if (kafka_partition_count(&reader->client, settings, reader->topic, timeout_ms, &n,
                              err))
        return err->kind == ERR_RETRY
                   ? err_fatal(err, EXIT_UNREACHABLE, "broker_unreachable",
                               "topic %s can't be read now; try again", reader->topic)
                   : err->kind;
    reader->n_partitions = n;
    reader->ranges = calloc((size_t)n, sizeof *reader->ranges);
    reader->finished = calloc((size_t)n, sizeof *reader->finished);
    reader->held = calloc((size_t)n, sizeof *reader->held);
    if (!reader->ranges || !reader->finished || !reader->held)
        return err_no_memory(err, "the partitions of a topic");
    return kafka_ranges(&reader->client, reader->topic, n, timeout_ms, reader->ranges,
                        &reader->stuck, err);
}

/* Where reading begins. */
struct beginning {
    enum topic_start start;
    topic_from_fn *from; /* NULL: at the start or end */
    void *state;
};

static int64_t
first_offset(const struct beginning *beginning, const struct partition_range *range)
{
    if (beginning->start == TOPIC_FROM_END)
        return range->end;
    int64_t from =
        beginning->from ? beginning->from(beginning->state, range->partition) : 0;
    if (from < range->start)
        return range->start;
    return from < range->end ? from : range->end;
}

static enum err_kind
assign(struct topic_reader *reader, const struct beginning *beginning, struct err *err)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(reader->n_partitions);
    for (int32_t p = 0; p < reader->n_partitions; p++) {
        const struct partition_range *range = &reader->ranges[p];
        int64_t from = first_offset(beginning, range);
        rd_kafka_topic_partition_list_add(list, reader->topic, p)->offset = from;
        reader->finished[p] = from >= range->end;
        reader->n_open += !reader->finished[p];
    }
    rd_kafka_resp_err_t answer = rd_kafka_assign(reader->client.rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (!answer)
        return ERR_OK;
    return err_fatal(err, EXIT_INTERNAL, "assign_failed", "topic %s: %s", reader->topic,
                     rd_kafka_err2str(answer));
}

static enum err_kind
open_reader(struct topic_reader *reader,
            const struct kafka_settings *settings,
            const struct beginning *beginning,
            int timeout_ms,
            struct err *err)
{
    if (!reader->topic)
        return err_no_memory(err, "a topic's name");
    if (kafka_client_open(&reader->client, KAFKA_CONSUMES, settings, NULL, owned,
                          kafka_watch_connection, err))
        return err->kind;
    rd_kafka_poll_set_consumer(reader->client.rk);
    if (take_ranges(reader, settings, timeout_ms, err))
        return err->kind;
    return assign(reader, beginning, err);
}

static struct topic_reader *
new_reader(const struct kafka_settings *settings,
           const char *topic,
           const struct beginning *beginning,
           int timeout_ms,
           struct err *err)
{
    struct topic_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        err_no_memory(err, "a topic reader");
        return NULL;
    }
    reader->topic = strdup(topic);
    if (open_reader(reader, settings, beginning, timeout_ms, err) == ERR_OK)
        return reader;
    topic_reader_free(reader);
    return NULL;
}

struct topic_reader *
topic_reader_new(const struct kafka_settings *settings,
                 const char *topic,
                 enum topic_start start,
                 int timeout_ms,
                 struct err *err)
{
    struct beginning beginning = {.start = start};
    return new_reader(settings, topic, &beginning, timeout_ms, err);
}

struct topic_reader *
topic_reader_new_from(const struct kafka_settings *settings,
                      const char *topic,
                      topic_from_fn *from,
                      void *state,
                      int timeout_ms,
                      struct err *err)
{
    struct beginning beginning = {TOPIC_FROM_START, from, state};
    return new_reader(settings, topic, &beginning, timeout_ms, err);
}

static void
drop_current(struct topic_reader *reader)
{
    if (reader->current)
        rd_kafka_message_destroy(reader->current);
    reader->current = NULL;
}

void
topic_reader_free(struct topic_reader *reader)
{
    if (!reader)
        return;
    drop_current(reader);
    if (reader->stuck)
        return; /* its thread may still write; the process is about to end */
    if (reader->client.rk)
        rd_kafka_destroy(reader->client.rk);
    free(reader->topic);
    free(reader->ranges);
    free(reader->finished);
    free(reader->held);
    free(reader);
}

static void
pause_or_resume(struct topic_reader *reader, int32_t partition, bool pause)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, reader->topic, partition);
    if (pause)
        rd_kafka_pause_partitions(reader->client.rk, list);
    else
        rd_kafka_resume_partitions(reader->client.rk, list);
    rd_kafka_topic_partition_list_destroy(list);
}

/* What comes after the end waits until the caller has been told of the end. */
static void
finish(struct topic_reader *reader, int32_t partition)
{
    if (partition < 0 || partition >= reader->n_partitions || reader->finished[partition])
        return;
    reader->finished[partition] = true;
    reader->n_open--;
    if (reader->n_open > 0) {
        pause_or_resume(reader, partition, true);
        reader->held[partition] = true;
    }
}

static void
resume_all(struct topic_reader *reader)
{
    for (int32_t p = 0; p < reader->n_partitions; p++) {
        if (reader->held[p])
            pause_or_resume(reader, p, false);
        reader->held[p] = false;
    }
}

static enum err_kind
check_broker(struct topic_reader *reader, struct err *err)
{
    if (atomic_load(&reader->client.connected)) {
        reader->down_since_ms = 0;
        return ERR_OK;
    }
    int64_t now_ms = clock_monotonic_ms();
    if (!reader->down_since_ms)
        reader->down_since_ms = now_ms;
    if (now_ms - reader->down_since_ms < DOWN_LIMIT_MS)
        return ERR_OK;
    return err_fatal(err, EXIT_UNREACHABLE, "broker_unreachable",
                     "no broker has answered for %d s while reading %s",
                     DOWN_LIMIT_MS / 1000, reader->topic);
}

static const struct message *
give(struct topic_reader *reader, rd_kafka_message_t *record)
{
    reader->current = record;
    kafka_message_fill(record, reader->topic, &reader->message);
    reader->message.headers = reader->headers;
    reader->message.n_headers =
        kafka_headers(record, reader->headers, TOPIC_READER_HEADERS);
    if (record->offset + 1 >= reader->ranges[record->partition].end)
        finish(reader, record->partition);
    return &reader->message;
}

/* A record, or NULL after something that was none. */
static const struct message *
take(struct topic_reader *reader, rd_kafka_message_t *record, struct err *err)
{
    if (!record->err) {
        atomic_store(&reader->client.down, false);
        return give(reader, record);
    }
    if (record->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        atomic_store(&reader->client.down, false);
        if (record->offset >= reader->ranges[record->partition].end)
            finish(reader, record->partition);
    } else if (record->err != RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED &&
               /* The library asks for a coordinator that the reading has no use for. */
               kafka_error(err, record->err, "read_failed", reader->topic,
                           rd_kafka_message_errstr(record)) == ERR_RETRY) {
        *err = (struct err){0}; /* the library goes on by itself */
    }
    rd_kafka_message_destroy(record);
    return NULL;
}

const struct message *
topic_reader_next(struct topic_reader *reader,
                  int timeout_ms,
                  bool *ret_done,
                  struct err *err)
{
    *err = (struct err){0};
    drop_current(reader);
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    for (;;) {
        *ret_done = reader->n_open == 0;
        if (*ret_done && !reader->done_told) {
            reader->done_told = true;
            return NULL;
        }
        if (*ret_done)
            resume_all(reader);
        int64_t left_ms = deadline - clock_monotonic_ms();
        if (left_ms < 0 || check_broker(reader, err))
            return NULL;
        rd_kafka_message_t *record =
            rd_kafka_consumer_poll(reader->client.rk, (int)left_ms);
        const struct message *message = record ? take(reader, record, err) : NULL;
        if (message || err->kind || (!record && left_ms == 0))
            return message;
    }
}

const struct partition_range *
topic_reader_ranges(const struct topic_reader *reader, size_t *ret_n)
{
    *ret_n = (size_t)reader->n_partitions;
    return reader->ranges;
}
