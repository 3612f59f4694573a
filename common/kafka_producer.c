/* SPDX-License-Identifier: Apache-2.0 */
/* The producer: bounded queue, delivery reports, a flush that tells what failed. */
#include "kafka.h"

#include <stdio.h>
#include <stdlib.h>

#include "kafka_client.h"

#include "clock.h"

enum {
    QUEUE_POLL_MS = 20,
    WHAT_BYTES = 320,
    KNOWN_TOPICS = 16,
    TOPIC_NAME_BYTES = 250, /* the longest that Kafka allows, and its end */
};

static const struct kafka_property plain_defaults[] = {
    {"partitioner", "murmur2_random"},
    {"compression.codec", "zstd"},
    {"compression.level", "1"}, /* half the time of the default, a few bytes more */
    {"enable.idempotence", "true"},
    /* Back-pressure, not loss: an outage of any length keeps what is queued. */
    {"message.timeout.ms", "0"},
    {"linger.ms", "20"},
    {"queue.buffering.max.messages", "1000000"},
    {"queue.buffering.max.kbytes", "131072"},
    {NULL, NULL},
};

/* By name each record would search the library's topics under its global lock. */
struct known_topic {
    char name[TOPIC_NAME_BYTES];
    rd_kafka_topic_t *handle;
};

struct producer {
    struct kafka_client client; /* first: the opaque of the library's callbacks */
    struct known_topic topics[KNOWN_TOPICS];
    size_t n_topics;
    producer_report_fn *report;
    void *state;
    struct err failure; /* the first since the last flush; kind ERR_OK: none */
    int reports;        /* served by the current poll */
    char *placed_topic; /* where records are placed; NULL: nowhere yet */
    int64_t *placed;    /* next offset by partition, 0: none acknowledged */
    int32_t n_placed;
};

/* Room for the acknowledgements of a partition; the topic is one for the whole life. */
static bool
expect_placed(struct producer *producer, const struct outgoing *record)
{
    if (!producer->placed_topic)
        producer->placed_topic = strdup(record->topic);
    if (!producer->placed_topic || record->partition < 0)
        return false;
    if (record->partition < producer->n_placed)
        return true;
    int32_t n = record->partition + 1;
    int64_t *placed = realloc(producer->placed, (size_t)n * sizeof *placed);
    if (!placed)
        return false;
    for (int32_t i = producer->n_placed; i < n; i++)
        placed[i] = 0;
    producer->placed = placed;
    producer->n_placed = n;
    return true;
}

static void
note_placed(struct producer *producer, const rd_kafka_message_t *record)
{
    int32_t partition = record->partition;
    if (producer->placed_topic && partition < producer->n_placed &&
        record->offset >= producer->placed[partition] &&
        strcmp(rd_kafka_topic_name(record->rkt), producer->placed_topic) == 0)
        producer->placed[partition] = record->offset + 1;
}

int64_t
producer_acknowledged(const struct producer *producer, int32_t partition)
{
    if (partition >= producer->n_placed || producer->placed[partition] == 0)
        return -1;
    return producer->placed[partition];
}

static void
on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *record, void *opaque)
{
    (void)rk;
    struct producer *producer = opaque;
    producer->reports++;
    if (!record->err) {
        atomic_store(&producer->client.down, false);
        note_placed(producer, record);
        if (record->_private && producer->report)
            producer->report(producer->state, record->_private, NULL);
        return;
    }
    struct err err = {0};
    char what[WHAT_BYTES];
    snprintf(what, sizeof what, "a record for %s", rd_kafka_topic_name(record->rkt));
    /* After a fatal error records fail with what follows from it. */
    if (!kafka_fatal_error(&producer->client, &err))
        kafka_error(&err, record->err, "delivery_failed", what, NULL);
    if (!producer->failure.kind ||
        (producer->failure.kind != ERR_FATAL && err.kind > producer->failure.kind))
        producer->failure = err;
    if (record->_private && producer->report)
        producer->report(producer->state, record->_private, &err);
}

static void
prepare(rd_kafka_conf_t *conf)
{
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
}

static void
prepare_transactional(rd_kafka_conf_t *conf)
{
    prepare(conf);
    kafka_watch_connection(conf);
}

static struct producer *
open_producer(enum kafka_role role,
              const struct kafka_settings *settings,
              const struct kafka_property *defaults,
              const struct kafka_property *owned,
              void (*prepare_conf)(rd_kafka_conf_t *conf),
              producer_report_fn *report,
              void *state,
              struct err *err)
{
    struct producer *producer = calloc(1, sizeof *producer);
    if (!producer) {
        err_no_memory(err, "a producer");
        return NULL;
    }
    producer->report = report;
    producer->state = state;
    if (kafka_client_open(&producer->client, role, settings, defaults, owned,
                          prepare_conf, err)) {
        free(producer);
        return NULL;
    }
    return producer;
}

struct producer *
producer_new(const struct kafka_settings *settings,
             producer_report_fn *report,
             void *state,
             struct err *err)
{
    return open_producer(KAFKA_PRODUCES, settings, plain_defaults, NULL, prepare, report,
                         state, err);
}

struct producer *
producer_new_transactional(const struct kafka_settings *settings,
                           const char *transactional_id,
                           int64_t timeout_ms,
                           producer_report_fn *report,
                           void *state,
                           struct err *err)
{
    char timeout_text[KAFKA_NUMBER_BYTES];
    snprintf(timeout_text, sizeof timeout_text, "%lld", (long long)timeout_ms);
    const struct kafka_property defaults[] = {
        {"partitioner", "murmur2_random"},
        {"compression.codec", "zstd"},
        {"compression.level", "1"},
        {"linger.ms", "20"},
        {"queue.buffering.max.messages", "1000000"},
        {"queue.buffering.max.kbytes", "131072"},
        {"transaction.timeout.ms", timeout_text},
        {NULL, NULL},
    };
    const struct kafka_property owned[] = {
        {"transactional.id", transactional_id},
        {"statistics.interval.ms", KAFKA_STATISTICS_MS},
        {NULL, NULL},
    };
    return open_producer(KAFKA_TRANSACTS, settings, defaults, owned,
                         prepare_transactional, report, state, err);
}

struct kafka_client *
producer_client(struct producer *producer)
{
    return &producer->client;
}

void
producer_free(struct producer *producer)
{
    if (!producer)
        return;
    producer->report = NULL;
    for (size_t i = 0; i < producer->n_topics; i++)
        rd_kafka_topic_destroy(producer->topics[i].handle);
    rd_kafka_purge(producer->client.rk, RD_KAFKA_PURGE_F_QUEUE |
                                            RD_KAFKA_PURGE_F_INFLIGHT |
                                            RD_KAFKA_PURGE_F_NON_BLOCKING);
    rd_kafka_destroy(producer->client.rk);
    free(producer->placed_topic);
    free(producer->placed);
    free(producer);
}

static rd_kafka_headers_t *
copy_headers(const struct outgoing *record)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(record->n_headers);
    for (size_t i = 0; i < record->n_headers; i++) {
        const struct header *header = &record->headers[i];
        rd_kafka_header_add(headers, header->name.data, (ssize_t)header->name.len,
                            header->value.data, (ssize_t)header->value.len);
    }
    return headers;
}

/* The library reads timestamp 0 as "now", which would differ at every replay. */
static int64_t
sendable_timestamp(int64_t timestamp_ms)
{
    if (timestamp_ms < 0)
        return 0;
    return timestamp_ms ? timestamp_ms : 1;
}

/* NULL: no topic can have that name. */
static rd_kafka_topic_t *
find_topic(struct producer *producer, const char *name)
{
    for (size_t i = 0; i < producer->n_topics; i++)
        if (strcmp(producer->topics[i].name, name) == 0)
            return producer->topics[i].handle;
    rd_kafka_topic_t *handle = rd_kafka_topic_new(producer->client.rk, name, NULL);
    if (!handle)
        return NULL;
    if (producer->n_topics == KNOWN_TOPICS) /* the last one is found by name again */
        rd_kafka_topic_destroy(producer->topics[--producer->n_topics].handle);
    struct known_topic *known = &producer->topics[producer->n_topics++];
    snprintf(known->name, sizeof known->name, "%s", name);
    known->handle = handle;
    return handle;
}

static rd_kafka_resp_err_t
try_send(struct producer *producer, const struct outgoing *record)
{
    /* Typed plainly: the library's macros want pointers to non-const. */
    void *key = (void *)(size_t)record->key.data;
    void *value = (void *)(size_t)record->value.data;
    int64_t timestamp_ms = sendable_timestamp(record->timestamp_ms);
    int32_t partition = record->placed ? record->partition : RD_KAFKA_PARTITION_UA;
    rd_kafka_topic_t *topic = find_topic(producer, record->topic);
    if (!topic)
        return rd_kafka_last_error();
    if (record->n_headers == 0)
        return rd_kafka_producev(producer->client.rk, RD_KAFKA_V_RKT(topic),
                                 RD_KAFKA_V_PARTITION(partition),
                                 RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                 RD_KAFKA_V_KEY(key, record->key.len),
                                 RD_KAFKA_V_VALUE(value, record->value.len),
                                 RD_KAFKA_V_TIMESTAMP(timestamp_ms),
                                 RD_KAFKA_V_OPAQUE(record->token), RD_KAFKA_V_END);
    rd_kafka_headers_t *headers = copy_headers(record);
    rd_kafka_resp_err_t answer = rd_kafka_producev(
        producer->client.rk, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, record->key.len),
        RD_KAFKA_V_VALUE(value, record->value.len), RD_KAFKA_V_TIMESTAMP(timestamp_ms),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(record->token), RD_KAFKA_V_END);
    if (answer)
        rd_kafka_headers_destroy(headers);
    return answer;
}

/* The queue is full: waits for acknowledgements, which make room. */
static rd_kafka_resp_err_t
insist(struct producer *producer, const struct outgoing *record, int timeout_ms)
{
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    rd_kafka_resp_err_t answer = RD_KAFKA_RESP_ERR__QUEUE_FULL;
    while (answer == RD_KAFKA_RESP_ERR__QUEUE_FULL && clock_monotonic_ms() < deadline) {
        producer_poll(producer, QUEUE_POLL_MS);
        answer = try_send(producer, record);
    }
    return answer;
}

enum err_kind
producer_send(struct producer *producer,
              const struct outgoing *record,
              int timeout_ms,
              struct err *err)
{
    if (record->placed && !expect_placed(producer, record))
        return err_no_memory(err, "what a partition has acknowledged");
    rd_kafka_resp_err_t answer = try_send(producer, record);
    if (answer == RD_KAFKA_RESP_ERR__QUEUE_FULL)
        answer = insist(producer, record, timeout_ms);
    if (!answer)
        return ERR_OK;
    if (answer == RD_KAFKA_RESP_ERR__QUEUE_FULL)
        return err_set(
            err, ERR_RETRY, "producer_queue_full",
            "the queue for the broker stayed full for %d ms; is the broker up?",
            timeout_ms);
    if (answer == RD_KAFKA_RESP_ERR__FATAL && kafka_fatal_error(&producer->client, err))
        return err->kind;
    char what[WHAT_BYTES];
    snprintf(what, sizeof what, "a record for %s", record->topic);
    return kafka_error(err, answer, "delivery_failed", what, NULL);
}

int
producer_poll(struct producer *producer, int timeout_ms)
{
    producer->reports = 0;
    rd_kafka_poll(producer->client.rk, timeout_ms);
    return producer->reports;
}

enum err_kind
producer_flush(struct producer *producer, int timeout_ms, struct err *err)
{
    rd_kafka_resp_err_t answer = rd_kafka_flush(producer->client.rk, timeout_ms);
    if (kafka_fatal_error(&producer->client, err))
        return err->kind;
    if (answer) /* a failure met so far is told once all is reported */
        return err_set(err, ERR_RETRY, "flush_timeout",
                       "%d records are not acknowledged after %d ms; is the broker up?",
                       producer_pending(producer), timeout_ms);
    return producer_take_failure(producer, err);
}

enum err_kind
producer_take_failure(struct producer *producer, struct err *err)
{
    struct err failure = producer->failure;
    producer->failure = (struct err){0};
    if (failure.kind && err)
        *err = failure;
    return failure.kind;
}

bool
producer_connected(const struct producer *producer)
{
    return atomic_load(&producer->client.connected);
}

bool
producer_answered(struct producer *producer, int timeout_ms)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t answer =
        rd_kafka_metadata(producer->client.rk, 0, NULL, &metadata, timeout_ms);
    if (!answer)
        rd_kafka_metadata_destroy(metadata);
    else
        atomic_store(&producer->client.connected, false);
    return !answer;
}

bool
producer_on_mock(const struct producer *producer, int timeout_ms)
{
    char *id = rd_kafka_clusterid(producer->client.rk, timeout_ms);
    bool mock = id && strncmp(id, KAFKA_MOCK_CLUSTER_PREFIX,
                              strlen(KAFKA_MOCK_CLUSTER_PREFIX)) == 0;
    if (id)
        rd_kafka_mem_free(producer->client.rk, id);
    return mock;
}

int
producer_pending(const struct producer *producer)
{
    return rd_kafka_outq_len(producer->client.rk);
}
