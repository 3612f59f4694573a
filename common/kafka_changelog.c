/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one partition from an offset to its end. */
#include "changelog.h"

#include <stdlib.h>

#include "kafka_client.h"

#include "clock.h"

enum { POLL_MS = 100, TELL_EVERY_MS = 1000, ASK_TIMEOUT_MS = 10000 };

/* The end is the high watermark: behind an open transaction lies what it will commit. */
static const struct kafka_property asking[] = {
    {"group.id", "heddle-changelog"},
    {"isolation.level", "read_uncommitted"},
    {NULL, NULL},
};

/* The end is told by a fetch that finds nothing: it should not wait for more. */
static const struct kafka_property defaults[] = {
    {"fetch.wait.max.ms", "20"},
    {NULL, NULL},
};

static const struct kafka_property owned[] = {
    {"group.id", "heddle-changelog"}, /* asked for by the library; nothing is committed */
    {"enable.auto.commit", "false"},       {"enable.auto.offset.store", "false"},
    {"enable.partition.eof", "true"},      {"auto.offset.reset", "error"},
    {"isolation.level", "read_committed"}, {NULL, NULL},
};

static enum err_kind
ask_range(const struct kafka_client *client,
          const struct kafka_settings *settings,
          const struct changelog_reading *reading,
          struct partition_range *ret_range,
          bool *ret_stuck,
          struct err *err)
{
    int32_t n = 0;
    if (kafka_partition_count(client, settings, reading->topic, ASK_TIMEOUT_MS, &n, err))
        return err->kind;
    if (reading->partition >= n)
        return err_fatal(err, EXIT_CONFIG, "changelog_partitions",
                         "%s has %d partitions, but the input has more; give both as "
                         "many (heddle topics)",
                         reading->topic, n);
    struct partition_range *ranges = calloc((size_t)n, sizeof *ranges);
    if (!ranges)
        return err_no_memory(err, "the offsets of a topic");
    enum err_kind kind =
        kafka_ranges(client, reading->topic, n, ASK_TIMEOUT_MS, ranges, ret_stuck, err);
    *ret_range = ranges[reading->partition];
    free(ranges);
    return kind;
}

static enum err_kind
find_range(const struct kafka_settings *settings,
           const struct changelog_reading *reading,
           struct partition_range *ret_range,
           struct err *err)
{
    struct kafka_client client = {0};
    bool stuck = false;
    if (kafka_client_open(&client, KAFKA_CONSUMES, settings, NULL, asking, NULL, err))
        return err->kind;
    enum err_kind kind = ask_range(&client, settings, reading, ret_range, &stuck, err);
    if (!stuck)
        rd_kafka_destroy(client.rk);
    return kind;
}

static enum err_kind
assign(const struct kafka_client *client,
       const struct changelog_reading *reading,
       int64_t from,
       struct err *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, reading->topic, reading->partition)->offset =
        from;
    rd_kafka_resp_err_t answer = rd_kafka_assign(client->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (!answer)
        return ERR_OK;
    return err_fatal(err, EXIT_INTERNAL, "assign_failed", "topic %s: %s", reading->topic,
                     rd_kafka_err2str(answer));
}

/* A record, or the news that there is none behind: `*next` moves on either way. */
static enum err_kind
take(const struct changelog_reading *reading,
     const rd_kafka_message_t *record,
     int64_t *next,
     struct err *err)
{
    struct message message = {0};
    if (record->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        *next = record->offset > *next ? record->offset : *next;
        return ERR_OK;
    }
    if (record->err) {
        enum err_kind kind = kafka_error(err, record->err, "read_failed", reading->topic,
                                         rd_kafka_message_errstr(record));
        return kind == ERR_RETRY ? ERR_OK : kind; /* the library goes on by itself */
    }
    kafka_message_fill(record, reading->topic, &message);
    *next = record->offset + 1;
    return reading->record(reading->state, &message, err);
}

static enum err_kind
read_to(const struct kafka_client *client,
        const struct changelog_reading *reading,
        int64_t end,
        int64_t *next,
        struct err *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + reading->timeout_ms;
    int64_t tell_ms = clock_monotonic_ms() + TELL_EVERY_MS;
    while (*next < end) {
        rd_kafka_message_t *record = rd_kafka_consumer_poll(client->rk, POLL_MS);
        enum err_kind kind = record ? take(reading, record, next, err) : ERR_OK;
        if (record)
            rd_kafka_message_destroy(record);
        if (kind)
            return kind;
        int64_t now_ms = clock_monotonic_ms();
        if (now_ms >= tell_ms) {
            tell_ms = now_ms + TELL_EVERY_MS;
            if (!reading->waiting(reading->state, *next, end))
                return err_set(err, ERR_RETRY, "stopping", "asked to stop");
        }
        if (now_ms >= deadline_ms)
            return err_fatal(err, EXIT_TRY_AGAIN, "restore_timeout",
                             "%s [%d] is read up to %lld of %lld after %d ms; the next "
                             "start goes on from there",
                             reading->topic, reading->partition, (long long)*next,
                             (long long)end, reading->timeout_ms);
    }
    return ERR_OK;
}

enum err_kind
changelog_read(const struct kafka_settings *settings,
               const struct changelog_reading *reading,
               int64_t *ret_next,
               struct err *err)
{
    struct partition_range range = {0};
    struct kafka_client client = {0};
    if (find_range(settings, reading, &range, err))
        return err->kind;
    if (reading->from > range.end)
        return err_set(err, ERR_RECORD, "changelog_shorter",
                       "%s [%d] ends at %lld, before %lld", reading->topic,
                       reading->partition, (long long)range.end,
                       (long long)reading->from);
    *ret_next = reading->from > range.start ? reading->from : range.start;
    if (*ret_next >= range.end)
        return ERR_OK;
    if (kafka_client_open(&client, KAFKA_CONSUMES, settings, defaults, owned, NULL, err))
        return err->kind;
    rd_kafka_poll_set_consumer(client.rk);
    enum err_kind kind = assign(&client, reading, *ret_next, err);
    if (!kind)
        kind = read_to(&client, reading, range.end, ret_next, err);
    rd_kafka_destroy(client.rk);
    return kind;
}
