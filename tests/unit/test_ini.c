/* SPDX-License-Identifier: Apache-2.0 */
/* INI text: nothing is cut, what can't be read is refused with its line. */
#include "ini.h"

#include "buf.h"

#include "unit.h"

/* Writes "line [section] name=value;" for each key. */
static enum err_kind
note_key(void *state,
         int line,
         const char *section,
         const char *name,
         const char *value,
         struct err *err)
{
    if (strcmp(name, "stop") == 0)
        return err_fatal(err, EXIT_CONFIG, "stopped", "enough");
    buf_addf(state, "%d [%s] %s=%s;", line, section, name, value);
    return ERR_OK;
}

static void
expect_keys(const char *text, const char *keys)
{
    CLEANUP(buf_done) struct buf seen = BUF_INIT;
    struct err err = {0};

    enum err_kind kind = ini_parse("a.ini", slice_of(text), note_key, &seen, &err);

    assert_int_equal(kind, ERR_OK);
    assert_string_equal(buf_text(&seen), keys);
}

static void
expect_refusal(struct slice text, const char *code, const char *place)
{
    CLEANUP(buf_done) struct buf seen = BUF_INIT;
    struct err err = {0};

    assert_int_equal(ini_parse("a.ini", text, note_key, &seen, &err), ERR_FATAL);

    assert_string_equal(err.code, code);
    assert_int_equal(err.exit_code, EXIT_CONFIG);
    assert_memory_equal(err.msg, place, strlen(place));
}

static void
reads_sections_keys_and_comments(void **state)
{
    (void)state;

    expect_keys("\xEF\xBB\xBF# c\n; c\n\n[a]\n k = v\t\r\nn=\n[ b ]\n  x==y=z",
                "5 [a] k=v;6 [a] n=;8 [b] x==y=z;");
    expect_keys("k=1", "1 [] k=1;");
    expect_keys("", "");
}

static void
keeps_comment_signs_and_quotes_inside_a_value(void **state)
{
    (void)state;

    expect_keys("[kafka]\nsasl.password = a ;b #c \"d\"",
                "2 [kafka] sasl.password=a ;b #c \"d\";");
}

static void
reads_long_lines_whole(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf seen = BUF_INIT;
    buf_add_str(&text, "[a]\nk=");
    while (text.len < 4 + INI_LINE_BYTES)
        buf_add_byte(&text, 'x');

    assert_int_equal(ini_parse("a", buf_slice(&text), note_key, &seen, NULL), ERR_OK);
    assert_int_equal(seen.len, strlen("2 [a] k=;") + INI_LINE_BYTES - 2);

    buf_add_byte(&text, 'x');
    expect_refusal(buf_slice(&text), "config_syntax", "a.ini:2: ");
}

static void
refuses_what_is_no_line_of_its_form(void **state)
{
    (void)state;
    static const char *const texts[] = {"\nk",   "\n[a", "\n[]", "\n[a] # c",
                                        "\n= v", "\n[",  "\n]",  "\n  v v v"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_refusal(slice_of(texts[i]), "config_syntax", "a.ini:2: ");
    expect_refusal(SLICE("[a]\nk=a\0b\n"), "config_syntax", "a.ini:2: ");
}

static void
refuses_names_above_their_ceiling(void **state)
{
    (void)state;
    char text[INI_NAME_BYTES + 8];
    memset(text, 'k', sizeof text);
    memcpy(text + INI_NAME_BYTES + 1, "=v", 3);

    expect_refusal(slice_of(text), "config_syntax", "a.ini:1: ");
    text[0] = '[';
    memcpy(text + INI_NAME_BYTES + 2, "]", 2);
    expect_refusal(slice_of(text), "config_syntax", "a.ini:1: ");
}

static void
stops_at_the_first_key_that_is_refused(void **state)
{
    (void)state;

    expect_refusal(SLICE("a=1\nstop=1\nb"), "stopped", "enough");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_sections_keys_and_comments),
        cmocka_unit_test(keeps_comment_signs_and_quotes_inside_a_value),
        cmocka_unit_test(reads_long_lines_whole),
        cmocka_unit_test(refuses_what_is_no_line_of_its_form),
        cmocka_unit_test(refuses_names_above_their_ceiling),
        cmocka_unit_test(stops_at_the_first_key_that_is_refused),
    };
    return cmocka_run_group_tests_name("ini", tests, NULL, NULL);
}
