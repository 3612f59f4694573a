/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of a value: what they say, and what they can't be. */
#include "framing.h"

#include "unit.h"

static void
assert_refused(struct slice value, const char *code)
{
    struct frame frame = {.schema_id = 77};
    struct err err = {0};

    assert_int_equal(frame_read(value, &frame, &err), ERR_RECORD);
    assert_string_equal(err.code, code);
    assert_true(err.msg[0] != '\0');
    assert_int_equal(frame.schema_id, 77);
}

static void
reads_single_object_encoding(void **state)
{
    (void)state;
    struct frame frame;
    struct slice value = SLICE("\xc3\x01\x08\x07\x06\x05\x04\x03\x02\x81"
                               "body");

    assert_int_equal(frame_read(value, &frame, NULL), ERR_OK);

    assert_int_equal(frame.kind, FRAME_SINGLE_OBJECT);
    assert_true(frame.fingerprint == UINT64_C(0x8102030405060708));
    assert_true(slice_is(frame.body, "body"));
    assert_ptr_equal(frame.body.data, value.data + 10);
}

static void
reads_a_confluent_header(void **state)
{
    (void)state;
    struct frame frame;

    assert_int_equal(frame_read(SLICE("\x00\x81\x02\x03\x04"
                                      "b"),
                                &frame, NULL),
                     ERR_OK);

    assert_int_equal(frame.kind, FRAME_CONFLUENT);
    assert_true(frame.schema_id == 0x81020304u);
    assert_true(slice_is(frame.body, "b"));
}

static void
takes_a_header_with_an_empty_body(void **state)
{
    (void)state;
    struct frame frame;

    assert_int_equal(frame_read(SLICE("\x00\x00\x00\x00\x01"), &frame, NULL), ERR_OK);
    assert_non_null(frame.body.data);
    assert_int_equal(frame.body.len, 0);
    assert_int_equal(frame_read(SLICE("\xc3\x01\0\0\0\0\0\0\0\0"), &frame, NULL), ERR_OK);
    assert_non_null(frame.body.data);
    assert_int_equal(frame.body.len, 0);
}

static void
tells_no_value_from_an_empty_one(void **state)
{
    (void)state;
    assert_refused((struct slice){0}, "value_null");
    assert_refused(SLICE(""), "value_empty");
}

static void
refuses_a_header_cut_at_any_byte(void **state)
{
    (void)state;
    struct slice single = SLICE("\xc3\x01\x08\x07\x06\x05\x04\x03\x02\x01");
    struct slice confluent = SLICE("\x00\x01\x02\x03\x04");

    for (size_t len = 1; len < single.len; len++)
        assert_refused((struct slice){single.data, len}, "body_truncated");
    for (size_t len = 1; len < confluent.len; len++)
        assert_refused((struct slice){confluent.data, len}, "body_truncated");
}

static void
refuses_a_schema_guid(void **state)
{
    (void)state;
    assert_refused(SLICE("\x01"), "schema_guid_unsupported");
    assert_refused(SLICE("\x01 0123456789abcdef body"), "schema_guid_unsupported");
}

static void
refuses_every_other_first_byte(void **state)
{
    (void)state;
    for (int first = 2; first < 256; first++) {
        char value[16] = {(char)first, 0x01};
        if (first != 0xC3)
            assert_refused((struct slice){value, sizeof value}, "magic_unknown");
    }
    assert_refused(SLICE("\xc3\x02\0\0\0\0\0\0\0\0"), "magic_unknown");
    assert_refused(SLICE("\xc3\x02"), "magic_unknown");
    assert_refused(SLICE("{\"json\": true}"), "magic_unknown");
}

static void
reads_back_what_it_writes(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct frame frame;

    frame_write_single_object(&out, UINT64_C(0xfedcba9876543210));
    assert_memory_equal(out.data, "\xc3\x01\x10\x32\x54\x76\x98\xba\xdc\xfe", 10);
    assert_int_equal(out.len, 10);
    assert_int_equal(frame_read(buf_slice(&out), &frame, NULL), ERR_OK);
    assert_true(frame.fingerprint == UINT64_C(0xfedcba9876543210));

    buf_reset(&out);
    frame_write_confluent(&out, 0xfedcba98u);
    assert_memory_equal(out.data, "\x00\xfe\xdc\xba\x98", 5);
    assert_int_equal(out.len, 5);
    assert_int_equal(frame_read(buf_slice(&out), &frame, NULL), ERR_OK);
    assert_true(frame.schema_id == 0xfedcba98u);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_single_object_encoding),
        cmocka_unit_test(reads_a_confluent_header),
        cmocka_unit_test(takes_a_header_with_an_empty_body),
        cmocka_unit_test(tells_no_value_from_an_empty_one),
        cmocka_unit_test(refuses_a_header_cut_at_any_byte),
        cmocka_unit_test(refuses_a_schema_guid),
        cmocka_unit_test(refuses_every_other_first_byte),
        cmocka_unit_test(reads_back_what_it_writes),
    };
    return cmocka_run_group_tests_name("framing", tests, NULL, NULL);
}
