/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in Python's dialect: what is read, what is refused, how it is written. */
#include "json.h"

#include "unit.h"

#include "text.h"
#include "unicode.h"

/* A document read from text; the test fails when it can't be. */
struct sample {
    struct arena arena;
    struct json doc;
    struct json_value root;
};

static void
sample_done(struct sample *sample)
{
    arena_done(&sample->arena);
}

static void
sample_read(struct sample *sample, struct slice text)
{
    struct err err;
    arena_init(&sample->arena, 0);
    if (json_read(&sample->doc, text, &sample->arena, &err))
        fail_msg("%s: %s", err.code, err.msg);
    sample->root = json_root(&sample->doc);
}

/* Reading and writing `text` gives `line`, of the size that was measured. */
static void
assert_line(struct slice text, const char *line)
{
    CLEANUP(sample_done) struct sample sample;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    sample_read(&sample, text);
    json_write(&out, sample.root);

    assert_string_equal(buf_text(&out), line);
    assert_int_equal(json_size(sample.root), strlen(line));
}

static void
assert_refused(struct slice text, const char *code)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct json doc;
    struct err err;

    if (json_read(&doc, text, &arena, &err) != ERR_RECORD)
        fail_msg("was read: %.*s", SLICE_ARG(text));
    assert_string_equal(err.code, code);
}

static void
keeps_the_text_of_numbers(void **state)
{
    (void)state;
    assert_line(SLICE("[12.500, 1e400,-0,9007199254740993,1E+2,-0.0]"),
                "[12.500, 1e400, -0, 9007199254740993, 1E+2, -0.0]");
}

static void
writes_nan_and_the_infinities_as_strings(void **state)
{
    (void)state;
    assert_line(SLICE("[NaN, Infinity, -Infinity]"),
                "[\"NaN\", \"Infinity\", \"-Infinity\"]");
}

static void
sorts_keys_by_code_point_and_keeps_the_last_of_equal_ones(void **state)
{
    (void)state;
    assert_line(SLICE("{\"b\": 1, \"\xF0\x9F\x98\x80\": 2, \"\\uffff\": 3, \"a\": 4, "
                      "\"b\": {\"z\": 5, \"z\": [6]}}"),
                "{\"a\": 4, \"b\": {\"z\": [6]}, \"\\uffff\": 3, "
                "\"\\ud83d\\ude00\": 2}");
}

static void
drops_repeated_keys_of_a_large_object(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(sample_done) struct sample sample;
    int64_t last = 0;

    buf_add_str(&text, "{\"z\": 0");
    for (int i = 0; i < 1000; i++)
        buf_addf(&text, ", \"k%d\": %d", i % 500, i);
    buf_add_byte(&text, '}');
    sample_read(&sample, buf_slice(&text));

    assert_int_equal(json_count(sample.root), 501);
    assert_true(json_int(json_get(sample.root, "k499"), &last));
    assert_int_equal(last, 999);
}

static void
joins_surrogate_pairs_and_keeps_lone_ones(void **state)
{
    (void)state;
    assert_line(SLICE("[\"\\ud83d\\ude00\", \"\\ud83d\", \"\\ude00\\ud83d\", "
                      "\"\\ud83d\\ud83d\\uDE00\", \"\\ud83dx\"]"),
                "[\"\\ud83d\\ude00\", \"\\ud83d\", \"\\ude00\\ud83d\", "
                "\"\\ud83d\\ud83d\\ude00\", \"\\ud83dx\"]");
}

static void
escapes_everything_outside_printable_ascii(void **state)
{
    (void)state;
    assert_line(SLICE("\"\\/\\b\\f\\n\\r\\t\\\"\\\\\\u0000\\u001f \x7f\xC3\xA9\""),
                "\"/\\b\\f\\n\\r\\t\\\"\\\\\\u0000\\u001f \\u007f\\u00e9\"");
}

static void
repairs_each_maximal_bad_part_once(void **state)
{
    (void)state;
    assert_line(
        SLICE("\"\xC0\x80|\xE2\x82|\xF0\x9F\x98|\xED\xA0\x80|\xFF|\xE2\x82\xAC\""),
        "\"\\ufffd\\ufffd|\\ufffd|\\ufffd|\\ufffd\\ufffd\\ufffd|\\ufffd|"
        "\\u20ac\"");
}

static void
skips_one_byte_order_mark(void **state)
{
    (void)state;
    assert_line(SLICE("\xEF\xBB\xBF {}"), "{}");
    assert_refused(SLICE("\xEF\xBB\xBF\xEF\xBB\xBF{}"), "json_invalid");
}

static void
tells_nothing_from_nonsense(void **state)
{
    (void)state;
    assert_refused(SLICE(""), "json_empty");
    assert_refused(SLICE(" \t\r\n"), "json_empty");
    assert_refused(SLICE("\xEF\xBB\xBF"), "json_empty");
    assert_refused(SLICE("\xC2\xA0"), "json_invalid");
}

static void
refuses_what_python_refuses(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "-",    "-NaN", "+1",      "01",        "1.",          ".5",
        "1e",   "1.e5", "--1",     "nan",       "[1,]",        "{\"a\":1,}",
        "{,}",  "[,]",  "{1:2}",   "{\"a\"}",   "{\"a\" 1}",   "[1 2]",
        "'a'",  "\"a",  "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "[}",
        "{]",   "[",    "{",       "[1",        "{\"a\":",     "{\"a\":1",
        "1 2",  "{} x", "tru",     "nulll",     "Infinit",     "\"a\nb\"",
        "\"\\", "[1]]", "-Inf",    "\v1",       "{\"a\":}",    "\"\\ud83d\\uZZZZ\"",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_refused(slice_of(texts[i]), "json_invalid");
    assert_refused(SLICE("1\0"), "json_invalid");
    assert_refused(SLICE("\"\0\""), "json_invalid");
}

static void
takes_a_megabyte_of_nesting_without_recursion(void **state)
{
    (void)state;
    enum { LEVELS = 500000 };
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    CLEANUP(sample_done) struct sample sample;

    for (int i = 0; i < LEVELS; i++)
        buf_add_byte(&text, '[');
    for (int i = 0; i < LEVELS; i++)
        buf_add_byte(&text, ']');
    sample_read(&sample, buf_slice(&text));
    json_write(&line, sample.root);

    assert_int_equal(json_depth(sample.root), LEVELS);
    assert_int_equal(json_size(sample.root), (size_t)2 * LEVELS);
    assert_true(slice_equal(buf_slice(&line), buf_slice(&text)));
}

static void
is_empty_where_python_is(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    struct slice key;
    struct json_value value;

    sample_read(&sample, SLICE("{\"no\": [null, false, 0, -0.0, 0e9, 1e-400, \"\", [], "
                               "{}], \"yes\": [true, 1, 1e-300, 1e400, NaN, \" \", "
                               "[0], {\"\": 0}]}"));
    struct json_iter no = json_iter(json_get(sample.root, "no"));
    struct json_iter yes = json_iter(json_get(sample.root, "yes"));

    while (json_next(&no, &key, &value))
        assert_false(json_truthy(value));
    while (json_next(&yes, &key, &value))
        assert_true(json_truthy(value));
    assert_false(json_truthy(json_get(sample.root, "absent")));
}

static void
rounds_numbers_as_strtod_does(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0.1",
        "1.0000001",
        "123456789012345678901234567890",
        "4.9e-324",
        "2.5e-324",
        "1.7976931348623157e308",
        "0.000000000000000000000000000001234567890123456789",
        "9007199254740993",
        "9007199254740992.9999999999",
        "1e23",
        "8.5e22",
        "-15.6",
        "100000000000000000000000e-23",
        "0e999999999999999999999",
        "2.2250738585072011e-308",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CLEANUP(sample_done) struct sample sample;
        double number = 0;
        double wanted = strtod(texts[i], NULL);

        sample_read(&sample, slice_of(texts[i]));

        assert_true(json_double(sample.root, &number));
        assert_memory_equal(&number, &wanted, sizeof number);
    }
}

static void
has_no_double_for_what_overflows(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    struct slice key;
    struct json_value value;
    double number = 0;

    sample_read(&sample, SLICE("[1e400, -1e400, NaN, \"1\", true, null]"));
    struct json_iter iter = json_iter(sample.root);

    while (json_next(&iter, &key, &value))
        assert_false(json_double(value, &number));
}

static enum err_kind
collect(void *state, struct slice path, struct err *err)
{
    (void)err;
    buf_add_slice(state, path);
    buf_add_byte(state, ' ');
    return ERR_OK;
}

static void
names_the_path_of_each_nan(void **state)
{
    (void)state;
    CLEANUP(sample_done) struct sample sample;
    CLEANUP(buf_done) struct buf paths = BUF_INIT;

    sample_read(&sample, SLICE("{\"a\": [1, NaN, {\"b\": -Infinity}], \"c\": NaN, "
                               "\"c\": 2, \"d\": [[], [[Infinity]]]}"));
    json_each_special(sample.root, SLICE("x"), collect, &paths, NULL);

    assert_string_equal(buf_text(&paths), "x.a[1] x.a[2].b x.d[1][0][0] ");
}

static void
refuses_what_needs_more_than_its_arena(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json doc;
    struct err err;

    arena_init(&arena, 1 << 16);
    buf_add_byte(&text, '[');
    for (int i = 0; i < 20000; i++)
        buf_add_str(&text, "1,");
    buf_add_str(&text, "1]");

    assert_int_equal(json_read(&doc, buf_slice(&text), &arena, &err), ERR_RECORD);
    assert_string_equal(err.code, "record_too_large");
}

static void
strips_and_lowers_as_python_does(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    static const struct {
        const char *text, *lower;
    } cases[] = {
        {"FORGE", "forge"},
        {"\xC3\x89", "\xC3\xA9"},
        {"\xC4\xB0", "i\xCC\x87"},
        {"\xCE\x91\xCE\xA3", "\xCE\xB1\xCF\x82"},
        {"\xCE\x91\xCE\xA3\xCE\x91", "\xCE\xB1\xCF\x83\xCE\xB1"},
        {"\xCE\xA3", "\xCF\x83"},
        {"A'\xCE\xA3'", "a'\xCF\x82'"},
        {"\xE2\x84\xAA", "k"},
        {"\xF0\x90\x90\x80", "\xF0\x90\x90\xA8"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct slice lower = unicode_lower(&arena, slice_of(cases[i].text));
        if (!slice_is(lower, cases[i].lower))
            fail_msg("%s became %.*s", cases[i].text, SLICE_ARG(lower));
    }
    assert_true(slice_is(unicode_strip(SLICE(" \xC2\xA0\x1C x \xE3\x80\x80\n")), "x"));
    assert_true(slice_is(unicode_strip(SLICE("\xE2\x80\x8Bx")), "\xE2\x80\x8Bx"));
    assert_true(unicode_is_folded(SLICE("\xE2\x80\x83 FAILED\n"), "failed"));
    assert_false(unicode_is_folded(SLICE("failed!"), "failed"));
    assert_false(unicode_is_folded(SLICE("faile"), "failed"));
}

static void
cuts_between_code_points(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;

    struct slice text = SLICE("a\xC3\xA9\xF0\x9F\x98\x80z");
    struct slice lone = SLICE("x\xED\xA0\xBDy");

    assert_int_equal(text_count(text), 4);
    assert_int_equal(text_cut(text, 3).len, 7);
    assert_int_equal(text_cut_bytes(text, 6).len, 3);
    assert_true(slice_is(text_scalar(&arena, lone), "x\xEF\xBF\xBDy"));
    assert_ptr_equal(text_scalar(&arena, text).data, text.data);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_text_of_numbers),
        cmocka_unit_test(writes_nan_and_the_infinities_as_strings),
        cmocka_unit_test(sorts_keys_by_code_point_and_keeps_the_last_of_equal_ones),
        cmocka_unit_test(drops_repeated_keys_of_a_large_object),
        cmocka_unit_test(joins_surrogate_pairs_and_keeps_lone_ones),
        cmocka_unit_test(escapes_everything_outside_printable_ascii),
        cmocka_unit_test(repairs_each_maximal_bad_part_once),
        cmocka_unit_test(skips_one_byte_order_mark),
        cmocka_unit_test(tells_nothing_from_nonsense),
        cmocka_unit_test(refuses_what_python_refuses),
        cmocka_unit_test(takes_a_megabyte_of_nesting_without_recursion),
        cmocka_unit_test(is_empty_where_python_is),
        cmocka_unit_test(rounds_numbers_as_strtod_does),
        cmocka_unit_test(has_no_double_for_what_overflows),
        cmocka_unit_test(names_the_path_of_each_nan),
        cmocka_unit_test(refuses_what_needs_more_than_its_arena),
        cmocka_unit_test(strips_and_lowers_as_python_does),
        cmocka_unit_test(cuts_between_code_points),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
