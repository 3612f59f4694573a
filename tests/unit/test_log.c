/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines stay one line and, as JSON, valid, whatever they hold; threads keep apart. */
#include "log.h"

#include "unit.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define NASTY "a\"b\\c\nd\te\x01\x7f\xff\xc0\xaf\xe2\x82\xac\xed\xa0\x80 ="

static const char msg[] = "a \"record\"\nwas refused";

static void
write_event(enum log_format format, struct buf *out)
{
    const struct log_field fields[] = {
        LOG_POSITION("heddle.tunings", 3, 17),
        LOG_STR("code", "value_null"),
        LOG_STR("stage", NULL),
        LOG_STR("text", NASTY),
        LOG_STR("empty", ""),
        LOG_BOOLEAN("stuck", true),
        LOG_REAL("rate", 1.5),
        LOG_REAL("none", (double)INFINITY),
    };
    const struct log_event event = {
        .time_ms = 1796062267123,
        .level = LOG_WARNING,
        .program = "heddle-audit",
        .msg = msg,
        .fields = fields,
        .n_fields = sizeof fields / sizeof *fields,
    };
    log_line(format, &event, out);
}

static void
writes_text_that_a_person_reads(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    write_event(LOG_TEXT, &out);

    assert_string_equal(
        buf_text(&out),
        "2026-11-30T18:11:07.123Z warning heddle-audit: a \"record\"\\nwas refused "
        "topic=heddle.tunings partition=3 offset=17 code=value_null "
        "text=\"a\\\"b\\\\c\\nd\\te\\u0001\\u007f\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
        "\xe2\x82\xac\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD =\" empty=\"\" stuck=true "
        "rate=1.5 none=inf\n");
}

static void
writes_json_that_a_machine_reads(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    write_event(LOG_JSON, &out);
    json_t *line = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(line);
    assert_string_equal(json_string_value(json_object_get(line, "time")),
                        "2026-11-30T18:11:07.123Z");
    assert_string_equal(json_string_value(json_object_get(line, "level")), "warning");
    assert_string_equal(json_string_value(json_object_get(line, "program")),
                        "heddle-audit");
    assert_string_equal(json_string_value(json_object_get(line, "msg")), msg);
    assert_int_equal(json_integer_value(json_object_get(line, "offset")), 17);
    assert_true(json_is_true(json_object_get(line, "stuck")));
    assert_true(json_is_null(json_object_get(line, "none")));
    assert_null(json_object_get(line, "stage"));
    assert_ptr_equal(strchr(out.data, '\n'), out.data + out.len - 1);
    json_decref(line);
}

static void
cuts_a_long_value_between_characters(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    buf_add_str(&text, "abc");
    while (text.len < (size_t)1 << 20)
        buf_add_str(&text, "\xe2\x82\xac");
    const struct log_field field = LOG_SLICE("v", buf_slice(&text));
    struct log_event long_event = {0, LOG_INFO, "p", "m", &field, 1};

    log_line(LOG_JSON, &long_event, &out);
    json_t *line = json_loads(buf_text(&out), 0, NULL);

    assert_non_null(line);
    const char *value = json_string_value(json_object_get(line, "v"));
    assert_in_range(strlen(value), LOG_VALUE_BYTES - 2, LOG_VALUE_BYTES + 3);
    assert_string_equal(value + strlen(value) - 3, "...");
    json_decref(line);
}

static void
writes_times_before_the_epoch(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct log_event early = {-1, LOG_INFO, "p", "m", NULL, 0};

    log_line(LOG_TEXT, &early, &out);
    early.time_ms = INT64_MAX;
    log_line(LOG_TEXT, &early, &out);

    assert_memory_equal(out.data, "1969-12-31T23:59:59.999Z info p: m\n", 35);
}

enum { WRITERS = 4, LINES = 500 };

static void *
write_lines(void *state)
{
    for (int i = 0; i < LINES; i++)
        log_event(LOG_INFO, state, LOG_FIELDS(LOG_INTEGER("i", i)));
    return NULL;
}

/* Standard error goes to a file while `fn` runs; the file is handed back, rewound. */
static FILE *
capture(void (*fn)(void))
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    fcntl(fileno(file), F_SETFL, O_APPEND);
    dup2(fileno(file), STDERR_FILENO);
    fn();
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    return file;
}

static void
write_from_threads(void)
{
    static char names[WRITERS][64];
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        memset(names[i], 'a' + i, sizeof names[i] - 1);
        pthread_create(&threads[i], NULL, write_lines, names[i]);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
}

static void
keeps_lines_of_threads_apart(void **state)
{
    (void)state;
    char line[512];
    int n = 0;

    log_setup("test", LOG_JSON, LOG_INFO);
    FILE *file = capture(write_from_threads);
    while (fgets(line, sizeof line, file)) {
        json_t *json = json_loads(line, 0, NULL);
        assert_non_null(json);
        json_decref(json);
        n++;
    }

    assert_int_equal(n, WRITERS * LINES);
    fclose(file);
}

static void
write_each_level(void)
{
    struct err err = {.code = "some_code", .msg = "broken"};
    log_say(LOG_DEBUG, "not wanted");
    log_say(LOG_INFO, "not wanted");
    log_say(LOG_WARNING, "wanted");
    log_err(LOG_ERROR, &err);
}

static void
leaves_out_what_is_below_its_level(void **state)
{
    (void)state;
    char text[1024] = "";

    log_setup("test", LOG_TEXT, LOG_WARNING);
    FILE *file = capture(write_each_level);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);

    assert_false(log_wants(LOG_INFO));
    assert_null(strstr(text, "not wanted"));
    assert_non_null(strstr(text, " warning test: wanted\n"));
    assert_non_null(strstr(text, " error test: broken code=some_code\n"));
}

static void
counts_lines_that_a_full_disk_refuses(void **state)
{
    (void)state;
    unsigned long before = log_lost();
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    int saved = dup(STDERR_FILENO);

    log_setup("test", LOG_TEXT, LOG_INFO);
    dup2(full, STDERR_FILENO);
    log_say(LOG_INFO, "lost");
    dup2(saved, STDERR_FILENO);

    assert_int_equal(log_lost(), before + 1);
    close(saved);
    close(full);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_text_that_a_person_reads),
        cmocka_unit_test(writes_json_that_a_machine_reads),
        cmocka_unit_test(cuts_a_long_value_between_characters),
        cmocka_unit_test(writes_times_before_the_epoch),
        cmocka_unit_test(keeps_lines_of_threads_apart),
        cmocka_unit_test(leaves_out_what_is_below_its_level),
        cmocka_unit_test(counts_lines_that_a_full_disk_refuses),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
