/* SPDX-License-Identifier: Apache-2.0 */
/* Lag: no commit is a state of its own, and so is a commit below the log start. */
#include "lag_print.h"

#include "unit.h"

static const struct group_lag lags[] = {
    {.partition = 0, .committed = 40, .start = 0, .end = 40, .lag = 0},
    {.partition = 1, .committed = 7, .start = 0, .end = 10, .lag = 3},
    {.partition = 2, .committed = -1, .start = 2, .end = 6, .lag = 4},
    {.partition = 3, .committed = 1, .start = 5, .end = 6, .lag = 1},
};

static void
says_the_state_of_each_partition(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    lag_json("g", "t", lags, 4, &out);

    assert_string_equal(
        buf_text(&out),
        "{\"group\": \"g\", \"topic\": \"t\", \"lag\": 8, \"partitions\": ["
        "{\"partition\": 0, \"state\": \"ok\", \"committed\": 40, \"start\": 0, "
        "\"end\": 40, \"lag\": 0}, "
        "{\"partition\": 1, \"state\": \"behind\", \"committed\": 7, \"start\": 0, "
        "\"end\": 10, \"lag\": 3}, "
        "{\"partition\": 2, \"state\": \"no_commit\", \"committed\": null, \"start\": 2, "
        "\"end\": 6, \"lag\": 4}, "
        "{\"partition\": 3, \"state\": \"gone\", \"committed\": 1, \"start\": 5, "
        "\"end\": 6, \"lag\": 1}]}\n");
}

static void
tells_people_what_was_never_committed(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    lag_table("g", "t", lags, 4, &out);

    const char *text = buf_text(&out);
    assert_non_null(strstr(
        text, "        2  no commit yet            6            2            4\n"));
    assert_non_null(strstr(text, "records below the log start are gone\n"));
    assert_non_null(strstr(text, "sum"));
    assert_non_null(strstr(text, " 8\n"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_the_state_of_each_partition),
        cmocka_unit_test(tells_people_what_was_never_committed),
    };
    return cmocka_run_group_tests_name("lag_print", tests, NULL, NULL);
}
