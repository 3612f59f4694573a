/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters as facts: filters, plans, and how they are laid out. */
#include "letters.h"

#include "deadletter.h"
#include "digest.h"
#include "letters_print.h"

#include "unit.h"

enum { MAX_ATTEMPTS = 5 };

static const struct letter_filter everything = {.since_ms = INT64_MIN,
                                                .until_ms = INT64_MAX};
static const struct marks no_marks;

struct sample {
    const char *code;
    const char *topic;
    const char *worker;
    const char *attempt;
    const char *first_failed_at;
    const char *src;
};

/* A record of heddle.dead at `place`, its headers in `headers` (room for ten). */
static struct message
make(const struct sample *sample, int64_t offset, struct header *headers)
{
    size_t n = 0;
    const struct {
        const char *name;
        const char *value;
    } rows[] = {
        {DEAD_CODE, sample->code},       {DEAD_ORIGIN_TOPIC, sample->topic},
        {DEAD_ORIGIN_PARTITION, "3"},    {DEAD_ORIGIN_OFFSET, "17"},
        {DEAD_WORKER, sample->worker},   {DEAD_STAGE, "decode"},
        {DEAD_ATTEMPT, sample->attempt}, {DEAD_FIRST_FAILED_AT, sample->first_failed_at},
        {DEAD_SRC, sample->src},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value)
            headers[n++] =
                (struct header){slice_of(rows[i].name), slice_of(rows[i].value)};
    return (struct message){.topic = "heddle.dead",
                            .offset = offset,
                            .timestamp_ms = 500,
                            .key = SLICE("k"),
                            .value = SLICE("abc"),
                            .headers = headers,
                            .n_headers = n};
}

static const struct sample plain = {"value_null", "heddle.tunings", "audit",
                                    "1",          "1000",           NULL};

static void
add_marked(struct letters *letters,
           const struct sample *sample,
           int64_t offset,
           const struct letter_filter *filter,
           const struct marks *marks)
{
    struct err err;
    struct header headers[10];
    struct message in = make(sample, offset, headers);
    assert_int_equal(letters_add(letters, &in, filter, marks, MAX_ATTEMPTS, &err),
                     ERR_OK);
}

static void
add(struct letters *letters,
    const struct sample *sample,
    int64_t offset,
    const struct letter_filter *filter)
{
    add_marked(letters, sample, offset, filter, &no_marks);
}

static bool
always(void *state, struct slice topic)
{
    (void)state;
    (void)topic;
    return true;
}

static bool
never(void *state, struct slice topic)
{
    (void)state;
    (void)topic;
    return false;
}

static void
keeps_what_fits_the_filter(void **state)
{
    (void)state;
    static const char *codes[] = {"value_*", "body_trailing"};
    static const char *topics[] = {"heddle.tunings"};
    static const char *workers[] = {"aud?t"};
    static const struct sample samples[] = {
        {"value_null", "heddle.tunings", "audit", "1", "1000", NULL},
        {"body_trailing", "heddle.tunings", "audit", "1", "2000", NULL},
        {"body_invalid", "heddle.tunings", "audit", "1", "1500", NULL},
        {"value_null", "heddle.traces", "audit", "1", "1500", NULL},
        {"value_null", "heddle.tunings", "split", "1", "1500", NULL},
        {"value_null", "heddle.tunings", "audit", "1", "999", NULL},
        {"value_null", "heddle.tunings", "audit", "1", "2001", NULL},
        {"value_null", "heddle.tunings", "audit", "1", NULL, NULL}, /* of 500 */
    };
    struct letter_filter filter = {.codes = {codes, 2},
                                   .origin_topics = {topics, 1},
                                   .workers = {workers, 1},
                                   .since_ms = 1000,
                                   .until_ms = 2000};
    CLEANUP(letters_done) struct letters letters = LETTERS_INIT;

    for (int i = 0; i < 8; i++)
        add(&letters, &samples[i], i, &filter);

    assert_int_equal(letters.n, 2);
    assert_int_equal(letters.items[0].offset, 0);
    assert_int_equal(letters.items[1].offset, 1);
}

static void
keeps_the_places_that_are_named(void **state)
{
    (void)state;
    struct err err;
    struct letter_address addresses[3];
    CLEANUP(letters_done) struct letters letters = LETTERS_INIT;
    assert_int_equal(letter_address_read("0:7", &addresses[0], &err), ERR_OK);
    assert_int_equal(letter_address_read("0:3", &addresses[1], &err), ERR_OK);
    assert_int_equal(letter_address_read("0:7", &addresses[2], &err), ERR_OK);
    struct letter_filter filter = everything;
    filter.addresses = addresses;
    filter.n_addresses = letter_addresses_sort(addresses, 3);

    add(&letters, &plain, 6, &filter);
    add(&letters, &plain, 7, &filter);

    assert_int_equal(filter.n_addresses, 2);
    assert_int_equal(letters.n, 1);
    assert_false(addresses[0].found);
    assert_true(addresses[1].found);
}

static void
refuses_what_is_no_place(void **state)
{
    (void)state;
    static const char *const cases[] = {"",    ":",    "1",     "1:",           ":1",
                                        "a:1", "1:1x", "1:2:3", "2147483648:1", "-1:1"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        struct letter_address address;

        if (letter_address_read(cases[i], &address, &err) == ERR_OK)
            fail_msg("taken: %s", cases[i]);

        assert_int_equal(err.exit_code, EXIT_USAGE);
    }
}

static void
a_record_without_our_headers_is_unknown_and_stays(void **state)
{
    (void)state;
    static const struct sample bare = {0};
    static const struct sample half = {.code = "value_null"};
    CLEANUP(letters_done) struct letters letters = LETTERS_INIT;
    struct letter_plan plan = {0};
    struct letter_plan drop = {.drop = true};

    add(&letters, &bare, 0, &everything);
    add(&letters, &half, 1, &everything);
    letters_plan(&letters, &plan, always, NULL);

    for (size_t i = 0; i < 2; i++) {
        assert_true(slice_is(letters_text(&letters, letters.items[i].code), "unknown"));
        assert_int_equal(letters.items[i].action, LETTER_LEAVE);
        assert_string_equal(letters.items[i].reason, "unknown");
    }
    letters_plan(&letters, &drop, always, NULL);
    assert_int_equal(letters_count(&letters, LETTER_TAKE), 2);
}

static void
leaves_what_can_not_go_back_and_says_why(void **state)
{
    (void)state;
    static const struct {
        struct sample sample;
        const char *reason;
    } cases[] = {
        {{"value_null", "heddle.tunings", "audit", "4", "1", NULL}, NULL},
        {{"value_null", "heddle.tunings", "audit", "5", "1", NULL}, "quarantined"},
        {{"value_null", "heddle.tunings", "audit", "1", "1", "00"}, "value_changed"},
        {{"value_null", "heddle.tunings", "audit", "1", "1",
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
         NULL},
        {{"value_null", "heddle.dead", "audit", "1", "1", NULL}, "origin_is_heddle_dead"},
    };
    CLEANUP(letters_done) struct letters letters = LETTERS_INIT;
    struct letter_plan plan = {0};
    for (int i = 0; i < 5; i++)
        add(&letters, &cases[i].sample, i, &everything);

    letters_plan(&letters, &plan, always, NULL);

    for (int i = 0; i < 5; i++) {
        const struct letter *letter = &letters.items[i];
        assert_int_equal(letter->action, cases[i].reason ? LETTER_LEAVE : LETTER_TAKE);
        if (cases[i].reason)
            assert_string_equal(letter->reason, cases[i].reason);
    }
    letters_plan(&letters, &plan, never, NULL);
    assert_string_equal(letters.items[0].reason, "origin_topic_missing");
    assert_int_equal(letters_count(&letters, LETTER_TAKE), 0);
}

/* One mark of that state on offset 0. */
static struct marks
mark_first(enum mark_state mark_state, struct mark *mark)
{
    struct header headers[10];
    struct message in = make(&plain, 0, headers);
    *mark = (struct mark){.state = mark_state};
    assert_true(letter_id(SLICE("heddle.tunings"), &in, 2, 1000, mark->id));
    return (struct marks){.items = mark, .n = 1};
}

static void
what_was_settled_is_passed_over_unless_named(void **state)
{
    (void)state;
    struct letter_plan plan = {0}, named = {.by_place = true}, again = {.again = true};
    struct letter_plan drop_again = {.again = true, .drop = true};
    struct mark mark;
    CLEANUP(letters_done) struct letters requeued = LETTERS_INIT;
    CLEANUP(letters_done) struct letters dropped = LETTERS_INIT;
    struct marks marks = mark_first(MARK_REQUEUED, &mark);
    add_marked(&requeued, &plain, 0, &everything, &marks);
    marks = mark_first(MARK_DROPPED, &mark);
    add_marked(&dropped, &plain, 0, &everything, &marks);

    letters_plan(&requeued, &plan, always, NULL);
    assert_int_equal(requeued.items[0].action, LETTER_PASS);
    letters_plan(&requeued, &again, always, NULL);
    assert_int_equal(requeued.items[0].action, LETTER_PASS);
    letters_plan(&requeued, &named, always, NULL);
    assert_string_equal(requeued.items[0].reason, "requeued_before");

    letters_plan(&dropped, &plan, always, NULL);
    assert_int_equal(dropped.items[0].action, LETTER_PASS);
    letters_plan(&dropped, &drop_again, always, NULL);
    assert_int_equal(dropped.items[0].action, LETTER_PASS);
    letters_plan(&dropped, &again, always, NULL);
    assert_int_equal(dropped.items[0].action, LETTER_TAKE);
}

/* Else those in quarantine would fill every limit, and nothing would ever go. */
static void
a_limit_counts_what_is_taken(void **state)
{
    (void)state;
    static const struct sample worn = {"value_null", "heddle.tunings", "audit", "9", "1",
                                       NULL};
    CLEANUP(letters_done) struct letters letters = LETTERS_INIT;
    struct letter_plan plan = {.limit = 2};
    for (int i = 0; i < 3; i++)
        add(&letters, &worn, i, &everything);
    for (int i = 3; i < 6; i++)
        add(&letters, &plain, i, &everything);

    letters_plan(&letters, &plan, always, NULL);

    assert_int_equal(letters_count(&letters, LETTER_TAKE), 2);
    assert_int_equal(letters.items[4].action, LETTER_TAKE);
    assert_int_equal(letters.items[5].action, LETTER_PASS);
}

static void
lists_a_json_object_a_line(void **state)
{
    (void)state;
    static const struct sample bare = {0};
    CLEANUP(letters_done) struct letters letters = LETTERS_INIT;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct letters_list how = {.json = true};
    add(&letters, &plain, 7, &everything);
    add(&letters, &bare, 8, &everything);

    assert_int_equal(letters_list(&letters, &how, &out), 2);

    assert_string_equal(
        buf_text(&out),
        "{\"partition\": 0, \"offset\": 7, \"state\": \"open\", \"code\": "
        "\"value_null\", "
        "\"stage\": \"decode\", \"origin\": {\"topic\": \"heddle.tunings\", "
        "\"partition\": 3, \"offset\": 17}, \"worker\": \"audit\", \"attempt\": 1, "
        "\"first_failed_at\": 1000, \"timestamp\": 500, \"size\": 3, \"key\": \"k\"}\n"
        "{\"partition\": 0, \"offset\": 8, \"state\": \"open\", \"code\": \"unknown\", "
        "\"stage\": \"decode\", \"origin\": {\"topic\": null, \"partition\": 3, "
        "\"offset\": 17}, \"worker\": null, \"attempt\": 1, \"first_failed_at\": null, "
        "\"timestamp\": 500, \"size\": 3, \"key\": \"k\"}\n");
}

static void
a_table_never_carries_control_characters(void **state)
{
    (void)state;
    static const struct sample hostile = {"\x1B[2J\n", "t\xC2\x9B", "a\xFF\xC3\xA9",
                                          "1",         "1000",      NULL};
    CLEANUP(letters_done) struct letters letters = LETTERS_INIT;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct letters_list how = {0};
    add(&letters, &hostile, 7, &everything);

    letters_list(&letters, &how, &out);

    const char *text = buf_text(&out);
    assert_non_null(strstr(text, "?[2J?"));
    assert_non_null(strstr(text, "t?:3:17"));
    assert_non_null(strstr(text, "a?\xC3\xA9"));
    assert_null(strchr(text, '\x1B'));
    assert_non_null(strstr(text, "0:7"));
}

static void
counts_by_code_and_origin(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"value_null", "heddle.tunings", "audit", "1", "3000", NULL},
        {"body_invalid", "heddle.tunings", "audit", "1", "1000", NULL},
        {"value_null", "heddle.traces", "audit", "1", "1000", NULL},
        {"value_null", "heddle.tunings", "audit", "7", "2000", NULL},
    };
    struct err err;
    struct mark mark;
    struct marks marks = mark_first(MARK_DROPPED, &mark);
    CLEANUP(letters_done) struct letters letters = LETTERS_INIT;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    for (int i = 0; i < 4; i++)
        add(&letters, &samples[i], i + 1, &everything);
    add_marked(&letters, &plain, 0, &everything, &marks);

    assert_int_equal(letters_stats(&letters, false, true, &out, &err), ERR_OK);

    assert_string_equal(
        buf_text(&out),
        "{\"code\": \"body_invalid\", \"origin_topic\": \"heddle.tunings\", \"open\": 1, "
        "\"quarantined\": 0, \"unsure\": 0, \"requeued\": 0, \"dropped\": 0, "
        "\"oldest\": 1000, \"newest\": 1000}\n"
        "{\"code\": \"value_null\", \"origin_topic\": \"heddle.traces\", \"open\": 1, "
        "\"quarantined\": 0, \"unsure\": 0, \"requeued\": 0, \"dropped\": 0, "
        "\"oldest\": 1000, \"newest\": 1000}\n"
        "{\"code\": \"value_null\", \"origin_topic\": \"heddle.tunings\", \"open\": 1, "
        "\"quarantined\": 1, \"unsure\": 0, \"requeued\": 0, \"dropped\": 1, "
        "\"oldest\": 1000, \"newest\": 3000}\n");
}

static void
groups_with_nothing_to_do_are_hidden(void **state)
{
    (void)state;
    struct err err;
    struct mark mark;
    struct marks marks = mark_first(MARK_REQUEUED, &mark);
    CLEANUP(letters_done) struct letters letters = LETTERS_INIT;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    add_marked(&letters, &plain, 0, &everything, &marks);

    assert_int_equal(letters_stats(&letters, false, true, &out, &err), ERR_OK);
    assert_int_equal(out.len, 0);
    assert_int_equal(letters_stats(&letters, true, true, &out, &err), ERR_OK);
    assert_non_null(strstr(buf_text(&out), "\"requeued\": 1"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_fits_the_filter),
        cmocka_unit_test(keeps_the_places_that_are_named),
        cmocka_unit_test(refuses_what_is_no_place),
        cmocka_unit_test(a_record_without_our_headers_is_unknown_and_stays),
        cmocka_unit_test(leaves_what_can_not_go_back_and_says_why),
        cmocka_unit_test(what_was_settled_is_passed_over_unless_named),
        cmocka_unit_test(a_limit_counts_what_is_taken),
        cmocka_unit_test(lists_a_json_object_a_line),
        cmocka_unit_test(a_table_never_carries_control_characters),
        cmocka_unit_test(counts_by_code_and_origin),
        cmocka_unit_test(groups_with_nothing_to_do_are_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
