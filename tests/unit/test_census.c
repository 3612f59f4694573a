/* SPDX-License-Identifier: Apache-2.0 */
/* The census: the last record of a key stands, and nothing else is counted. */
#include "buf.h"
#include "census_fold.h"
#include "census_print.h"
#include "example.h"
#include "json_scan.h"

#include <stdio.h>

#include "unit.h"

CLEANUP_DEFINE(struct census, census_free);

static struct audit_row
record(const char *row, const char *x, const char *trace)
{
    return (struct audit_row){
        .row = slice_of(row), .x = slice_of(x), .trace = slice_of(trace)};
}

static void
add(struct census *census,
    const char *key,
    const char *row,
    const char *x,
    const char *trace)
{
    struct audit_row r = record(row, x, trace);
    struct err err = {0};
    if (census_add(census, slice_of(key), &r, &err))
        fail_msg("%s: %s", err.code, err.msg);
}

static struct census_counts
count(const struct census *census)
{
    struct census_counts counts;
    assert_int_equal(census_count(census, &counts, NULL), ERR_OK);
    return counts;
}

/* Tally as text: "name n, name n". */
static const char *
tally_text(const struct tally *tally, struct buf *out)
{
    buf_reset(out);
    for (size_t i = 0; i < tally->n; i++)
        buf_addf(out, "%s%.*s %zu", i ? ", " : "", SLICE_ARG(tally->rows[i].name),
                 tally->rows[i].n);
    return buf_text(out);
}

/* An ok run whose log shows that its tuner refused the arguments. */
static const char rejected_row[] =
    "{\"backend\": \"forge\", \"engine\": \"forge\", \"kind\": \"gemm_tuning\", "
    "\"micro_decision\": \"no_improvement\", \"status\": \"ok\", \"tuners_run\": "
    "[{\"best_micro_speedup\": null, \"elapsed_s\": 10.9, \"kept\": null, \"status\": "
    "\"no_improvement\", \"tuner\": \"sglang_dense_bf16\"}]}";
static const char rejected_x[] =
    "{\"run_key\": \"k\", \"tuners\": [{\"error_class\": \"unsupported_argument\", "
    "\"i\": 0, \"log\": {\"header_exit\": 0, \"inner_exit\": 2, \"masked_exit\": true, "
    "\"rejected\": true}, \"outcome\": \"rejected_arguments\"}], "
    "\"verdict\": \"failed\"}";
/* The same run before its log was there. */
static const char early_x[] =
    "{\"run_key\": \"k\", \"tuners\": [{\"i\": 0, \"outcome\": \"no_evidence\"}]}";
static const char crash_row[] = "{\"tuners_run\": [{\"best_micro_speedup\": null, "
                                "\"kept\": null, \"tuner\": \"a\"}]}";
static const char crash_x[] = "{\"tuners\": [{\"i\": 0, \"outcome\": \"crashed\"}]}";
static const char crash_with_log_x[] = "{\"tuners\": [{\"i\": 0, \"log\": {\"rejected\": "
                                       "false}, \"outcome\": \"crashed\"}]}";
static const char orphan_x[] =
    "{\"orphan_logs\": {\"a8w8_blockscale\": {\"header_exit\": 0, \"rejected\": false}}}";
static const char bare_geak_row[] =
    "{\"backend\": \"geak\", \"error_class\": \"legacy_geak_config_missing\", "
    "\"status\": \"skipped\", \"tuners_run\": []}";

static void
counts_a_row_with_its_entry_and_log(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    add(census, "k", rejected_row, rejected_x, "M/s");
    CLEANUP(census_counts_done) struct census_counts counts = count(census);

    assert_int_equal(counts.traces, 1);
    assert_int_equal(counts.rows, 1);
    assert_int_equal(counts.rows_status_ok, 1);
    assert_int_equal(counts.ok_rows_with_error_class, 0);
    assert_int_equal(counts.ok_rows_with_silent_entry, 1);
    assert_int_equal(counts.entries, 1);
    assert_int_equal(counts.silent, 1);
    assert_int_equal(counts.silent_in_ok_rows, 1);
    assert_int_equal(counts.entries_kept_non_null, 0);
    assert_int_equal(counts.logs, 1);
    assert_int_equal(counts.logs_orphan, 0);
    assert_int_equal(counts.logs_rejected, 1);
    assert_int_equal(counts.logs_rejected_zero_two, 1);
    assert_string_equal(tally_text(&counts.silent_by_outcome, &text),
                        "rejected_arguments 1");
    assert_string_equal(tally_text(&counts.silent_by_tuner, &text),
                        "sglang_dense_bf16 1");
    assert_string_equal(tally_text(&counts.silent_by_decision, &text),
                        "no_improvement 1");
    assert_string_equal(tally_text(&counts.logs_rejected_by_tuner, &text),
                        "sglang_dense_bf16 1");
}

static void
lets_the_last_record_of_a_key_stand(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    add(census, "k", rejected_row, early_x, "M/s");
    add(census, "other", bare_geak_row, "{}", "M/t");
    add(census, "k", rejected_row, rejected_x, "M/s");
    add(census, "k", rejected_row, rejected_x, "M/s");
    CLEANUP(census_counts_done) struct census_counts counts = count(census);

    assert_int_equal(counts.rows, 2);
    assert_int_equal(counts.traces, 2);
    assert_int_equal(counts.entries, 1);
    assert_int_equal(counts.logs, 1);
    assert_string_equal(tally_text(&counts.entries_by_outcome, &text),
                        "rejected_arguments 1");
}

static void
takes_a_tombstones_key_out(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);

    add(census, "orphan:k", NULL, orphan_x, NULL);
    assert_int_equal(census_drop(census, SLICE("orphan:k"), NULL), ERR_OK);
    assert_int_equal(census_drop(census, SLICE("never seen"), NULL), ERR_OK);
    CLEANUP(census_counts_done) struct census_counts counts = count(census);

    assert_int_equal(counts.orphan_records, 0);
    assert_int_equal(counts.logs, 0);
}

static void
counts_the_logs_of_an_orphan_record_and_no_row(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);

    add(census, "orphan:k", NULL, orphan_x, "M/s");
    CLEANUP(census_counts_done) struct census_counts counts = count(census);

    assert_int_equal(counts.rows, 0);
    assert_int_equal(counts.traces, 0);
    assert_int_equal(counts.entries, 0);
    assert_int_equal(counts.orphan_records, 1);
    assert_int_equal(counts.logs, 1);
    assert_int_equal(counts.logs_orphan, 1);
    assert_int_equal(counts.logs_rejected, 0);
}

static void
takes_the_trace_from_the_workspace_when_none_is_named(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);
    static const char *const workspaces[] = {
        "/c/M/s/runs/gemm_tuning/a",
        "/c/M/s/runs/gemm_tuning/b",
        "/c/M/t/runs/gemm_tuning/a",
        "elsewhere",
    };

    for (size_t i = 0; i < 4; i++) {
        struct audit_row r = record(bare_geak_row, "{}", NULL);
        r.workspace = slice_of(workspaces[i]);
        assert_int_equal(census_add(census, slice_of(workspaces[i]), &r, NULL), ERR_OK);
    }
    CLEANUP(census_counts_done) struct census_counts counts = count(census);

    assert_int_equal(counts.rows, 4);
    assert_int_equal(counts.traces, 2);
}

static void
names_what_is_absent_or_no_text(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    add(census, "a", "{\"tuners_run\": []}", "{}", NULL);
    add(census, "b", "{\"backend\": 7, \"tuners_run\": []}", "{}", NULL);
    add(census, "c", "{\"backend\": \"f\\u00e9\\\"\", \"tuners_run\": []}", "{}", NULL);
    CLEANUP(census_counts_done) struct census_counts counts = count(census);

    assert_string_equal(tally_text(&counts.rows_by_backend, &text),
                        "(none) 1, (not text) 1, f\xC3\xA9\" 1");
}

static void
counts_a_log_under_the_name_it_came_by(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    add(census, "a",
        "{\"tuners_run\": [{\"best_micro_speedup\": 2, \"kept\": true, \"tuner\": "
        "null}]}",
        "{\"tuners\": [{\"alias\": \"fmoe_ck\", \"i\": 0, \"log\": {\"rejected\": "
        "false}, "
        "\"outcome\": \"improved\"}]}",
        NULL);
    CLEANUP(census_counts_done) struct census_counts counts = count(census);

    assert_string_equal(tally_text(&counts.logs_by_tuner, &text), "fmoe_ck 1");
    assert_int_equal(counts.entries_improved, 1);
    assert_int_equal(counts.entries_kept_non_null, 1);
    assert_int_equal(counts.silent, 0);
}

static void
never_counts_the_older_record_of_an_unreadable_one(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{\"tuners_run\": [", "{}"},
        {"[]", "{}"},
        {"{\"tuners_run\": [7]}", "{\"tuners\": [{}]}"},
        {rejected_row, "{}"},
        {rejected_row, "{\"tuners\": [{}, {}]}"},
        {rejected_row, "{\"tuners\": [{\"log\": 1}]}"},
        {rejected_row, ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CLEANUP(census_freep) struct census *census = census_new(NULL);
        struct err err = {0};
        struct audit_row r = record(bad[i][0], bad[i][1], "M/s");
        add(census, "k", rejected_row, rejected_x, "M/s");

        assert_int_equal(census_add(census, SLICE("k"), &r, &err), ERR_RECORD);
        CLEANUP(census_counts_done) struct census_counts counts = count(census);

        assert_string_equal(err.code, "row_unreadable");
        assert_int_equal(counts.rows, 0);
        assert_int_equal(counts.logs, 0);
    }
}

static void
finds_the_smallest_key_of_an_outcome(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);

    add(census, "c", rejected_row, rejected_x, NULL);
    add(census, "b", rejected_row, rejected_x, NULL);
    add(census, "a", rejected_row, early_x, NULL);

    add(census, "d", crash_row, crash_x, NULL);
    add(census, "e", crash_row, crash_x, NULL);
    add(census, "f", crash_row, crash_with_log_x, NULL);

    assert_true(slice_is(census_find(census, "rejected_arguments"), "b"));
    assert_true(slice_is(census_find(census, "crashed"), "f"));
    assert_int_equal(census_drop(census, SLICE("f"), NULL), ERR_OK);
    assert_true(slice_is(census_find(census, "crashed"), "d"));
    assert_null(census_find(census, "improved").data);
}

/* `text` without blanks and line feeds. */
static const char *
packed(struct slice text, struct buf *out)
{
    buf_reset(out);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] != ' ' && text.data[i] != '\n')
            buf_add_byte(out, text.data[i]);
    return buf_text(out);
}

static void
lays_out_a_row_without_losing_a_byte(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    CLEANUP(buf_done) struct buf shown = BUF_INIT;
    CLEANUP(buf_done) struct buf want = BUF_INIT;
    struct example example = {.outcome = "rejected_arguments"};
    struct message in = {.topic = "t", .partition = 1, .offset = 7, .key = SLICE("k")};
    struct audit_row r = record(rejected_row, rejected_x, "M/s");

    example_write(&example, &in, &r);
    example_print(&example, &out);
    buf_done(&example.text);

    assert_non_null(strstr(buf_text(&out),
                           "\nrejected_arguments\n  k\n  t, partition 1, offset 7\n"));
    packed(buf_slice(&out), &shown);
    assert_non_null(strstr(buf_text(&shown), packed(slice_of(rejected_row), &want)));
    assert_non_null(strstr(buf_text(&shown), packed(slice_of(rejected_x), &want)));
    for (const char *line = buf_text(&out); *line; line = strchr(line, '\n') + 1)
        assert_true(strcspn(line, "\n") <= 120);
}

static void
says_that_no_row_has_the_outcome(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct example example = {.outcome = "crashed"};

    example_print(&example, &out);

    assert_string_equal(buf_text(&out),
                        "\ncrashed\n  no row has an entry of this outcome\n");
}

static void
holds_ten_thousand_keys_in_any_order(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);
    enum { N = 10000 };

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N; i++) {
            char key[32], trace[32];
            int at = round ? N - 1 - i : i;
            snprintf(key, sizeof key, "run-%d", at);
            snprintf(trace, sizeof trace, "M/%d", at / 2);
            add(census, key, rejected_row, round ? rejected_x : early_x, trace);
        }
    CLEANUP(census_counts_done) struct census_counts counts = count(census);

    assert_int_equal(counts.rows, N);
    assert_int_equal(counts.traces, N / 2);
    assert_int_equal(counts.logs_rejected, N);
}

static void
prints_json_with_the_published_names(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    enum json_type type = JSON_TYPE_NULL;
    add(census, "k", rejected_row, rejected_x, "M/s");
    add(census, "g", bare_geak_row, "{}", "M/s");
    CLEANUP(census_counts_done) struct census_counts counts = count(census);

    census_json(&counts, &out);

    assert_int_equal(json_scan_check(buf_slice(&out), &type, NULL), ERR_OK);
    assert_string_equal(
        buf_text(&out),
        "{\n \"entries_found_nothing\": 0,\n \"entries_improved\": 0,\n"
        " \"entries_without_speedup_by_outcome\": {\n  \"rejected_arguments\": 1\n },\n"
        " \"failed_or_empty_output_entries\": 0,\n"
        " \"geak_rows\": {\n  \"legacy_geak_config_missing\": 1,\n  \"rows\": 1,\n"
        "  \"skipped\": 1,\n  \"tuners_run_empty\": 1\n },\n"
        " \"kept_non_null\": 0,\n \"logs_by_tuner_sglang_dense_bf16\": 1,\n"
        " \"logs_rejected\": 1,\n"
        " \"logs_rejected_by_tuner\": {\n  \"sglang_dense_bf16\": 1\n },\n"
        " \"logs_rejected_header_zero_inner_two\": 1,\n \"no_speedup\": 1,\n"
        " \"no_speedup_by_decision\": {\n  \"no_improvement\": 1\n },\n"
        " \"no_speedup_by_tuner\": {\n  \"sglang_dense_bf16\": 1\n },\n"
        " \"no_speedup_in_ok_run\": 1,\n \"ok_rows_holding_a_tuner_without_speedup\": "
        "1,\n"
        " \"ok_rows_with_error_class\": 0,\n \"orphan_logs\": 0,\n \"rows\": 2,\n"
        " \"rows_by_backend\": {\n  \"forge\": 1,\n  \"geak\": 1\n },\n"
        " \"rows_status_ok\": 1,\n \"traces\": 1,\n \"tune_logs\": 1,\n"
        " \"tuner_entries\": 1\n}\n");
}

static void
prints_an_empty_census(void **state)
{
    (void)state;
    CLEANUP(census_freep) struct census *census = census_new(NULL);
    CLEANUP(buf_done) struct buf json = BUF_INIT;
    CLEANUP(buf_done) struct buf table = BUF_INIT;
    enum json_type type = JSON_TYPE_NULL;
    CLEANUP(census_counts_done) struct census_counts counts = count(census);

    census_json(&counts, &json);
    census_table(&counts, &table);

    assert_int_equal(json_scan_check(buf_slice(&json), &type, NULL), ERR_OK);
    assert_non_null(strstr(buf_text(&table), "rows"));
    assert_null(strstr(buf_text(&table), "geak"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_a_row_with_its_entry_and_log),
        cmocka_unit_test(lets_the_last_record_of_a_key_stand),
        cmocka_unit_test(takes_a_tombstones_key_out),
        cmocka_unit_test(counts_the_logs_of_an_orphan_record_and_no_row),
        cmocka_unit_test(takes_the_trace_from_the_workspace_when_none_is_named),
        cmocka_unit_test(names_what_is_absent_or_no_text),
        cmocka_unit_test(counts_a_log_under_the_name_it_came_by),
        cmocka_unit_test(never_counts_the_older_record_of_an_unreadable_one),
        cmocka_unit_test(finds_the_smallest_key_of_an_outcome),
        cmocka_unit_test(lays_out_a_row_without_losing_a_byte),
        cmocka_unit_test(says_that_no_row_has_the_outcome),
        cmocka_unit_test(holds_ten_thousand_keys_in_any_order),
        cmocka_unit_test(prints_json_with_the_published_names),
        cmocka_unit_test(prints_an_empty_census),
    };
    return cmocka_run_group_tests_name("census", tests, NULL, NULL);
}
