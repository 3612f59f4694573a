/* SPDX-License-Identifier: Apache-2.0 */
/* The index: which rule takes an event, what is counted, what the lists give back. */
#include "events.h"

#include "text_feed.h"

#include "unit.h"

enum { SPILL_BYTES = 64 << 20 };

/* A spill in memory that can be made to fail. */
struct scratch {
    char *data;
    bool is_broken;
};

static enum err_kind
write_scratch(void *state, uint64_t offset, const void *data, size_t len, struct err *err)
{
    struct scratch *scratch = state;
    if (scratch->is_broken || offset + len > SPILL_BYTES)
        return err_set(err, ERR_RETRY, "spill_failed", "no space left");
    memcpy(scratch->data + offset, data, len);
    return ERR_OK;
}

static enum err_kind
read_scratch(void *state, uint64_t offset, void *data, size_t len, struct err *err)
{
    struct scratch *scratch = state;
    if (scratch->is_broken)
        return err_set(err, ERR_RETRY, "spill_failed", "input/output error");
    memcpy(data, scratch->data + offset, len);
    return ERR_OK;
}

static enum err_kind
fill(struct events *events, struct slice text, struct err *err)
{
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    struct scan_answer answer;
    struct text_feed *pieces = text_feed_new(text, 0);
    struct feed feed = text_feed_feed(pieces);
    struct scan_listener listener = {
        .state = events, .event = events_add, .restart = events_reset};
    enum err_kind kind = scan_run(&feed, &listener, &limits, false, &answer, err);
    text_feed_free(pieces);
    return kind ? kind : events_close(events, err);
}

static struct events *
index_of(const char *text)
{
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    struct events *events = events_new(&limits, NULL);
    assert_int_equal(fill(events, slice_of(text), NULL), ERR_OK);
    return events;
}

CLEANUP_DEFINE(struct events, events_free);

#define X(cat, rest) "{\"ph\":\"X\",\"cat\":\"" cat "\",\"pid\":1,\"tid\":2," rest "}"

static void
sorts_events_into_the_lists_of_section_3(void **state)
{
    (void)state;
    CLEANUP(events_freep)
    struct events
        *
            events = index_of("[" X("cpu_op",
                                    "\"name\":\"op\",\"ts\":5,\"dur\":1") "," X("kernel", "\"name\":"
                                                                                          "\"k\","
                                                                                          "\"ts\":9."
                                                                                          "5,\"dur\":"
                                                                                          "2,"
                                                                                          "\"args\":{"
                                                                                          "\"correlat"
                                                                                          "ion\":7}") "," X("gpu_memcpy",
                                                                                                            "\"name\":\"m\",\"ts\":9,\"dur\":3") "," X("user_annotation",
                                                                                                                                                       "\"name\":\"step\",\"ts\":1,\"dur\":8") "," X("user_annotation",
                                                                                                                                                                                                     "\"name\":\"op2\",\"ts\":2,"
                                                                                                                                                                                                     "\"dur\":1,\"args\":{\"Input "
                                                                                                                                                                                                     "Dims\":"
                                                                                                                                                                                                     "null}") "," X("gpu_user_"
                                                                                                                                                                                                                    "annotation",
                                                                                                                                                                                                                    "\"name\":\"g\","
                                                                                                                                                                                                                    "\"ts\":1,"
                                                                                                                                                                                                                    "\"dur\":1") ","
                                                                                                                                                                                                                                 "{"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ph"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "i"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ","
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ts"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":4"
                                                                                                                                                                                                                                 "},"
                                                                                                                                                                                                                                 "{"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ph"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "M"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ","
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ts"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":1"
                                                                                                                                                                                                                                 ","
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "na"
                                                                                                                                                                                                                                 "me"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "pr"
                                                                                                                                                                                                                                 "oc"
                                                                                                                                                                                                                                 "es"
                                                                                                                                                                                                                                 "s_"
                                                                                                                                                                                                                                 "na"
                                                                                                                                                                                                                                 "me"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "},"
                                                                                                                                                                                                                                 "{"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ph"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "s"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ","
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "id"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":7"
                                                                                                                                                                                                                                 ","
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ts"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":1"
                                                                                                                                                                                                                                 "},"
                                                                                                                                                                                                                                 "{"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ph"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "f"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ","
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "id"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "7"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ","
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ts"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":2"
                                                                                                                                                                                                                                 "},"
                                                                                                                                                                                                                                 "{"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ph"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "f"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ","
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ts"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":2"
                                                                                                                                                                                                                                 "},"
                                                                                                                                                                                                                                 "{"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "ph"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "X"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ","
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "na"
                                                                                                                                                                                                                                 "me"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 ":"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "no"
                                                                                                                                                                                                                                 " t"
                                                                                                                                                                                                                                 "s"
                                                                                                                                                                                                                                 "\""
                                                                                                                                                                                                                                 "}"
                                                                                                                                                                                                                                 "]");

    assert_int_equal(events_cpu_count(events), 3);
    assert_int_equal(event_index(events_cpu(events, 0)), 3);
    assert_int_equal(event_category(events_cpu(events, 0)), CATEGORY_ANNOTATION);
    assert_int_equal(event_category(events_cpu(events, 1)), CATEGORY_OTHER);
    assert_int_equal(event_category(events_cpu(events, 2)), CATEGORY_CPU_OP);
    assert_int_equal(events_annotation_count(events), 1);
    assert_int_equal(events_gpu_annotation_count(events), 1);
    assert_int_equal(events_gpu_count(events), 2);
    assert_int_equal(event_category(events_gpu(events, 0)), CATEGORY_GPU_MEMCPY);
    assert_int_equal(events_gpu_busy_ns(events), 5000);
    assert_int_equal(events_instant_count(events), 1);
    assert_int_equal(events_counts(events)->metadata, 2);
    assert_int_equal(events_counts(events)->gpu_events_without_correlation, 1);
    struct event_run flows = events_flows_of(events, events_gpu(events, 1).correlation);
    assert_int_equal(flows.n, 2);
    assert_int_equal(events_flow(events, flows.first).index, 8);
    assert_int_equal(events_flow(events, flows.first + 1).index, 9);
}

static void
counts_what_it_can_not_use(void **state)
{
    (void)state;
    CLEANUP(events_freep)
    struct events *events = index_of("[" X("cpu_op", "\"ts\":\"x\",\"dur\":1") "," X(
        "cpu_op",
        "\"ts\":true,"
        "\"dur\":1") "," X("cpu_op",
                           "\"ts\":1") "," X("cpu_op",
                                             "\"ts\":1,\"dur\":null") "," X("cpu_op",
                                                                            "\"ts\":1,"
                                                                            "\"dur\":-"
                                                                            "1") "," X("c"
                                                                                       "p"
                                                                                       "u"
                                                                                       "_"
                                                                                       "o"
                                                                                       "p",
                                                                                       "\"ts\":"
                                                                                       "1"
                                                                                       ","
                                                                                       "\"dur\":"
                                                                                       "["
                                                                                       "1"
                                                                                       "]") "," X("cpu_op",
                                                                                                  "\"ts\":\" 1.5 \",\"dur\":\"2e3\"") ",{\"name\":\"no ph, no ts\"},"
                                                                                                                                      "{\"ts\":1,\"name\":\"no ph\",\"dur\":1}]");

    const struct event_counts *counts = events_counts(events);
    assert_int_equal(counts->event_objects, 8);
    assert_int_equal(counts->non_event_objects, 1);
    assert_int_equal(counts->bad_number, 3);
    assert_int_equal(counts->without_dur, 2);
    assert_int_equal(counts->negative_dur, 1);
    assert_int_equal(counts->string_number, 2);
    assert_int_equal(events_cpu_count(events), 2);
    assert_int_equal(events_cpu(events, 1).ts_ns, 1500);
    assert_int_equal(events_cpu(events, 1).dur_ns, 2000000);
}

static void
joins_begin_and_end_by_thread_in_file_order(void **state)
{
    (void)state;
    CLEANUP(events_freep)
    struct events *events = index_of(
        "[{\"ph\":\"B\",\"tid\":1,\"ts\":1,\"name\":\"outer\",\"cat\":\"user_"
        "annotation\"},"
        "{\"ph\":\"B\",\"tid\":1,\"ts\":2,\"name\":\"inner\"},"
        "{\"ph\":\"B\",\"tid\":2,\"ts\":2,\"name\":\"late\"},"
        "{\"ph\":\"E\",\"tid\":\"1\",\"ts\":3},{\"ph\":\"E\",\"tid\":1.0,\"ts\":9},"
        "{\"ph\":\"E\",\"tid\":1,\"ts\":10},{\"ph\":\"E\",\"tid\":2,\"ts\":1},"
        "{\"ph\":\"B\",\"tid\":3,\"ts\":2,\"name\":\"open\"}]");

    const struct event_counts *counts = events_counts(events);
    uint64_t end = 0;
    assert_int_equal(counts->begin_end_pairs, 2);
    assert_int_equal(counts->unmatched_begin_end, 2);
    assert_int_equal(counts->negative_dur, 1);
    assert_int_equal(events_annotation_count(events), 1);
    assert_int_equal(events_annotation(events, 0).dur_ns, 8000);
    assert_true(events_pair_end(events, 0, &end));
    assert_int_equal(end, 4);
    assert_true(events_pair_end(events, 1, &end));
    assert_int_equal(end, 3);
    assert_false(events_pair_end(events, 2, &end));
}

static void
takes_equal_ids_for_one_however_they_are_written(void **state)
{
    (void)state;
    CLEANUP(events_freep)
    struct events *events = index_of("[" X(
        "kernel",
        "\"ts\":3,\"dur\":1,\"args\":{"
        "\"correlation\":5}") "," X("kernel",
                                    "\"ts\":2,\"dur\":1,\"args\":{\"correlation\":"
                                    "\"5\"}") "," X("kernel",
                                                    "\"ts\":1,\"dur\":1,"
                                                    "\"args\":{"
                                                    "\"correlation\":5."
                                                    "0}") "," X("kernel",
                                                                "\"ts\":"
                                                                "1,"
                                                                "\"dur\":"
                                                                "1,"
                                                                "\"args\""
                                                                ":{"
                                                                "\"correl"
                                                                "ation\":"
                                                                "\"05\"}") "," X("kern"
                                                                                 "el",
                                                                                 "\"ts"
                                                                                 "\":"
                                                                                 "1,"
                                                                                 "\"du"
                                                                                 "r\":"
                                                                                 "1,"
                                                                                 "\"ar"
                                                                                 "gs\""
                                                                                 ":{"
                                                                                 "\"co"
                                                                                 "rrel"
                                                                                 "atio"
                                                                                 "n\":"
                                                                                 "9999"
                                                                                 "9999"
                                                                                 "999"
                                                                                 "}") "," X("kernel",
                                                                                            "\"ts\":1,\"dur\":1,\"args\":{\"correlation\":null}") "," X("kernel",
                                                                                                                                                        "\"ts\":1,\"dur\":1,\"args\":null") "]");
    char scratch[EVENT_ID_DIGITS];

    struct event first = events_gpu(events, 5);
    struct event_run run = events_gpu_of(events, first.correlation);

    assert_int_equal(event_index(first), 1);
    assert_int_equal(run.n, 3);
    for (uint64_t k = 0; k < 3; k++)
        assert_int_equal(event_index(events_gpu_linked(events, run.first + k)), k);
    struct slice five = events_id_text(events, first.correlation, scratch);
    assert_true(slice_is(five, "5"));
    struct event large = events_gpu(events, 2);
    assert_int_equal(events_gpu_of(events, large.correlation).n, 1);
    assert_true(
        slice_is(events_id_text(events, large.correlation, scratch), "99999999999"));
    assert_int_equal(events_counts(events)->gpu_events_without_correlation, 2);
    assert_int_equal(events_gpu_of(events, 0).n, 0);
    assert_int_equal(events_gpu_of(events, 123456).n, 0);
}

static void
gives_shapes_launches_and_threads_back(void **state)
{
    (void)state;
    CLEANUP(events_freep)
    struct events *events = index_of("[" X(
        "cpu_op",
        "\"ts\":1,\"dur\":1,\"args\":{\"Input Dims\":[[],[1]],"
        "\"Input type\":[\"f\"]}") "," X("cpu_op",
                                         "\"ts\":2,\"dur\":1,\"args\":{\"Input "
                                         "Dims\":[[], [ ]]}") "," X("cpu_op",
                                                                    "\"ts\":3,"
                                                                    "\"dur\":1,"
                                                                    "\"args\":{"
                                                                    "\"Input "
                                                                    "Dims\":[\"[[1\","
                                                                    " {\"a\":[[2]]}]"
                                                                    "}") "," X("cpu_"
                                                                               "op",
                                                                               "\"ts"
                                                                               "\":4,"
                                                                               "\"dur"
                                                                               "\":1,"
                                                                               "\"arg"
                                                                               "s\":{"
                                                                               "\"Inp"
                                                                               "ut "
                                                                               "Dims"
                                                                               "\":["
                                                                               "\"]"
                                                                               "\", "
                                                                               "[[]]]"
                                                                               "}") "," X("kernel",
                                                                                          "\"ts\":1,\"dur\":1,\"args\":{\"stream\":7,\"grid\":[1, 2],"
                                                                                          "\"block\":\"1\"}") "]");

    struct event_shape shape = events_shape(events, events_cpu(events, 0).detail);
    assert_true(slice_is(events_text(events, shape.dims), "[[],[1]]"));
    assert_true(slice_is(events_text(events, shape.type), "[\"f\"]"));
    assert_true(shape.has_dims);
    assert_false(events_shape(events, events_cpu(events, 1).detail).has_dims);
    assert_false(events_shape(events, events_cpu(events, 1).detail).has_type_key);
    assert_false(events_shape(events, events_cpu(events, 2).detail).has_dims);
    assert_true(events_shape(events, events_cpu(events, 3).detail).has_dims);
    struct event_launch launch = events_launch(events, events_gpu(events, 0).detail);
    assert_true(slice_is(events_text(events, launch.grid), "[1, 2]"));
    assert_int_equal(launch.block, 0);
    char scratch[EVENT_ID_DIGITS];
    assert_true(slice_is(events_id_text(events, launch.stream, scratch), "7"));
    struct event_thread thread =
        events_thread(events, event_thread(events_gpu(events, 0)));
    assert_true(slice_is(events_id_text(events, thread.tid, scratch), "2"));
}

static void
build_trace(struct buf *out, int n)
{
    uint64_t seed = 7;
    buf_add_str(out, "[");
    for (int i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        buf_addf(out,
                 "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"n%d\",\"pid\":%d,\"tid\":1,"
                 "\"ts\":%llu.%03d,\"dur\":1,\"args\":{\"correlation\":%llu}}",
                 i ? "," : "", i % 3 ? "cpu_op" : "kernel", i % 50, i % 2,
                 (unsigned long long)(seed >> 50), i % 1000,
                 (unsigned long long)(seed >> 40) % 1000);
    }
    buf_add_str(out, "]");
}

static void
assert_same_lists(const struct events *a, const struct events *b)
{
    assert_int_equal(events_cpu_count(a), events_cpu_count(b));
    for (uint64_t i = 0; i < events_cpu_count(a); i++) {
        struct event x = events_cpu(a, i);
        struct event y = events_cpu(b, i);
        assert_memory_equal(&x, &y, sizeof x);
        if (i)
            assert_true(events_cpu(a, i - 1).ts_ns <= x.ts_ns);
    }
    for (uint64_t i = 0; i < events_gpu_count(a); i++) {
        struct event_run x = events_gpu_of(a, events_gpu(a, i).correlation);
        struct event_run y = events_gpu_of(b, events_gpu(b, i).correlation);
        assert_int_equal(x.first, y.first);
        assert_int_equal(x.n, y.n);
    }
    for (uint32_t thread = 1; thread < events_thread_count(a); thread++) {
        struct event_run x = events_correlated_of(a, thread);
        struct event_run y = events_correlated_of(b, thread);
        assert_int_equal(x.n, y.n);
        assert_true(x.n > 0);
        assert_int_equal(events_correlated_from(a, x, 5000000),
                         events_correlated_from(b, y, 5000000));
    }
}

static void
gives_the_same_with_a_budget_and_without(void **state)
{
    (void)state;
    enum { EVENTS = 120000, BUDGET = 1 << 20 };
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    build_trace(&text, EVENTS);
    struct scratch scratch = {.data = malloc(SPILL_BYTES)};
    struct split_spill spill = {&scratch, write_scratch, read_scratch};
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    CLEANUP(events_freep) struct events *whole = events_new(&limits, NULL);
    limits.index_memory = BUDGET;
    CLEANUP(events_freep) struct events *paged = events_new(&limits, &spill);

    assert_int_equal(fill(whole, buf_slice(&text), NULL), ERR_OK);
    assert_int_equal(fill(paged, buf_slice(&text), NULL), ERR_OK);

    assert_same_lists(whole, paged);
    assert_int_equal(events_check(paged, NULL), ERR_OK);
    scratch.is_broken = true;
    for (uint64_t i = 0; i < EVENTS / 3; i += 1000)
        (void)events_gpu(paged, i);
    for (uint64_t i = 0; i < EVENTS / 2; i += 1000)
        (void)events_cpu(paged, i);
    struct err err = {0};
    assert_int_equal(events_check(paged, &err), ERR_RETRY);
    assert_string_equal(err.code, "spill_failed");
    free(scratch.data);
}

static void
refuses_more_distinct_strings_than_it_may_hold(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    limits.max_strings = 20000;
    CLEANUP(events_freep) struct events *events = events_new(&limits, NULL);
    struct err err = {0};
    buf_add_str(&text, "[");
    for (int i = 0; i < 5000; i++)
        buf_addf(&text, "%s" X("cpu_op", "\"name\":\"name%d\",\"ts\":1,\"dur\":1"),
                 i ? "," : "", i);
    buf_add_str(&text, "]");

    enum err_kind kind = fill(events, buf_slice(&text), &err);

    assert_int_equal(kind, ERR_RECORD);
    assert_string_equal(err.code, "trace_too_large");
    assert_string_equal(events_limit(events), "max_strings");
    assert_int_equal(events_reset(events, NULL), ERR_OK);
    assert_int_equal(fill(events, SLICE("[" X("kernel", "\"ts\":1,\"dur\":1") "]"), NULL),
                     ERR_OK);
    assert_int_equal(events_gpu_count(events), 1);
    assert_null(events_limit(events));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_events_into_the_lists_of_section_3),
        cmocka_unit_test(counts_what_it_can_not_use),
        cmocka_unit_test(joins_begin_and_end_by_thread_in_file_order),
        cmocka_unit_test(takes_equal_ids_for_one_however_they_are_written),
        cmocka_unit_test(gives_shapes_launches_and_threads_back),
        cmocka_unit_test(gives_the_same_with_a_budget_and_without),
        cmocka_unit_test(refuses_more_distinct_strings_than_it_may_hold),
    };
    return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
