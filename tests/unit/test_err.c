/* SPDX-License-Identifier: Apache-2.0 */
/* Error values: kind and code survive, a long message stays valid UTF-8. */
#include "err.h"

#include "unit.h"

static void
returns_the_kind_and_keeps_code_and_message(void **state)
{
    (void)state;
    struct err err;

    assert_int_equal(err_set(&err, ERR_RECORD, "result_empty", "result of %d bytes", 0),
                     ERR_RECORD);

    assert_string_equal(err.code, "result_empty");
    assert_string_equal(err.msg, "result of 0 bytes");
    assert_int_equal(err_set(NULL, ERR_RETRY, "x", "y"), ERR_RETRY);
}

static void
cuts_a_long_message_between_characters(void **state)
{
    (void)state;
    struct err err;
    char text[2 * ERR_MSG_BYTES + 1];
    for (size_t i = 0; i < sizeof text - 1; i += 2)
        memcpy(text + i, "\xC3\xA9", 2);
    text[sizeof text - 1] = '\0';

    err_set(&err, ERR_RECORD, "c", "%s", text);
    assert_int_equal(strlen(err.msg), ERR_MSG_BYTES - 2);
    err_set(&err, ERR_RECORD, "c", "a%s", text);
    assert_int_equal(strlen(err.msg), ERR_MSG_BYTES - 1);
}

static void
names_the_first_stage_only(void **state)
{
    (void)state;
    struct err err;

    err_set(&err, ERR_RECORD, "magic_unknown", "no magic");
    assert_null(err.stage);
    err_at(&err, "frame");
    assert_int_equal(err_at(&err, "decode"), ERR_RECORD);

    assert_string_equal(err.stage, "frame");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_the_kind_and_keeps_code_and_message),
        cmocka_unit_test(cuts_a_long_message_between_characters),
        cmocka_unit_test(names_the_first_stage_only),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
