/* SPDX-License-Identifier: Apache-2.0 */
/* JSON without a tree: the dialect, the spans, and depth without recursion. */
#include "buf.h"
#include "json_scan.h"
#include "line_form.h"

#include "unit.h"

static void
accepts_what_python_accepts(void **state)
{
    (void)state;
    static const char *const good[] = {
        "0",           "-0.5e+10",
        " [] ",        "{}",
        "NaN",         "[-Infinity, 1e400]",
        "\"\\ud800\"", "{\"a\": {\"b\": [1, {}, []]}}",
        "\"\"",        "[[[]], {\"\": null}]",
        "true",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        enum json_type type;
        assert_int_equal(json_scan_check(slice_of(good[i]), &type, NULL), ERR_OK);
    }
}

static void
refuses_what_python_refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",           " ",       "01",          "1.",       "+1",    "-",   "1e",
        "[1,]",       "{\"a\"}", "{a: 1}",      "{\"a\":}", "[1 2]", "'a'", "\"\t\"",
        "\"\\x\"",    "\"a",     "[",           "{\"a\":1", "1 2",   "]",   "[}",
        "{\"a\":1,}", "nul",     "\"\\u12g4\"", "forge",    "[1],",  "{]",  "-NaN",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        enum json_type type;
        struct err err;
        assert_int_equal(json_scan_check(slice_of(bad[i]), &type, &err), ERR_RECORD);
        assert_string_equal(err.code, "json_invalid");
    }
}

static enum err_kind
list_member(void *state,
            struct slice key,
            enum json_type type,
            struct slice value,
            struct err *err)
{
    (void)err;
    buf_addf(state, "%.*s=%s:%.*s;", SLICE_ARG(key), json_type_name(type),
             SLICE_ARG(value));
    return ERR_OK;
}

static void
gives_each_member_as_it_stands(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf seen = BUF_INIT;
    struct slice text = SLICE("{ \"a\" : 1.50 ,\"b\":{\"c\":[ 1]}, \"a\":\"x\\n\" }");

    assert_int_equal(json_scan_members(text, list_member, &seen, NULL), ERR_OK);

    assert_string_equal(buf_text(&seen), "\"a\"=number:1.50;\"b\"=object:{\"c\":[ 1]};"
                                         "\"a\"=string:\"x\\n\";");
}

static void
refuses_an_array_where_an_object_belongs(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf seen = BUF_INIT;
    struct err err;

    assert_int_equal(json_scan_members(SLICE("[]"), list_member, &seen, &err),
                     ERR_RECORD);

    assert_string_equal(err.code, "json_no_object");
}

static enum err_kind
list_item(void *state, size_t i, enum json_type type, struct slice value, struct err *err)
{
    buf_addf(state, "%zu=%s:%.*s;", i, json_type_name(type), SLICE_ARG(value));
    return slice_is(value, "false") ? err_set(err, ERR_RECORD, "enough", "seen") : ERR_OK;
}

static void
gives_each_item_as_it_stands(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf seen = BUF_INIT;
    struct err err;

    assert_int_equal(json_scan_items(SLICE(" [ ] "), list_item, &seen, NULL), ERR_OK);
    assert_int_equal(
        json_scan_items(SLICE("[1.0 ,{\"a\":[2]}, null]"), list_item, &seen, NULL),
        ERR_OK);
    assert_int_equal(json_scan_items(SLICE("[false, 1]"), list_item, &seen, &err),
                     ERR_RECORD);
    assert_string_equal(err.code, "enough");

    assert_string_equal(buf_text(&seen),
                        "0=number:1.0;1=object:{\"a\":[2]};2=null:null;0=boolean:false;");
}

static void
refuses_what_is_no_array(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf seen = BUF_INIT;
    struct err err;

    assert_int_equal(json_scan_items(SLICE("{}"), list_item, &seen, &err), ERR_RECORD);
    assert_string_equal(err.code, "json_no_array");
    assert_int_equal(json_scan_items(SLICE("[1, 2"), list_item, &seen, &err), ERR_RECORD);
    assert_string_equal(err.code, "json_invalid");

    assert_int_equal(seen.len, 0);
}

static void
reads_a_hundred_thousand_brackets(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    enum json_type type = JSON_TYPE_NULL;
    for (int i = 0; i < DEPTH; i++)
        buf_add_str(&text, i % 2 ? "[" : "{\"a\":");
    buf_add_str(&text, "1");
    for (int i = DEPTH; i > 0; i--)
        buf_add_str(&text, i % 2 ? "}" : "]");

    assert_int_equal(json_scan_check(buf_slice(&text), &type, NULL), ERR_OK);

    assert_int_equal(type, JSON_TYPE_OBJECT);
}

static void
decodes_escapes(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;

    struct slice text =
        json_scan_string(SLICE("\"a\\n\\\"\\/\\u00e9\\ud83d\\ude00\\ud800x\""), &arena);

    assert_true(slice_is(text, "a\n\"/\xC3\xA9\xF0\x9F\x98\x80\xEF\xBF\xBDx"));
}

static void
writes_strings_in_line_form(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    line_form_string(&out, SLICE("a\"\\\n\x7F\x01\xC3\xA9\xF0\x9F\x98\x80\xFF"));

    assert_string_equal(buf_text(&out),
                        "\"a\\\"\\\\\\n\\u007f\\u0001\\u00e9\\ud83d\\ude00\\ufffd\"");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_python_accepts),
        cmocka_unit_test(refuses_what_python_refuses),
        cmocka_unit_test(gives_each_member_as_it_stands),
        cmocka_unit_test(refuses_an_array_where_an_object_belongs),
        cmocka_unit_test(gives_each_item_as_it_stands),
        cmocka_unit_test(refuses_what_is_no_array),
        cmocka_unit_test(reads_a_hundred_thousand_brackets),
        cmocka_unit_test(decodes_escapes),
        cmocka_unit_test(writes_strings_in_line_form),
    };
    return cmocka_run_group_tests_name("json_scan", tests, NULL, NULL);
}
