/* SPDX-License-Identifier: Apache-2.0 */
/* A worker with a registry: whose schema it writes with, and what it does without. */
#include "kafka.h"
#include "registry.h"
#include "topics.h"
#include "tuning_event.h"

#include "real_kafka.h"
#include "real_registry.h"
#include "rig.h"
#include "run_heddle.h"

#include "unit.h"

#include <signal.h>
#include <stdlib.h>

CLEANUP_DEFINE(struct topic_reader, topic_reader_free);

enum { TIMEOUT_MS = 60000, VARIABLE_BYTES = 512, PLACE_BYTES = 32 };

static struct real_kafka kafka;
static struct real_registry server;
static struct temp_dir dir;
static char texts[4][VARIABLE_BYTES];
static const char *environment[6] = {"HEDDLE_CONFIG=/dev/null"};

static int
open_servers(void **state)
{
    (void)state;
    struct process process;
    if (!temp_dir_make(&dir) || !real_kafka_start(&kafka, false) ||
        !real_registry_start(&server) ||
        !temp_write(&dir, "c/M/20260801T000000Z/runs/gemm_tuning/t/result.json",
                    "{\"backend\": \"forge\", \"tuners_run\": []}", 3600))
        return -1;
    snprintf(texts[0], VARIABLE_BYTES, "HEDDLE_BROKERS=%s", kafka.bootstrap);
    snprintf(texts[1], VARIABLE_BYTES, "HEDDLE_SCHEMA_REGISTRY=%s", server.url);
    snprintf(texts[2], VARIABLE_BYTES, "XDG_STATE_HOME=%s/state", dir.path);
    for (size_t i = 0; i < 3; i++)
        environment[i + 1] = texts[i];
    int made = heddle_run(&process, environment, WORDS("topics", "apply", "--execute"));
    if (made != 0)
        fprintf(stderr, "%s", process.text);
    process_close(&process);
    return made;
}

static int
close_servers(void **state)
{
    (void)state;
    real_registry_stop(&server);
    real_kafka_stop(&kafka);
    temp_dir_done(&dir);
    return 0;
}

static void
expect(int wanted, const char *const *words, const char *needle)
{
    struct process process;
    int status = heddle_run(&process, environment, words);
    if (status != wanted || !strstr(process.text, needle))
        fail_msg("exit status %d, or no \"%s\" in:\n%s", status, needle, process.text);
    process_close(&process);
}

static void
run(const char *const *words, const char *needle)
{
    expect(EXIT_OK, words, needle);
}

static void
start_worker(struct process *worker, const char *const *more)
{
    const char *argv[4] = {BIN_DIR "/heddle-audit"};
    for (size_t i = 0; more[i] && i < 2; i++)
        argv[i + 1] = more[i];
    assert_true(process_start(worker, argv, environment));
}

/* The first byte of the first row, -1 while there is none. */
static int
first_byte(void)
{
    const struct kafka_settings from = {.brokers = kafka.bootstrap, .client_id = "test"};
    struct err err = {0};
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader =
        topic_reader_new(&from, TOPIC_AUDIT_TUNINGS, TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(reader);
    for (bool done = false; !done;) {
        const struct message *message =
            topic_reader_next(reader, TIMEOUT_MS, &done, &err);
        if (message && message->value.data)
            return (unsigned char)message->value.data[0];
    }
    return -1;
}

static void
refuses_to_send_what_the_registry_does_not_know(void **state)
{
    (void)state;
    struct process worker;
    run(WORDS("feed", dir.path), "1 sent");

    start_worker(&worker, WORDS("--log-level=info"));
    int status = process_wait(&worker, TIMEOUT_MS);
    if (status < 0)
        process_end(worker.pid, SIGKILL, TIMEOUT_MS);

    assert_int_equal(status, EXIT_CONFIG);
    assert_non_null(strstr(worker.text, "schema_not_registered"));
    assert_non_null(strstr(worker.text, "heddle schema register"));
    process_close(&worker);
    assert_int_equal(first_byte(), -1);
}

static void
registers_when_it_may_and_writes_with_the_id(void **state)
{
    (void)state;
    struct process worker;
    start_worker(&worker, WORDS("--schema-register"));
    long long deadline = process_now_ms() + TIMEOUT_MS;
    int byte = -1;
    while ((byte = first_byte()) < 0)
        assert_true(process_now_ms() < deadline);
    process_signal(&worker, SIGTERM);
    assert_int_equal(process_wait(&worker, TIMEOUT_MS), 0);
    process_close(&worker);

    assert_int_equal(byte, 0);
    run(WORDS("tap", TOPIC_AUDIT_TUNINGS, "--from", "start", "--until-end"), "\"forge\"");
    run(WORDS("census", "--json"), "\"rows\": 1,");
}

static size_t
count_records(const char *topic, char *ret_place, size_t size)
{
    const struct kafka_settings from = {.brokers = kafka.bootstrap, .client_id = "test"};
    struct err err = {0};
    size_t n = 0;
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader =
        topic_reader_new(&from, topic, TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(reader);
    for (bool done = false; !done;) {
        const struct message *in = topic_reader_next(reader, TIMEOUT_MS, &done, &err);
        n += in != NULL;
        if (in)
            snprintf(ret_place, size, "%d:%lld", (int)in->partition,
                     (long long)in->offset);
    }
    return n;
}

static size_t
count_dead(void)
{
    char place[PLACE_BYTES];
    return count_records(TOPIC_DEAD, place, sizeof place);
}

/* How often the one record was tried in vain. */
static long
tries_in_vain(int port)
{
    static char page[1 << 18];
    static const char name[] = "outcome=\"retry\"} ";
    rig_get(port, "/metrics", page, sizeof page);
    long tries = 0;
    for (const char *at = page; (at = strstr(at, name)); at += sizeof name - 1)
        tries += strtol(at + sizeof name - 1, NULL, 10); /* one for each partition */
    return tries;
}

/* More attempts than retry_attempts allows: an outage says nothing about the record. */
static void
waits_for_a_registry_that_is_away_and_dead_letters_nothing(void **state)
{
    (void)state;
    enum { TRIES = 8 };
    struct process worker;
    char line[VARIABLE_BYTES];
    assert_true(temp_write(&dir, "c/M/20260801T000000Z/runs/gemm_tuning/u/result.json",
                           "{\"backend\": \"anvil\", \"tuners_run\": []}", 3600));
    run(WORDS("feed", dir.path), "1 sent");
    assert_true(real_registry_kill(&server));

    const char *argv[] = {BIN_DIR "/heddle-audit",
                          "--retry-attempts",
                          "2",
                          "--retry-first",
                          "20ms",
                          "--retry-max",
                          "20ms",
                          NULL};
    assert_true(process_start(&worker, argv, environment));
    int port = rig_port_of(&worker);
    assert_true(process_wait_line(&worker, "code=registry_unavailable", line, sizeof line,
                                  TIMEOUT_MS));
    long long deadline = process_now_ms() + TIMEOUT_MS;
    while (tries_in_vain(port) < TRIES)
        assert_true(process_now_ms() < deadline);
    assert_true(real_registry_restart(&server));
    assert_true(process_wait_line(&worker, "the record went through", line, sizeof line,
                                  TIMEOUT_MS));
    process_signal(&worker, SIGTERM);
    assert_int_equal(process_wait(&worker, TIMEOUT_MS), 0);
    process_close(&worker);

    run(WORDS("census", "--json"), "\"rows\": 2,");
    assert_int_equal(count_dead(), 0);
}

/* An event without parts, written with the id that the registry gave its schema. */
static void
send_empty_event(void)
{
    const struct kafka_settings to = {.brokers = kafka.bootstrap, .client_id = "test"};
    const struct registry_settings at = {
        .url = server.url, .http.timeout_ms = TIMEOUT_MS, .registers = true};
    const struct tuning_event event = {
        .origin = {SLICE("0"), SLICE("node"), SLICE("s"), 1000000, SLICE("test")},
        .workspace = SLICE("/w/M/s/runs/gemm_tuning/nothing"),
    };
    struct err err = {0};
    uint32_t id = 0;
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    struct registry *registry = registry_new(&at, &err);
    struct serde *serde = serde_new(&tuning_event_type, NULL, &err);
    struct producer *producer = producer_new(&to, NULL, NULL, &err);
    assert_true(registry && serde && producer);
    const struct schema_source source = registry_source(registry);
    assert_int_equal(source.id_of(source.state, TOPIC_TUNINGS "-value",
                                  slice_of(tuning_event_type.avsc), &id, &err),
                     ERR_OK);
    serde_use_id(serde, id);
    assert_int_equal(serde_encode(serde, &event, &value, &err), ERR_OK);
    const struct outgoing record = {.topic = TOPIC_TUNINGS,
                                    .key = SLICE("nothing"),
                                    .value = buf_slice(&value),
                                    .timestamp_ms = 1000};
    assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
    producer_free(producer);
    serde_free(serde);
    registry_free(registry);
}

static void
wait_for_dead(size_t n)
{
    long long deadline = process_now_ms() + TIMEOUT_MS;
    while (count_dead() < n)
        assert_true(process_now_ms() < deadline);
}

static void
shows_requeues_and_drops_dead_letters_that_a_transaction_committed(void **state)
{
    (void)state;
    struct process worker;
    char place[PLACE_BYTES] = "";
    start_worker(&worker, WORDS("--log-level=info"));
    send_empty_event();
    wait_for_dead(1);
    count_records(TOPIC_DEAD, place, sizeof place);

    run(WORDS("dead", "ls"), "event_without_parts");
    run(WORDS("dead", "stats"), "event_without_parts");
    run(WORDS("dead", "show", place), "runs/gemm_tuning/nothing"); /* decoded */
    expect(EXIT_CHANGES, WORDS("dead", "requeue"), "1 to requeue");
    assert_int_equal(count_dead(), 1); /* only a plan */
    run(WORDS("dead", "requeue", "--execute"), "1 requeued");
    wait_for_dead(2); /* it is no better than before */
    run(WORDS("dead", "ls", "-o", "json"), "\"attempt\": 2");
    run(WORDS("dead", "drop", "--execute"), "1 dropped");
    run(WORDS("dead", "requeue"), "0 to requeue");

    process_signal(&worker, SIGTERM);
    assert_int_equal(process_wait(&worker, TIMEOUT_MS), 0);
    process_close(&worker);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_to_send_what_the_registry_does_not_know),
        cmocka_unit_test(registers_when_it_may_and_writes_with_the_id),
        cmocka_unit_test(waits_for_a_registry_that_is_away_and_dead_letters_nothing),
        cmocka_unit_test(
            shows_requeues_and_drops_dead_letters_that_a_transaction_committed),
    };
    int status = 0;
    if (!real_kafka_here("kafka.worker_registry", &status) ||
        !real_registry_here("kafka.worker_registry", &status))
        return status;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_servers, close_servers);
}
