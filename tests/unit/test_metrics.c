/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: the text that Prometheus reads, the ceiling of series, threads. */
#include "metrics.h"

#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

CLEANUP_DEFINE(struct metrics, metrics_free);

static const char *const topic_label[] = {"topic", NULL};

static struct metric *
add(struct metrics *metrics, struct metric_spec spec)
{
    struct metric *metric = metrics_add(metrics, &spec, NULL);
    assert_non_null(metric);
    return metric;
}

static void
prints_counters_and_gauges_with_escaped_labels(void **state)
{
    (void)state;
    CLEANUP(metrics_freep) struct metrics *metrics = metrics_new(NULL);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct metric *records = add(metrics, (struct metric_spec){
                                              .name = "heddle_records_total",
                                              .help = "Records\nseen \\ read.",
                                              .labels = topic_label,
                                          });
    struct metric *up = add(metrics, (struct metric_spec){.name = "heddle_up",
                                                          .help = "One while it runs.",
                                                          .type = METRIC_GAUGE});

    series_add(metric_series(records, (const char *[]){"a\"b\\c\nd"}), 3);
    series_add(metric_series(records, (const char *[]){"a\"b\\c\nd"}), 4);
    series_set(metric_series(up, NULL), 0.5);
    metrics_text(metrics, &out);

    assert_string_equal(buf_text(&out),
                        "# HELP heddle_records_total Records\\nseen \\\\ read.\n"
                        "# TYPE heddle_records_total counter\n"
                        "heddle_records_total{topic=\"a\\\"b\\\\c\\nd\"} 7\n"
                        "# HELP heddle_up One while it runs.\n"
                        "# TYPE heddle_up gauge\n"
                        "heddle_up 0.5\n");
}

static void
prints_histograms_with_cumulated_buckets(void **state)
{
    (void)state;
    static const double bounds[] = {0.1, 1, 10};
    CLEANUP(metrics_freep) struct metrics *metrics = metrics_new(NULL);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct metric *seconds = add(metrics, (struct metric_spec){.name = "s",
                                                               .help = "S.",
                                                               .type = METRIC_HISTOGRAM,
                                                               .labels = topic_label,
                                                               .buckets = bounds,
                                                               .n_buckets = 3});
    struct series *series = metric_series(seconds, (const char *[]){"t"});

    series_observe(series, 0.1);
    series_observe(series, 0.5);
    series_observe(series, 99);
    metrics_text(metrics, &out);

    assert_string_equal(buf_text(&out), "# HELP s S.\n# TYPE s histogram\n"
                                        "s_bucket{topic=\"t\",le=\"0.1\"} 1\n"
                                        "s_bucket{topic=\"t\",le=\"1\"} 2\n"
                                        "s_bucket{topic=\"t\",le=\"10\"} 2\n"
                                        "s_bucket{topic=\"t\",le=\"+Inf\"} 3\n"
                                        "s_sum{topic=\"t\"} 99.599999999999994\n"
                                        "s_count{topic=\"t\"} 3\n");
}

static void
gathers_what_passes_the_ceiling_in_one_series(void **state)
{
    (void)state;
    CLEANUP(metrics_freep) struct metrics *metrics = metrics_new(NULL);
    struct metric *records = add(
        metrics, (struct metric_spec){
                     .name = "r", .help = "R.", .labels = topic_label, .max_series = 2});
    struct series *first = metric_series(records, (const char *[]){"0"});
    struct series *other = NULL;

    for (int i = 1; i < 100; i++) {
        char topic[16];
        snprintf(topic, sizeof topic, "%d", i);
        other = metric_series(records, (const char *[]){topic});
        series_add(other, 1);
    }

    assert_ptr_equal(metric_series(records, (const char *[]){"0"}), first);
    assert_int_equal((int)series_value(other), 98);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    metrics_text(metrics, &out);
    assert_non_null(strstr(buf_text(&out), "r{topic=\"other\"} 98\n"));
}

static void
prints_numbers_that_are_none(void **state)
{
    (void)state;
    CLEANUP(metrics_freep) struct metrics *metrics = metrics_new(NULL);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct metric *gauge =
        add(metrics,
            (struct metric_spec){
                .name = "g", .help = "G.", .type = METRIC_GAUGE, .labels = topic_label});

    series_set(metric_series(gauge, (const char *[]){"a"}), -(double)INFINITY);
    series_set(metric_series(gauge, (const char *[]){"b"}), (double)NAN);
    metrics_text(metrics, &out);

    assert_non_null(strstr(buf_text(&out), "g{topic=\"a\"} -Inf\n"));
    assert_non_null(strstr(buf_text(&out), "g{topic=\"b\"} NaN\n"));
}

static void
refuses_what_the_format_does_not_allow(void **state)
{
    (void)state;
    static const char *const le[] = {"le", NULL};
    static const char *const many[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", NULL};
    static const double falling[] = {2, 1};
    static const double infinite[] = {1, (double)INFINITY};
    CLEANUP(metrics_freep) struct metrics *metrics = metrics_new(NULL);
    add(metrics, (struct metric_spec){.name = "taken", .help = "T."});
    const struct metric_spec wrong[] = {
        {.name = "", .help = "."},
        {.name = "1a", .help = "."},
        {.name = "a-b", .help = "."},
        {.name = "taken", .help = "."},
        {.name = "a", .help = ".", .labels = le},
        {.name = "a", .help = ".", .labels = many},
        {.name = "a", .help = ".", .type = METRIC_HISTOGRAM},
        {.name = "a",
         .help = ".",
         .type = METRIC_HISTOGRAM,
         .buckets = falling,
         .n_buckets = 2},
        {.name = "a",
         .help = ".",
         .type = METRIC_HISTOGRAM,
         .buckets = infinite,
         .n_buckets = 2},
        {.name = "a", .help = ".", .buckets = falling, .n_buckets = 1},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err err = {0};
        assert_null(metrics_add(metrics, &wrong[i], &err));
        assert_string_equal(err.code, "metric_invalid");
    }
}

enum { WRITERS = 4, STEPS = 5000 };

static void *
count(void *state)
{
    for (int i = 0; i < STEPS; i++) {
        char topic[16];
        snprintf(topic, sizeof topic, "%d", i % 97);
        series_add(metric_series(state, (const char *[]){topic}), 1);
    }
    return NULL;
}

static void
loses_no_count_between_threads(void **state)
{
    (void)state;
    CLEANUP(metrics_freep) struct metrics *metrics = metrics_new(NULL);
    struct metric *records = add(
        metrics, (struct metric_spec){.name = "r", .help = "R.", .labels = topic_label});
    pthread_t threads[WRITERS];

    for (int i = 0; i < WRITERS; i++)
        pthread_create(&threads[i], NULL, count, records);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    metrics_text(metrics, &out);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);

    double sum = 0;
    for (int i = 0; i < 97; i++) {
        char topic[16];
        snprintf(topic, sizeof topic, "%d", i);
        sum += series_value(metric_series(records, (const char *[]){topic}));
    }
    assert_int_equal((int)sum, WRITERS * STEPS);
    buf_reset(&out);
    metrics_text(metrics, &out);
    int lines = 0;
    for (const char *c = buf_text(&out); *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 2 + 97);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_counters_and_gauges_with_escaped_labels),
        cmocka_unit_test(prints_histograms_with_cumulated_buckets),
        cmocka_unit_test(gathers_what_passes_the_ceiling_in_one_series),
        cmocka_unit_test(prints_numbers_that_are_none),
        cmocka_unit_test(refuses_what_the_format_does_not_allow),
        cmocka_unit_test(loses_no_count_between_threads),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
