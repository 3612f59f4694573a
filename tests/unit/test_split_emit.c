/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves the splitter: records that fit their topic, refusals, warnings. */
#include "split_emit.h"

#include "topics.h"
#include "warning.h"

#include "unit.h"

enum { NAME_BYTES = 1000, TOO_MANY_STEPS = 17000 };

struct fixture {
    struct arena arena;
    struct emits out;
    struct codec *codec;
    struct codec_plan *plan;
    struct trace_event event;
    struct split_parameters split;
    struct split_frame frame;
    struct split_record record;
    struct split_step *steps;
    struct err err;
};

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    f->codec = codec_new(&split_record_type, NULL, &f->err);
    f->plan = codec_plan_new(f->codec, codec_schema(f->codec), &f->err);
    f->out.arena = &f->arena;
    f->event = (struct trace_event){
        .origin = {SLICE("id"), SLICE("n"), SLICE(""), 5, SLICE("test")},
        .request = {.request_id = SLICE("r"), .framework = SLICE("vllm"), .attempt = 1}};
    f->split = (struct split_parameters){
        .num_steps = 32, .mode = SLICE("auto"), .iterations = SLICE("all")};
    f->frame = (struct split_frame){
        .event = &f->event,
        .split = &f->split,
        .trace = {.uri = SLICE("file:///t"), .sha256 = SLICE("abc")},
        .provenance = {.worker = SLICE("split"),
                       .version = SLICE("1"),
                       .config_sha256 = SLICE("c")},
        .key = SLICE("r"),
        .timestamp_ms = 9,
        .records = f->codec,
        .own_records = f->plan,
        .out = &f->out,
        .is_fetched = true,
    };
    *state = f;
    return f->plan ? 0 : -1;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    codec_plan_free(f->plan);
    codec_free(f->codec);
    arena_done(&f->arena);
    free(f->steps);
    free(f);
    return 0;
}

static void
make_steps(struct fixture *f, size_t n, const char *name)
{
    static int64_t tile[2];
    f->steps = calloc(n, sizeof *f->steps);
    assert_non_null(f->steps);
    for (size_t i = 0; i < n; i++)
        f->steps[i] = (struct split_step){.name = slice_of(name), .tile = {tile, 2}};
    f->record.steps = (struct list){f->steps, n};
    f->record.manifest.has_n_roots = true;
    f->record.manifest.n_roots = (int64_t)n;
}

static const struct split_record *
emitted(const struct fixture *f)
{
    assert_int_equal(f->out.n, 1);
    assert_string_equal(f->out.items[0].topic, TOPIC_SPLITS);
    assert_true(slice_is(f->out.items[0].key, "r"));
    assert_int_equal(f->out.items[0].timestamp_ms, 9);
    return f->out.items[0].value;
}

static void
keeps_a_copy_that_outlives_the_answer(void **state)
{
    struct fixture *f = *state;
    char name[] = "a step";
    make_steps(f, 3, name);

    assert_int_equal(split_emit_record(&f->frame, &f->record, &f->err), ERR_OK);
    memset(name, '?', sizeof name);
    memset(f->steps, 0xff, 3 * sizeof *f->steps);

    const struct split_record *record = emitted(f);
    const struct split_step *steps = record->steps.items;
    assert_int_equal(record->steps.n, 3);
    assert_true(slice_is(steps[2].name, "a step"));
    assert_int_equal(steps[2].tile.n, 2);
    assert_true(record->has_origin && record->has_request && record->has_provenance);
    const struct fact *fact = record->provenance.facts.items;
    assert_int_equal(record->provenance.facts.n, 1);
    assert_true(slice_is(fact->outcome, "fetched"));
    assert_true(slice_is(fact->sha256, "abc"));
}

static void
refuses_a_record_that_its_topic_does_not_take(void **state)
{
    struct fixture *f = *state;
    char name[NAME_BYTES + 1];
    memset(name, 'n', NAME_BYTES);
    name[NAME_BYTES] = '\0';
    make_steps(f, TOO_MANY_STEPS, name);

    assert_int_equal(split_emit_record(&f->frame, &f->record, &f->err), ERR_OK);

    const struct split_record *record = emitted(f);
    long long bytes = 0;
    assert_int_equal(record->result, SPLIT_RESULT_REFUSED);
    assert_true(slice_is(record->refusal.code, "output_failed"));
    assert_int_equal(sscanf(record->refusal.reason.data, "record of %lld bytes", &bytes),
                     1);
    assert_true(bytes > (long long)TOO_MANY_STEPS * NAME_BYTES);
    assert_int_equal(record->steps.n, 0);
    assert_int_equal(record->chunks.n, 0);
    assert_true(record->manifest.aborted);
    assert_int_equal(record->manifest.n_roots, TOO_MANY_STEPS);
}

static void
tells_the_refusals_of_errors_from_dead_letters(void **state)
{
    (void)state;
    struct split_refusal refusal;
    struct err err = {0};

    err_set(&err, ERR_RECORD, "trace_event_malformed", "no");
    assert_false(split_refusal_of(&err, &refusal));
    err_set(&err, ERR_RETRY, "trace_changed", "it changed");
    assert_true(split_refusal_of(&err, &refusal));
    assert_true(slice_is(refusal.code, "claim_unavailable"));
    assert_true(slice_is(refusal.reason, "it changed"));
    err_set(&err, ERR_RETRY, "claim_not_found", "gone");
    err.final_code = "claim_not_found";
    assert_true(split_refusal_of(&err, &refusal));
    assert_true(slice_is(refusal.code, "claim_not_found"));
    assert_null(refusal.reason.data);
    err_set(&err, ERR_RETRY, "store_unavailable", "full");
    err.final_code = "output_failed";
    assert_true(split_refusal_of(&err, &refusal));
    assert_true(slice_is(refusal.code, "output_failed"));
    err_set(&err, ERR_RECORD, "trace_too_large", "more");
    assert_true(split_refusal_of(&err, &refusal));
    assert_true(slice_is(refusal.limit, "max_spool_bytes"));
}

static void
names_what_failed_in_the_facts(void **state)
{
    struct fixture *f = *state;
    const struct split_refusal refusal = {.code = SLICE("claim_denied")};
    split_record_refused(&f->record, &refusal);
    f->frame.is_fetched = false;
    f->frame.failed = refusal.code;

    assert_int_equal(split_emit_record(&f->frame, &f->record, &f->err), ERR_OK);

    const struct split_record *record = emitted(f);
    const struct fact *fact = record->provenance.facts.items;
    assert_true(slice_is(fact->outcome, "failed"));
    assert_true(slice_is(fact->code, "claim_denied"));
    assert_null(fact->sha256.data);
    assert_true(record->manifest.aborted);
    assert_int_equal(record->manifest.input.n, 0);
}

static void
warns_of_a_store_that_is_away(void **state)
{
    struct fixture *f = *state;
    struct err why = {0};
    err_set(&why, ERR_RETRY, "store_unavailable", "no \"room\"");

    assert_int_equal(split_emit_store_away(&f->frame, SLICE("file:///s"), &why, &f->err),
                     ERR_OK);

    const struct warning *warning = f->out.items[0].value;
    const struct warning_field *fields = warning->fields.items;
    assert_string_equal(f->out.items[0].topic, TOPIC_WARNINGS);
    assert_true(slice_is(warning->code, "store_unavailable"));
    assert_int_equal(warning->severity, SEVERITY_ERROR);
    assert_true(slice_is(fields[0].key, "reason"));
    assert_true(slice_is(fields[0].json, "\"no \\\"room\\\"\""));
    assert_true(slice_is(fields[1].json, "\"file:///s\""));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(keeps_a_copy_that_outlives_the_answer),
        CASE(refuses_a_record_that_its_topic_does_not_take),
        CASE(tells_the_refusals_of_errors_from_dead_letters),
        CASE(names_what_failed_in_the_facts),
        CASE(warns_of_a_store_that_is_away),
    };
    return cmocka_run_group_tests_name("split_emit", tests, NULL, NULL);
}
