/* SPDX-License-Identifier: Apache-2.0 */
/* Compatibility of schemas: what may follow what, in all seven modes. */
#include "compat.h"

#include "unit.h"

#include <stdio.h>

static struct schema *
parse(const char *text)
{
    struct err err;
    struct schema *schema = schema_parse(slice_of(text), &err);
    if (!schema)
        fail_msg("%s: %s", text, err.msg);
    return schema;
}

/* How many ways there are in which `reader` can't read `writer`; the text in `ret_why`.
 */
static size_t
problems(const char *reader, const char *writer, char ret_why[512])
{
    struct schema *ours = parse(reader);
    struct schema *theirs = parse(writer);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    size_t n = compat_can_read(ours, theirs, &out);
    if (ret_why) {
        strncpy(ret_why, buf_text(&out), 511);
        ret_why[511] = '\0';
    }
    schema_free(ours);
    schema_free(theirs);
    return n;
}

#define RECORD(fields) "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" fields "]}"
#define INT_A          "{\"name\":\"a\",\"type\":\"int\"}"
#define STRING_B       "{\"name\":\"b\",\"type\":\"string\"}"
#define STRING_B_WITH  "{\"name\":\"b\",\"type\":\"string\",\"default\":\"\"}"

static void
lets_a_field_with_a_default_come_and_go(void **state)
{
    (void)state;
    assert_int_equal(problems(RECORD(INT_A "," STRING_B_WITH), RECORD(INT_A), NULL), 0);
    assert_int_equal(problems(RECORD(INT_A), RECORD(INT_A "," STRING_B_WITH), NULL), 0);
}

static void
names_the_field_that_has_no_default(void **state)
{
    (void)state;
    char why[512];

    assert_int_equal(problems(RECORD(INT_A "," STRING_B), RECORD(INT_A), why), 1);

    assert_string_equal(
        why, "/fields/b: the field is not in the writer's R and has no default\n");
}

static void
finds_a_renamed_field_and_record_by_alias(void **state)
{
    (void)state;
    const char *renamed = "{\"type\":\"record\",\"name\":\"S\",\"aliases\":[\"R\"],"
                          "\"fields\":[{\"name\":\"z\",\"aliases\":[\"a\"],"
                          "\"type\":\"long\"}]}";
    char why[512];

    assert_int_equal(problems(renamed, RECORD(INT_A), NULL), 0);
    assert_int_equal(problems(RECORD(INT_A), renamed, why), 1);
}

static void
follows_the_promotions_one_way(void **state)
{
    (void)state;
    static const char *const up[][2] = {
        {"long", "int"},   {"float", "int"},   {"double", "int"},
        {"float", "long"}, {"double", "long"}, {"double", "float"},
    };
    for (size_t i = 0; i < sizeof up / sizeof up[0]; i++) {
        char wide[32];
        char narrow[32];
        snprintf(wide, sizeof wide, "\"%s\"", up[i][0]);
        snprintf(narrow, sizeof narrow, "\"%s\"", up[i][1]);
        assert_int_equal(problems(wide, narrow, NULL), 0);
        assert_int_equal(problems(narrow, wide, NULL), 1);
    }
    assert_int_equal(problems("\"bytes\"", "\"string\"", NULL), 0);
    assert_int_equal(problems("\"string\"", "\"bytes\"", NULL), 0);
    assert_int_equal(problems("\"string\"", "\"int\"", NULL), 1);
}

static void
counts_symbols_and_branches_that_only_some_values_have(void **state)
{
    (void)state;
    const char *xyz =
        "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"X\",\"Y\",\"Z\"]}";
    const char *x = "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"X\"]}";
    const char *x_or = "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"X\"],"
                       "\"default\":\"X\"}";

    assert_int_equal(problems(xyz, x, NULL), 0);
    assert_int_equal(problems(x, xyz, NULL), 2);
    assert_int_equal(problems(x_or, xyz, NULL), 0);
    assert_int_equal(problems("\"int\"", "[\"null\",\"int\"]", NULL), 1);
    assert_int_equal(problems("[\"null\",\"long\"]", "\"int\"", NULL), 0);
    assert_int_equal(
        problems("[\"null\",\"int\"]", "[\"null\",\"int\",\"string\"]", NULL), 1);
}

static void
looks_inside_lists_fixed_and_records_that_hold_themselves(void **state)
{
    (void)state;
    const char *list = "{\"type\":\"record\",\"name\":\"L\",\"fields\":["
                       "{\"name\":\"v\",\"type\":\"int\"},"
                       "{\"name\":\"next\",\"type\":[\"null\",\"L\"]}]}";
    const char *wide = "{\"type\":\"record\",\"name\":\"L\",\"fields\":["
                       "{\"name\":\"v\",\"type\":\"long\"},"
                       "{\"name\":\"next\",\"type\":[\"null\",\"L\"]}]}";
    char why[512];

    assert_int_equal(problems(wide, list, NULL), 0);
    assert_int_equal(problems(list, wide, why), 1);
    assert_non_null(strstr(why, "/fields/v: "));
    assert_int_equal(problems("{\"type\":\"array\",\"items\":\"int\"}",
                              "{\"type\":\"array\",\"items\":\"string\"}", why),
                     1);
    assert_non_null(strstr(why, "/items: "));
    assert_int_equal(problems("{\"type\":\"fixed\",\"name\":\"F\",\"size\":4}",
                              "{\"type\":\"fixed\",\"name\":\"F\",\"size\":8}", NULL),
                     1);
}

static size_t
check(enum compat_mode mode, const char *candidate, const char *v1, const char *v2)
{
    struct schema *new = parse(candidate);
    struct schema *one = parse(v1);
    struct schema *two = parse(v2);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct schema *const released[] = {one, two};
    size_t n = compat_check(mode, new, released, 2, &out);
    schema_free(new);
    schema_free(one);
    schema_free(two);
    return n;
}

static void
asks_each_mode_its_own_question(void **state)
{
    (void)state;
    /* The new one reads version 2 but not 1, and is read by version 1 but not 2. */
    const char *v1 = "\"double\"";
    const char *v2 = "\"int\"";
    const char *new = "\"long\"";
    static const struct {
        enum compat_mode mode;
        size_t n;
    } rows[] = {
        {COMPAT_NONE, 0},
        {COMPAT_BACKWARD, 0},
        {COMPAT_BACKWARD_TRANSITIVE, 1},
        {COMPAT_FORWARD, 1},
        {COMPAT_FORWARD_TRANSITIVE, 1},
        {COMPAT_FULL, 1},
        {COMPAT_FULL_TRANSITIVE, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(check(rows[i].mode, new, v1, v2), rows[i].n);
}

static void
knows_the_modes_by_name(void **state)
{
    (void)state;
    enum compat_mode mode = COMPAT_NONE;
    for (int i = 0; i < COMPAT_MODES; i++) {
        assert_true(compat_mode_parse(compat_mode_name((enum compat_mode)i), &mode));
        assert_int_equal(mode, i);
    }
    assert_false(compat_mode_parse("SIDEWAYS", &mode));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lets_a_field_with_a_default_come_and_go),
        cmocka_unit_test(names_the_field_that_has_no_default),
        cmocka_unit_test(finds_a_renamed_field_and_record_by_alias),
        cmocka_unit_test(follows_the_promotions_one_way),
        cmocka_unit_test(counts_symbols_and_branches_that_only_some_values_have),
        cmocka_unit_test(looks_inside_lists_fixed_and_records_that_hold_themselves),
        cmocka_unit_test(asks_each_mode_its_own_question),
        cmocka_unit_test(knows_the_modes_by_name),
    };
    return cmocka_run_group_tests_name("compat", tests, NULL, NULL);
}
