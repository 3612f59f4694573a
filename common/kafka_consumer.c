/* SPDX-License-Identifier: Apache-2.0 */
/* The group consumer: assignment with explicit starts, one record a poll, commits. */
#include "kafka.h"

#include <stdio.h>
#include <stdlib.h>

#include "kafka_client.h"

#include "clock.h"

enum {
    WHAT_BYTES = 320,
    COMMITTED_TIMEOUT_MS = 1000,
    COMMIT_TIMEOUT_MS = 4000, /* below any session timeout: commits happen on revoke */
    NO_COMMIT = -1,
    MAX_REFUSED_LOGINS = 3,
    JOIN_TIMEOUT_MS = 3000,
    JOIN_STEP_MS = 50,
};

static const struct kafka_property defaults[] = {
    {"partition.assignment.strategy", "cooperative-sticky"},
    {NULL, NULL},
};

/* What is known of the end of a partition; -1: nothing. */
struct known {
    int64_t stable;
    int64_t read_to;
};

struct consumer {
    struct kafka_client client; /* first: the opaque of the library's callbacks */
    struct consumer_events events;
    char *topic;
    enum topic_start start;
    struct err failure;        /* from within a callback, given by the next poll */
    rd_kafka_queue_t *commits; /* answers to commits */
    uintptr_t commit_number;   /* of the last one, to tell a late answer apart */
    bool joined;               /* an assignment came, be it empty */
    struct known *known;       /* by partition */
    size_t n_known;
};

struct consumed {
    rd_kafka_message_t *record;
    struct message message;
    struct header headers[];
};

/* --- ends of partitions --------------------------------------------------------------
 */

/* NULL: no such partition can be, or no memory: it stays unknown. */
static struct known *
known_of(struct consumer *consumer, int64_t partition)
{
    if (partition < 0 || partition >= KAFKA_MAX_PARTITIONS)
        return NULL;
    size_t n = (size_t)partition + 1;
    if (n > consumer->n_known) {
        struct known *known = realloc(consumer->known, n * sizeof *known);
        if (!known)
            return NULL;
        for (size_t i = consumer->n_known; i < n; i++)
            known[i] = (struct known){-1, -1};
        consumer->known = known;
        consumer->n_known = n;
    }
    return &consumer->known[partition];
}

/* One topic is consumed, so every "partition" below "topics" is of it. */
static void
on_statistics(struct kafka_client *client, const char *json)
{
    static const char topics_name[] = "\"topics\":";
    static const char partition_name[] = "\"partition\":";
    static const char stable_name[] = "\"ls_offset\":";
    struct consumer *consumer = (struct consumer *)client;
    const char *at = strstr(json, topics_name);
    while (at && (at = strstr(at, partition_name))) {
        at += sizeof partition_name - 1;
        struct known *known = known_of(consumer, strtoll(at, NULL, 10));
        at = strstr(at, stable_name);
        if (at && known)
            known->stable = strtoll(at + sizeof stable_name - 1, NULL, 10);
    }
}

static void
forget_end(struct consumer *consumer, int32_t partition)
{
    struct known *known = known_of(consumer, partition);
    if (known)
        known->read_to = -1;
}

int64_t
consumer_stable_end(const struct consumer *consumer, int32_t partition)
{
    size_t i = (size_t)partition;
    int64_t stable = i < consumer->n_known ? consumer->known[i].stable : -1;
    return stable < 0 ? -1 : stable;
}

int64_t
consumer_read_to(const struct consumer *consumer, int32_t partition)
{
    size_t i = (size_t)partition;
    return i < consumer->n_known ? consumer->known[i].read_to : -1;
}

/* --- callbacks, in the polling thread ----------------------------------------------- */

static struct topic_partition *
copy_list(const rd_kafka_topic_partition_list_t *list)
{
    size_t n = list->cnt > 0 ? (size_t)list->cnt : 0;
    struct topic_partition *parts = calloc(n ? n : 1, sizeof *parts);
    for (size_t i = 0; parts && i < n; i++) {
        const rd_kafka_topic_partition_t *from = &list->elems[i];
        parts[i] = (struct topic_partition){
            from->topic,
            from->partition,
            from->offset < 0 ? NO_COMMIT : from->offset,
        };
    }
    return parts;
}

/*
 * The committed offset of each partition. The open transaction of a member that died
 * hides it until the coordinator ends that.
 */
static enum err_kind
ask_committed(struct consumer *consumer,
              rd_kafka_topic_partition_list_t *list,
              const struct patience *patience,
              struct err *err)
{
    for (;;) {
        rd_kafka_resp_err_t answer =
            rd_kafka_committed(consumer->client.rk, list, COMMITTED_TIMEOUT_MS);
        for (int i = 0; i < list->cnt && !answer; i++)
            answer = list->elems[i].err;
        if (!answer)
            return ERR_OK;
        enum err_kind kind =
            kafka_error(err, answer, "committed_unknown", consumer->topic, NULL);
        if (kind == ERR_FATAL || (patience->wait && !patience->wait(patience->state)))
            return kind;
    }
}

/* The committed offset of each partition, or its start. ERR_RETRY: waited in vain. */
static enum err_kind
find_starts(struct consumer *consumer, rd_kafka_topic_partition_list_t *list)
{
    const struct patience patience = {consumer->events.waiting, consumer->events.state};
    struct err err = {0};
    enum err_kind kind = ask_committed(consumer, list, &patience, &err);
    if (kind == ERR_FATAL)
        consumer->failure = err;
    return kind;
}

static bool
is_cooperative(rd_kafka_t *rk)
{
    const char *protocol = rd_kafka_rebalance_protocol(rk);
    return protocol && strcmp(protocol, "COOPERATIVE") == 0;
}

static void
keep_failure(struct consumer *consumer, rd_kafka_resp_err_t answer, const char *what)
{
    if (answer && !consumer->failure.kind)
        err_fatal(&consumer->failure, EXIT_TRY_AGAIN, "assignment_failed", "%s of %s: %s",
                  what, consumer->topic, rd_kafka_err2str(answer));
}

static void
take_result(struct consumer *consumer, rd_kafka_error_t *error, const char *what)
{
    if (!error)
        return;
    keep_failure(consumer, rd_kafka_error_code(error), what);
    rd_kafka_error_destroy(error);
}

/* The process stops before it knows where to read: the group must have its answer all
 * the same, or the library hangs on leaving. */
static void
take_unread(struct consumer *consumer, rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < list->cnt; i++)
        list->elems[i].offset = RD_KAFKA_OFFSET_END;
    if (is_cooperative(consumer->client.rk))
        take_result(consumer, rd_kafka_incremental_assign(consumer->client.rk, list),
                    "assignment");
    else
        keep_failure(consumer, rd_kafka_assign(consumer->client.rk, list), "assignment");
}

static void
assign(struct consumer *consumer, rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_t *rk = consumer->client.rk;
    struct topic_partition *parts = NULL;
    enum err_kind kind = list->cnt > 0 ? find_starts(consumer, list) : ERR_OK;
    if (kind == ERR_FATAL)
        return;
    if (kind) {
        take_unread(consumer, list);
        return;
    }
    parts = copy_list(list);
    if (!parts) {
        err_no_memory(&consumer->failure, "the assignment");
        return;
    }
    for (int i = 0; i < list->cnt; i++)
        if (list->elems[i].offset < 0)
            list->elems[i].offset = consumer->start == TOPIC_FROM_START
                                        ? RD_KAFKA_OFFSET_BEGINNING
                                        : RD_KAFKA_OFFSET_END;
    for (int i = 0; i < list->cnt; i++)
        forget_end(consumer, list->elems[i].partition);
    consumer->events.assigned(consumer->events.state, parts, (size_t)list->cnt);
    if (is_cooperative(rk))
        take_result(consumer, rd_kafka_incremental_assign(rk, list), "assignment");
    else
        keep_failure(consumer, rd_kafka_assign(rk, list), "assignment");
    free(parts);
}

static void
revoke(struct consumer *consumer, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_t *rk = consumer->client.rk;
    struct topic_partition *parts = copy_list(list);
    if (!parts) {
        err_no_memory(&consumer->failure, "the assignment");
        return;
    }
    consumer->events.revoked(consumer->events.state, parts, (size_t)list->cnt,
                             rd_kafka_assignment_lost(rk) != 0);
    if (is_cooperative(rk))
        take_result(consumer, rd_kafka_incremental_unassign(rk, list), "release");
    else
        keep_failure(consumer, rd_kafka_assign(rk, NULL), "release");
    free(parts);
}

static void
on_rebalance(rd_kafka_t *rk,
             rd_kafka_resp_err_t answer,
             rd_kafka_topic_partition_list_t *list,
             void *opaque)
{
    struct consumer *consumer = opaque;
    consumer->joined = true;
    if (answer == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        assign(consumer, list);
    } else if (answer == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS) {
        revoke(consumer, list);
    } else {
        keep_failure(consumer, answer, "rebalance");
        rd_kafka_assign(rk, NULL);
    }
}

static void
prepare(rd_kafka_conf_t *conf)
{
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    kafka_watch_connection(conf);
}

/* --- life --------------------------------------------------------------------------- */

static enum err_kind
open_client(struct consumer *consumer,
            const struct consumer_settings *settings,
            struct err *err)
{
    const char *isolation = kafka_property(settings->kafka, "isolation.level");
    if (!isolation || settings->read_committed)
        isolation = "read_committed";
    const struct kafka_property owned[] = {
        {"group.id", settings->group},
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"enable.partition.eof", "true"},
        {"auto.offset.reset", "error"},
        {"statistics.interval.ms", KAFKA_STATISTICS_MS},
        {"isolation.level", isolation},
        {settings->group_instance_id ? "group.instance.id" : NULL,
         settings->group_instance_id},
        {NULL, NULL},
    };
    return kafka_client_open(&consumer->client, KAFKA_CONSUMES, settings->kafka, defaults,
                             owned, prepare, err);
}

static enum err_kind
subscribe(struct consumer *consumer, struct err *err)
{
    rd_kafka_poll_set_consumer(consumer->client.rk);
    consumer->commits = rd_kafka_queue_new(consumer->client.rk);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, consumer->topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t answer = rd_kafka_subscribe(consumer->client.rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (!answer)
        return ERR_OK;
    return err_fatal(err, EXIT_CONFIG, "subscribe_failed", "topic %s: %s",
                     consumer->topic, rd_kafka_err2str(answer));
}

static void
free_consumer(struct consumer *consumer)
{
    if (consumer->commits)
        rd_kafka_queue_destroy(consumer->commits);
    if (consumer->client.rk)
        rd_kafka_destroy(consumer->client.rk);
    free(consumer->known);
    free(consumer->topic);
    free(consumer);
}

struct consumer *
consumer_new(const struct consumer_settings *settings, struct err *err)
{
    struct consumer *consumer = calloc(1, sizeof *consumer);
    if (!consumer) {
        err_no_memory(err, "a consumer");
        return NULL;
    }
    consumer->events = settings->events;
    consumer->client.statistics = on_statistics;
    consumer->start = settings->start;
    consumer->topic = strdup(settings->topic);
    if (!consumer->topic)
        err_no_memory(err, "a topic's name");
    else if (!open_client(consumer, settings, err) && !subscribe(consumer, err))
        return consumer;
    free_consumer(consumer);
    return NULL;
}

/*
 * Before the first assignment, closing a cooperative-sticky consumer crashes libraries
 * before 2.3.0 and hangs those before 2.4.0; destroying it without a close crashes too,
 * once the group has answered. So the assignment is waited for a little.
 */
static bool
may_close(struct consumer *consumer)
{
    int64_t deadline = clock_monotonic_ms() + JOIN_TIMEOUT_MS;
    if (!kafka_has_defect(rd_kafka_version(), KAFKA_DEFECT_EARLY_CLOSE))
        return true;
    while (!consumer->joined && consumer_connected(consumer) &&
           clock_monotonic_ms() < deadline) {
        rd_kafka_message_t *record =
            rd_kafka_consumer_poll(consumer->client.rk, JOIN_STEP_MS);
        if (record)
            rd_kafka_message_destroy(record);
    }
    return consumer->joined;
}

/* What could not be closed is still referred to, so that no leak checker takes what was
 * left on purpose for what was lost; volatile, since nobody reads it. */
static struct consumer *volatile left_open;

void
consumer_close(struct consumer *consumer)
{
    if (!consumer)
        return;
    /* Else it stays as it is: the process is about to end, and the group forgets the
     * member after its session timeout. */
    if (!may_close(consumer)) {
        left_open = consumer;
        return;
    }
    rd_kafka_queue_destroy(consumer->commits);
    consumer->commits = NULL;
    rd_kafka_consumer_close(consumer->client.rk);
    free_consumer(consumer);
}

/* --- records ------------------------------------------------------------------------ */

static struct consumed *
consumed_new(const struct consumer *consumer, rd_kafka_message_t *record)
{
    rd_kafka_headers_t *headers = NULL;
    size_t n =
        rd_kafka_message_headers(record, &headers) ? 0 : rd_kafka_header_cnt(headers);
    struct consumed *consumed = malloc(sizeof *consumed + n * sizeof(struct header));
    if (!consumed)
        return NULL;
    consumed->record = record;
    kafka_message_fill(record, consumer->topic, &consumed->message);
    consumed->message.headers = consumed->headers;
    consumed->message.n_headers = kafka_headers(record, consumed->headers, n);
    return consumed;
}

void
consumed_free(struct consumed *consumed)
{
    if (!consumed)
        return;
    rd_kafka_message_destroy(consumed->record);
    free(consumed);
}

const struct message *
consumed_message(const struct consumed *consumed)
{
    return &consumed->message;
}

static void
take_error(struct consumer *consumer, const rd_kafka_message_t *record, struct err *err)
{
    char what[WHAT_BYTES];
    if (record->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        struct known *known = known_of(consumer, record->partition);
        if (known)
            known->read_to = record->offset;
        return;
    }
    snprintf(what, sizeof what, "topic %s partition %d", consumer->topic,
             (int)record->partition);
    const char *text = rd_kafka_message_errstr(record);
    if (record->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
        record->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
        err_fatal(err, EXIT_CONFIG, "offset_out_of_range",
                  "%s: %s; the records at the committed offset are gone, so the group "
                  "must be moved by hand",
                  what, text);
    else if (record->err == RD_KAFKA_RESP_ERR__FATAL)
        kafka_fatal_error(&consumer->client, err);
    else
        kafka_error(err, record->err, "consume_failed", what, text);
}

struct consumed *
consumer_poll(struct consumer *consumer, int timeout_ms, struct err *err)
{
    err_clear(err);
    rd_kafka_message_t *record = rd_kafka_consumer_poll(consumer->client.rk, timeout_ms);
    if (consumer->failure.kind)
        *err = consumer->failure;
    else
        kafka_login_error(&consumer->client, MAX_REFUSED_LOGINS, err);
    if (!record)
        return NULL;
    struct consumed *consumed = NULL;
    if (record->err)
        take_error(consumer, record, err);
    else if (!err->kind) {
        consumed = consumed_new(consumer, record);
        if (!consumed)
            err_no_memory(err, "a record");
    }
    if (!consumed)
        rd_kafka_message_destroy(record);
    return consumed;
}

struct kafka_client *
consumer_client(struct consumer *consumer)
{
    return &consumer->client;
}

bool
consumer_connected(const struct consumer *consumer)
{
    return atomic_load(&consumer->client.connected);
}

/* --- positions ---------------------------------------------------------------------- */

static enum err_kind
position_error(const struct consumer *consumer,
               rd_kafka_resp_err_t answer,
               const char *code,
               int32_t partition,
               struct err *err)
{
    if (!answer)
        return ERR_OK;
    char what[WHAT_BYTES];
    snprintf(what, sizeof what, "topic %s partition %d", consumer->topic, (int)partition);
    return kafka_error(err, answer, code, what, NULL);
}

static enum err_kind
pause_or_resume(struct consumer *consumer,
                const char *topic,
                int32_t partition,
                bool pause,
                struct err *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic, partition);
    rd_kafka_resp_err_t answer =
        pause ? rd_kafka_pause_partitions(consumer->client.rk, list)
              : rd_kafka_resume_partitions(consumer->client.rk, list);
    if (!answer)
        answer = list->elems[0].err;
    rd_kafka_topic_partition_list_destroy(list);
    return position_error(consumer, answer, pause ? "pause_failed" : "resume_failed",
                          partition, err);
}

enum err_kind
consumer_pause(struct consumer *consumer,
               const char *topic,
               int32_t partition,
               struct err *err)
{
    return pause_or_resume(consumer, topic, partition, true, err);
}

enum err_kind
consumer_resume(struct consumer *consumer,
                const char *topic,
                int32_t partition,
                struct err *err)
{
    return pause_or_resume(consumer, topic, partition, false, err);
}

rd_kafka_topic_partition_list_t *
kafka_partition_list(const struct topic_partition *parts, size_t n)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)n);
    for (size_t i = 0; i < n; i++)
        rd_kafka_topic_partition_list_add(list, parts[i].topic, parts[i].partition)
            ->offset = parts[i].offset;
    return list;
}

/* The answer of the call, else the first of a partition; its number in `ret_partition`.
 */
static rd_kafka_resp_err_t
first_answer(const rd_kafka_topic_partition_list_t *list,
             rd_kafka_resp_err_t answer,
             int32_t *ret_partition)
{
    *ret_partition = list->cnt > 0 ? list->elems[0].partition : -1;
    for (int i = 0; i < list->cnt; i++) {
        if (list->elems[i].err == RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        *ret_partition = list->elems[i].partition;
        return list->elems[i].err;
    }
    return answer;
}

enum err_kind
consumer_seek(struct consumer *consumer,
              const struct topic_partition *parts,
              size_t n,
              struct err *err)
{
    if (n == 0)
        return ERR_OK;
    rd_kafka_topic_partition_list_t *list = kafka_partition_list(parts, n);
    for (int i = 0; i < list->cnt; i++) {
        forget_end(consumer, list->elems[i].partition);
        if (list->elems[i].offset < 0)
            list->elems[i].offset = consumer->start == TOPIC_FROM_START
                                        ? RD_KAFKA_OFFSET_BEGINNING
                                        : RD_KAFKA_OFFSET_END;
    }
    /* -1: any other time-out runs out 1000 times too early on library 2.0.2. */
    rd_kafka_error_t *error = rd_kafka_seek_partitions(consumer->client.rk, list, -1);
    int32_t partition = 0;
    rd_kafka_resp_err_t answer = first_answer(
        list, error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR,
        &partition);
    if (error)
        rd_kafka_error_destroy(error);
    rd_kafka_topic_partition_list_destroy(list);
    return position_error(consumer, answer, "seek_failed", partition, err);
}

/*
 * The library's own waiting commit has no time-out: without a coordinator it never comes
 * back. So the answer is waited for here; a late one is known by its number and dropped.
 */
static rd_kafka_resp_err_t
wait_for_commit(struct consumer *consumer, int32_t *ret_partition)
{
    int64_t deadline = clock_monotonic_ms() + COMMIT_TIMEOUT_MS;
    for (;;) {
        int64_t left_ms = deadline - clock_monotonic_ms();
        if (left_ms < 0)
            return RD_KAFKA_RESP_ERR__TIMED_OUT;
        rd_kafka_event_t *event = rd_kafka_queue_poll(consumer->commits, (int)left_ms);
        if (!event)
            continue;
        bool ours = rd_kafka_event_type(event) == RD_KAFKA_EVENT_OFFSET_COMMIT &&
                    (uintptr_t)rd_kafka_event_opaque(event) == consumer->commit_number;
        rd_kafka_resp_err_t answer = rd_kafka_event_error(event);
        const rd_kafka_topic_partition_list_t *list =
            ours ? rd_kafka_event_topic_partition_list(event) : NULL;
        if (list)
            answer = first_answer(list, answer, ret_partition);
        rd_kafka_event_destroy(event);
        if (ours)
            return answer;
    }
}

enum err_kind
consumer_commit(struct consumer *consumer,
                const struct topic_partition *parts,
                size_t n,
                struct err *err)
{
    if (n == 0)
        return ERR_OK;
    int32_t partition = parts[0].partition;
    rd_kafka_topic_partition_list_t *list = kafka_partition_list(parts, n);
    rd_kafka_resp_err_t answer =
        rd_kafka_commit_queue(consumer->client.rk, list, consumer->commits, NULL,
                              (void *)++consumer->commit_number);
    rd_kafka_topic_partition_list_destroy(list);
    if (!answer)
        answer = wait_for_commit(consumer, &partition);
    return position_error(consumer, answer, "commit_failed", partition, err);
}

enum err_kind
consumer_committed(struct consumer *consumer,
                   struct topic_partition *parts,
                   size_t n,
                   const struct patience *patience,
                   struct err *err)
{
    rd_kafka_topic_partition_list_t *list = kafka_partition_list(parts, n);
    enum err_kind kind = n > 0 ? ask_committed(consumer, list, patience, err) : ERR_OK;
    for (size_t i = 0; i < n && !kind; i++) {
        int64_t offset = list->elems[i].offset;
        parts[i].offset = offset < 0 ? NO_COMMIT : offset;
    }
    rd_kafka_topic_partition_list_destroy(list);
    return kind;
}

int64_t
consumer_session_timeout_ms(const struct consumer *consumer)
{
    char text[KAFKA_NUMBER_BYTES] = "";
    size_t size = sizeof text;
    rd_kafka_conf_get(rd_kafka_conf(consumer->client.rk), "session.timeout.ms", text,
                      &size);
    return strtoll(text, NULL, 10);
}

bool
consumer_watermarks(struct consumer *consumer,
                    const char *topic,
                    int32_t partition,
                    int64_t *ret_start,
                    int64_t *ret_end)
{
    return rd_kafka_get_watermark_offsets(consumer->client.rk, topic, partition,
                                          ret_start,
                                          ret_end) == RD_KAFKA_RESP_ERR_NO_ERROR &&
           *ret_end >= 0;
}
