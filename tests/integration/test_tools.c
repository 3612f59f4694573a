/* SPDX-License-Identifier: Apache-2.0 */
/* census, tap, lag and topics as a person runs them, over the embedded broker. */
#include "audit_row.h"
#include "kafka.h"
#include "serde.h"
#include "topics.h"
#include "warning.h"

#include <signal.h>
#include <stdio.h>

#include "broker.h"
#include "process.h"

#include "unit.h"

enum { TIMEOUT_MS = 30000, MAX_ARGUMENTS = 16 };

CLEANUP_DEFINE(struct producer, producer_free);
CLEANUP_DEFINE(struct serde, serde_free);

static struct broker broker;

static int
start(void **state)
{
    (void)state;
    return broker_start(&broker, 0, NULL) ? 0 : -1;
}

static int
stop(void **state)
{
    (void)state;
    broker_stop(&broker);
    return 0;
}

static void
send_value(const char *topic, const char *key, struct slice value)
{
    struct err err;
    static const struct option_property properties[] = {
        {"compression.codec", "none", ORIGIN_FLAG, "test"},
        {"linger.ms", "0", ORIGIN_FLAG, "test"},
    };
    struct kafka_settings to = {broker.bootstrap, properties, 2, "test", NULL, NULL};
    CLEANUP(producer_freep)
    struct producer *producer = producer_new(&to, NULL, NULL, &err);
    assert_non_null(producer);
    struct outgoing record = {.topic = topic,
                              .key = slice_of(key),
                              .value = value,
                              .timestamp_ms = 1785024000000};
    assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
}

static void
send_row(const char *key, const char *row, const char *x)
{
    struct err err;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    CLEANUP(serde_freep) struct serde *serde = serde_new(&audit_row_type, NULL, &err);
    struct audit_row record = {
        .run_key = slice_of(key),
        .row = slice_of(row),
        .x = slice_of(x),
        .trace = SLICE("M/s"),
        .origin = {SLICE("e"), SLICE("n"), SLICE("s"), 1, SLICE("p")},
        .provenance = {.worker = SLICE("w"),
                       .version = SLICE("v"),
                       .config_sha256 = SLICE("c")},
    };
    assert_non_null(serde);
    assert_int_equal(serde_encode(serde, &record, &out, &err), ERR_OK);
    send_value(TOPIC_AUDIT_TUNINGS, key, buf_slice(&out));
}

/* `heddle` with these words and the broker's address. */
static void
start_heddle(struct process *process, const char *const *words)
{
    const char *argv[MAX_ARGUMENTS + 4] = {BIN_DIR "/heddle"};
    static const char *const environment[] = {"HEDDLE_CONFIG=/dev/null", NULL};
    int n = 1;
    for (int i = 0; words[i] && i < MAX_ARGUMENTS; i++)
        argv[n++] = words[i];
    argv[n++] = "--brokers";
    argv[n++] = broker.bootstrap;
    assert_true(process_start(process, argv, environment));
}

/* Runs it to its end; what it said is in `process->text`. */
static int
run_heddle(struct process *process, const char *const *words)
{
    start_heddle(process, words);
    return process_wait(process, TIMEOUT_MS);
}

static size_t
count_of(const char *text, const char *needle)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, needle)); at++)
        n++;
    return n;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char crash_row[] =
    "{\"backend\": \"forge\", \"status\": \"failed\", \"tuners_run\": "
    "[{\"best_micro_speedup\": null, \"kept\": null, \"tuner\": \"a8w8\"}]}";
static const char crash_x[] = "{\"tuners\": [{\"i\": 0, \"outcome\": \"crashed\"}]}";
static const char orphan_x[] = "{\"orphan_logs\": {\"a8w8\": {\"rejected\": false}}}";

static void
census_counts_what_stands(void **state)
{
    (void)state;
    struct process process;
    send_row("k", "{\"tuners_run\": []}", "{}");
    send_row("k", crash_row, crash_x);
    send_row("orphan:k", NULL, orphan_x);
    send_row("orphan:lost", NULL, orphan_x);
    send_value(TOPIC_AUDIT_TUNINGS, "orphan:k", (struct slice){0});

    assert_int_equal(run_heddle(&process, WORDS("census", "--json")), 0);

    assert_non_null(strstr(process.text, "\"rows\": 1,"));
    assert_non_null(strstr(process.text, "\"tune_logs\": 1,"));
    assert_non_null(strstr(process.text, "\"tuner_entries\": 1\n"));
    process_close(&process);

    assert_int_equal(run_heddle(&process, WORDS("census", "--example", "crashed")), 0);
    assert_non_null(strstr(process.text, "\"outcome\": \"crashed\""));
    process_close(&process);
}

static void
census_says_what_it_can_not_read(void **state)
{
    (void)state;
    struct process process;
    send_row("good", crash_row, crash_x);
    send_row("hollow", "{\"tuners_run\": [", "{}");
    send_value(TOPIC_AUDIT_TUNINGS, "garbage", SLICE("not framed"));

    assert_int_equal(run_heddle(&process, WORDS("census", "--json")), 1);

    assert_non_null(strstr(process.text, "\"rows\": 1,"));
    assert_int_equal(count_of(process.text, ": row_unreadable: "), 1);
    assert_int_equal(count_of(process.text, ": magic_unknown: "), 1);
    assert_non_null(strstr(process.text, "2 records can't be read"));
    process_close(&process);
}

/* The embedded broker keeps some MiB a partition, as a retention would. */
static void
census_says_that_offsets_are_gone(void **state)
{
    (void)state;
    enum { N = 12, FILL = 1 << 20 };
    struct process process;
    CLEANUP(buf_done) struct buf x = BUF_INIT;
    buf_add_str(&x, "{\"src\": \"");
    for (int i = 0; i < FILL; i++)
        buf_add_byte(&x, 'a');
    buf_add_str(&x, "\"}");

    for (int i = 0; i < N; i++)
        send_row("k", "{\"tuners_run\": []}", buf_text(&x));

    assert_int_equal(run_heddle(&process, WORDS("census", "--json")), 1);
    assert_non_null(strstr(process.text, " offsets are gone"));
    assert_non_null(strstr(process.text, "\"rows\": 1,"));
    process_close(&process);
}

static void
tap_shows_a_bad_record_and_goes_on(void **state)
{
    (void)state;
    struct process process;
    send_row("k", crash_row, crash_x);
    send_value(TOPIC_AUDIT_TUNINGS, "k", SLICE("not framed"));
    send_value(TOPIC_AUDIT_TUNINGS, "k", (struct slice){0});
    send_row("k", crash_row, crash_x);

    assert_int_equal(run_heddle(&process, WORDS("tap", "--from", "start", "--until-end")),
                     1);
    assert_int_equal(count_of(process.text, "\"run_key\""), 2);
    assert_int_equal(count_of(process.text, "\"error\": {\"code\": \"magic_unknown\""),
                     1);
    assert_int_equal(count_of(process.text, "\"value\": null"), 1);
    process_close(&process);

    assert_int_equal(
        run_heddle(&process, WORDS("tap", "--from", "start", "--until-end", "--strict")),
        1);
    assert_int_equal(count_of(process.text, "\"offset\""), 2);
    process_close(&process);
}

static void
tap_shows_what_fits(void **state)
{
    (void)state;
    struct process process;
    send_row("M/a", crash_row, crash_x);
    send_row("M/b", crash_row, crash_x);
    send_row("N/a", crash_row, crash_x);

    assert_int_equal(run_heddle(&process, WORDS("tap", "--from", "start", "--until-end",
                                                "--filter", "key=M/*")),
                     0);
    assert_int_equal(count_of(process.text, "\"key\": \"M/"), 2);
    assert_int_equal(count_of(process.text, "\"key\": \"N/"), 0);
    process_close(&process);

    assert_int_equal(
        run_heddle(&process, WORDS("tap", "--from", "start", "--limit", "1")), 0);
    assert_int_equal(count_of(process.text, "\"offset\""), 1);
    process_close(&process);

    assert_int_equal(run_heddle(&process, WORDS("tap", "--filter", "colour=red")), 64);
    process_close(&process);
}

static void
send_warning(const char *code)
{
    struct err err;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    CLEANUP(serde_freep) struct serde *serde = serde_new(&warning_type, NULL, &err);
    struct warning warning = {
        .code = slice_of(code),
        .severity = SEVERITY_WARNING,
        .subject = SLICE("s"),
        .message = SLICE("m"),
        .origin = {SLICE("e"), SLICE("n"), SLICE("s"), 1, SLICE("p")},
        .provenance = {.worker = SLICE("w"),
                       .version = SLICE("v"),
                       .config_sha256 = SLICE("c")},
    };
    assert_non_null(serde);
    assert_int_equal(serde_encode(serde, &warning, &out, &err), ERR_OK);
    send_value(TOPIC_WARNINGS, code, buf_slice(&out));
}

static void
tap_picks_warnings_and_bad_records_by_code(void **state)
{
    (void)state;
    struct process process;
    send_warning("stale_log");
    send_warning("orphan_log");
    send_value(TOPIC_WARNINGS, "k", SLICE("not framed"));

    assert_int_equal(
        run_heddle(&process, WORDS("tap", TOPIC_WARNINGS, "--from", "start",
                                   "--until-end", "--filter", "code=stale_*")),
        0);
    assert_int_equal(count_of(process.text, "\"offset\""), 1);
    assert_int_equal(count_of(process.text, "\"code\":\"stale_log\""), 1);
    process_close(&process);

    assert_int_equal(
        run_heddle(&process, WORDS("tap", TOPIC_WARNINGS, "--from", "start",
                                   "--until-end", "--filter", "code=magic_*")),
        1);
    assert_int_equal(count_of(process.text, "\"offset\""), 1);
    process_close(&process);
}

static void
tap_follows_until_it_is_told_to_stop(void **state)
{
    (void)state;
    struct process process;
    char line[4096];
    send_row("before", crash_row, crash_x);
    start_heddle(&process, WORDS("tap"));
    assert_true(
        process_wait_line(&process, "waiting for", line, sizeof line, TIMEOUT_MS));

    send_row("after", crash_row, crash_x);

    assert_true(process_wait_line(&process, "\"topic\"", line, sizeof line, TIMEOUT_MS));
    assert_non_null(strstr(line, "\"key\": \"after\""));
    process_signal(&process, SIGINT);
    assert_int_equal(process_wait(&process, TIMEOUT_MS), 0);
    process_close(&process);
}

static void
tap_shows_dead_letters_with_headers(void **state)
{
    (void)state;
    struct process process;
    send_value(TOPIC_DEAD, "k", SLICE("\xC3\x01\xFF"));

    assert_int_equal(
        run_heddle(&process, WORDS("tap", TOPIC_DEAD, "--from", "start", "--until-end")),
        0);

    assert_non_null(strstr(process.text, "\"value\": {\"base64\": \"wwH/\"}"));
    process_close(&process);
}

static void
lag_tells_no_commit_from_nothing_to_do(void **state)
{
    (void)state;
    struct process process;
    send_value(TOPIC_TUNINGS, "k", SLICE("x"));

    assert_int_equal(run_heddle(&process, WORDS("lag", "-o", "json")), 0);

    assert_non_null(strstr(process.text, "\"lag\": 1, \"partitions\""));
    assert_int_equal(count_of(process.text, "\"state\": \"no_commit\""), 2);
    process_close(&process);
}

static void
topics_fit_the_embedded_broker(void **state)
{
    (void)state;
    struct process process;

    assert_int_equal(run_heddle(&process, WORDS("topics", "plan")), 0);
    assert_non_null(strstr(process.text, "0 of 14 topics differ; settings: unknown"));
    process_close(&process);

    assert_int_equal(run_heddle(&process, WORDS("topics", "describe")), 0);
    assert_int_equal(count_of(process.text, "retention.ms: unknown (should be -1)"), 14);
    process_close(&process);

    assert_int_equal(run_heddle(&process, WORDS("topics", "apply")), 64);
    process_close(&process);
}

static void
each_says_that_no_broker_answers(void **state)
{
    (void)state;
    static const char *const verbs[][3] = {{"census", NULL}, {"topics", "plan", NULL}};
    broker_stop(&broker);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        struct process process;

        assert_int_equal(run_heddle(&process, verbs[i]), 69);

        assert_non_null(strstr(process.text, broker.bootstrap));
        process_close(&process);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(census_counts_what_stands, start, stop),
        cmocka_unit_test_setup_teardown(census_says_what_it_can_not_read, start, stop),
        cmocka_unit_test_setup_teardown(census_says_that_offsets_are_gone, start, stop),
        cmocka_unit_test_setup_teardown(tap_shows_a_bad_record_and_goes_on, start, stop),
        cmocka_unit_test_setup_teardown(tap_shows_what_fits, start, stop),
        cmocka_unit_test_setup_teardown(tap_picks_warnings_and_bad_records_by_code, start,
                                        stop),
        cmocka_unit_test_setup_teardown(tap_follows_until_it_is_told_to_stop, start,
                                        stop),
        cmocka_unit_test_setup_teardown(tap_shows_dead_letters_with_headers, start, stop),
        cmocka_unit_test_setup_teardown(lag_tells_no_commit_from_nothing_to_do, start,
                                        stop),
        cmocka_unit_test_setup_teardown(topics_fit_the_embedded_broker, start, stop),
        cmocka_unit_test_setup_teardown(each_says_that_no_broker_answers, start, stop),
    };
    return cmocka_run_group_tests_name("tools", tests, NULL, NULL);
}
