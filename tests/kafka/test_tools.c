/* SPDX-License-Identifier: Apache-2.0 */
/* census, tap and lag over a real Kafka: what is committed counts, nothing else does. */
#include "audit_row.h"
#include "kafka.h"
#include "serde.h"
#include "topics.h"

#include "real_kafka.h"
#include "run_heddle.h"

#include "unit.h"

CLEANUP_DEFINE(struct producer, producer_free);
CLEANUP_DEFINE(struct serde, serde_free);

enum { TIMEOUT_MS = 30000, TRANSACTION_MS = 60000 };

static struct real_kafka kafka;

static int
open_kafka(void **state)
{
    (void)state;
    return real_kafka_start_with_topics(&kafka, false) ? 0 : -1;
}

static int
close_kafka(void **state)
{
    (void)state;
    real_kafka_stop(&kafka);
    return 0;
}

static struct kafka_settings
settings(void)
{
    return (struct kafka_settings){.brokers = kafka.bootstrap, .client_id = "test"};
}

static bool
wait_a_while(void *state)
{
    long long *deadline = state;
    return process_now_ms() < *deadline;
}

static struct producer *
transactional(const char *id)
{
    struct kafka_settings to = settings();
    struct err err = {0};
    struct producer *producer =
        producer_new_transactional(&to, id, TRANSACTION_MS, NULL, NULL, &err);
    assert_non_null(producer);
    for (long long deadline = process_now_ms() + TIMEOUT_MS;
         transactions_init(producer, TIMEOUT_MS, &err);)
        assert_true(err.kind == ERR_RETRY && process_now_ms() < deadline);
    return producer;
}

static void
begin(struct producer *producer)
{
    long long deadline = process_now_ms() + TIMEOUT_MS;
    const struct patience patience = {wait_a_while, &deadline};
    assert_int_equal(transaction_begin(producer, &patience, NULL), ERR_OK);
}

static void
end(struct producer *producer, bool commit)
{
    long long deadline = process_now_ms() + TIMEOUT_MS;
    const struct patience patience = {wait_a_while, &deadline};
    struct err err = {0};
    enum err_kind kind = commit ? transaction_commit(producer, &patience, &err)
                                : transaction_abort(producer, &patience, &err);
    if (kind)
        fail_msg("%s", err.msg);
}

/* A row under `key`, at the broker when this returns. */
static void
send_row(struct producer *producer, const char *key)
{
    struct err err = {0};
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    CLEANUP(serde_freep) struct serde *serde = serde_new(&audit_row_type, NULL, &err);
    const struct audit_row row = {
        .run_key = slice_of(key),
        .row = SLICE("{\"tuners_run\": []}"),
        .x = SLICE("{}"),
        .trace = SLICE("M/s"),
        .origin = {SLICE("e"), SLICE("n"), SLICE("s"), 1, SLICE("p")},
        .provenance = {.worker = SLICE("w"),
                       .version = SLICE("v"),
                       .config_sha256 = SLICE("c")},
    };
    assert_non_null(serde);
    assert_int_equal(serde_encode(serde, &row, &out, &err), ERR_OK);
    const struct outgoing record = {.topic = TOPIC_AUDIT_TUNINGS,
                                    .key = slice_of(key),
                                    .value = buf_slice(&out),
                                    .timestamp_ms = 1785024000000};
    assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
}

static void
assert_says(struct process *process, const char *const *words, const char *needle)
{
    assert_int_equal(heddle_run(process, NULL, words), 0);
    if (!strstr(process->text, needle))
        fail_msg("\"%s\" is not in:\n%s", needle, process->text);
}

static void
counts_what_is_committed_up_to_the_last_stable_offset(void **state)
{
    (void)state;
    struct process process;
    CLEANUP(producer_freep) struct producer *producer = transactional("test-tools");
    CLEANUP(producer_freep) struct producer *other = transactional("test-tools-other");
    const char *const *census = WORDS("census", "--json", "--brokers", kafka.bootstrap);
    const char *const *tap = WORDS("tap", TOPIC_AUDIT_TUNINGS, "--from", "start",
                                   "--until-end", "--brokers", kafka.bootstrap);
    begin(producer);
    send_row(producer, "first");
    end(producer, true);
    begin(producer);
    send_row(producer, "aborted");
    end(producer, false);
    begin(producer);
    send_row(producer, "open");
    /* Behind an open transaction of the same partition nothing is stable. */
    begin(other);
    send_row(other, "open");
    end(other, true);

    assert_says(&process, census, "\"rows\": 1,");
    process_close(&process);
    assert_says(&process, tap, "\"first\"");
    assert_null(strstr(process.text, "\"aborted\""));
    assert_null(strstr(process.text, "\"open\""));
    process_close(&process);

    end(producer, true);
    assert_says(&process, census, "\"rows\": 2,");
    process_close(&process);
    assert_says(&process, tap, "\"open\"");
    assert_null(strstr(process.text, "\"aborted\""));
    process_close(&process);
}

/* --- lag -------------------------------------------------------------------------------
 */

static void
assigned(void *state, const struct topic_partition *parts, size_t n)
{
    (void)state;
    (void)parts;
    (void)n;
}

static void
revoked(void *state, const struct topic_partition *parts, size_t n, bool lost)
{
    (void)state;
    (void)parts;
    (void)n;
    (void)lost;
}

static bool
waiting(void *state)
{
    (void)state;
    return true;
}

/* Commits the offset after the second record of the topic, as group "half-way". */
static void
commit_after_two(const char *topic)
{
    struct kafka_settings from = settings();
    struct err err = {0};
    const struct consumer_settings with = {
        .kafka = &from,
        .group = "half-way",
        .topic = topic,
        .start = TOPIC_FROM_START,
        .events = {assigned, revoked, waiting, NULL},
    };
    struct consumer *consumer = consumer_new(&with, &err);
    assert_non_null(consumer);
    long long deadline = process_now_ms() + TIMEOUT_MS;
    for (int n = 0; n < 2;) {
        struct consumed *record = consumer_poll(consumer, 100, &err);
        assert_true(process_now_ms() < deadline);
        if (!record)
            continue;
        const struct message *message = consumed_message(record);
        const struct topic_partition done = {topic, message->partition,
                                             message->offset + 1};
        if (++n == 2)
            assert_int_equal(consumer_commit(consumer, &done, 1, &err), ERR_OK);
        consumed_free(record);
    }
    consumer_close(consumer);
}

static void
shows_how_far_a_group_is_behind(void **state)
{
    (void)state;
    struct process process;
    struct kafka_settings to = settings();
    struct err err = {0};
    CLEANUP(producer_freep)
    struct producer *producer = producer_new(&to, NULL, NULL, &err);
    const struct outgoing record = {.topic = TOPIC_WARNINGS,
                                    .key = SLICE("one partition"),
                                    .value = SLICE("v"),
                                    .timestamp_ms = 1785024000000};
    assert_non_null(producer);
    for (int i = 0; i < 7; i++)
        assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
    commit_after_two(TOPIC_WARNINGS);

    assert_says(&process,
                WORDS("lag", TOPIC_WARNINGS, "--group", "half-way", "-o", "json",
                      "--brokers", kafka.bootstrap),
                "\"committed\": 2");
    assert_non_null(strstr(process.text, "\"lag\": 5"));
    process_close(&process);
    assert_says(&process,
                WORDS("lag", TOPIC_WARNINGS, "--group", "never", "-o", "json",
                      "--brokers", kafka.bootstrap),
                "\"lag\": 7");
    process_close(&process);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_is_committed_up_to_the_last_stable_offset),
        cmocka_unit_test(shows_how_far_a_group_is_behind),
    };
    int status = 0;
    if (!real_kafka_here("kafka.tools", &status))
        return status;
    return cmocka_run_group_tests(tests, open_kafka, close_kafka);
}
