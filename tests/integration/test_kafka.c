/* SPDX-License-Identifier: Apache-2.0 */
/* The face of librdkafka over the embedded broker: what is sent is what is read. */
#include "kafka.h"

#include <stdio.h>

#include "broker.h"

#include "unit.h"

enum { TIMEOUT_MS = 20000 };

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

static struct kafka_settings
settings(void)
{
    static const struct option_property properties[] = {
        {"compression.codec", "none", ORIGIN_FLAG, "test"},
        {"fetch.wait.max.ms", "20", ORIGIN_FLAG, "test"},
    };
    return (struct kafka_settings){broker.bootstrap, properties, 2, "test", NULL, NULL};
}

struct reports {
    int good;
    int bad;
};

static void
count_report(void *state, void *token, const struct err *err)
{
    struct reports *reports = state;
    assert_non_null(token);
    if (err)
        reports->bad++;
    else
        reports->good++;
}

static void
send_all(const char *topic, int n)
{
    struct kafka_settings to = settings();
    struct reports reports = {0};
    struct err err;
    struct producer *producer = producer_new(&to, count_report, &reports, &err);
    assert_non_null(producer);
    for (int i = 0; i < n; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        const struct header headers[] = {{SLICE("h"), SLICE("\0v")}, {SLICE("n"), {0}}};
        struct outgoing record = {.topic = topic,
                                  .key = slice_of(key),
                                  .value = i == 0 ? (struct slice){0} : SLICE("a\0b"),
                                  .timestamp_ms = 1000 + i,
                                  .headers = headers,
                                  .n_headers = 2,
                                  .token = &reports};
        assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
    }
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
    assert_int_equal(producer_pending(producer), 0);
    assert_int_equal(reports.good, n);
    assert_int_equal(reports.bad, 0);
    producer_free(producer);
}

static void
reads_what_was_sent_up_to_the_end(void **state)
{
    (void)state;
    struct kafka_settings from = settings();
    struct err err;
    send_all("heddle.proposals", 100);

    struct topic_reader *reader =
        topic_reader_new(&from, "heddle.proposals", TOPIC_FROM_START, TIMEOUT_MS, &err);

    assert_non_null(reader);
    int n = 0;
    bool done = false;
    while (!done) {
        const struct message *in = topic_reader_next(reader, TIMEOUT_MS, &done, &err);
        assert_int_equal(err.kind, ERR_OK);
        if (!in)
            continue;
        int i = (int)strtol(in->key.data + 1, NULL, 10);
        n++;
        assert_int_equal(in->timestamp_ms, 1000 + i);
        assert_true(i == 0 ? !in->value.data : slice_equal(in->value, SLICE("a\0b")));
        assert_int_equal(in->n_headers, 2);
        assert_true(slice_equal(in->headers[0].value, SLICE("\0v")));
        assert_null(in->headers[1].value.data);
    }
    assert_int_equal(n, 100);
    topic_reader_free(reader);
}

static void
follows_a_topic_beyond_the_end_it_had(void **state)
{
    (void)state;
    struct kafka_settings from = settings();
    struct err err;
    bool done = false;
    send_all("heddle.attempts", 5);
    struct topic_reader *reader =
        topic_reader_new(&from, "heddle.attempts", TOPIC_FROM_END, TIMEOUT_MS, &err);
    assert_non_null(reader);
    assert_null(topic_reader_next(reader, TIMEOUT_MS, &done, &err));
    assert_true(done);

    send_all("heddle.attempts", 7);

    int n = 0;
    while (n < 7 && topic_reader_next(reader, TIMEOUT_MS, &done, &err))
        n++;
    assert_int_equal(n, 7);
    topic_reader_free(reader);
}

static void
ends_at_once_on_an_empty_topic(void **state)
{
    (void)state;
    struct kafka_settings from = settings();
    struct err err;
    bool done = false;

    struct topic_reader *reader =
        topic_reader_new(&from, "heddle.splits", TOPIC_FROM_START, TIMEOUT_MS, &err);

    assert_non_null(reader);
    assert_null(topic_reader_next(reader, TIMEOUT_MS, &done, &err));
    assert_true(done);
    size_t n = 0;
    const struct partition_range *ranges = topic_reader_ranges(reader, &n);
    assert_int_equal(n, 2);
    assert_int_equal(ranges[1].partition, 1);
    topic_reader_free(reader);
}

static void
knows_the_embedded_broker_by_its_cluster_id(void **state)
{
    (void)state;
    struct kafka_settings from = settings();
    struct cluster_info info;
    struct err err;

    assert_int_equal(cluster_info_get(&from, TIMEOUT_MS, &info, &err), ERR_OK);

    assert_true(info.mock);
    assert_int_equal(info.n_brokers, 1);
    assert_true(info.n_topics >= 14);
    cluster_info_done(&info);
}

static void
reports_a_broker_that_is_not_there(void **state)
{
    (void)state;
    struct kafka_settings from = settings();
    from.brokers = "127.0.0.1:1";
    struct cluster_info info;
    struct err err;

    assert_int_equal(cluster_info_get(&from, 500, &info, &err), ERR_FATAL);

    assert_string_equal(err.code, "broker_unreachable");
    assert_int_equal(err.exit_code, EXIT_UNREACHABLE);
}

static void
suggests_the_property_that_was_meant(void **state)
{
    (void)state;
    const struct option_property wrong[] = {
        {"compresion.codec", "none", ORIGIN_FLAG, "-X"}};
    const struct option_property owned[] = {
        {"enable.auto.commit", "true", ORIGIN_FLAG, "-X"}};
    const struct option_property bad[] = {{"linger.ms", "soon", ORIGIN_FLAG, "-X"}};
    struct kafka_settings first = {"x:1", wrong, 1, "t", NULL, NULL};
    struct kafka_settings second = {"x:1", owned, 1, "t", NULL, NULL};
    struct kafka_settings third = {"x:1", bad, 1, "t", NULL, NULL};
    struct err err;

    assert_int_equal(kafka_check_properties(&first, &err), ERR_FATAL);
    assert_non_null(strstr(err.msg, "did you mean compression.codec?"));
    assert_int_equal(err.exit_code, EXIT_CONFIG);
    assert_int_equal(kafka_check_properties(&second, &err), ERR_FATAL);
    assert_non_null(strstr(err.msg, "set by Heddle itself"));
    assert_int_equal(kafka_check_properties(&third, &err), ERR_FATAL);
    assert_non_null(strstr(err.msg, "linger.ms"));
}

static void
refuses_a_record_above_the_largest_topic(void **state)
{
    (void)state;
    struct kafka_settings to = settings();
    struct err err;
    struct producer *producer = producer_new(&to, NULL, NULL, &err);
    assert_non_null(producer);
    size_t size = (size_t)18 << 20;
    char *bytes = calloc(1, size);
    assert_non_null(bytes);
    struct outgoing record = {
        .topic = "heddle.dead", .value = {bytes, size}, .timestamp_ms = 1};

    enum err_kind kind = producer_send(producer, &record, TIMEOUT_MS, &err);

    assert_int_equal(kind, ERR_RECORD);
    assert_string_equal(err.code, "record_too_large");
    free(bytes);
    producer_free(producer);
}

static void
counts_the_lag_of_a_group_without_commits(void **state)
{
    (void)state;
    struct kafka_settings from = settings();
    struct group_lag *lags = NULL;
    size_t n = 0;
    struct err err;
    send_all("heddle.traces", 11);

    assert_int_equal(
        kafka_group_lag(&from, "nobody", "heddle.traces", TIMEOUT_MS, &lags, &n, &err),
        ERR_OK);

    assert_int_equal(n, 2);
    assert_int_equal(lags[0].committed, -1);
    assert_int_equal(lags[0].lag + lags[1].lag, 11);
    free(lags);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_sent_up_to_the_end),
        cmocka_unit_test(follows_a_topic_beyond_the_end_it_had),
        cmocka_unit_test(ends_at_once_on_an_empty_topic),
        cmocka_unit_test(knows_the_embedded_broker_by_its_cluster_id),
        cmocka_unit_test(reports_a_broker_that_is_not_there),
        cmocka_unit_test(suggests_the_property_that_was_meant),
        cmocka_unit_test(refuses_a_record_above_the_largest_topic),
        cmocka_unit_test(counts_the_lag_of_a_group_without_commits),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
