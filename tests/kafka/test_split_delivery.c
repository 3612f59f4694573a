/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The splitter on a real Kafka: whenever its processes are killed, a read_committed
 * reader sees one record of each event, and the objects that it names are whole.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chance.h"
#include "kafka.h"
#include "lag.h"
#include "process.h"
#include "real_kafka.h"
#include "serde.h"
#include "serving_trace.h"
#include "split_record.h"
#include "temp_dir.h"
#include "topics.h"
#include "trace_event.h"

#include "unit.h"

enum {
    TIMEOUT_MS = 120000,
    WORKERS = 2,
    ROUNDS = 8,
    EVENTS_A_ROUND = 30,
    EVENTS = ROUNDS * EVENTS_A_ROUND,
    KILL_WITHIN_MS = 2500,
    TEXT_BYTES = 512,
};

static struct real_kafka kafka;
static struct temp_dir home;
static char *store;
static struct serde *events;
static struct serde *splits;

static int
open_kafka(void **state)
{
    (void)state;
    if (!temp_dir_make(&home) || !real_kafka_start_with_topics(&kafka, false))
        return -1;
    store = temp_path(&home, "store");
    return mkdir(store, 0755);
}

static int
close_kafka(void **state)
{
    (void)state;
    real_kafka_stop(&kafka);
    temp_dir_done(&home);
    free(store);
    return 0;
}

static struct kafka_settings
to_kafka(void)
{
    return (struct kafka_settings){.brokers = kafka.bootstrap, .client_id = "test"};
}

/* --- events --------------------------------------------------------------------------
 */

static void
send_event(struct producer *producer, int number, struct slice trace)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    char id[32];
    struct err err = {0};
    snprintf(id, sizeof id, "r%d", number);
    const struct trace_event event = {
        .origin = {SLICE("id"), SLICE("node"), SLICE(""), 5000, SLICE("test")},
        .payload = {.kind = PAYLOAD_INLINE, .bytes = trace},
        .request = {.request_id = slice_of(id), .framework = SLICE("vllm"), .attempt = 1},
    };
    assert_int_equal(serde_encode(events, &event, &value, &err), ERR_OK);
    const struct outgoing record = {.topic = TOPIC_TRACES,
                                    .key = slice_of(id),
                                    .value = buf_slice(&value),
                                    .timestamp_ms = 1};
    assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
}

static void
send_round(int round)
{
    CLEANUP(buf_done) struct buf trace;
    struct kafka_settings settings = to_kafka();
    struct err err = {0};
    struct producer *producer = producer_new(&settings, NULL, NULL, &err);
    assert_non_null(producer);
    serving_trace_make(&trace, 40 + round, 30);
    for (int i = 0; i < EVENTS_A_ROUND; i++)
        send_event(producer, round * EVENTS_A_ROUND + i, buf_slice(&trace));
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
    producer_free(producer);
}

/* --- workers -------------------------------------------------------------------------
 */

static void
start_worker(struct process *worker, int number)
{
    char url[TEXT_BYTES];
    char instance[32];
    char state[TEXT_BYTES];
    char line[TEXT_BYTES];
    const char *argv[] = {BIN_DIR "/heddle-split",
                          "--brokers",
                          kafka.bootstrap,
                          "--store",
                          url,
                          "--instance",
                          instance,
                          "--static",
                          "--jobs",
                          "2",
                          "-X",
                          "session.timeout.ms=6000",
                          "-X",
                          "fetch.wait.max.ms=20",
                          NULL};
    snprintf(url, sizeof url, "file://%s", store);
    snprintf(instance, sizeof instance, "s%d", number);
    snprintf(state, sizeof state, "XDG_STATE_HOME=%s", home.path);
    const char *environment[] = {state, NULL};
    assert_true(process_start(worker, argv, environment));
    if (!process_wait_line(worker, "started", line, sizeof line, TIMEOUT_MS))
        fail_msg("it did not start:\n%s", worker->text);
}

static void
kill_worker(struct process *worker)
{
    process_signal(worker, SIGKILL);
    assert_int_equal(process_wait(worker, TIMEOUT_MS), 128 + SIGKILL);
    process_close(worker);
}

static void
stop_worker(struct process *worker)
{
    process_signal(worker, SIGTERM);
    int status = process_wait(worker, TIMEOUT_MS);
    if (status != 0)
        fail_msg("status %d:\n%s", status, worker->text);
    process_close(worker);
}

/* --- what came out -------------------------------------------------------------------
 */

static void
assert_objects(struct slice value)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct split_record record;
    struct err err = {0};
    char path[2 * TEXT_BYTES];
    assert_int_equal(serde_decode(splits, value, &arena, &record, &err), ERR_OK);
    assert_int_equal(record.result, SPLIT_RESULT_SPLIT);
    const struct split_chunk *chunks = record.chunks.items;
    assert_true(record.chunks.n > 0);
    for (size_t i = 0; i < record.chunks.n; i++) {
        snprintf(path, sizeof path, "%s/%.*s", store, SLICE_ARG(chunks[i].uri));
        assert_int_equal(access(path, R_OK), 0);
    }
}

static void
count_records(const char *topic, int *times)
{
    struct kafka_settings settings = to_kafka();
    struct err err = {0};
    struct topic_reader *reader =
        topic_reader_new(&settings, topic, TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(reader);
    for (bool done = false; !done;) {
        const struct message *in = topic_reader_next(reader, 50, &done, &err);
        assert_int_equal(err.kind, ERR_OK);
        if (!in)
            continue;
        char key[64];
        snprintf(key, sizeof key, "%.*s", SLICE_ARG(in->key));
        int number = atoi(key + 1);
        assert_in_range(number, 0, EVENTS - 1);
        times[number]++;
        if (strcmp(topic, TOPIC_SPLITS) == 0)
            assert_objects(in->value);
    }
    topic_reader_free(reader);
}

/* A trace that was in work at three of the kills counts as one that kills: a few may be
 * dead letters, most are not. */
static void
sends_one_record_of_each_event_whenever_it_is_killed(void **state)
{
    (void)state;
    static int split[EVENTS];
    static int dead[EVENTS];
    int n_split = 0;
    struct process workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        start_worker(&workers[i], i);

    for (int round = 0; round < ROUNDS; round++) {
        int victim = (int)chance_next(WORKERS);
        send_round(round);
        process_wait(&workers[victim], (int)chance_next(KILL_WITHIN_MS));
        kill_worker(&workers[victim]);
        start_worker(&workers[victim], victim);
    }

    struct kafka_settings settings = to_kafka();
    lag_wait_none(&settings, "heddle-split", TOPIC_TRACES, TIMEOUT_MS);
    for (int i = 0; i < WORKERS; i++)
        stop_worker(&workers[i]);
    count_records(TOPIC_SPLITS, split);
    count_records(TOPIC_DEAD, dead);
    for (int i = 0; i < EVENTS; i++) {
        if (split[i] + dead[i] != 1)
            fail_msg("event %d came out %d times, and %d times as a dead letter", i,
                     split[i], dead[i]);
        n_split += split[i];
    }
    printf("%d of %d events were split\n", n_split, EVENTS);
    assert_true(2 * n_split > EVENTS);
}

int
main(void)
{
    int status = 0;
    struct err err = {0};
    if (!real_kafka_here("kafka.split_delivery", &status))
        return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_one_record_of_each_event_whenever_it_is_killed),
    };
    chance_start();
    events = serde_new(&trace_event_type, NULL, &err);
    splits = serde_new(&split_record_type, NULL, &err);
    int failed = events && splits ? cmocka_run_group_tests_name("split_delivery", tests,
                                                                open_kafka, close_kafka)
                                  : 1;
    serde_free(events);
    serde_free(splits);
    return failed;
}
