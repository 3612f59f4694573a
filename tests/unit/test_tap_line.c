/* SPDX-License-Identifier: Apache-2.0 */
/* A tap's line is one line of valid JSON, whatever the record holds. */
#include "json_scan.h"
#include "tap_line.h"

#include <stdio.h>

#include "unit.h"

/* The line, checked to be one line that is one JSON object. */
static const char *
line_of(const struct message *in,
        struct slice value,
        const struct err *bad,
        struct buf *out)
{
    enum json_type type = JSON_TYPE_NULL;
    buf_reset(out);
    tap_line(in, value, bad, out);
    assert_int_equal(json_scan_check(buf_slice(out), &type, NULL), ERR_OK);
    assert_int_equal(type, JSON_TYPE_OBJECT);
    const char *text = buf_text(out);
    assert_ptr_equal(strchr(text, '\n'), text + out->len - 1);
    return text;
}

static void
shows_a_decoded_value_as_it_is(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct message in = {.topic = "t",
                         .partition = 3,
                         .offset = 41,
                         .timestamp_ms = 1785,
                         .key = SLICE("k\"1"),
                         .value = SLICE("\xC3\x01")};

    assert_string_equal(line_of(&in, SLICE("{\"a\": 1.50}"), NULL, &out),
                        "{\"topic\": \"t\", \"partition\": 3, \"offset\": 41, "
                        "\"timestamp\": 1785, \"key\": \"k\\\"1\", \"headers\": {}, "
                        "\"value\": {\"a\": 1.50}}\n");
}

static void
shows_why_a_value_can_not_be_decoded(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct err bad = {.kind = ERR_RECORD, .code = "body_invalid", .msg = "at 7\n\x80"};
    struct message in = {.topic = "t", .key = SLICE("k"), .value = SLICE("\xC3\x01\x00")};

    const char *line = line_of(&in, (struct slice){0}, &bad, &out);

    assert_non_null(strstr(line, "\"value\": {\"base64\": \"wwEA\"}"));
    assert_non_null(strstr(line, "\"error\": {\"code\": \"body_invalid\", "
                                 "\"message\": \"at 7\\n\\ufffd\"}"));
}

static void
shows_null_for_what_is_not_there(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct message in = {.topic = "t", .timestamp_ms = -1};

    const char *line = line_of(&in, (struct slice){0}, NULL, &out);

    assert_non_null(strstr(line, "\"key\": null"));
    assert_non_null(strstr(line, "\"value\": null"));
}

static void
pads_base64_by_length(void **state)
{
    (void)state;
    static const struct {
        struct slice bytes;
        const char *base64;
    } cases[] = {
        {{"\xFF", 1}, "/w=="},
        {{"\xFF\xFE", 2}, "//4="},
        {{"\xFF\xFE\xFD", 3}, "//79"},
        {{"\xFF\x00\x10\x83", 4}, "/wAQgw=="},
    };
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct message in = {.topic = "t", .value = cases[i].bytes};
        char want[64];
        snprintf(want, sizeof want, "\"value\": {\"base64\": \"%s\"}", cases[i].base64);

        assert_non_null(strstr(line_of(&in, (struct slice){0}, NULL, &out), want));
    }
}

static void
lets_the_last_of_repeated_headers_count(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct header headers[] = {
        {SLICE("heddle.dead.code"), SLICE("old")},
        {SLICE("raw"), SLICE("\xFF")},
        {SLICE("heddle.dead.code"), SLICE("body_trailing")},
        {SLICE("none"), {NULL, 0}},
    };
    struct message in = {.topic = "t", .headers = headers, .n_headers = 4};

    const char *line = line_of(&in, (struct slice){0}, NULL, &out);

    assert_non_null(strstr(line, "\"headers\": {\"raw\": {\"base64\": \"/w==\"}, "
                                 "\"heddle.dead.code\": \"body_trailing\", "
                                 "\"none\": null}"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_a_decoded_value_as_it_is),
        cmocka_unit_test(shows_why_a_value_can_not_be_decoded),
        cmocka_unit_test(shows_null_for_what_is_not_there),
        cmocka_unit_test(pads_base64_by_length),
        cmocka_unit_test(lets_the_last_of_repeated_headers_count),
    };
    return cmocka_run_group_tests_name("tap_line", tests, NULL, NULL);
}
