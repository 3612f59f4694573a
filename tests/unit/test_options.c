/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: one table, three origins, values that are refused with a reason. */
#include "options.h"

#include "unit.h"

#include <stdio.h>

struct settings {
    bool quiet, fsync;
    int64_t lanes, wait_ms, part_bytes, format, other_wait_ms;
    const char *group, *token;
    struct option_list roots;
};

#define ROW(section_, name_, type_, member)                                              \
    .section = (section_), .name = (name_), .type = (type_),                             \
    .offset = offsetof(struct settings, member), .help = "Does a thing."

static const struct option fleet[] = {
    {ROW("heddle", "group", OPTION_TEXT, group), .value = "g", .letter = 'g'},
    {ROW("heddle", "wait", OPTION_DURATION, wait_ms), .value = "10s"},
    {ROW("heddle", "format", OPTION_CHOICE, format), .value = "text",
     .choices = "text|json|raw"},
    {ROW("heddle", "fsync", OPTION_BOOL, fsync), .value = "yes"},
    {ROW("claim", "roots", OPTION_LIST, roots), .traits = OPTION_LONG_FLAG},
    {ROW("heddle", "token", OPTION_TEXT, token), .traits = OPTION_SECRET},
    {ROW(NULL, "quiet", OPTION_FLAG, quiet), .letter = 'q', .traits = OPTION_CLI_ONLY},
};

static const struct option audit[] = {
    {ROW("audit", "max_part_bytes", OPTION_SIZE, part_bytes), .value = "64MiB",
     .min = 1024, .max = 1 << 30, .traits = OPTION_DERIVE},
    {ROW("audit", "lanes", OPTION_INT, lanes), .value = "2", .min = -1, .max = 8,
     .traits = OPTION_DERIVE},
    {ROW("audit", "wait", OPTION_DURATION, other_wait_ms), .value = "1m"},
};

struct fixture {
    struct settings settings;
    struct options *options;
    struct err err;
    char *rest[16];
    int n_rest;
};

/* One file: "secret" holds a text; every other path is missing. */
static enum err_kind
read_file(void *state, const char *path, struct buf *out, struct err *err)
{
    (void)state;
    if (strcmp(path, "/nul") == 0) {
        buf_add(out, "a\0b", 3);
        return ERR_OK;
    }
    if (strcmp(path, "/secret") != 0)
        return err_fatal(err, EXIT_CONFIG, "config_unreadable", "%s is not there", path);
    buf_add_str(out, "s3cr3t");
    return ERR_OK;
}

static void
start(struct fixture *f)
{
    *f = (struct fixture){0};
    struct option_table tables[] = {
        OPTION_TABLE(audit, &f->settings),
        OPTION_TABLE(fleet, &f->settings),
    };
    static const char *const foreign[] = {"split", NULL};
    f->options = options_new(tables, 2, read_file, NULL, &f->err);
    assert_non_null(f->options);
    options_foreign_sections(f->options, foreign);
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    start(f);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    options_free(f->options);
    free(f);
    return 0;
}

static enum err_kind
from_file(struct fixture *f, const char *section, const char *name, const char *value)
{
    return options_set_file(f->options, "a.ini", 7, section, name, value, &f->err);
}

static enum err_kind
from_variable(struct fixture *f, const char *variable)
{
    char *environment[] = {(char *)(uintptr_t)variable, NULL};
    return options_set_environment(f->options, environment, &f->err);
}

#define FLAGS(f, ...) flags((f), (const char *[]){"heddle", __VA_ARGS__, NULL})

static enum err_kind
flags(struct fixture *f, const char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    return options_set_arguments(f->options, argc, (char **)(uintptr_t)argv, f->rest,
                                 &f->n_rest, &f->err);
}

static void
starts_with_the_defaults(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(f->settings.group, "g");
    assert_int_equal(f->settings.wait_ms, 10000);
    assert_int_equal(f->settings.part_bytes, 64 << 20);
    assert_int_equal(f->settings.format, 0);
    assert_true(f->settings.fsync);
    assert_null(f->settings.token);
    assert_int_equal(f->settings.roots.n, 0);
    assert_int_equal(options_origin(f->options, "heddle", "group", NULL), ORIGIN_DEFAULT);
}

static void
lets_the_stronger_origin_win_in_any_order(void **state)
{
    struct fixture *f = *state;
    const char *detail = NULL;

    assert_int_equal(FLAGS(f, "--group", "flag"), 0);
    assert_int_equal(from_variable(f, "HEDDLE_GROUP=variable"), 0);
    assert_int_equal(from_file(f, "heddle", "group", "file"), 0);
    assert_int_equal(from_file(f, "heddle", "format", "raw"), 0);
    assert_int_equal(from_variable(f, "HEDDLE_FORMAT=json"), 0);

    assert_string_equal(f->settings.group, "flag");
    assert_int_equal(f->settings.format, 1);
    assert_int_equal(options_origin(f->options, "heddle", "group", &detail), ORIGIN_FLAG);
    assert_string_equal(detail, "--group");
    assert_int_equal(options_origin(f->options, "heddle", "format", &detail),
                     ORIGIN_ENVIRONMENT);
    assert_string_equal(detail, "HEDDLE_FORMAT");
}

static void
refuses_a_wrong_value_that_a_stronger_one_hides(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(FLAGS(f, "--lanes=4"), 0);
    assert_int_equal(from_file(f, "audit", "lanes", "many"), ERR_FATAL);

    assert_string_equal(f->err.code, "bad_value");
    assert_string_equal(f->err.msg, "a.ini:7: audit.lanes = many: a whole number is "
                                    "wanted, at least -1, at most 8");
    assert_int_equal(err_exit_code(&f->err), EXIT_CONFIG);
    assert_int_equal(f->settings.lanes, 4);
}

struct number {
    const char *text;
    int64_t value; /* -2: refused */
};

static void
reads_durations_and_sizes_with_their_units(void **state)
{
    struct fixture *f = *state;
    static const struct number durations[] = {
        {"250ms", 250},
        {"10s", 10000},
        {"5m", 300000},
        {"24h", 86400000},
        {"30d", 2592000000},
        {"7", 7000},
        {"0", 0},
        {"", -2},
        {"ms", -2},
        {"1.5s", -2},
        {"-1s", -2},
        {"10 s", -2},
        {"1S", -2},
        {"9223372036854775807", -2},
        {"9223372036854775807d", -2},
        {"92233720368547758080ms", -2},
        {"1KiB", -2},
        {"+1", -2},
    };
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        char variable[64];
        snprintf(variable, sizeof variable, "HEDDLE_WAIT=%s", durations[i].text);
        enum err_kind kind = from_variable(f, variable);
        assert_int_equal(kind, durations[i].value == -2 ? ERR_FATAL : ERR_OK);
        if (!kind)
            assert_int_equal(f->settings.wait_ms, durations[i].value);
    }
    static const struct number sizes[] = {
        {"1024", 1024},  {"512KiB", 512 << 10}, {"64MiB", 64 << 20}, {"1GiB", 1 << 30},
        {"2000B", 2000}, {"1023", -2},          {"2GiB", -2},        {"64MB", -2},
        {"1s", -2},      {"8EiB", -2},          {"16777216TiB", -2},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char variable[64];
        snprintf(variable, sizeof variable, "HEDDLE_AUDIT_MAX_PART_BYTES=%s",
                 sizes[i].text);
        enum err_kind kind = from_variable(f, variable);
        assert_int_equal(kind, sizes[i].value == -2 ? ERR_FATAL : ERR_OK);
        if (!kind)
            assert_int_equal(f->settings.part_bytes, sizes[i].value);
    }
}

static void
names_the_nearest_key_section_variable_and_flag(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(from_file(f, "audit", "max_part_byte", "1"), ERR_FATAL);
    assert_string_equal(f->err.code, "unknown_setting");
    assert_non_null(strstr(f->err.msg, "did you mean max_part_bytes?"));
    assert_int_equal(from_file(f, "hedlde", "group", "1"), ERR_FATAL);
    assert_non_null(strstr(f->err.msg, "did you mean heddle?"));
    assert_int_equal(from_file(f, "kafak", "group", "1"), ERR_FATAL);
    assert_non_null(strstr(f->err.msg, "did you mean kafka?"));
    assert_int_equal(from_file(f, "", "group", "1"), ERR_FATAL);
    assert_int_equal(from_variable(f, "HEDDLE_GRUOP=x"), ERR_FATAL);
    assert_non_null(strstr(f->err.msg, "did you mean HEDDLE_GROUP?"));
    assert_int_equal(FLAGS(f, "--lgoup=1"), ERR_FATAL);
    assert_string_equal(f->err.code, "unknown_flag");
    assert_non_null(strstr(f->err.msg, "did you mean --group?"));
    assert_int_equal(err_exit_code(&f->err), EXIT_USAGE);
    assert_int_equal(FLAGS(f, "--zzzzzzzz"), ERR_FATAL);
    assert_null(strstr(f->err.msg, "did you mean"));
}

static void
leaves_foreign_sections_alone(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(from_file(f, "split", "anything", "1"), ERR_OK);
    assert_int_equal(from_variable(f, "HEDDLE_SPLIT_ANYTHING=1"), ERR_OK);
    assert_int_equal(from_variable(f, "HEDDLE_SPLITS=1"), ERR_FATAL);
    assert_int_equal(from_variable(f, "HEDDLE_CONFIG=/x"), ERR_OK);
    assert_int_equal(from_variable(f, "OTHER=1"), ERR_OK);
}

static void
refuses_a_key_that_stands_twice_in_the_file(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(from_file(f, "heddle", "group", "a"), ERR_OK);
    assert_int_equal(from_file(f, "heddle", "group", "a"), ERR_FATAL);
    assert_string_equal(f->err.code, "duplicate_setting");
    assert_int_equal(FLAGS(f, "--format=raw", "-X", "linger.ms=9"), ERR_OK);
    assert_int_equal(from_file(f, "heddle", "format", "json"), ERR_OK);
    assert_int_equal(from_file(f, "heddle", "format", "json"), ERR_FATAL);
    assert_string_equal(f->err.code, "duplicate_setting");
    assert_int_equal(from_file(f, "kafka", "linger.ms", "5"), ERR_OK);
    assert_int_equal(from_file(f, "kafka", "linger.ms", "6"), ERR_FATAL);
    assert_string_equal(f->err.code, "duplicate_setting");
}

static void
reads_values_from_files(void **state)
{
    struct fixture *f = *state;
    size_t n = 0;

    assert_int_equal(from_variable(f, "HEDDLE_TOKEN_FILE=/secret"), ERR_OK);
    assert_string_equal(f->settings.token, "s3cr3t");
    assert_int_equal(FLAGS(f, "--group", "@file:/secret"), ERR_OK);
    assert_string_equal(f->settings.group, "s3cr3t");
    assert_int_equal(from_variable(f, "HEDDLE_KAFKA_SASL_PASSWORD_FILE=/secret"), ERR_OK);
    assert_string_equal(options_properties(f->options, &n)[0].name, "sasl.password");
    assert_string_equal(options_properties(f->options, &n)[0].value, "s3cr3t");
    assert_int_equal(from_variable(f, "HEDDLE_KAFKA_FILE=/secret"), ERR_FATAL);
    assert_int_equal(from_variable(f, "HEDDLE_KAFKA__FILE=/secret"), ERR_FATAL);
    assert_int_equal(from_variable(f, "HEDDLE__FILE=/secret"), ERR_FATAL);
    assert_int_equal(from_file(f, "heddle", "token", "@file:/missing"), ERR_FATAL);
    assert_string_equal(f->err.code, "config_unreadable");
    assert_int_equal(FLAGS(f, "--token=@file:/nul"), ERR_FATAL);
    assert_string_equal(f->err.code, "bad_value");
}

static void
refuses_a_variable_beside_its_file(void **state)
{
    struct fixture *f = *state;
    char one[] = "HEDDLE_TOKEN=x";
    char two[] = "HEDDLE_TOKEN_FILE=/secret";
    char *environment[] = {one, two, NULL};

    assert_int_equal(options_set_environment(f->options, environment, &f->err),
                     ERR_FATAL);

    assert_string_equal(f->err.code, "duplicate_setting");
}

static void
reads_flags_in_all_their_spellings(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(FLAGS(f, "plan", "-q", "-ga", "--format=json", "--no-fsync", "-",
                           "--audit-lanes", "-1", "--", "--group", "b"),
                     ERR_OK);

    assert_true(f->settings.quiet);
    assert_false(f->settings.fsync);
    assert_string_equal(f->settings.group, "a");
    assert_int_equal(f->settings.format, 1);
    assert_int_equal(f->settings.lanes, -1);
    assert_int_equal(f->n_rest, 4);
    assert_string_equal(f->rest[0], "plan");
    assert_string_equal(f->rest[1], "-");
    assert_string_equal(f->rest[2], "--group");
    assert_string_equal(f->rest[3], "b");
}

static void
refuses_flags_that_lack_or_do_not_take_an_argument(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(FLAGS(f, "--group"), ERR_FATAL);
    assert_int_equal(FLAGS(f, "-g"), ERR_FATAL);
    assert_int_equal(FLAGS(f, "--group", "--format=json"), ERR_FATAL);
    assert_int_equal(FLAGS(f, "--no-group"), ERR_FATAL);
    assert_int_equal(FLAGS(f, "--no-fsync=yes"), ERR_FATAL);
    assert_int_equal(FLAGS(f, "--quiet=perhaps"), ERR_FATAL);
    assert_int_equal(FLAGS(f, "-z"), ERR_FATAL);
    assert_int_equal(FLAGS(f, "-X", "no-equals"), ERR_FATAL);
    assert_int_equal(FLAGS(f, "-X", "=value"), ERR_FATAL);
    assert_int_equal(FLAGS(f, "--="), ERR_FATAL);
    assert_int_equal(FLAGS(f, "--group=--x"), ERR_OK);
    assert_string_equal(f->settings.group, "--x");
}

static void
parts_flags_of_two_tables_by_their_section(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(FLAGS(f, "--heddle-wait", "1s", "--audit-wait", "2s"), ERR_OK);
    assert_int_equal(f->settings.wait_ms, 1000);
    assert_int_equal(f->settings.other_wait_ms, 2000);
    assert_int_equal(FLAGS(f, "--wait", "1s"), ERR_FATAL);
}

static void
collects_lists(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(from_file(f, "claim", "roots", " /a , /b,, "), ERR_OK);
    assert_int_equal(f->settings.roots.n, 2);
    assert_string_equal(f->settings.roots.items[1], "/b");
    assert_int_equal(FLAGS(f, "--claim-roots", "/c,d", "--claim-roots=/e"), ERR_OK);
    assert_int_equal(f->settings.roots.n, 2);
    assert_string_equal(f->settings.roots.items[0], "/c,d");
    assert_string_equal(f->settings.roots.items[1], "/e");
    assert_int_equal(from_variable(f, "HEDDLE_CLAIM_ROOTS=/z"), ERR_OK);
    assert_string_equal(f->settings.roots.items[0], "/c,d");
}

static void
hands_properties_on_sorted_with_the_strongest_value(void **state)
{
    struct fixture *f = *state;
    size_t n = 0;

    assert_int_equal(from_file(f, "kafka", "security.protocol", "ssl"), ERR_OK);
    assert_int_equal(from_file(f, "kafka", "linger.ms", "5"), ERR_OK);
    assert_int_equal(FLAGS(f, "-X", "linger.ms=9", "-Xacks=a=b", "-X", "linger.ms=10"),
                     ERR_OK);
    assert_int_equal(from_variable(f, "HEDDLE_KAFKA_SECURITY_PROTOCOL=sasl"), ERR_OK);
    assert_int_equal(from_variable(f, "HEDDLE_KAFKA_LINGER_MS=7"), ERR_OK);

    const struct option_property *properties = options_properties(f->options, &n);
    assert_int_equal(n, 3);
    assert_string_equal(properties[0].name, "acks");
    assert_string_equal(properties[0].value, "a=b");
    assert_string_equal(properties[1].value, "10");
    assert_string_equal(properties[2].value, "sasl");
    assert_int_equal(properties[2].origin, ORIGIN_ENVIRONMENT);
}

static void
never_prints_a_secret(void **state)
{
    struct fixture *f = *state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    assert_int_equal(FLAGS(f, "--token", "hidden", "-X", "sasl.password=hidden", "-X",
                           "ssl.key.pem=hidden", "-X",
                           "sasl.oauthbearer.client.secret=hidden"),
                     ERR_OK);
    options_print(f->options, &out);

    assert_null(strstr(buf_text(&out), "hidden"));
    assert_non_null(strstr(buf_text(&out), "heddle.token = ***  # flag --token\n"));
    assert_non_null(strstr(buf_text(&out), "kafka.sasl.password = ***  # flag -X\n"));
    assert_non_null(strstr(buf_text(&out), "audit.max_part_bytes = 64MiB  # default\n"));
    assert_non_null(strstr(buf_text(&out), "heddle.fsync = yes  # default\n"));
    assert_null(strstr(buf_text(&out), "quiet"));
}

static void
keeps_a_printed_value_on_its_line(void **state)
{
    struct fixture *f = *state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    assert_int_equal(FLAGS(f, "--group", "a\nheddle.token = x\x1b[2J"), ERR_OK);
    options_print(f->options, &out);

    assert_non_null(
        strstr(buf_text(&out), "heddle.group = a\\nheddle.token = x?[2J  # flag"));
}

static void
writes_derive_lines_in_one_spelling(void **state)
{
    struct fixture *f = *state;
    CLEANUP(buf_done) struct buf a = BUF_INIT;
    CLEANUP(buf_done) struct buf b = BUF_INIT;

    assert_int_equal(FLAGS(f, "--max-part-bytes", "1MiB"), ERR_OK);
    options_derive_lines(f->options, &a);
    assert_int_equal(FLAGS(f, "--max-part-bytes", "1048576", "--group", "x"), ERR_OK);
    options_derive_lines(f->options, &b);

    assert_string_equal(buf_text(&a), "audit.lanes=2\naudit.max_part_bytes=1048576\n");
    assert_string_equal(buf_text(&b), buf_text(&a));
}

static void
explains_every_flag(void **state)
{
    struct fixture *f = *state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    options_help(f->options, &out);

    assert_non_null(strstr(buf_text(&out),
                           "  -g, --group TEXT            Does a thing. [default: g; "
                           "HEDDLE_GROUP]\n"));
    assert_non_null(strstr(buf_text(&out), "      --claim-roots TEXT "));
    assert_non_null(strstr(buf_text(&out), "      --format text|json|raw"));
    assert_non_null(
        strstr(buf_text(&out), "  -q, --quiet                 Does a thing.\n"));
    for (const char *line = buf_text(&out); *line; line = strchr(line, '\n') + 1)
        assert_true(strcspn(line, "\n") <= 88);
}

static void
refuses_tables_that_are_wrong_in_themselves(void **state)
{
    (void)state;
    struct settings settings;
    struct err err = {0};
    const struct option bad_default[] = {
        {ROW("audit", "lanes", OPTION_INT, lanes), .value = "9", .max = 8}};
    const struct option twice[] = {{ROW("audit", "lanes", OPTION_INT, lanes)},
                                   {ROW("audit", "lanes", OPTION_INT, lanes)}};
    const struct option no_choices[] = {{ROW("audit", "format", OPTION_CHOICE, format)}};
    const struct option no_section[] = {{ROW(NULL, "format", OPTION_TEXT, group)}};
    const struct option_table tables[] = {
        OPTION_TABLE(bad_default, &settings),
        OPTION_TABLE(twice, &settings),
        OPTION_TABLE(no_choices, &settings),
        OPTION_TABLE(no_section, &settings),
    };

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        assert_null(options_new(&tables[i], 1, read_file, NULL, &err));
        assert_string_equal(err.code, "options_table");
    }
}

static void
finds_the_nearest_name(void **state)
{
    (void)state;
    static const char *const names[] = {"feed",   "tap",   "topics",
                                        "census", "check", "tip"};
    size_t n = sizeof names / sizeof *names;
    char long_word[200];
    memset(long_word, 'a', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';

    assert_string_equal(options_nearest("fede", names, n), "feed");
    assert_string_equal(options_nearest("topic", names, n), "topics");
    assert_string_equal(options_nearest("sensus", names, n), "census");
    assert_string_equal(options_nearest("top", names, n), "tap");
    assert_null(options_nearest("", names, n));
    assert_null(options_nearest("zzz", names, n));
    assert_null(options_nearest(long_word, names, n));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void
takes_no_flag_of_a_table_that_has_none(void **state)
{
    (void)state;
    struct settings values = {0};
    struct option_table tables[] = {{fleet, sizeof fleet / sizeof *fleet, &values, true}};
    struct err err = {0};
    char program[] = "heddle tap";
    char flag[] = "--group=x";
    char *argv[] = {program, flag, NULL};
    char *rest[2];
    int n_rest = 0;
    struct options *options = options_new(tables, 1, NULL, NULL, &err);
    assert_non_null(options);

    assert_int_equal(options_set_arguments(options, 2, argv, rest, &n_rest, &err),
                     ERR_FATAL);
    assert_string_equal(err.code, "unknown_flag");
    assert_int_equal(
        options_set_file(options, "heddle.ini", 1, "heddle", "group", "x", &err), ERR_OK);

    CLEANUP(buf_done) struct buf help = BUF_INIT;
    options_help(options, &help);
    assert_null(strstr(buf_text(&help), "--group"));
    options_free(options);
}

static void
takes_no_flag_of_a_row_that_has_none(void **state)
{
    (void)state;
    static int64_t number;
    static const struct option rows[] = {
        {.section = "dead",
         .name = "cap",
         .type = OPTION_INT,
         .value = "5",
         .traits = OPTION_NO_FLAG,
         .help = "A cap."},
    };
    struct option_table table = OPTION_TABLE(rows, &number);
    struct err err = {0};
    char program[] = "heddle dead";
    char flag[] = "--cap=6";
    char *argv[] = {program, flag, NULL};
    char *environment[] = {(char[]){"HEDDLE_DEAD_CAP=7"}, NULL};
    char *rest[2];
    int n_rest = 0;
    struct options *options = options_new(&table, 1, NULL, NULL, &err);
    CLEANUP(buf_done) struct buf manual = BUF_INIT;
    assert_non_null(options);

    assert_int_equal(options_set_arguments(options, 2, argv, rest, &n_rest, &err),
                     ERR_FATAL);
    assert_int_equal(options_set_environment(options, environment, &err), ERR_OK);
    options_manual(rows, 1, &manual);

    assert_int_equal(number, 7);
    assert_null(strstr(buf_text(&manual), "cap"));
    options_free(options);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(starts_with_the_defaults),
        TEST(lets_the_stronger_origin_win_in_any_order),
        TEST(refuses_a_wrong_value_that_a_stronger_one_hides),
        TEST(reads_durations_and_sizes_with_their_units),
        TEST(names_the_nearest_key_section_variable_and_flag),
        TEST(leaves_foreign_sections_alone),
        TEST(refuses_a_key_that_stands_twice_in_the_file),
        TEST(reads_values_from_files),
        TEST(refuses_a_variable_beside_its_file),
        TEST(reads_flags_in_all_their_spellings),
        TEST(refuses_flags_that_lack_or_do_not_take_an_argument),
        TEST(parts_flags_of_two_tables_by_their_section),
        TEST(collects_lists),
        TEST(hands_properties_on_sorted_with_the_strongest_value),
        TEST(never_prints_a_secret),
        TEST(keeps_a_printed_value_on_its_line),
        TEST(writes_derive_lines_in_one_spelling),
        TEST(explains_every_flag),
        cmocka_unit_test(refuses_tables_that_are_wrong_in_themselves),
        cmocka_unit_test(finds_the_nearest_name),
        cmocka_unit_test(takes_no_flag_of_a_table_that_has_none),
        cmocka_unit_test(takes_no_flag_of_a_row_that_has_none),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
