/* SPDX-License-Identifier: Apache-2.0 */
/* What people hand to feed: --set and lines of events. */
#include "event_line.h"
#include "set_defaults.h"

#include "unit.h"

static enum err_kind
parse(struct arena *arena,
      const char **items,
      size_t n,
      struct default_entry **ret,
      size_t *ret_n,
      struct err *err)
{
    struct option_list set = {items, n};
    *err = (struct err){0};
    return set_defaults_parse(&set, arena, ret, ret_n, err);
}

static void
sorts_the_defaults_and_keeps_the_last_of_a_key(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    const char *items[] = {"tp=1", "backend=\"a=b\"", "tp={\"x\": [1.50, NaN]}"};
    struct default_entry *entries;
    size_t n;
    struct err err;

    assert_int_equal(parse(&arena, items, 3, &entries, &n, &err), ERR_OK);

    assert_int_equal(n, 2);
    assert_true(slice_is(entries[0].key, "backend"));
    assert_true(slice_is(entries[0].json, "\"a=b\""));
    assert_true(slice_is(entries[1].key, "tp"));
    assert_true(slice_is(entries[1].json, "{\"x\": [1.50, NaN]}"));
}

static void
shows_the_quotes_that_are_missing(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"backend=forge", "--set backend='\"forge\"'"},
        {"backend='forge'", "--set backend='\"forge\"'"},
        {"backend=\"forge", "--set backend='\"forge\"'"},
        {"backend=", "--set backend='\"\"'"},
        {"backend", "KEY=JSON"},
        {"=1", "KEY=JSON"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CLEANUP(arena_done) struct arena arena = ARENA_INIT;
        const char *items[] = {bad[i][0]};
        struct default_entry *entries;
        size_t n;
        struct err err;

        assert_int_equal(parse(&arena, items, 1, &entries, &n, &err), ERR_FATAL);

        assert_int_equal(err.exit_code, EXIT_USAGE);
        assert_non_null(strstr(err.msg, bad[i][1]));
    }
}

struct read_line {
    struct arena arena;
    struct tuning_parts parts;
    struct tuning_log log;
    struct err err;
};

static enum err_kind
read_line(struct read_line *line, const char *text)
{
    arena_reset(&line->arena);
    line->err = (struct err){0};
    return event_line_read(slice_of(text), &line->arena, &line->parts, &line->log,
                           &line->err);
}

static void
read_line_done(struct read_line *line)
{
    arena_done(&line->arena);
}

static void
takes_the_value_as_it_stands_in_the_line(void **state)
{
    (void)state;
    CLEANUP(read_line_done) struct read_line line = {0};

    assert_int_equal(read_line(&line, "{\"type\":\"tuning_result\",\"event_time_us\":-5,"
                                      "\"value\": { \"a\" :1.50 } ,\"trace\":null}"),
                     ERR_OK);

    assert_true(slice_is(line.parts.result.bytes, "{ \"a\" :1.50 }"));
    assert_int_equal(line.parts.result.event_time_us, -5);
    assert_true(slice_is(line.parts.workspace, ""));
    assert_null(line.parts.trace.data);
}

static void
prefers_the_text_of_a_value(void **state)
{
    (void)state;
    CLEANUP(read_line_done) struct read_line line = {0};

    assert_int_equal(read_line(&line, "{\"type\":\"e2e_result\",\"event_time_us\":5,"
                                      "\"value\":1,\"value_text\":\"{'\\u00e9\\n\"}"),
                     ERR_OK);

    assert_true(slice_is(line.parts.e2e.bytes, "{'\xC3\xA9\n"));
    assert_false(line.parts.result.present);
}

static void
takes_the_last_of_repeated_members(void **state)
{
    (void)state;
    CLEANUP(read_line_done) struct read_line line = {0};

    assert_int_equal(read_line(&line, "{\"type\":\"x\",\"type\":\"tune_log\",\"tuner\":"
                                      "\"t\",\"text\":\"\",\"event_time_us\":1}"),
                     ERR_OK);

    assert_int_equal(line.parts.n_logs, 1);
    assert_true(line.log.part.bytes.data != NULL);
    assert_int_equal(line.log.part.size, 0);
}

static void
names_the_member_that_is_wrong(void **state)
{
    (void)state;
#define RESULT "\"type\":\"tuning_result\","
    static const char *const bad[][2] = {
        {"{\"event_time_us\":1}", "`type`"},
        {"{\"type\":7,\"event_time_us\":1}", "`type`"},
        {"{\"type\":\"new\",\"event_time_us\":1}", "`type`"},
        {"{" RESULT "\"value\":{}}", "`event_time_us`"},
        {"{" RESULT "\"value\":{},\"event_time_us\":\"1\"}", "`event_time_us`"},
        {"{" RESULT "\"value\":{},\"event_time_us\":1e3}", "`event_time_us`"},
        {"{" RESULT "\"value\":{},\"event_time_us\":9223372036854775808}",
         "`event_time_us`"},
        {"{" RESULT "\"event_time_us\":1}", "`value`"},
        {"{" RESULT "\"event_time_us\":1,\"value_text\":{}}", "`value_text`"},
        {"{" RESULT "\"event_time_us\":1,\"value\":1,\"workspace\":1}", "`workspace`"},
        {"{\"type\":\"tune_log\",\"event_time_us\":1,\"text\":\"\"}", "`tuner`"},
        {"{\"type\":\"tune_log\",\"event_time_us\":1,\"tuner\":\"\"}", "`text`"},
        {"[1]", "array"},
        {"{", "no JSON"},
    };
    CLEANUP(read_line_done) struct read_line line = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(read_line(&line, bad[i][0]), ERR_RECORD);
        if (!strstr(line.err.msg, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], line.err.msg);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_the_defaults_and_keeps_the_last_of_a_key),
        cmocka_unit_test(shows_the_quotes_that_are_missing),
        cmocka_unit_test(takes_the_value_as_it_stands_in_the_line),
        cmocka_unit_test(prefers_the_text_of_a_value),
        cmocka_unit_test(takes_the_last_of_repeated_members),
        cmocka_unit_test(names_the_member_that_is_wrong),
    };
    return cmocka_run_group_tests_name("feed_input", tests, NULL, NULL);
}
