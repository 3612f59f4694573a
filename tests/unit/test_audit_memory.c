/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile results stay within 64 MiB of anonymous memory: a megabyte of error text, and
 * nesting of 100,000 levels in an unknown key, in precision and in an error.
 */
#include "derive.h"

#include "unit.h"

#include "json.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

enum { LEVELS = 100000, ERROR_BYTES = 1 << 20, LIMIT_KIB = 64 * 1024 };

static long
rss_anon_kib(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;
    assert_non_null(status);
    while (kib < 0 && fgets(line, sizeof line, status))
        if (strncmp(line, "RssAnon:", 8) == 0)
            kib = strtol(line + 8, NULL, 10);
    fclose(status);
    return kib;
}

/* Where the process's own use is not what is measured, only the forms are checked. */
static void
assert_within_limit(void)
{
    long kib = rss_anon_kib();
    print_message("RssAnon %ld KiB\n", kib);
#ifndef SANITIZED
    if (!getenv("HEDDLE_TEST_LAUNCHER"))
        assert_in_range(kib, 1, LIMIT_KIB);
#endif
}

static void
add_nested(struct buf *out, int levels)
{
    for (int i = 0; i < levels; i++)
        buf_add_byte(out, '[');
    for (int i = 0; i < levels; i++)
        buf_add_byte(out, ']');
}

static void
assert_in(struct slice text, const char *part)
{
    if (!memmem(text.data, text.len, part, strlen(part)))
        fail_msg("no %s in %.*s", part, (int)(text.len < 600 ? text.len : 600),
                 text.data);
}

static void
derive(struct slice result, struct arena *arena, struct audit_answer *answer)
{
    struct audit_parts parts = {.result = result, .has_event_time = true};
    struct err err;
    arena_reset(arena);
    if (audit_row_derive(&parts, arena, answer, &err))
        fail_msg("%s: %s", err.code, err.msg);
    assert_string_equal(answer->dead_reason, "");
}

static void
carries_hostile_values_within_64_mib(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf result = BUF_INIT;
    struct audit_answer answer;

    buf_add_str(&result, "{\"tuners_run\": [{\"tuner\": \"t\", \"error\": \"");
    for (int i = 0; i < ERROR_BYTES; i++)
        buf_add_byte(&result, 'x');
    buf_add_str(&result, "\"}]}");
    derive(buf_slice(&result), &arena, &answer);
    assert_in(answer.row, "xxx...\"");
    assert_in(answer.x, "\"truncated_error:0:1048576\"");
    assert_within_limit();

    buf_reset(&result);
    buf_add_str(&result, "{\"new\": ");
    add_nested(&result, LEVELS);
    buf_add_str(&result, ", \"precision\": ");
    add_nested(&result, LEVELS);
    buf_add_str(&result, ", \"tuners_run\": [{\"error\": ");
    add_nested(&result, LEVELS);
    buf_add_str(&result, "}]}");
    derive(buf_slice(&result), &arena, &answer);
    assert_in(answer.x, "\"unknown\": {\"new\": {\"$omitted_bytes\": 200000}}");
    assert_in(answer.row, "\"precision\": {\"$omitted_bytes\": 200000}");
    assert_in(answer.row, "[[[...\"");
    assert_in(answer.x, "\"too_deep:precision\"");
    assert_in(answer.x, "\"truncated_error_json:0:200000\"");
    assert_within_limit();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carries_hostile_values_within_64_mib),
    };
    return cmocka_run_group_tests_name("audit_memory", tests, NULL, NULL);
}
