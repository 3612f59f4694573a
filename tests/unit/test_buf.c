/* SPDX-License-Identifier: Apache-2.0 */
/* Growable bytes: the ceiling holds, a failure sticks until the end. */
#include "buf.h"

#include "unit.h"

static void
grows_and_keeps_what_was_written(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf buf = BUF_INIT;

    for (int i = 0; i < 1000; i++)
        buf_addf(&buf, "%d,", i);

    assert_int_equal(buf_check(&buf, "text", NULL), ERR_OK);
    assert_memory_equal(buf.data, "0,1,2,3,", 8);
    assert_int_equal(buf.len, 10 * 2 + 90 * 3 + 900 * 4);
}

static void
writes_nothing_past_its_ceiling(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf buf;
    buf_init(&buf, 10);
    struct err err;

    buf_add_str(&buf, "12345678");
    buf_add_str(&buf, "90ab");
    buf_add_byte(&buf, 'c');

    assert_int_equal(buf_check(&buf, "the record", &err), ERR_RECORD);
    assert_string_equal(err.code, "record_too_large");
    assert_int_equal(buf.len, 8);
}

static void
takes_the_bytes_out_and_is_empty_again(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf buf = BUF_INIT;
    size_t len = 0;

    buf_add_str(&buf, "abc");
    char *text = buf_take(&buf, &len);

    assert_string_equal(text, "abc");
    assert_int_equal(len, 3);
    assert_int_equal(buf.len, 0);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_keeps_what_was_written),
        cmocka_unit_test(writes_nothing_past_its_ceiling),
        cmocka_unit_test(takes_the_bytes_out_and_is_empty_again),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
