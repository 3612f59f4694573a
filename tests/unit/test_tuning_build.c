/* SPDX-License-Identifier: Apache-2.0 */
/* The tuning event of a run: identity, key, time, and what is claimed. */
#include "buf.h"
#include "tuning_build.h"

#include "unit.h"

#define WORKSPACE "/nfs/M/S/runs/gemm_tuning/t"

static struct tuning_part
part_of(const char *text, const char *path, int64_t event_time_us)
{
    struct tuning_part part = {.present = true,
                               .bytes = slice_of(text),
                               .path = slice_of(path),
                               .size = (int64_t)strlen(text),
                               .event_time_us = event_time_us};
    digest_hex(part.bytes, part.sha256);
    return part;
}

static struct tuning_parts
run_of(const char *workspace, const char *result, int64_t event_time_us)
{
    return (struct tuning_parts){.workspace = slice_of(workspace),
                                 .result = part_of(result, "/r", event_time_us),
                                 .node = SLICE("n1")};
}

struct built {
    struct arena arena;
    struct tuning_event event;
    struct slice key;
};

static void
built_done(struct built *built)
{
    arena_done(&built->arena);
}

static void
build(struct built *built, const struct tuning_parts *parts)
{
    struct err err = {0};
    if (tuning_build(parts, &built->arena, &built->event, &built->key, &err))
        fail_msg("%s", err.msg);
}

static void
assert_id(const struct tuning_parts *parts, const char *line)
{
    char id[DIGEST_HEX], want[DIGEST_HEX];
    assert_int_equal(tuning_event_id(parts, id, NULL), ERR_OK);
    digest_hex(slice_of(line), want);
    assert_string_equal(id, want);
}

static void
has_the_digest_of_its_line_form_as_identity(void **state)
{
    (void)state;
    struct tuning_parts parts = run_of(WORKSPACE "\xC3\xA9", "abc", 5);
    struct tuning_log log = {SLICE("a8w8"), part_of("abc", "/l", 4)};
    struct default_entry defaults[] = {{SLICE("backend"), SLICE("\"forge\"")},
                                       {SLICE("tp"), SLICE("1")}};
#define ABC "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\""
    assert_id(&parts, "{\"defaults\": {}, \"e2e\": null, \"logs\": [], \"result\": " ABC
                      ", \"started_at\": null, \"trace\": \"M/S\", \"workspace\": "
                      "\"" WORKSPACE "\\u00e9\"}");

    parts.logs = &log;
    parts.n_logs = 1;
    parts.e2e = part_of("abc", "/e", 7);
    parts.started_at = SLICE("2026-07-26T01:27:54Z");
    parts.defaults = defaults;
    parts.n_defaults = 2;

    assert_id(&parts, "{\"defaults\": {\"backend\": \"\\\"forge\\\"\", \"tp\": \"1\"}, "
                      "\"e2e\": {\"event_time_us\": 7, \"payload\": " ABC "}, "
                      "\"logs\": [{\"event_time_us\": 4, \"payload\": " ABC
                      ", \"tuner\": \"a8w8\"}], \"result\": " ABC
                      ", \"started_at\": \"2026-07-26T01:27:54Z\", \"trace\": \"M/S\", "
                      "\"workspace\": \"" WORKSPACE "\\u00e9\"}");
}

static void
keeps_its_identity_on_another_node_and_when_claimed(void **state)
{
    (void)state;
    struct tuning_parts parts = run_of(WORKSPACE, "abc", 5);
    char here[DIGEST_HEX], there[DIGEST_HEX];
    tuning_event_id(&parts, here, NULL);

    parts.node = SLICE("n2");
    parts.result.bytes = (struct slice){0};
    parts.result.path = SLICE("/elsewhere");
    tuning_event_id(&parts, there, NULL);

    assert_string_equal(here, there);
}

static void
changes_its_identity_with_a_payload(void **state)
{
    (void)state;
    struct tuning_parts one = run_of(WORKSPACE, "abc", 5);
    struct tuning_parts other = run_of(WORKSPACE, "abd", 5);
    char a[DIGEST_HEX], b[DIGEST_HEX];

    tuning_event_id(&one, a, NULL);
    tuning_event_id(&other, b, NULL);

    assert_string_not_equal(a, b);
}

static void
carries_key_trace_session_and_time_of_the_result(void **state)
{
    (void)state;
    CLEANUP(built_done) struct built built = {0};
    struct tuning_parts parts = run_of(WORKSPACE, "{}", 1785029274000999);
    parts.e2e = part_of("{}", "/e", 1785029999000000);

    build(&built, &parts);

    assert_true(slice_is(built.key, "M/S/t"));
    assert_true(slice_is(built.event.trace, "M/S"));
    assert_true(slice_is(built.event.origin.session, "M/S"));
    assert_true(slice_is(built.event.origin.node, "n1"));
    assert_true(slice_equal(built.event.origin.producer, tuning_producer));
    assert_int_equal(built.event.origin.captured_at_us, 1785029274000999);
    assert_int_equal(origin_timestamp_ms(&built.event.origin), 1785029274000);
    assert_int_equal(built.event.result.kind, PAYLOAD_INLINE);
    assert_true(built.event.has_e2e);
}

static void
takes_the_newest_part_as_time_without_a_result(void **state)
{
    (void)state;
    CLEANUP(built_done) struct built built = {0};
    struct tuning_log logs[] = {{SLICE("a"), part_of("x", "/a", 30)},
                                {SLICE("b"), part_of("y", "/b", 20)}};
    struct tuning_parts parts = {
        .workspace = SLICE(WORKSPACE), .logs = logs, .n_logs = 2, .node = SLICE("n")};

    build(&built, &parts);

    assert_int_equal(built.event.origin.captured_at_us, 30);
    assert_int_equal(built.event.result.kind, PAYLOAD_NONE);
    assert_int_equal(built.event.logs.n, 2);
}

static void
assert_key_of(const char *workspace, const char *result, const char *want)
{
    CLEANUP(built_done) struct built built = {0};
    struct tuning_parts parts = run_of(workspace, result, 5);

    build(&built, &parts);

    assert_int_equal(built.key.len, strlen(want));
    assert_memory_equal(built.key.data, want, built.key.len);
}

static void
takes_its_key_from_the_result_without_a_workspace(void **state)
{
    (void)state;
    assert_key_of("", "{\"run_id\": \"r\", \"attempt_id\": \"\\u0061\"}", "a");
    assert_key_of("", "\xEF\xBB\xBF{\"attempt_id\": \"\", \"run_id\": \"r\"}", "r");
    assert_key_of("", "{\"attempt_id\": \"x\", \"attempt_id\": 7, \"run_id\": \"r\"}",
                  "r");
    assert_key_of("", "abc", "sha256:ba7816bf8f01cfea414140de5dae2223");
    assert_key_of("/elsewhere", "{\"run_id\": \"r\"}", "/elsewhere");
}

static void
claims_the_largest_parts_above_the_inline_size(void **state)
{
    (void)state;
    CLEANUP(built_done) struct built built = {0};
    CLEANUP(buf_done) struct buf half = BUF_INIT;
    while (half.len < TUNING_INLINE_BYTES / 2)
        buf_add_byte(&half, 'x');
    struct tuning_log logs[] = {
        {SLICE("a"), part_of(buf_text(&half), "/a b/\xC3\xA9%", 1)},
        {SLICE("b"), part_of("small", "/b", 1)}};
    struct tuning_parts parts = run_of(WORKSPACE, buf_text(&half), 5);
    parts.logs = logs;
    parts.n_logs = 1;

    build(&built, &parts);
    const struct log_part *built_logs = built.event.logs.items;
    assert_int_equal(built.event.result.kind, PAYLOAD_INLINE);
    assert_int_equal(built_logs[0].payload.kind, PAYLOAD_INLINE);

    parts.n_logs = 2;
    build(&built, &parts);
    built_logs = built.event.logs.items;
    assert_int_equal(built.event.result.kind, PAYLOAD_INLINE);
    assert_int_equal(built_logs[1].payload.kind, PAYLOAD_INLINE);
    assert_int_equal(built_logs[0].payload.kind, PAYLOAD_CLAIM);
    assert_true(slice_is(built_logs[0].payload.claim.uri, "file:///a%20b/%C3%A9%25"));
    assert_int_equal(built_logs[0].payload.claim.size, TUNING_INLINE_BYTES / 2);
    assert_true(slice_is(built_logs[0].payload.claim.sha256, logs[0].part.sha256));
}

static void
claims_a_part_that_was_not_held(void **state)
{
    (void)state;
    CLEANUP(built_done) struct built built = {0};
    struct tuning_parts parts = run_of(WORKSPACE, "abc", 5);
    parts.result.bytes = (struct slice){0};
    parts.result.size = 1 << 30;

    build(&built, &parts);

    assert_int_equal(built.event.result.kind, PAYLOAD_CLAIM);
    assert_int_equal(built.event.result.claim.size, 1 << 30);
}

static void
refuses_a_run_without_parts_and_names_that_are_not_utf8(void **state)
{
    (void)state;
    CLEANUP(built_done) struct built built = {0};
    struct err err;
    struct tuning_parts none = {.workspace = SLICE(WORKSPACE)};
    struct tuning_parts bad = run_of("/\xFF", "{}", 5);

    assert_int_equal(tuning_build(&none, &built.arena, &built.event, &built.key, &err),
                     ERR_RECORD);
    assert_string_equal(err.code, "event_without_parts");
    assert_int_equal(tuning_build(&bad, &built.arena, &built.event, &built.key, &err),
                     ERR_RECORD);
    assert_string_equal(err.code, "text_invalid");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_digest_of_its_line_form_as_identity),
        cmocka_unit_test(keeps_its_identity_on_another_node_and_when_claimed),
        cmocka_unit_test(changes_its_identity_with_a_payload),
        cmocka_unit_test(carries_key_trace_session_and_time_of_the_result),
        cmocka_unit_test(takes_the_newest_part_as_time_without_a_result),
        cmocka_unit_test(takes_its_key_from_the_result_without_a_workspace),
        cmocka_unit_test(claims_the_largest_parts_above_the_inline_size),
        cmocka_unit_test(claims_a_part_that_was_not_held),
        cmocka_unit_test(refuses_a_run_without_parts_and_names_that_are_not_utf8),
    };
    return cmocka_run_group_tests_name("tuning_build", tests, NULL, NULL);
}
