/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace event asks of the splitter (splitting.md 12.1). */
#include "event_params.h"

#include "unit.h"

static const struct split_hints none;

struct fixture {
    struct arena arena;
    struct trace_event event;
    struct event_params params;
    struct err err;
};

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    f->event.request = (struct request){
        .request_id = SLICE("r"), .framework = SLICE("vllm"), .attempt = 1};
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    arena_done(&f->arena);
    free(f);
    return 0;
}

static enum err_kind
read_with(struct fixture *f, const struct split_hints *environment)
{
    return event_params_of(&f->event, environment, &f->arena, &f->params, &f->err);
}

static void
set_baseline(struct fixture *f, const char *conc, const char *osl, const char *r)
{
    f->event.request.has_baseline = true;
    f->event.request.baseline =
        (struct baseline){slice_of(conc), slice_of(osl), slice_of(r)};
}

static const char *
complaint(const struct fixture *f)
{
    struct split_plan ignored;
    return split_params_check(&f->params.params, &ignored).parameter;
}

static void
splits_serving_by_phase_and_scripts_as_generic(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_with(f, &none), ERR_OK);
    assert_true(slice_is(f->params.record.mode, "auto"));
    assert_true(f->params.record.llm_inference);
    assert_int_equal(f->params.record.num_steps, 32);
    assert_true(slice_is(f->params.record.iterations, "all"));
    assert_false(f->params.record.has_conc || f->params.record.has_osl ||
                 f->params.record.has_r || f->params.record.has_max_num_seq);

    f->event.request.framework = SLICE(" XDiT ");
    assert_int_equal(read_with(f, &none), ERR_OK);
    assert_true(slice_is(f->params.record.mode, "generic"));
    assert_false(f->params.record.llm_inference);
}

static void
takes_hints_from_the_baseline_then_from_the_environment(void **state)
{
    struct fixture *f = *state;
    const struct split_hints environment = {SLICE("4"), SLICE("9"), SLICE("0.25")};
    set_baseline(f, " 64 ", "1.5e2", NULL);

    assert_int_equal(read_with(f, &environment), ERR_OK);

    assert_int_equal(f->params.record.conc, 64);
    assert_true(f->params.record.osl == 150.0);
    assert_true(f->params.record.r == 0.25);
    assert_null(complaint(f));
}

static void
gives_scripts_no_hints(void **state)
{
    struct fixture *f = *state;
    f->event.request.framework = SLICE("custom");
    set_baseline(f, "64", "128", "0.5");

    assert_int_equal(read_with(f, &none), ERR_OK);

    assert_false(f->params.record.has_conc || f->params.record.has_osl ||
                 f->params.record.has_r);
}

static void
lays_the_events_own_over_what_is_derived(void **state)
{
    struct fixture *f = *state;
    set_baseline(f, "64", "128", "0.5");
    f->event.split = (struct split_request_parameters){
        .has_num_steps = true,
        .num_steps = 2,
        .has_conc = true,
        .conc = 7,
        .has_r = true,
        .r = 1.5,
        .has_max_num_seq = true,
        .max_num_seq = 9,
        .mode = SLICE("decode_only"),
        .iterations = SLICE("3:9"),
        .has_llm_inference = true,
        .has_salvage = true,
        .salvage = true,
    };

    assert_int_equal(read_with(f, &none), ERR_OK);

    assert_int_equal(f->params.record.num_steps, 2); /* no floor */
    assert_int_equal(f->params.record.conc, 7);
    assert_true(f->params.record.osl == 128.0);
    assert_true(f->params.record.r == 1.5); /* before it is clamped */
    assert_int_equal(f->params.record.max_num_seq, 9);
    assert_true(slice_is(f->params.record.mode, "decode_only"));
    assert_true(slice_is(f->params.record.iterations, "3:9"));
    assert_false(f->params.record.llm_inference);
    assert_true(f->params.record.salvage);
    assert_false(f->params.record.allow_degraded);
}

static void
lets_nobody_choose_the_mode_of_a_script(void **state)
{
    struct fixture *f = *state;
    f->event.request.framework = SLICE("xdit");
    f->event.split.mode = SLICE("mixed");
    f->event.split.has_llm_inference = true;
    f->event.split.llm_inference = true;

    assert_int_equal(read_with(f, &none), ERR_OK);

    assert_true(slice_is(f->params.record.mode, "generic"));
    assert_false(f->params.record.llm_inference);
}

static void
never_takes_the_requested_mode(void **state)
{
    struct fixture *f = *state;
    f->event.request.requested_mode = SLICE("decode_only");

    assert_int_equal(read_with(f, &none), ERR_OK);

    assert_true(slice_is(f->params.record.mode, "auto"));
}

static void
refuses_hints_that_are_no_numbers_with_their_text(void **state)
{
    static const char *const texts[] = {"x1", "1.5", "+", "9223372036854775808", "0x10"};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        set_baseline(f, texts[i], NULL, NULL);
        assert_int_equal(read_with(f, &none), ERR_OK);
        assert_string_equal(complaint(f), "conc");
        assert_true(slice_is(event_params_reason(&f->params, SLICE("conc")), texts[i]));
        assert_false(f->params.record.has_conc);
    }
    set_baseline(f, NULL, "inf", NULL);
    assert_int_equal(read_with(f, &none), ERR_OK);
    assert_string_equal(complaint(f), "osl");
    assert_true(slice_is(event_params_reason(&f->params, SLICE("osl")), "inf"));
}

static void
reads_whole_numbers_to_their_ends(void **state)
{
    struct fixture *f = *state;
    set_baseline(f, "9223372036854775807", NULL, NULL);
    assert_int_equal(read_with(f, &none), ERR_OK);
    assert_true(f->params.record.conc == INT64_MAX);

    set_baseline(f, "-9223372036854775808", NULL, NULL);
    assert_int_equal(read_with(f, &none), ERR_OK);
    assert_true(f->params.record.conc == INT64_MIN);
    assert_string_equal(complaint(f), "conc"); /* a number, but none below 1 */
    assert_null(event_params_reason(&f->params, SLICE("conc")).data);

    set_baseline(f, "+8", NULL, NULL);
    assert_int_equal(read_with(f, &none), ERR_OK);
    assert_int_equal(f->params.record.conc, 8);
}

static void
drops_a_ratio_that_is_no_number(void **state)
{
    struct fixture *f = *state;
    set_baseline(f, NULL, NULL, "half");

    assert_int_equal(read_with(f, &none), ERR_OK);

    assert_false(f->params.record.has_r);
    assert_null(complaint(f));
}

static void
assert_malformed(struct fixture *f)
{
    assert_int_equal(read_with(f, &none), ERR_RECORD);
    assert_string_equal(f->err.code, "gate_request_malformed");
    assert_string_equal(f->err.stage, "gather");
    f->err = (struct err){0};
}

static void
takes_no_event_whose_request_is_malformed(void **state)
{
    struct fixture *f = *state;
    f->event.request.framework_kind = SLICE("scriptable");
    assert_malformed(f);
    f->event.request.framework_kind = SLICE("serving");
    assert_int_equal(read_with(f, &none), ERR_OK);
    f->event.request.attempt = 0;
    assert_malformed(f);
    f->event.request.attempt = 2;
    assert_malformed(f);
    f->event.request.retry_of = SLICE("r");
    f->event.request.from_mode = SLICE("mixed");
    f->event.request.source_warning_code = SLICE("c");
    assert_int_equal(read_with(f, &none), ERR_OK);
}

static void
has_the_key_of_the_first_attempt(void **state)
{
    struct fixture *f = *state;
    assert_true(slice_is(event_key(&f->event), "r"));

    f->event.request.attempt = 2;
    f->event.request.request_id = SLICE("r/2");
    f->event.request.retry_of = SLICE("r");

    assert_true(slice_is(event_key(&f->event), "r"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(splits_serving_by_phase_and_scripts_as_generic),
        CASE(takes_hints_from_the_baseline_then_from_the_environment),
        CASE(gives_scripts_no_hints),
        CASE(lays_the_events_own_over_what_is_derived),
        CASE(lets_nobody_choose_the_mode_of_a_script),
        CASE(never_takes_the_requested_mode),
        CASE(refuses_hints_that_are_no_numbers_with_their_text),
        CASE(reads_whole_numbers_to_their_ends),
        CASE(drops_a_ratio_that_is_no_number),
        CASE(takes_no_event_whose_request_is_malformed),
        CASE(has_the_key_of_the_first_attempt),
    };
    return cmocka_run_group_tests_name("event_params", tests, NULL, NULL);
}
