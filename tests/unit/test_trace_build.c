/* SPDX-License-Identifier: Apache-2.0 */
/* Trace events: what is asked, the ids that follow from it, what travels inline. */
#include "trace_build.h"

#include "unit.h"

struct place {
    struct arena arena;
    struct trace_ask ask;
    struct err err;
};

static int
set_up(void **state)
{
    *state = calloc(1, sizeof(struct place));
    return *state ? 0 : -1;
}

static int
tear_down(void **state)
{
    struct place *place = *state;
    arena_done(&place->arena);
    free(place);
    return 0;
}

static enum err_kind
parse(struct place *place, const char *text)
{
    place->err = (struct err){0};
    return trace_ask_parse(slice_of(text), &place->arena, &place->ask, &place->err);
}

/* --- what is asked ----------------------------------------------------------------- */

static void
reads_every_member(void **state)
{
    struct place *place = *state;
    const struct request *request = &place->ask.request;
    const struct split_request_parameters *split = &place->ask.split;

    assert_int_equal(
        parse(place,
              "{\"framework\": \"vllm\", \"framework_kind\": \"serving\","
              " \"requested_mode\": \"mixed\", \"target_platform\": \"mi300x\","
              " \"model_name\": \"M\\u00fc\", \"campaign_framework\": \"xdit\","
              " \"baseline\": {\"conc\": 64, \"osl\": \"1024\","
              " \"random_range_ratio\": 0.80}, \"split\": {\"num_steps\": 16,"
              " \"conc\": 5000000000, \"osl\": 8, \"r\": 0.25, \"max_num_seq\": 256,"
              " \"mode\": \"auto\", \"iterations\": \"2:9\", \"llm_inference\": true,"
              " \"allow_degraded\": false, \"salvage\": true}}"),
        ERR_OK);

    assert_int_equal(request->attempt, 1);
    assert_true(slice_is(request->framework, "vllm"));
    assert_true(slice_is(request->framework_kind, "serving"));
    assert_true(slice_is(request->requested_mode, "mixed"));
    assert_true(slice_is(request->target_platform, "mi300x"));
    assert_true(slice_is(request->model_name, "M\xC3\xBC"));
    assert_true(slice_is(request->campaign_framework, "xdit"));
    assert_true(slice_is(request->baseline.conc, "64"));
    assert_true(slice_is(request->baseline.osl, "1024"));
    assert_true(slice_is(request->baseline.random_range_ratio, "0.80"));
    assert_true(split->has_num_steps && split->num_steps == 16);
    assert_true(split->has_conc && split->conc == 5000000000);
    assert_true(split->has_osl && split->osl == 8.0);
    assert_true(split->has_r && split->r == 0.25);
    assert_true(split->has_max_num_seq && split->max_num_seq == 256);
    assert_true(slice_is(split->mode, "auto"));
    assert_true(slice_is(split->iterations, "2:9"));
    assert_true(split->has_llm_inference && split->llm_inference);
    assert_true(split->has_allow_degraded && !split->allow_degraded);
    assert_true(split->has_salvage && split->salvage);
}

static void
takes_null_as_not_there(void **state)
{
    struct place *place = *state;
    assert_int_equal(parse(place, "{\"framework\": null, \"baseline\": null, \"split\":"
                                  " {\"conc\": null, \"mode\": null}}"),
                     ERR_OK);
    assert_null(place->ask.request.framework.data);
    assert_false(place->ask.split.has_conc);
    assert_null(place->ask.split.mode.data);
}

static void
names_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *needle;
    } cases[] = {
        {"", "no JSON object"},
        {"[]", "no JSON object"},
        {"{\"framework\": \"vllm\"", "no JSON object"},
        {"{\"framwork\": \"vllm\"}", "framwork"},
        {"{\"framework\": 7}", "framework"},
        {"{\"baseline\": 7}", "baseline"},
        {"{\"baseline\": {\"conc\": true}}", "baseline.conc"},
        {"{\"baseline\": {\"r\": 1}}", "baseline.r"},
        {"{\"split\": {\"num_steps\": 1.5}}", "split.num_steps"},
        {"{\"split\": {\"num_steps\": 3000000000}}", "split.num_steps"},
        {"{\"split\": {\"conc\": 99999999999999999999}}", "split.conc"},
        {"{\"split\": {\"conc\": \"64\"}}", "split.conc"},
        {"{\"split\": {\"r\": NaN}}", "split.r"},
        {"{\"split\": {\"r\": 1e999}}", "split.r"},
        {"{\"split\": {\"salvage\": 1}}", "split.salvage"},
        {"{\"split\": {\"framework\": \"vllm\"}}", "split.framework"},
    };
    struct place *place = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(parse(place, cases[i].text), ERR_RECORD);
        assert_string_equal(place->err.code, "request_invalid");
        if (!strstr(place->err.msg, cases[i].needle))
            fail_msg("%s: %s", cases[i].text, place->err.msg);
    }
}

static void
fills_what_is_open(void **state)
{
    struct place *place = *state;
    const struct trace_ask flags = {
        .request = {.framework = SLICE("sglang"),
                    .model_name = SLICE("M"),
                    .baseline = {.conc = SLICE("8"), .osl = SLICE("9")}},
    };
    assert_int_equal(
        parse(place, "{\"framework\": \"vllm\", \"baseline\": {\"conc\": 64}}"), ERR_OK);

    trace_ask_fill(&place->ask, &flags);

    assert_true(slice_is(place->ask.request.framework, "vllm"));
    assert_true(slice_is(place->ask.request.model_name, "M"));
    assert_true(place->ask.request.has_baseline);
    assert_true(slice_is(place->ask.request.baseline.conc, "64"));
    assert_true(slice_is(place->ask.request.baseline.osl, "9"));
    assert_null(place->ask.request.baseline.random_range_ratio.data);
}

static void
asks_for_nothing_where_nothing_is_said(void **state)
{
    struct place *place = *state;
    trace_ask_fill(&place->ask, &(struct trace_ask){0});
    assert_int_equal(place->ask.request.attempt, 1);
    assert_true(slice_is(place->ask.request.framework, ""));
    assert_non_null(place->ask.request.framework.data);
    assert_false(place->ask.request.has_baseline);
}

/* --- the event --------------------------------------------------------------------- */

static struct trace_parts
parts_of(struct place *place, const char *bytes)
{
    struct trace_parts parts = {
        .path = SLICE("/data/a b/rank0.pt.trace.json.gz"),
        .bytes = slice_of(bytes),
        .size = (int64_t)strlen(bytes),
        .event_time_us = 1785029274000123,
        .node = SLICE("node7"),
    };
    assert_int_equal(parse(place,
                           "{\"framework\": \"vllm\", \"baseline\": {\"conc\": 64},"
                           " \"split\": {\"osl\": 1024, \"r\": 0.1,"
                           " \"num_steps\": 16, \"salvage\": true}}"),
                     ERR_OK);
    trace_ask_fill(&place->ask, &(struct trace_ask){0});
    parts.ask = place->ask;
    digest_hex(parts.bytes, parts.sha256);
    return parts;
}

#define BASELINE                                                                         \
    "\"baseline\": {\"conc\": \"64\", \"osl\": null, \"random_range_ratio\": null}"
#define SPLIT                                                                            \
    "{\"allow_degraded\": null, \"conc\": null, \"iterations\": null, "                  \
    "\"llm_inference\": null, \"max_num_seq\": null, \"mode\": null, \"num_steps\": "    \
    "16, "                                                                               \
    "\"osl\": 1024.0, \"r\": 0.1, \"salvage\": true}"

static void
derives_both_ids_from_the_line_form(void **state)
{
    struct place *place = *state;
    struct trace_parts parts = parts_of(place, "bytes");
    char request_id[TRACE_REQUEST_ID_BYTES];
    char event_id[DIGEST_HEX];
    char expected[DIGEST_HEX];
    char line[2048];

    assert_int_equal(trace_request_id(&parts, request_id, &place->err), ERR_OK);
    assert_int_equal(trace_event_id(&parts, event_id, &place->err), ERR_OK);

    snprintf(line, sizeof line,
             "{\"request\": {\"attempt\": 1, " BASELINE ", \"campaign_framework\": null, "
             "\"framework\": \"vllm\", \"framework_kind\": null, \"from_mode\": null, "
             "\"model_name\": null, \"requested_mode\": null, \"source_warning_code\": "
             "null, \"target_platform\": null}, \"split\": " SPLIT ", \"trace\": \"%s\"}",
             parts.sha256);
    digest_hex(slice_of(line), expected);
    expected[32] = '\0';
    assert_string_equal(request_id, expected);

    snprintf(line, sizeof line,
             "{\"payload\": \"%s\", \"request\": {\"attempt\": 1, " BASELINE ", "
             "\"campaign_framework\": null, \"framework\": \"vllm\", \"framework_kind\": "
             "null, \"from_mode\": null, \"model_name\": null, \"request_id\": \"%s\", "
             "\"requested_mode\": null, \"retry_of\": null, \"source_warning_code\": "
             "null, \"target_platform\": null}, \"split\": " SPLIT
             ", \"trace_name\": \"rank0.pt.trace.json.gz\"}",
             parts.sha256, request_id);
    digest_hex(slice_of(line), expected);
    assert_string_equal(event_id, expected);
}

static void
gives_another_id_to_another_request(void **state)
{
    struct place *place = *state;
    struct trace_parts parts = parts_of(place, "bytes");
    char first[TRACE_REQUEST_ID_BYTES];
    char second[TRACE_REQUEST_ID_BYTES];
    assert_int_equal(trace_request_id(&parts, first, &place->err), ERR_OK);
    parts.path = SLICE("/elsewhere/x.pt.trace.json");
    assert_int_equal(trace_request_id(&parts, second, &place->err), ERR_OK);
    assert_string_equal(first, second);
    parts.ask.split.r = 0.2;
    assert_int_equal(trace_request_id(&parts, second, &place->err), ERR_OK);
    assert_string_not_equal(first, second);
}

static void
sends_a_small_trace_inline(void **state)
{
    struct place *place = *state;
    struct trace_parts parts = parts_of(place, "bytes");
    struct trace_event event;
    char id[TRACE_REQUEST_ID_BYTES];
    assert_int_equal(trace_build(&parts, &place->arena, &event, &place->err), ERR_OK);
    assert_int_equal(event.payload.kind, PAYLOAD_INLINE);
    assert_true(slice_is(event.payload.bytes, "bytes"));
    assert_true(slice_is(event.trace_name, "rank0.pt.trace.json.gz"));
    assert_int_equal(trace_request_id(&parts, id, &place->err), ERR_OK);
    assert_true(slice_is(event.request.request_id, id));
    assert_null(event.request.retry_of.data);
    assert_int_equal(event.origin.captured_at_us, 1785029274000123);
    assert_int_equal(event.origin.event_id.len, 64);
    assert_true(slice_is(event.origin.node, "node7"));
}

static void
claims_a_large_one(void **state)
{
    struct place *place = *state;
    struct trace_parts parts = parts_of(place, "bytes");
    struct trace_event event;
    char *large = calloc(1, TRACE_INLINE_BYTES + 1);
    assert_non_null(large);
    parts.bytes = (struct slice){large, TRACE_INLINE_BYTES};
    assert_int_equal(trace_build(&parts, &place->arena, &event, &place->err), ERR_OK);
    assert_int_equal(event.payload.kind, PAYLOAD_INLINE);

    parts.bytes.len++;
    assert_int_equal(trace_build(&parts, &place->arena, &event, &place->err), ERR_OK);
    assert_int_equal(event.payload.kind, PAYLOAD_CLAIM);
    assert_true(
        slice_is(event.payload.claim.uri, "file:///data/a%20b/rank0.pt.trace.json.gz"));
    assert_int_equal(event.payload.claim.size, 5);
    assert_true(slice_is(event.payload.claim.sha256, parts.sha256));

    parts.bytes = (struct slice){0};
    assert_int_equal(trace_build(&parts, &place->arena, &event, &place->err), ERR_OK);
    assert_int_equal(event.payload.kind, PAYLOAD_CLAIM);
    free(large);
}

static void
refuses_a_name_that_no_event_can_carry(void **state)
{
    struct place *place = *state;
    struct trace_parts parts = parts_of(place, "bytes");
    struct trace_event event;
    parts.path = SLICE("/data/\xFF.pt.trace.json");
    assert_int_equal(trace_build(&parts, &place->arena, &event, &place->err), ERR_RECORD);
    assert_string_equal(place->err.code, "text_invalid");
}

int
main(void)
{
#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PLACE_TEST(reads_every_member),
        PLACE_TEST(takes_null_as_not_there),
        PLACE_TEST(names_what_is_wrong),
        PLACE_TEST(fills_what_is_open),
        PLACE_TEST(asks_for_nothing_where_nothing_is_said),
        PLACE_TEST(derives_both_ids_from_the_line_form),
        PLACE_TEST(gives_another_id_to_another_request),
        PLACE_TEST(sends_a_small_trace_inline),
        PLACE_TEST(claims_a_large_one),
        PLACE_TEST(refuses_a_name_that_no_event_can_carry),
    };
    return cmocka_run_group_tests_name("trace_build", tests, NULL, NULL);
}
