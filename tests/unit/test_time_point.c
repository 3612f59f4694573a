/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as a person writes them. */
#include "time_point.h"

#include "unit.h"

static const int64_t now_ms = 1785024000000;

static void
reads_each_way_to_write_a_time(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"-2h", 1785024000000 - 7200000},
        {"-250ms", 1785024000000 - 250},
        {"-1d", 1785024000000 - 86400000},
        {"0", 0},
        {"1785024000", 1785024000000},
        {"1785024000123", 1785024000123},
        {"1970-01-01", 0},
        {"2026-07-26T00:00Z", 1785024000000},
        {"2026-07-26T00:00:00", 1785024000000},
        {"2026-07-26T02:00:00.5+02:00", 1785024000500},
        {"2026-07-25T23:30:00.123456-00:30", 1785024000123},
        {"2028-02-29", 1835395200000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        int64_t ms = -1;

        assert_int_equal(time_point_read("--since", cases[i].text, now_ms, &ms, &err),
                         ERR_OK);

        assert_int_equal(ms, cases[i].ms);
    }
}

static void
refuses_what_is_no_time(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "yesterday",
        "-h",
        "-2w",
        "2026-02-30",
        "2026-13-01",
        "2026-01-00",
        "2026-1-1",
        "2026-01-01T",
        "2026-01-01 00:00",
        "2026-01-01T24:00",
        "2026-01-01T00:00X",
        "2026-01-01T00:00+2",
        "1234567890123456",
        "12s",
        "2026-01-01T00:00:00.",
        "-999999999999999d",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        int64_t ms = -1;

        if (time_point_read("--since", cases[i], now_ms, &ms, &err) == ERR_OK)
            fail_msg("%s was taken", cases[i]);

        assert_int_equal(err.exit_code, EXIT_USAGE);
        assert_non_null(strstr(err.msg, "--since"));
        assert_int_equal(ms, -1);
    }
}

static void
prints_whole_seconds_of_utc(void **state)
{
    (void)state;
    char text[TIME_TEXT_BYTES];

    time_point_print(now_ms + 999, text);
    assert_string_equal(text, "2026-07-26T00:00:00Z");
    time_point_print(-1, text);
    assert_string_equal(text, "-");
    time_point_print(INT64_MAX, text);
    assert_string_equal(text, "-");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_way_to_write_a_time),
        cmocka_unit_test(refuses_what_is_no_time),
        cmocka_unit_test(prints_whole_seconds_of_utc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
