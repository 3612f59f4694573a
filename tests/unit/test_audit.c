/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What vectors can't say of the audit: the records of one event, what is refused, and
 * the forms where the specification goes beyond its model.
 */
#include "derive.h"

#include "unit.h"

#include "json.h"

/* One event on its way in, and what came out. */
struct sample {
    struct arena arena;
    struct emits out;
    struct tuning_event event;
    struct log_part logs[4];
    struct default_entry defaults[4];
    struct message in;
    struct err err;
};

static const struct provenance worker = {
    .worker = {"audit", 5}, .version = {"0", 1}, .config_sha256 = {"c", 1}};

static void
sample_done(struct sample *sample)
{
    arena_done(&sample->arena);
}

static void
sample_init(struct sample *sample)
{
    *sample = (struct sample){0};
    sample->out.arena = &sample->arena;
    sample->event.origin.captured_at_us = 1786957200000001;
    sample->event.workspace = SLICE("");
    sample->event.logs.items = sample->logs;
    sample->event.defaults.items = sample->defaults;
    sample->in = (struct message){.topic = "heddle.tunings",
                                  .offset = 7,
                                  .key = SLICE("key"),
                                  .value = SLICE("event")};
}

static void
set_result(struct sample *sample, const char *text)
{
    sample->event.result.kind = PAYLOAD_INLINE;
    sample->event.result.bytes = slice_of(text);
}

static void
add_log(struct sample *sample, const char *tuner, const char *text, int64_t event_time_us)
{
    struct log_part *log = &sample->logs[sample->event.logs.n++];
    log->tuner = slice_of(tuner);
    log->payload = (struct payload){.kind = PAYLOAD_INLINE, .bytes = slice_of(text)};
    log->event_time_us = event_time_us;
}

static void
set_e2e(struct sample *sample, const char *text)
{
    sample->event.has_e2e = true;
    sample->event.e2e.event_time_us = 5000999;
    sample->event.e2e.payload.kind = PAYLOAD_INLINE;
    sample->event.e2e.payload.bytes = slice_of(text);
}

static enum err_kind
derive(struct sample *sample)
{
    return audit_derive(&sample->event, &sample->in, &worker, &sample->out, &sample->err);
}

static const struct audit_row *
row_at(const struct sample *sample, size_t i)
{
    assert_true(i < sample->out.n);
    assert_ptr_equal(sample->out.items[i].type, &audit_row_type);
    return sample->out.items[i].value;
}

static const struct warning *
warning_at(const struct sample *sample, size_t i)
{
    assert_true(i < sample->out.n);
    assert_ptr_equal(sample->out.items[i].type, &warning_type);
    return sample->out.items[i].value;
}

static void
assert_text(struct slice got, const char *want)
{
    if (!slice_is(got, want))
        fail_msg("got %.*s, want %s", SLICE_ARG(got), want);
}

static void
assert_dead(struct sample *sample, const char *code)
{
    assert_int_equal(derive(sample), ERR_RECORD);
    assert_string_equal(sample->err.code, code);
    assert_string_equal(sample->err.stage, "derive");
}

static void
gives_the_row_and_withdraws_its_orphan(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    sample_init(&sample);
    set_result(&sample,
               "{\"attempt_id\": \"a\", \"status\": \"ok\", \"best_speedup\": 1.50, "
               "\"tuners_run\": [{\"tuner\": \"t\", \"best_micro_speedup\": 1.5, "
               "\"kept\": true, \"error\": \"exited with code -9\"}]}");

    assert_int_equal(derive(&sample), ERR_OK);

    const struct audit_row *row = row_at(&sample, 0);
    const struct tuner_entry *tuner = row->tuners.items;
    const struct input_ref *input = row->provenance.inputs.items;
    assert_int_equal(sample.out.n, 2);
    assert_text(row->run_key, "a");
    assert_text(row->row,
                "{\"best_speedup\": 1.50, \"engine\": \"unknown\", \"kind\": "
                "\"gemm_tuning\", \"status\": \"ok\", \"ts\": "
                "\"2026-08-17T09:00:00.000001+00:00\", \"tuners_run\": "
                "[{\"best_micro_speedup\": 1.5, \"error\": \"exited with code -9\", "
                "\"kept\": true, \"tuner\": \"t\"}]}");
    assert_text(row->verdict, "improved");
    assert_true(row->has_best_speedup && row->best_speedup > 1.49);
    assert_true(tuner->has_kept && tuner->kept);
    assert_int_equal(tuner->exit_code, -9);
    assert_int_equal(input->offset, 7);
    assert_text(sample.out.items[1].key, "orphan:key");
    assert_null(sample.out.items[1].type);
    assert_int_equal(sample.out.items[0].timestamp_ms, 1786957200000);
}

static void
gives_an_orphan_record_for_parts_without_a_result(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    sample_init(&sample);
    add_log(&sample, "t", "# Exit code: 0\n", 7000999);
    set_e2e(&sample,
            "{\"status\": \"complete\", \"e2e_results\": {\"kept\": [{\"tuner\": "
            "\"q\"}]}}");

    assert_int_equal(derive(&sample), ERR_OK);

    const struct audit_row *row = row_at(&sample, 0);
    assert_text(sample.out.items[0].key, "orphan:key");
    assert_null(row->row.data);
    assert_text(row->x, "{\"notes\": [\"orphan_e2e:q\", \"orphan_log:t\"], "
                        "\"orphan_e2e\": {\"faults\": 0, \"kept\": 1, \"reverted\": 0, "
                        "\"status\": \"complete\"}, \"orphan_logs\": {\"t\": "
                        "{\"header_exit\": 0, \"rejected\": false}}, \"src\": {\"e2e\": "
                        "\"2574eca73f75f871c5087d9d40a8a06a\", \"logs\": {\"t\": "
                        "\"bda526b197fd945a3abc46e2e834fd0e\"}}}");
    assert_int_equal(sample.out.items[0].timestamp_ms, 7000);
}

static void
takes_the_key_of_the_workspace_for_a_record_without_one(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    sample_init(&sample);
    sample.in.key = (struct slice){NULL, 0};
    sample.event.workspace = SLICE("/r/M/S/runs/gemm_tuning/T");
    set_result(&sample, "{}");

    assert_int_equal(derive(&sample), ERR_OK);

    assert_text(row_at(&sample, 0)->run_key, "M/S/T");
    assert_text(sample.out.items[1].key, "orphan:M/S/T");
}

static void
fills_absent_keys_but_not_null_ones(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    sample_init(&sample);
    set_result(&sample, "{\"backend\": null, \"decision\": \"KEEP\"}");
    sample.defaults[0] = (struct default_entry){SLICE("backend"), SLICE("\"forge\"")};
    sample.defaults[1] = (struct default_entry){SLICE("engine"), SLICE("\"FORGE\"")};
    sample.defaults[2] = (struct default_entry){SLICE("decision"), SLICE("\"REVERT\"")};
    sample.event.defaults.n = 3;
    sample.event.workspace = SLICE("w");

    assert_int_equal(derive(&sample), ERR_OK);

    assert_text(row_at(&sample, 0)->row,
                "{\"decision\": \"KEEP\", \"engine\": \"forge\", \"kind\": "
                "\"gemm_tuning\", \"ts\": \"2026-08-17T09:00:00.000001+00:00\", "
                "\"tuners_run\": [], \"workspace\": \"w\"}");
}

static void
refuses_what_is_no_event_of_a_run(void **state)
{
    (void)state;
    static const struct {
        const char *result, *code;
    } cases[] = {
        {"", "result_empty"},          {" \n", "result_empty"},
        {"{", "result_unparseable"},   {"[1]", "result_not_an_object"},
        {NULL, "event_without_parts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CLEANUP(sample_done) struct sample sample;
        sample_init(&sample);
        if (cases[i].result)
            set_result(&sample, cases[i].result);
        assert_dead(&sample, cases[i].code);
    }
}

static void
refuses_a_default_that_is_no_json_and_a_time_without_a_year(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample bad_default;
    CLEANUP(sample_done) struct sample bad_time;
    sample_init(&bad_default);
    sample_init(&bad_time);
    set_result(&bad_default, "{\"engine\": \"x\"}");
    set_result(&bad_time, "{}");
    bad_default.defaults[0] = (struct default_entry){SLICE("engine"), SLICE("forge")};
    bad_default.event.defaults.n = 1;
    bad_time.event.origin.captured_at_us = INT64_MAX;

    assert_dead(&bad_default, "tuning_event_malformed");
    assert_dead(&bad_time, "tuning_event_malformed");
}

static void
derives_the_row_without_a_verdict_that_is_no_object(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    CLEANUP(sample_done) struct sample alone;
    sample_init(&sample);
    sample_init(&alone);
    set_result(&sample, "{\"run_id\": \"r\"}");
    set_e2e(&sample, "[1]");
    set_e2e(&alone, "{");

    assert_int_equal(derive(&sample), ERR_OK);

    assert_non_null(memmem(row_at(&sample, 0)->x.data, row_at(&sample, 0)->x.len,
                           "\"e2e_invalid:array\"", 19));
    assert_text(warning_at(&sample, 2)->code, "e2e_invalid");
    assert_text(warning_at(&sample, 2)->subject, "r");
    assert_dead(&alone, "e2e_invalid");
}

static void
keeps_a_verdict_about_another_result_out_of_the_row(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    sample_init(&sample);
    sample.event.started_at = SLICE("later");
    set_result(&sample,
               "{\"started_at\": \"now\", \"tuners_run\": [{\"tuner\": \"t\"}]}");
    set_e2e(&sample, "{\"e2e_results\": {\"kept\": [{\"tuner\": \"t\"}]}}");

    assert_int_equal(derive(&sample), ERR_OK);

    assert_null(memmem(row_at(&sample, 0)->x.data, row_at(&sample, 0)->x.len, "e2e", 3));
    assert_text(row_at(&sample, 1)->run_key, "orphan:key");
    assert_null(row_at(&sample, 1)->row.data);
}

static void
lets_the_later_log_of_a_tuner_stand(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    sample_init(&sample);
    set_result(&sample, "{\"tuners_run\": [{\"tuner\": \"t\", \"status\": \"ok\"}]}");
    add_log(&sample, "t", "# TIMEOUT after 1s", 20);
    add_log(&sample, "t", "# Exit code: 0", 10);

    assert_int_equal(derive(&sample), ERR_OK);

    const struct tuner_entry *tuner = row_at(&sample, 0)->tuners.items;
    assert_text(tuner->outcome, "timed_out");
}

static void
warns_of_refused_options_and_stale_logs(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    sample_init(&sample);
    set_result(&sample, "{\"run_id\": \"r\", \"stderr_tail\": \"Error: No such option: "
                        "--x\", \"tuners_run\": [{\"tuner\": \"t\", "
                        "\"best_micro_speedup\": 2}]}");
    add_log(&sample, "t", "usage: p\np: error: ambiguous option: --l", 1);
    add_log(&sample, "u", "", 1);

    assert_int_equal(derive(&sample), ERR_OK);

    assert_int_equal(sample.out.n, 5);
    assert_text(warning_at(&sample, 2)->code, "run_rejected");
    assert_text(warning_at(&sample, 3)->code, "orphan_log");
    assert_text(warning_at(&sample, 4)->code, "stale_log");
    const struct warning_field *fields = warning_at(&sample, 3)->fields.items;
    assert_text(fields[1].key, "tuners");
    assert_text(fields[1].json, "[\"u\"]");
}

static void
makes_valid_utf_8_of_lone_surrogates(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    sample_init(&sample);
    set_result(&sample, "{\"run_id\": \"a\\ud800b\", \"status\": \"\\udfff\"}");

    assert_int_equal(derive(&sample), ERR_OK);

    assert_text(row_at(&sample, 0)->run_key, "a\xEF\xBF\xBD"
                                             "b");
    assert_text(row_at(&sample, 0)->status, "\xEF\xBF\xBD");
    assert_non_null(memmem(row_at(&sample, 0)->row.data, row_at(&sample, 0)->row.len,
                           "\"\\udfff\"", 8));
}

/* `{"KEY": [[...]]}` with that many levels, or an entry's error. */
static struct slice
nested(struct buf *out, const char *before, int levels, const char *behind)
{
    buf_add_str(out, before);
    for (int i = 0; i < levels; i++)
        buf_add_byte(out, '[');
    for (int i = 0; i < levels; i++)
        buf_add_byte(out, ']');
    buf_add_str(out, behind);
    return buf_slice(out);
}

static void
assert_in(struct slice text, const char *part)
{
    if (!memmem(text.data, text.len, part, strlen(part)))
        fail_msg("no %s in %.*s", part, (int)(text.len < 400 ? text.len : 400),
                 text.data);
}

static void
omits_a_row_field_nested_above_1000(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf deep = BUF_INIT;
    CLEANUP(buf_done) struct buf fine = BUF_INIT;
    CLEANUP(buf_done) struct buf error = BUF_INIT;
    struct audit_answer answer;
    struct audit_parts parts = {
        .result = nested(&deep, "{\"precision\": ", 1001, ", \"gpu_type\": 1}")};
    struct err err;

    assert_int_equal(audit_row_derive(&parts, &arena, &answer, &err), ERR_OK);
    assert_in(answer.row, "\"precision\": {\"$omitted_bytes\": 2002}");
    assert_in(answer.x, "\"notes\": [\"too_deep:precision\"]");

    parts.result = nested(&fine, "{\"precision\": ", 1000, "}");
    assert_int_equal(audit_row_derive(&parts, &arena, &answer, &err), ERR_OK);
    assert_in(answer.row, "\"precision\": [[[");

    parts.result = nested(
        &error, "{\"status\": \"failed\", \"tuners_run\": [{\"error\": ", 1001, "}]}");
    assert_int_equal(audit_row_derive(&parts, &arena, &answer, &err), ERR_OK);
    assert_in(answer.row, "\"error\": {\"$omitted_bytes\": 2002}");
    assert_in(answer.x, "too_deep:tuners_run[0].error");
}

static void
cuts_zeros_in_front_of_the_numbers_of_a_log(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct audit_log log = {SLICE("t"),
                            SLICE("# Elapsed: 007.50s\n# Exit code: -09\n"
                                  "!Process exited with code 002\n"),
                            0};
    struct audit_parts parts = {.result = SLICE("{}"), .logs = &log, .n_logs = 1};
    struct audit_answer answer;
    struct err err;

    assert_int_equal(audit_row_derive(&parts, &arena, &answer, &err), ERR_OK);

    assert_in(answer.x, "{\"t\": {\"elapsed_s\": 7.50, \"header_exit\": -9, "
                        "\"inner_exit\": 2, \"rejected\": false}}");
}

static void
asks_a_table_when_a_log_asks_often(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct audit_answer answer;
    struct err err;
    buf_add_str(&text, "# Command: python3 a/b.py x/last\n");
    for (int i = 0; i < 200; i++)
        buf_addf(&text, "usage: p%d\nq%d: error: ambiguous option: no\n", i, i);
    buf_add_str(&text, "last: error: ambiguous option: yes\n");
    struct audit_log log = {SLICE("t"), buf_slice(&text), 0};
    struct audit_parts parts = {.result = SLICE("{}"), .logs = &log, .n_logs = 1};

    assert_int_equal(audit_row_derive(&parts, &arena, &answer, &err), ERR_OK);

    assert_in(answer.x, "\"args\": \"yes\"");
    assert_in(answer.x, "\"prog\": \"last\"");
}

/* An array of `n` copies of `item`, which shows its position. */
static void
add_copies(
    struct buf *out, const char *before, const char *item, int n, const char *behind)
{
    buf_add_str(out, before);
    for (int i = 0; i < n; i++)
        buf_addf(out, "%s{\"tuner\": \"%s\", \"env_value\": \"%d\"}", i ? ", " : "", item,
                 i);
    buf_add_str(out, behind);
}

static void
joins_many_verdicts_with_many_entries_of_one_name(void **state)
{
    (void)state;
    enum { MANY = 40000 };
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf result = BUF_INIT;
    CLEANUP(buf_done) struct buf e2e = BUF_INIT;
    struct audit_answer answer;
    struct err err;
    add_copies(&result, "{\"tuners_run\": [", "t", MANY, "]}");
    add_copies(&e2e, "{\"e2e_results\": {\"kept\": [", "t", MANY, "], \"reverted\": [");
    add_copies(&e2e, "", "t", 1, "]}}");
    struct audit_parts parts = {.result = buf_slice(&result), .e2e = buf_slice(&e2e)};

    assert_int_equal(audit_row_derive(&parts, &arena, &answer, &err), ERR_OK);

    assert_in(answer.x, "\"notes\": [\"duplicate_tuner:t\", \"kept_ambiguous:0\"]");
    assert_in(answer.row, "[{\"best_micro_speedup\": null, \"kept\": null, ");
    assert_in(answer.row, "}, {\"best_micro_speedup\": null, \"kept\": true, ");
}

static void
counts_a_note_once_however_often_it_is_made(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf e2e = BUF_INIT;
    struct audit_answer answer;
    struct err err;
    add_copies(&e2e, "{\"e2e_results\": {\"kept\": [", "of no entry of this run", 200000,
               "]}}");
    struct audit_parts parts = {.result = SLICE("{}"), .e2e = buf_slice(&e2e)};

    assert_int_equal(audit_row_derive(&parts, &arena, &answer, &err), ERR_OK);

    assert_in(answer.x, "\"notes\": [\"orphan_e2e:of no entry of this run\"]");
}

static void
lets_the_result_then_the_last_default_of_a_key_stand(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct audit_answer answer;
    struct err err;
    struct default_entry defaults[] = {
        {SLICE("b"), SLICE("1")}, {SLICE("a"), SLICE("2")}, {SLICE("b"), SLICE("3")}};
    struct audit_parts parts = {.result = SLICE("{\"a\": null}"),
                                .defaults = {defaults, 3}};

    assert_int_equal(audit_row_derive(&parts, &arena, &answer, &err), ERR_OK);

    assert_in(answer.x, "\"unknown\": {\"a\": null, \"b\": 3}");
}

static void
says_that_defaults_are_too_large_not_malformed(void **state)
{
    (void)state;
    enum { N = 200 };
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct default_entry defaults[N];
    struct audit_answer answer;
    struct err err;
    for (int i = 0; i < N; i++)
        defaults[i] = (struct default_entry){SLICE("status"), SLICE("\"ok\"")};
    struct audit_parts parts = {.result = SLICE("{}"), .defaults = {defaults, N}};
    for (size_t max = 4096; max < 65536; max += 512) {
        arena_done(&arena);
        arena_init(&arena, max);
        if (audit_row_derive(&parts, &arena, &answer, &err))
            assert_string_equal(err.code, "record_too_large");
    }
    arena_done(&arena);
    arena_init(&arena, 4096);
    assert_int_equal(audit_row_derive(&parts, &arena, &answer, &err), ERR_RECORD);
}

/* A name in one long word, again and again: each word is looked at once. */
static void
finds_no_program_within_a_long_word_in_good_time(void **state)
{
    (void)state;
    enum { WORD = 4 << 20, NAME = 1 << 16 };
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct audit_answer answer;
    struct err err;
    buf_add_str(&text, "# Command: ");
    for (int i = 0; i < WORD; i++)
        buf_add_byte(&text, 'a');
    buf_add_str(&text, " x/a\u2028\n");
    for (int i = 0; i < NAME; i++)
        buf_add_byte(&text, 'a');
    buf_add_str(&text,
                ": error: ambiguous option: no\na: error: ambiguous option: yes\n");
    struct audit_log log = {SLICE("t"), buf_slice(&text), 0};
    struct audit_parts parts = {.result = SLICE("{}"), .logs = &log, .n_logs = 1};

    assert_int_equal(audit_row_derive(&parts, &arena, &answer, &err), ERR_OK);

    assert_in(answer.x, "\"args\": \"yes\"");
}

static void
refuses_an_event_that_takes_too_much_memory(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    sample_init(&sample);
    arena_init(&sample.arena, 1 << 20);
    sample.event.result.kind = PAYLOAD_INLINE;
    sample.event.result.bytes = nested(&text, "{\"a\": ", 200000, "}");

    assert_dead(&sample, "record_too_large");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_row_and_withdraws_its_orphan),
        cmocka_unit_test(gives_an_orphan_record_for_parts_without_a_result),
        cmocka_unit_test(takes_the_key_of_the_workspace_for_a_record_without_one),
        cmocka_unit_test(fills_absent_keys_but_not_null_ones),
        cmocka_unit_test(refuses_what_is_no_event_of_a_run),
        cmocka_unit_test(refuses_a_default_that_is_no_json_and_a_time_without_a_year),
        cmocka_unit_test(derives_the_row_without_a_verdict_that_is_no_object),
        cmocka_unit_test(keeps_a_verdict_about_another_result_out_of_the_row),
        cmocka_unit_test(lets_the_later_log_of_a_tuner_stand),
        cmocka_unit_test(warns_of_refused_options_and_stale_logs),
        cmocka_unit_test(makes_valid_utf_8_of_lone_surrogates),
        cmocka_unit_test(omits_a_row_field_nested_above_1000),
        cmocka_unit_test(cuts_zeros_in_front_of_the_numbers_of_a_log),
        cmocka_unit_test(asks_a_table_when_a_log_asks_often),
        cmocka_unit_test(joins_many_verdicts_with_many_entries_of_one_name),
        cmocka_unit_test(counts_a_note_once_however_often_it_is_made),
        cmocka_unit_test(lets_the_result_then_the_last_default_of_a_key_stand),
        cmocka_unit_test(says_that_defaults_are_too_large_not_malformed),
        cmocka_unit_test(finds_no_program_within_a_long_word_in_good_time),
        cmocka_unit_test(refuses_an_event_that_takes_too_much_memory),
    };
    return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
