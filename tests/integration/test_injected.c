/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors that a real broker won't give on request, injected into transactional calls: the
 * runner recovers, or leaves with a documented status, in time. What was stored is not
 * looked at: the mock keeps no transactions. The program owns the mock cluster, and runs
 * itself again as the worker (--run).
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kafka.h"
#include "log.h"
#include "process.h"
#include "runner.h"
#include "test_size.h"
#include "topics.h"
#include "watchdog.h"

#include "unit.h"

enum {
    RECOVER_MS = 30000,
    START_MS = 60000,
    LINE_BYTES = 1024,
    RECORD_US = 2000,
    RECORDS = 8000,
    WAIT_MS = 100,
    /* Keys of Kafka's protocol. */
    PRODUCE = 0,
    INIT_PRODUCER_ID = 22,
    ADD_PARTITIONS = 24,
    ADD_OFFSETS = 25,
    END_TXN = 26,
    TXN_OFFSET_COMMIT = 28,
};

/* --- the worker --------------------------------------------------------------------- */

static enum err_kind
pass_on(void *state, const struct message *in, struct emits *out, struct err *err)
{
    (void)state;
    /* So slow that there is always work while errors are injected. */
    usleep(RECORD_US);
    /* A tombstone: it needs no schema, and goes through the same calls. */
    return emits_add_tombstone(out, TOPIC_WARNINGS, in->key, 1, err);
}

static int
run_worker(const char *bootstrap)
{
    static const struct option_property properties[] = {
        {"compression.codec", "none", ORIGIN_FLAG, "test"},
        {"fetch.wait.max.ms", "20", ORIGIN_FLAG, "test"},
        {"session.timeout.ms", "6000", ORIGIN_FLAG, "test"},
    };
    const struct kafka_settings kafka = {
        .brokers = bootstrap,
        .properties = properties,
        .n_properties = sizeof properties / sizeof properties[0],
        .client_id = "injected",
    };
    const struct worker worker = {
        .name = "injected", .input = TOPIC_TUNINGS, .on_record = pass_on};
    struct err err = {0};
    struct metrics *metrics = metrics_new(&err);
    const struct runner_settings settings = {
        .worker = &worker,
        .kafka = &kafka,
        .delivery = &delivery_exactly_once,
        .transaction_timeout_ms = 20000,
        .dead = {.group = "injected", .worker = "injected", .version = "0"},
        .start = TOPIC_FROM_START,
        .batch_records = 20,
        .batch_bytes = 1 << 20,
        .batch_time_ms = 100,
        .job_deadline_ms = 5000,
        .retry = {50, 200},
        .metrics = metrics,
    };
    log_setup("injected", LOG_TEXT, LOG_DEBUG);
    watchdog_start(5000, &err);
    struct runner *runner = runner_new(&settings, &err);
    if (runner)
        runner_run(runner, &err);
    int status = err.kind ? err_exit_code(&err) : EXIT_OK;
    runner_free(runner);
    metrics_free(metrics);
    return status;
}

/* --- the mock ----------------------------------------------------------------------- */

static struct {
    rd_kafka_t *client;
    rd_kafka_mock_cluster_t *cluster;
    const char *bootstrap;
} mock;

static int
open_mock(void **state)
{
    (void)state;
    char text[256];
    mock.client = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), text, sizeof text);
    mock.cluster = mock.client ? rd_kafka_mock_cluster_new(mock.client, 1) : NULL;
    if (!mock.cluster)
        return -1;
    mock.bootstrap = rd_kafka_mock_cluster_bootstraps(mock.cluster);
    rd_kafka_mock_topic_create(mock.cluster, TOPIC_TUNINGS, 1, 1);
    rd_kafka_mock_topic_create(mock.cluster, TOPIC_WARNINGS, 1, 1);
    rd_kafka_mock_topic_create(mock.cluster, TOPIC_DEAD, 1, 1);
    return 0;
}

static int
close_mock(void **state)
{
    (void)state;
    rd_kafka_mock_cluster_destroy(mock.cluster);
    rd_kafka_destroy(mock.client);
    return 0;
}

static void
send_work(void)
{
    const struct option_property none = {"compression.codec", "none", ORIGIN_FLAG, "t"};
    const struct kafka_settings kafka = {
        .brokers = mock.bootstrap, .properties = &none, .n_properties = 1};
    struct err err;
    struct producer *producer = producer_new(&kafka, NULL, NULL, &err);
    assert_non_null(producer);
    for (int i = 0; i < RECORDS; i++) {
        const struct outgoing record = {.topic = TOPIC_TUNINGS,
                                        .key = SLICE("k"),
                                        .value = SLICE("v"),
                                        .timestamp_ms = 1};
        assert_int_equal(producer_send(producer, &record, START_MS, &err), ERR_OK);
    }
    assert_int_equal(producer_flush(producer, START_MS, &err), ERR_OK);
    producer_free(producer);
}

static void
start_worker(struct process *worker)
{
    char self[512];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    const char *argv[] = {self, "--run", mock.bootstrap, NULL};
    assert_true(process_start(worker, argv, NULL));
}

static bool
is_documented(int status)
{
    return status == EXIT_TRY_AGAIN || status == EXIT_PERMISSION ||
           status == EXIT_CONFIG || status == EXIT_FENCED || status == EXIT_TXN_DEADLINE;
}

/* The errors of one call, one after the other, each into a worker that has just
 * committed. */
static void
inject(int16_t api, const rd_kafka_resp_err_t *errors, size_t n, size_t times)
{
    char line[LINE_BYTES];
    struct process worker = {0};
    bool running = false;
    send_work();
    for (size_t i = 0; i < n; i++) {
        if (!running)
            start_worker(&worker);
        if (!process_wait_line(&worker, "batch committed", line, sizeof line, START_MS)) {
            fputs(worker.text, stderr);
            fail_msg("the worker did not come up before error %d", (int)errors[i]);
        }
        for (size_t t = 0; t < times; t++)
            rd_kafka_mock_push_request_errors_array(mock.cluster, api, 1, &errors[i]);

        /* The first may have been under way; each that follows has met an error. */
        bool through = true;
        for (size_t c = 0; c < times + 2 && through; c++)
            through = process_wait_line(&worker, "batch committed", line, sizeof line,
                                        RECOVER_MS);

        int status = through ? -1 : process_wait(&worker, 1000);
        if (!through && !is_documented(status)) {
            fputs(worker.text, stderr);
            fail_msg("%s into call %d: status %d", rd_kafka_err2name(errors[i]), api,
                     status);
        }
        rd_kafka_mock_clear_request_errors(mock.cluster, api);
        printf("%s into call %d, %zu times: %s, status %d\n",
               rd_kafka_err2name(errors[i]), api, times, through ? "recovered" : "left",
               status);
        running = through;
        if (!through)
            process_close(&worker);
    }
    if (running) {
        process_end(worker.pid, SIGTERM, START_MS);
        process_close(&worker);
    }
}

#define ERROR(name) RD_KAFKA_RESP_ERR_##name
#define INJECT(api, ...)                                                                 \
    do {                                                                                 \
        const rd_kafka_resp_err_t errors[] = {__VA_ARGS__};                              \
        inject(api, errors, sizeof errors / sizeof errors[0], 1);                        \
        inject(api, errors, sizeof errors / sizeof errors[0], 3);                        \
    } while (0)

static void
recovers_or_leaves_after_an_error_of_produce(void **state)
{
    (void)state;
    /* Everything that Kafka's table of errors lets a broker answer to it. */
    INJECT(PRODUCE, ERROR(UNKNOWN), ERROR(INVALID_MSG), ERROR(UNKNOWN_TOPIC_OR_PART),
           ERROR(LEADER_NOT_AVAILABLE), ERROR(NOT_LEADER_FOR_PARTITION),
           ERROR(REQUEST_TIMED_OUT), ERROR(MSG_SIZE_TOO_LARGE), ERROR(NETWORK_EXCEPTION),
           ERROR(TOPIC_EXCEPTION), ERROR(RECORD_LIST_TOO_LARGE),
           ERROR(NOT_ENOUGH_REPLICAS), ERROR(NOT_ENOUGH_REPLICAS_AFTER_APPEND),
           ERROR(INVALID_REQUIRED_ACKS), ERROR(TOPIC_AUTHORIZATION_FAILED),
           ERROR(CLUSTER_AUTHORIZATION_FAILED), ERROR(INVALID_TIMESTAMP),
           ERROR(UNSUPPORTED_FOR_MESSAGE_FORMAT), ERROR(POLICY_VIOLATION),
           ERROR(OUT_OF_ORDER_SEQUENCE_NUMBER), ERROR(INVALID_PRODUCER_EPOCH),
           ERROR(INVALID_TXN_STATE), ERROR(INVALID_PRODUCER_ID_MAPPING),
           ERROR(TRANSACTIONAL_ID_AUTHORIZATION_FAILED), ERROR(KAFKA_STORAGE_ERROR),
           ERROR(UNKNOWN_PRODUCER_ID), ERROR(UNSUPPORTED_COMPRESSION_TYPE),
           ERROR(INVALID_RECORD), ERROR(THROTTLING_QUOTA_EXCEEDED),
           ERROR(PRODUCER_FENCED));
}

static void
recovers_or_leaves_after_an_error_of_add_partitions(void **state)
{
    (void)state;
    INJECT(ADD_PARTITIONS, ERROR(COORDINATOR_NOT_AVAILABLE), ERROR(NOT_COORDINATOR),
           ERROR(COORDINATOR_LOAD_IN_PROGRESS), ERROR(CONCURRENT_TRANSACTIONS),
           ERROR(INVALID_PRODUCER_EPOCH), ERROR(INVALID_PRODUCER_ID_MAPPING),
           ERROR(INVALID_TXN_STATE), ERROR(TOPIC_AUTHORIZATION_FAILED),
           ERROR(UNKNOWN_TOPIC_OR_PART));
}

static void
recovers_or_leaves_after_an_error_of_the_offsets(void **state)
{
    (void)state;
    INJECT(ADD_OFFSETS, ERROR(COORDINATOR_NOT_AVAILABLE), ERROR(NOT_COORDINATOR),
           ERROR(CONCURRENT_TRANSACTIONS), ERROR(INVALID_PRODUCER_EPOCH),
           ERROR(INVALID_TXN_STATE), ERROR(GROUP_AUTHORIZATION_FAILED));
    INJECT(TXN_OFFSET_COMMIT, ERROR(COORDINATOR_NOT_AVAILABLE), ERROR(NOT_COORDINATOR),
           ERROR(REQUEST_TIMED_OUT), ERROR(ILLEGAL_GENERATION), ERROR(UNKNOWN_MEMBER_ID),
           ERROR(INVALID_PRODUCER_EPOCH), ERROR(FENCED_INSTANCE_ID));
}

static void
recovers_or_leaves_after_an_error_of_the_commit(void **state)
{
    (void)state;
    INJECT(END_TXN, ERROR(COORDINATOR_NOT_AVAILABLE), ERROR(NOT_COORDINATOR),
           ERROR(COORDINATOR_LOAD_IN_PROGRESS), ERROR(CONCURRENT_TRANSACTIONS),
           ERROR(INVALID_PRODUCER_EPOCH), ERROR(PRODUCER_FENCED),
           ERROR(INVALID_PRODUCER_ID_MAPPING), ERROR(INVALID_TXN_STATE),
           ERROR(TRANSACTIONAL_ID_AUTHORIZATION_FAILED));
}

static int
count_commits(const struct process *worker)
{
    int n = 0;
    for (const char *at = worker->text; (at = strstr(at, "batch committed")); at++)
        n++;
    return n;
}

/* Refuses everything that is produced for so long: more answers than requests. */
static void
fill_the_disk(struct process *worker, long long duration_ms)
{
    enum { STEP_MS = 100, AHEAD = 50 };
    rd_kafka_resp_err_t full[AHEAD];
    for (int i = 0; i < AHEAD; i++)
        full[i] = ERROR(KAFKA_STORAGE_ERROR);
    for (long long until = process_now_ms() + duration_ms; process_now_ms() < until;) {
        rd_kafka_mock_push_request_errors_array(mock.cluster, PRODUCE, AHEAD, full);
        int status = process_wait(worker, STEP_MS);
        if (status >= 0)
            fail_msg("left with status %d:\n%.4000s", status, worker->text);
    }
}

/* Answers as a broker gives them whose disk is full, for a while, and then no more. */
static void
goes_on_by_itself_when_the_disk_of_the_broker_was_full(void **state)
{
    (void)state;
    enum { USUAL_S = 20, SETTLE_MS = 2000 };
    char line[LINE_BYTES];
    struct process worker;
    send_work();
    start_worker(&worker);
    assert_true(
        process_wait_line(&worker, "batch committed", line, sizeof line, START_MS));

    fill_the_disk(&worker, SETTLE_MS); /* what was under way comes through */
    int before = count_commits(&worker);
    fill_the_disk(&worker, test_size("TEST_DISK_FULL_S", USUAL_S) * 1000LL);
    assert_int_equal(count_commits(&worker), before);
    rd_kafka_mock_clear_request_errors(mock.cluster, PRODUCE);

    long long deadline = process_now_ms() + START_MS;
    while (count_commits(&worker) == before) {
        assert_int_equal(process_wait(&worker, WAIT_MS), -1);
        assert_true(process_now_ms() < deadline);
    }
    assert_int_equal(process_end(worker.pid, SIGTERM, START_MS), 0);
    process_close(&worker);
}

/* The next offset commit is refused, late; by then the answers to come are held back. */
static void
fence_and_fall_silent(void)
{
    enum { BROKER = 1, LATE_MS = 3000, NEVER_MS = 120000 };
    rd_kafka_mock_broker_push_request_error_rtts(mock.cluster, BROKER, TXN_OFFSET_COMMIT,
                                                 1, ERROR(FENCED_INSTANCE_ID), LATE_MS);
    size_t left = 1;
    for (long long until = process_now_ms() + START_MS;
         left > 0 && process_now_ms() < until; usleep(WAIT_MS * 1000))
        rd_kafka_mock_broker_error_stack_cnt(mock.cluster, BROKER, TXN_OFFSET_COMMIT,
                                             &left);
    assert_int_equal(left, 0);
    rd_kafka_mock_broker_push_request_error_rtts(mock.cluster, BROKER, END_TXN, 1,
                                                 RD_KAFKA_RESP_ERR_NO_ERROR, NEVER_MS);
}

/* The deadline of the way out ends the process: the reason must be in the log by then. */
static void
says_why_it_leaves_before_it_hangs_on_the_way_out(void **state)
{
    (void)state;
    char line[LINE_BYTES];
    struct process worker;
    send_work();
    start_worker(&worker);
    assert_true(
        process_wait_line(&worker, "batch committed", line, sizeof line, START_MS));
    fence_and_fall_silent();

    assert_int_equal(process_wait(&worker, START_MS), EXIT_FENCED);
    const char *why = strstr(worker.text, "code=fenced");
    const char *hung = strstr(worker.text, "a deadline is over");
    if (!why || !hung || why > hung)
        fail_msg("not said before it hung:\n%s", worker.text);
    rd_kafka_mock_clear_request_errors(mock.cluster, END_TXN);
    process_close(&worker);
}

static void
starts_in_spite_of_errors_of_its_coordinator(void **state)
{
    (void)state;
    const rd_kafka_resp_err_t errors[] = {
        ERROR(COORDINATOR_NOT_AVAILABLE), ERROR(COORDINATOR_LOAD_IN_PROGRESS),
        ERROR(CONCURRENT_TRANSACTIONS), ERROR(NOT_COORDINATOR)};
    char line[LINE_BYTES];
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        struct process worker;
        send_work();
        rd_kafka_mock_push_request_errors_array(mock.cluster, INIT_PRODUCER_ID, 1,
                                                &errors[i]);
        start_worker(&worker);
        assert_true(
            process_wait_line(&worker, "batch committed", line, sizeof line, RECOVER_MS));
        process_end(worker.pid, SIGTERM, START_MS);
        process_close(&worker);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers_or_leaves_after_an_error_of_produce),
        cmocka_unit_test(recovers_or_leaves_after_an_error_of_add_partitions),
        cmocka_unit_test(recovers_or_leaves_after_an_error_of_the_offsets),
        cmocka_unit_test(recovers_or_leaves_after_an_error_of_the_commit),
        cmocka_unit_test(goes_on_by_itself_when_the_disk_of_the_broker_was_full),
        cmocka_unit_test(says_why_it_leaves_before_it_hangs_on_the_way_out),
        cmocka_unit_test(starts_in_spite_of_errors_of_its_coordinator),
    };
    if (argc == 3 && strcmp(argv[1], "--run") == 0)
        return run_worker(argv[2]);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_mock, close_mock);
}
