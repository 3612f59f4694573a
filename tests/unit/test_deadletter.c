/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of a dead letter: complete, bounded, never piled up. */
#include "deadletter.h"

#include "arena.h"

#include "unit.h"

static const struct dead_letter_source source = {"group", "audit", "0.1.0", false};

struct letter {
    const struct header *headers;
    size_t n;
};

static struct letter
make(const struct dead_letter_source *from,
     const struct message *in,
     const struct err *why,
     struct arena *arena)
{
    struct letter letter = {0};
    struct err err;
    assert_int_equal(
        dead_letter_headers(from, in, why, 1234, arena, &letter.headers, &letter.n, &err),
        ERR_OK);
    return letter;
}

static void
assert_header(const struct letter *letter, const char *name, const char *text)
{
    struct slice value = header_last(letter->headers, letter->n, name);
    if (!slice_is(value, text))
        fail_msg("%s is %.*s, not %s", name, SLICE_ARG(value), text);
}

static size_t
count(const struct letter *letter, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < letter->n; i++)
        n += slice_is(letter->headers[i].name, name);
    return n;
}

static struct err
failure(const char *code, const char *text)
{
    struct err err;
    err_set(&err, ERR_RECORD, code, "%s", text);
    err.stage = "decode";
    return err;
}

static void
says_where_the_record_came_from_and_why_it_failed(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct message in = {.topic = "heddle.tunings",
                         .partition = 3,
                         .offset = 42,
                         .timestamp_ms = 99,
                         .value = SLICE("abc")};
    struct err why = failure("magic_unknown", "first byte is 61");

    struct letter letter = make(&source, &in, &why, &arena);

    assert_header(&letter, "heddle.dead.origin.topic", "heddle.tunings");
    assert_header(&letter, "heddle.dead.origin.partition", "3");
    assert_header(&letter, "heddle.dead.origin.offset", "42");
    assert_header(&letter, "heddle.dead.origin.timestamp", "99");
    assert_header(&letter, "heddle.dead.group", "group");
    assert_header(&letter, "heddle.dead.worker", "audit");
    assert_header(&letter, "heddle.dead.worker.version", "0.1.0");
    assert_header(&letter, "heddle.dead.stage", "decode");
    assert_header(&letter, "heddle.dead.code", "magic_unknown");
    assert_header(&letter, "heddle.dead.message", "first byte is 61");
    assert_header(&letter, "heddle.dead.attempt", "1");
    assert_header(&letter, "heddle.dead.first_failed_at", "1234");
    assert_header(&letter, "heddle.dead.src",
                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(count(&letter, "heddle.dead.schema.id"), 0);
    assert_int_equal(count(&letter, "heddle.dead.schema.fingerprint"), 0);
}

static void
names_the_schema_when_the_frame_is_readable(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct message single = {
        .topic = "t", .value = SLICE("\xC3\x01\x08\x07\x06\x05\x04\x03\x02\x01zz")};
    struct message confluent = {.topic = "t", .value = SLICE("\0\0\0\1\2zz")};
    struct err why = failure("schema_unknown", "who");

    struct letter first = make(&source, &single, &why, &arena);
    struct letter second = make(&source, &confluent, &why, &arena);

    assert_header(&first, "heddle.dead.schema.fingerprint", "0102030405060708");
    assert_header(&second, "heddle.dead.schema.id", "258");
}

static void
keeps_headers_of_others_and_their_order(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    const struct header own[] = {
        {SLICE("traceparent"), SLICE("00-1")},
        {SLICE("twice"), SLICE("a")},
        {SLICE("twice"), {NULL, 0}},
        {SLICE("bytes"), SLICE("\xff\0\x01")},
    };
    struct message in = {.topic = "t", .headers = own, .n_headers = 4};
    struct err why = failure("value_null", "none");

    struct letter letter = make(&source, &in, &why, &arena);

    for (size_t i = 0; i < 4; i++) {
        assert_true(slice_equal(letter.headers[i].name, own[i].name));
        assert_true(slice_equal(letter.headers[i].value, own[i].value));
        assert_true(!letter.headers[i].value.data == !own[i].value.data);
    }
    assert_int_equal(count(&letter, "heddle.dead.src"), 0);
}

static void
does_not_grow_over_fifty_failures(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct message in = {.topic = "heddle.tunings", .value = SLICE("abc")};
    struct err why = failure("result_empty", "no bytes");
    struct letter letter = make(&source, &in, &why, &arena);
    size_t once = headers_size(letter.headers, letter.n);

    for (int i = 0; i < 50; i++) {
        in.headers = letter.headers;
        in.n_headers = letter.n;
        letter = make(&source, &in, &why, &arena);
    }

    assert_int_equal(headers_size(letter.headers, letter.n), once);
    assert_int_equal(count(&letter, "heddle.dead.code"), 1);
}

static void
takes_attempt_and_first_failure_from_the_last_header(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    const struct header own[] = {
        {SLICE("heddle.dead.attempt"), SLICE("2")},
        {SLICE("heddle.dead.attempt"), SLICE("3")},
        {SLICE("heddle.dead.first_failed_at"), SLICE("1000")},
    };
    struct message in = {.topic = "t", .headers = own, .n_headers = 3};
    struct err why = failure("value_null", "none");

    struct letter letter = make(&source, &in, &why, &arena);

    assert_header(&letter, "heddle.dead.attempt", "3");
    assert_header(&letter, "heddle.dead.first_failed_at", "1000");
    assert_int_equal(count(&letter, "heddle.dead.attempt"), 1);
}

static void
ignores_an_attempt_that_is_no_number(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    const struct header own[] = {{SLICE("heddle.dead.attempt"), SLICE("many")}};
    struct message in = {.topic = "t", .headers = own, .n_headers = 1};
    struct err why = failure("value_null", "none");

    struct letter letter = make(&source, &in, &why, &arena);

    assert_header(&letter, "heddle.dead.attempt", "1");
}

static void
cuts_texts_at_whole_characters(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct dead_letter_source long_group = source;
    char group[2000];
    memset(group, 'g', sizeof group - 1);
    group[sizeof group - 1] = '\0';
    memcpy(group + DEAD_TEXT_BYTES - 1, "\xC3\xA9", 2);
    long_group.group = group;
    struct message in = {.topic = "t"};
    struct err why = failure("value_null", "bad \xff byte");

    struct letter letter = make(&long_group, &in, &why, &arena);

    struct slice cut = header_last(letter.headers, letter.n, "heddle.dead.group");
    assert_int_equal(cut.len, DEAD_TEXT_BYTES - 1);
    assert_header(&letter, "heddle.dead.message", "bad ? byte");
}

static void
writes_the_names_of_connect_besides(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct dead_letter_source connect = source;
    connect.connect_names = true;
    const struct header own[] = {{SLICE("__connect.errors.offset"), SLICE("1")}};
    struct message in = {.topic = "t", .offset = 5, .headers = own, .n_headers = 1};
    struct err why = failure("value_null", "none");

    struct letter letter = make(&connect, &in, &why, &arena);

    assert_header(&letter, "__connect.errors.topic", "t");
    assert_header(&letter, "__connect.errors.offset", "5");
    assert_header(&letter, "__connect.errors.exception.class.name", "value_null");
    assert_header(&letter, "heddle.dead.code", "value_null");
    assert_int_equal(count(&letter, "__connect.errors.offset"), 1);
}

static struct letter
requeue(const struct message *in, struct arena *arena)
{
    struct letter letter = {0};
    struct err err;
    assert_int_equal(
        dead_letter_requeue_headers(in, arena, &letter.headers, &letter.n, &err), ERR_OK);
    return letter;
}

static void
reads_what_it_wrote(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct message in = {
        .topic = "heddle.tunings", .partition = 3, .offset = 42, .value = SLICE("abc")};
    struct err why = failure("magic_unknown", "first byte is 61");
    struct letter letter = make(&source, &in, &why, &arena);
    struct dead_letter facts;
    in.headers = letter.headers;
    in.n_headers = letter.n;

    assert_true(dead_letter_read(&in, &facts));

    assert_true(slice_is(facts.code, "magic_unknown"));
    assert_true(slice_is(facts.stage, "decode"));
    assert_true(slice_is(facts.worker, "audit"));
    assert_true(slice_is(facts.origin_topic, "heddle.tunings"));
    assert_int_equal(facts.origin_partition, 3);
    assert_int_equal(facts.origin_offset, 42);
    assert_int_equal(facts.attempt, 1);
    assert_int_equal(facts.first_failed_at_ms, 1234);
}

static void
knows_a_record_that_is_no_dead_letter(void **state)
{
    (void)state;
    const struct header odd[] = {
        {SLICE("heddle.dead.code"), SLICE("value_null")},
        {SLICE("heddle.dead.attempt"), SLICE("99999999999999999999")},
        {SLICE("heddle.dead.origin.offset"), SLICE("-5")},
        {SLICE("heddle.dead.first_failed_at"), {NULL, 0}},
    };
    struct message bare = {.topic = "heddle.dead"};
    struct message without_origin = {
        .topic = "heddle.dead", .headers = odd, .n_headers = 4};
    struct dead_letter facts;

    assert_false(dead_letter_read(&bare, &facts));
    assert_null(facts.code.data);
    assert_false(dead_letter_read(&without_origin, &facts));
    assert_int_equal(facts.attempt, 1);
    assert_int_equal(facts.origin_offset, -1);
    assert_int_equal(facts.first_failed_at_ms, -1);
}

static void
goes_back_with_its_own_headers_and_the_next_attempt(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct dead_letter_source connect = source;
    connect.connect_names = true;
    const struct header own[] = {{SLICE("traceparent"), SLICE("00-1")},
                                 {SLICE("bytes"), SLICE("\xff\0\x01")},
                                 {SLICE("traceparent"), {NULL, 0}}};
    struct message in = {.topic = "t", .headers = own, .n_headers = 3};
    struct err why = failure("value_null", "none");
    struct letter letter = make(&connect, &in, &why, &arena);
    in.headers = letter.headers;
    in.n_headers = letter.n;

    struct letter back = requeue(&in, &arena);

    assert_int_equal(back.n, 5);
    for (size_t i = 0; i < 3; i++) {
        assert_true(slice_equal(back.headers[i].name, own[i].name));
        assert_true(slice_equal(back.headers[i].value, own[i].value));
        assert_true(!back.headers[i].value.data == !own[i].value.data);
    }
    assert_header(&back, "heddle.dead.attempt", "2");
    assert_header(&back, "heddle.dead.first_failed_at", "1234");
}

/* conventions.md 3, row 20: below 512 bytes in all. */
static void
fifty_requeues_grow_a_record_by_less_than_512_bytes(void **state)
{
    (void)state;
    enum { TIMES = 50, GROWTH_BYTES = 512 };
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct dead_letter_source connect = source;
    connect.connect_names = true;
    const struct header own[] = {{SLICE("traceparent"), SLICE("00-1")}};
    struct message in = {
        .topic = "t", .value = SLICE("abc"), .headers = own, .n_headers = 1};
    struct err why = failure("result_empty", "no bytes");
    struct letter letter = make(&connect, &in, &why, &arena);
    size_t dead_once = headers_size(letter.headers, letter.n);
    size_t own_size = headers_size(own, 1);
    struct letter back = {0};

    for (int i = 0; i < TIMES; i++) {
        in.headers = letter.headers;
        in.n_headers = letter.n;
        back = requeue(&in, &arena);
        in.headers = back.headers;
        in.n_headers = back.n;
        letter = make(&connect, &in, &why, &arena);
    }

    assert_header(&letter, "heddle.dead.attempt", "51");
    assert_header(&letter, "heddle.dead.first_failed_at", "1234");
    assert_true(headers_size(letter.headers, letter.n) < dead_once + GROWTH_BYTES);
    assert_true(headers_size(back.headers, back.n) < own_size + GROWTH_BYTES);
    assert_int_equal(count(&letter, "traceparent"), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_where_the_record_came_from_and_why_it_failed),
        cmocka_unit_test(names_the_schema_when_the_frame_is_readable),
        cmocka_unit_test(keeps_headers_of_others_and_their_order),
        cmocka_unit_test(does_not_grow_over_fifty_failures),
        cmocka_unit_test(takes_attempt_and_first_failure_from_the_last_header),
        cmocka_unit_test(ignores_an_attempt_that_is_no_number),
        cmocka_unit_test(cuts_texts_at_whole_characters),
        cmocka_unit_test(writes_the_names_of_connect_besides),
        cmocka_unit_test(reads_what_it_wrote),
        cmocka_unit_test(knows_a_record_that_is_no_dead_letter),
        cmocka_unit_test(goes_back_with_its_own_headers_and_the_next_attempt),
        cmocka_unit_test(fifty_requeues_grow_a_record_by_less_than_512_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
