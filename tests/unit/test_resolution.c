/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of other writers, read into our struct: resolution by name, each rule both
 * where it holds and where it refuses.
 */
#include "codec.h"
#include "varint.h"

#include "unit.h"

#include <stdio.h>

CLEANUP_DEFINE(struct codec_plan, codec_plan_free);

/* ---- Helpers --------------------------------------------------------------------- */

enum { VALUE_BYTES = 512 };

struct reading {
    struct arena arena;
    struct codec *codec;
    struct err err;
    _Alignas(16) char value[VALUE_BYTES];
};

/* How far a record of `writer` comes with `type`: the code of the refusal, "" if none. */
static const char *
read_as(struct reading *reading,
        const struct record_type *type,
        const char *writer,
        struct slice body)
{
    reading->err = (struct err){0};
    assert_true(type->size <= VALUE_BYTES);
    reading->codec = codec_new(type, NULL, &reading->err);
    if (!reading->codec)
        fail_msg("%s", reading->err.msg);
    struct schema *schema = schema_parse(slice_of(writer), &reading->err);
    if (!schema)
        fail_msg("%s", reading->err.msg);
    CLEANUP(codec_plan_freep)
    struct codec_plan *plan = codec_plan_new(reading->codec, schema, &reading->err);
    schema_free(schema);
    if (plan)
        codec_decode(plan, body, &reading->arena, reading->value, &reading->err);
    if (reading->err.kind)
        assert_int_equal(reading->err.kind, ERR_RECORD);
    return reading->err.code;
}

static void
reading_done(struct reading *reading)
{
    arena_done(&reading->arena);
    codec_free(reading->codec);
    *reading = (struct reading){0};
}

#define BODY(literal)     ((struct slice){(literal), sizeof(literal) - 1})
#define READING           CLEANUP(reading_done) struct reading reading = {0}
#define RECORD(fields)    "{\"type\": \"record\", \"name\": \"R\", \"fields\": [" fields "]}"
#define FIELD(name, type) "{\"name\": \"" name "\", \"type\": " type "}"
#define ENUM(symbols)     "{\"type\": \"enum\", \"name\": \"E\", \"symbols\": [" symbols "]}"

#define ASSERT_READS(type, writer, body)                                                 \
    do {                                                                                 \
        const char *code_ = read_as(&reading, type, writer, body);                       \
        if (*code_)                                                                      \
            fail_msg("%s: %s", code_, reading.err.msg);                                  \
    } while (0)

#define ASSERT_REFUSES(type, writer, body, want)                                         \
    do {                                                                                 \
        read_as(&reading, type, writer, body);                                           \
        assert_string_equal(reading.err.code, want);                                     \
        reading_done(&reading);                                                          \
    } while (0)

/* A record of one field `v` of our schema, of any type. */
struct one {
    union {
        int32_t small;
        int64_t big;
        float half;
        double wide;
        struct slice text;
        struct list list;
        uint8_t fixed[4];
    } v;
    bool present;
};

#define ONE_TYPE(name_, avro, ...)                                                       \
    static const struct field name_##_field[] = {{.name = "v", __VA_ARGS__}};            \
    static const struct record_type name_ = {"R", RECORD(FIELD("v", avro)),              \
                                             FIELD_ROWS(name_##_field),                  \
                                             sizeof(struct one), NULL}

#define WRITER(avro) RECORD(FIELD("v", avro))

ONE_TYPE(one_int, "\"int\"", .type = FIELD_INT);
ONE_TYPE(one_long, "\"long\"", .type = FIELD_LONG);
ONE_TYPE(one_float, "\"float\"", .type = FIELD_FLOAT);
ONE_TYPE(one_double, "\"double\"", .type = FIELD_DOUBLE);
ONE_TYPE(one_text, "\"string\"", .type = FIELD_STRING);
ONE_TYPE(one_bytes, "\"bytes\"", .type = FIELD_BYTES);
ONE_TYPE(one_enum, ENUM("\"X\", \"Y\", \"Z\""), .type = FIELD_ENUM);
ONE_TYPE(one_enum_or,
         "{\"type\": \"enum\", \"name\": \"E\", \"symbols\": [\"X\", \"OTHER\"],"
         " \"default\": \"OTHER\"}",
         .type = FIELD_ENUM);
ONE_TYPE(one_fixed,
         "{\"type\": \"fixed\", \"name\": \"n.F\", \"aliases\": [\"Old\"], \"size\": 4}",
         .type = FIELD_FIXED,
         .size = 4);
ONE_TYPE(one_opt_int,
         "[\"null\", \"int\"]",
         .type = FIELD_INT,
         .nullable = true,
         .present = offsetof(struct one, present));
ONE_TYPE(one_opt_long,
         "[\"null\", \"long\"]",
         .type = FIELD_LONG,
         .nullable = true,
         .present = offsetof(struct one, present));
ONE_TYPE(one_opt_text, "[\"null\", \"string\"]", .type = FIELD_STRING, .nullable = true);

static const struct field long_item = {.type = FIELD_LONG};
ONE_TYPE(one_longs,
         "{\"type\": \"array\", \"items\": \"long\"}",
         .type = FIELD_ARRAY,
         .size = sizeof(int64_t),
         .of = &long_item);

struct number {
    struct slice key;
    double value;
};
static const struct field number_value = {.type = FIELD_DOUBLE,
                                          .offset = offsetof(struct number, value)};
ONE_TYPE(one_numbers,
         "{\"type\": \"map\", \"values\": \"double\"}",
         .type = FIELD_MAP,
         .size = sizeof(struct number),
         .of = &number_value);

static struct one *
one_of(struct reading *reading)
{
    return (struct one *)(void *)reading->value;
}

/* ---- Fields ---------------------------------------------------------------------- */

struct pair {
    struct slice a;
    int32_t b;
};
static const struct field pair_fields[] = {
    {.name = "a", .type = FIELD_STRING, .offset = offsetof(struct pair, a)},
    {.name = "b", .type = FIELD_INT, .offset = offsetof(struct pair, b)},
};
static const struct record_type pair_type = {
    "R", RECORD(FIELD("a", "\"string\"") "," FIELD("b", "\"int\"")),
    FIELD_ROWS(pair_fields), sizeof(struct pair), NULL};

static void
finds_fields_by_name_in_another_order(void **state)
{
    (void)state;
    READING;
    ASSERT_READS(&pair_type, RECORD(FIELD("b", "\"int\"") "," FIELD("a", "\"string\"")),
                 BODY("\x0e\x02x"));
    const struct pair *pair = (const struct pair *)(void *)reading.value;
    assert_true(slice_is(pair->a, "x"));
    assert_int_equal(pair->b, 7);
}

/* Every type, as a field that we lack, between two that we have. */
static void
steps_over_fields_that_we_lack(void **state)
{
    (void)state;
    const struct {
        const char *type;
        struct slice value;
    } lacked[] = {
        {"\"null\"", BODY("")},
        {"\"boolean\"", BODY("\x01")},
        {"\"int\"", BODY("\x80\x01")},
        {"\"long\"", BODY("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
        {"\"float\"", BODY("1234")},
        {"\"double\"", BODY("12345678")},
        {"\"string\"", BODY("\x06"
                            "abc")},
        {"\"bytes\"", BODY("\x02\xff")},
        {"{\"type\": \"fixed\", \"name\": \"F\", \"size\": 3}", BODY("abc")},
        {ENUM("\"A\", \"B\""), BODY("\x02")},
        {"[\"null\", \"string\", \"int\"]", BODY("\x02\x04zz")},
        {"[\"null\", \"string\", \"int\"]", BODY("\x00")},
        {"[\"null\", \"string\", \"int\"]", BODY("\x04\x01")},
        {"{\"type\": \"array\", \"items\": \"string\"}", BODY("\x04\x02"
                                                              "a\x02"
                                                              "b\x00")},
        {"{\"type\": \"array\", \"items\": \"string\"}", BODY("\x03\x08\x02"
                                                              "a\x02"
                                                              "b\x02\x02"
                                                              "c\x00")},
        {"{\"type\": \"array\", \"items\": \"null\"}", BODY("\x08\x00")},
        {"{\"type\": \"map\", \"values\": \"int\"}", BODY("\x02\x02k\x04\x00")},
        {"{\"type\": \"record\", \"name\": \"In\", \"fields\": ["
         "{\"name\": \"x\", \"type\": \"int\"},"
         "{\"name\": \"next\", \"type\": [\"null\", \"In\"]}]}",
         BODY("\x02\x02\x04\x02\x06\x00")},
    };
    for (size_t i = 0; i < sizeof lacked / sizeof lacked[0]; i++) {
        READING;
        CLEANUP(buf_done) struct buf writer = BUF_INIT;
        CLEANUP(buf_done) struct buf body = BUF_INIT;
        buf_addf(&writer,
                 RECORD(FIELD("a", "\"string\"") "," FIELD("gone", "%s") "," FIELD(
                     "b", "\"int\"")),
                 lacked[i].type);
        buf_add(&body, "\x02x", 2);
        buf_add_slice(&body, lacked[i].value);
        buf_add(&body, "\x0e", 1);
        ASSERT_READS(&pair_type, buf_text(&writer), buf_slice(&body));
        const struct pair *pair = (const struct pair *)(void *)reading.value;
        assert_true(slice_is(pair->a, "x"));
        assert_int_equal(pair->b, 7);
    }
}

static void
bounds_what_it_steps_over(void **state)
{
    (void)state;
    READING;
    const char *nulls = RECORD(FIELD("a", "\"string\"") "," FIELD(
        "b", "\"int\"") "," FIELD("gone", "{\"type\": \"array\", \"items\": \"null\"}"));
    const char *texts =
        RECORD(FIELD("a", "\"string\"") "," FIELD("b", "\"int\"") "," FIELD(
            "gone", "{\"type\": \"array\", \"items\": \"string\"}"));
    ASSERT_REFUSES(&pair_type, nulls, BODY("\x00\x00\x80\x80\x80\x80\x20\x00"),
                   "body_invalid");
    ASSERT_REFUSES(&pair_type, nulls,
                   BODY("\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00"),
                   "body_invalid");
    ASSERT_REFUSES(&pair_type, texts, BODY("\x00\x00\x80\x80\x80\x80\x20\x00"),
                   "body_truncated");
    ASSERT_REFUSES(&pair_type, texts, BODY("\x00\x00\x03\x40\x00\x00\x00"),
                   "body_truncated");
    ASSERT_REFUSES(&pair_type, texts, BODY("\x00\x00\x03\x01\x00\x00\x00"),
                   "body_invalid");
    ASSERT_REFUSES(&pair_type, texts,
                   BODY("\x00\x00\x02\x06"
                        "ab"),
                   "body_truncated");
}

static void
refuses_to_step_over_a_value_nested_too_deep(void **state)
{
    (void)state;
    READING;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    for (int i = 0; i < 100000; i++)
        buf_add(&body, "\x00\x00\x02", 3);
    ASSERT_REFUSES(&pair_type,
                   RECORD(FIELD("a", "\"string\"") "," FIELD("b", "\"int\"") "," FIELD(
                       "gone", "[\"null\", \"R\"]")),
                   buf_slice(&body), "body_invalid");
}

/* ---- Defaults -------------------------------------------------------------------- */

struct deep {
    int32_t x;
    struct list names; /* struct slice */
};

struct entry {
    struct slice key;
    int64_t value;
};

struct choice {
    int32_t tag;
    int64_t number;
    struct slice text;
};

struct full {
    struct slice a;
    struct slice none;
    struct slice text;
    struct slice raw;
    int64_t big;
    double wide;
    bool flag;
    int32_t color;
    uint8_t pin[2];
    struct deep deep;
    struct list list; /* struct deep */
    struct list map;  /* struct entry */
    bool has_opt;
    int64_t opt;
    struct choice choice;
};

static const struct field name_item = {.type = FIELD_STRING};
static const struct field deep_fields[] = {
    {.name = "x", .type = FIELD_INT, .offset = offsetof(struct deep, x)},
    {.name = "names",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct deep, names),
     .size = sizeof(struct slice),
     .of = &name_item},
};
static const struct record_type deep_type = {"Deep", NULL, FIELD_ROWS(deep_fields),
                                             sizeof(struct deep), NULL};
static const struct field deep_item = {.type = FIELD_RECORD, .record = &deep_type};
static const struct field entry_value = {.type = FIELD_LONG,
                                         .offset = offsetof(struct entry, value)};
static const struct field choice_branches[] = {
    {.type = FIELD_LONG, .offset = offsetof(struct choice, number), .tag = 10},
    {.type = FIELD_STRING, .offset = offsetof(struct choice, text), .tag = 11},
};
#define FULL(member, avro_type, ...)                                                     \
    {                                                                                    \
        .name = #member, .type = avro_type, .offset = offsetof(struct full, member),     \
        __VA_ARGS__                                                                      \
    }
static const struct field full_fields[] = {
    FULL(a, FIELD_STRING, .size = 0),
    FULL(none, FIELD_STRING, .nullable = true),
    FULL(text, FIELD_STRING, .size = 0),
    FULL(raw, FIELD_BYTES, .size = 0),
    FULL(big, FIELD_LONG, .size = 0),
    FULL(wide, FIELD_DOUBLE, .size = 0),
    FULL(flag, FIELD_BOOLEAN, .size = 0),
    FULL(color, FIELD_ENUM, .size = 0),
    FULL(pin, FIELD_FIXED, .size = 2),
    FULL(deep, FIELD_RECORD, .record = &deep_type),
    FULL(list, FIELD_ARRAY, .size = sizeof(struct deep), .of = &deep_item),
    FULL(map, FIELD_MAP, .size = sizeof(struct entry), .of = &entry_value),
    FULL(opt, FIELD_LONG, .nullable = true, .present = offsetof(struct full, has_opt)),
    FULL(choice, FIELD_UNION, .of = choice_branches, .n_of = 2),
};
static const char full_avsc[] =
    "{\"type\": \"record\", \"name\": \"R\", \"fields\": ["
    "{\"name\": \"a\", \"type\": \"string\"},"
    "{\"name\": \"none\", \"type\": [\"null\", \"string\"], \"default\": null},"
    "{\"name\": \"text\", \"type\": \"string\", \"default\": \"caf\xc3\xa9\"},"
    "{\"name\": \"raw\", \"type\": \"bytes\", \"default\": \"\\u00ff\\u0000a\"},"
    "{\"name\": \"big\", \"type\": \"long\", \"default\": -5},"
    "{\"name\": \"wide\", \"type\": \"double\", \"default\": 1.5},"
    "{\"name\": \"flag\", \"type\": \"boolean\", \"default\": true},"
    "{\"name\": \"color\", \"type\": {\"type\": \"enum\", \"name\": \"C\","
    " \"symbols\": [\"RED\", \"BLUE\"]}, \"default\": \"BLUE\"},"
    "{\"name\": \"pin\", \"type\": {\"type\": \"fixed\", \"name\": \"P\", \"size\": 2},"
    " \"default\": \"\\u0001\\u00fe\"},"
    "{\"name\": \"deep\", \"type\": {\"type\": \"record\", \"name\": \"Deep\", "
    "\"fields\": ["
    " {\"name\": \"x\", \"type\": \"int\", \"default\": 3},"
    " {\"name\": \"names\", \"type\": {\"type\": \"array\", \"items\": \"string\"}}]},"
    " \"default\": {\"names\": [\"p\", \"q\"]}},"
    "{\"name\": \"list\", \"type\": {\"type\": \"array\", \"items\": \"Deep\"},"
    " \"default\": [{\"x\": 8, \"names\": []}, {\"names\": [\"r\"]}]},"
    "{\"name\": \"map\", \"type\": {\"type\": \"map\", \"values\": \"long\"},"
    " \"default\": {\"one\": 1}},"
    "{\"name\": \"opt\", \"type\": [\"long\", \"null\"], \"default\": 77},"
    "{\"name\": \"choice\", \"type\": [\"long\", \"string\"], \"default\": 42}]}";

static const struct record_type full_type = {"R", full_avsc, FIELD_ROWS(full_fields),
                                             sizeof(struct full), NULL};

static void
sets_fields_that_the_writer_lacks_to_their_defaults(void **state)
{
    (void)state;
    READING;
    ASSERT_READS(&full_type, RECORD(FIELD("a", "\"string\"")), BODY("\x02x"));
    const struct full *full = (const struct full *)(void *)reading.value;
    const struct deep *list = full->list.items;
    const struct entry *map = full->map.items;
    assert_true(slice_is(full->a, "x"));
    assert_null(full->none.data);
    assert_true(slice_is(full->text, "caf\xc3\xa9"));
    assert_true(slice_equal(full->raw, BODY("\xff\x00"
                                            "a")));
    assert_int_equal(full->big, -5);
    assert_true(full->wide >= 1.5 && full->wide <= 1.5 && full->flag);
    assert_int_equal(full->color, 1);
    assert_memory_equal(full->pin, "\x01\xfe", 2);
    assert_int_equal(full->deep.x, 3);
    assert_int_equal(full->deep.names.n, 2);
    assert_true(slice_is(((const struct slice *)full->deep.names.items)[1], "q"));
    assert_int_equal(full->list.n, 2);
    assert_int_equal(list[0].x, 8);
    assert_int_equal(list[1].x, 3);
    assert_true(slice_is(((const struct slice *)list[1].names.items)[0], "r"));
    assert_int_equal(full->map.n, 1);
    assert_true(slice_is(map[0].key, "one"));
    assert_int_equal(map[0].value, 1);
    assert_true(full->has_opt);
    assert_int_equal(full->opt, 77);
    assert_int_equal(full->choice.tag, 10);
    assert_int_equal(full->choice.number, 42);
}

/* Each record gets lists of its own: a worker may sort them in place. */
static void
gives_each_record_its_own_copy_of_a_default_list(void **state)
{
    (void)state;
    READING;
    ASSERT_READS(&full_type, RECORD(FIELD("a", "\"string\"")), BODY("\x02x"));
    struct full first = *(struct full *)(void *)reading.value;
    codec_free(reading.codec);
    ASSERT_READS(&full_type, RECORD(FIELD("a", "\"string\"")), BODY("\x02x"));
    const struct full *second = (const struct full *)(void *)reading.value;
    assert_ptr_not_equal(first.list.items, second->list.items);
    assert_ptr_not_equal(first.map.items, second->map.items);
}

static void
sets_defaults_within_items_of_lists(void **state)
{
    (void)state;
    READING;
    const char *writer = RECORD(FIELD("a", "\"string\"") "," FIELD(
        "list", "{\"type\": \"array\", \"items\": {\"type\": \"record\", \"name\": "
                "\"Deep\", \"fields\": [" FIELD(
                    "names", "{\"type\": \"array\", \"items\": \"string\"}") "]}}"));
    ASSERT_READS(&full_type, writer, BODY("\x00\x04\x02\x02z\x00\x00\x00"));
    const struct full *full = (const struct full *)(void *)reading.value;
    const struct deep *list = full->list.items;
    assert_int_equal(full->list.n, 2);
    assert_int_equal(list[0].x, 3);
    assert_int_equal(list[1].x, 3);
    assert_int_equal(list[0].names.n, 1);
}

static void
refuses_a_writer_that_lacks_a_field_without_default(void **state)
{
    (void)state;
    READING;
    read_as(&reading, &pair_type, RECORD(FIELD("a", "\"string\"")), BODY("\x00"));
    assert_string_equal(reading.err.code, "schema_incompatible");
    assert_non_null(strstr(reading.err.msg, "field b"));
}

/* ---- Names and aliases ----------------------------------------------------------- */

struct renamed {
    struct slice now;
    int32_t count;
};
static const struct field renamed_fields[] = {
    {.name = "now", .type = FIELD_STRING, .offset = offsetof(struct renamed, now)},
    {.name = "count", .type = FIELD_INT, .offset = offsetof(struct renamed, count)},
};
static const struct record_type renamed_type = {
    "new.Name",
    "{\"type\": \"record\", \"name\": \"Name\", \"namespace\": \"new\","
    " \"aliases\": [\"old.Former\"], \"fields\": ["
    "{\"name\": \"now\", \"aliases\": [\"was\", \"was_before\"], \"type\": \"string\"},"
    "{\"name\": \"count\", \"aliases\": [\"now_and_then\"], \"type\": \"int\","
    " \"default\": -1}]}",
    FIELD_ROWS(renamed_fields), sizeof(struct renamed), NULL};

static void
finds_fields_and_records_by_our_aliases(void **state)
{
    (void)state;
    const char *const fields[] = {"now", "was", "was_before"};
    const char *const names[] = {"new.Name", "old.Former", "Name", "other.space.Name",
                                 "Former"};
    for (size_t i = 0; i < 15; i++) {
        READING;
        CLEANUP(buf_done) struct buf writer = BUF_INIT;
        buf_addf(&writer,
                 "{\"type\": \"record\", \"name\": \"%s\", \"fields\": ["
                 "{\"name\": \"%s\", \"type\": \"string\"}]}",
                 names[i % 5], fields[i / 5]);
        ASSERT_READS(&renamed_type, buf_text(&writer), BODY("\x02x"));
        const struct renamed *renamed = (const struct renamed *)(void *)reading.value;
        assert_true(slice_is(renamed->now, "x"));
        assert_int_equal(renamed->count, -1);
    }
}

static void
prefers_a_name_over_an_alias(void **state)
{
    (void)state;
    READING;
    ASSERT_READS(&renamed_type,
                 "{\"type\": \"record\", \"name\": \"Name\", \"fields\": ["
                 "{\"name\": \"was\", \"type\": \"string\"},"
                 "{\"name\": \"now\", \"type\": \"string\"},"
                 "{\"name\": \"was_before\", \"type\": \"string\"}]}",
                 BODY("\x02"
                      "a\x02"
                      "b\x02"
                      "c"));
    const struct renamed *renamed = (const struct renamed *)(void *)reading.value;
    assert_true(slice_is(renamed->now, "b"));
}

static void
refuses_records_and_fixed_of_another_name_or_size(void **state)
{
    (void)state;
    READING;
    ASSERT_REFUSES(&renamed_type,
                   "{\"type\": \"record\", \"name\": \"new.Stranger\", \"fields\": ["
                   "{\"name\": \"now\", \"type\": \"string\"}]}",
                   BODY("\x00"), "schema_incompatible");
    ASSERT_REFUSES(&one_fixed,
                   WRITER("{\"type\": \"fixed\", \"name\": \"F\", \"size\": 5}"),
                   BODY("12345"), "schema_incompatible");
    ASSERT_REFUSES(&one_fixed,
                   WRITER("{\"type\": \"fixed\", \"name\": \"G\", \"size\": 4}"),
                   BODY("1234"), "schema_incompatible");
    ASSERT_READS(&one_fixed,
                 WRITER("{\"type\": \"fixed\", \"name\": \"Old\", \"size\": 4}"),
                 BODY("1234"));
    assert_memory_equal(one_of(&reading)->v.fixed, "1234", 4);
}

/* ---- Enums ----------------------------------------------------------------------- */

static void
reads_enum_symbols_by_name(void **state)
{
    (void)state;
    const char *const writers[] = {
        WRITER(ENUM("\"Z\", \"Y\", \"X\"")),
        WRITER(ENUM("\"X\", \"Z\"")),
        WRITER(ENUM("\"X\", \"Y\", \"Z\"")),
        WRITER(ENUM("\"NEW\", \"Z\"")),
    };
    const struct slice bodies[] = {BODY("\x00"), BODY("\x02"), BODY("\x04"),
                                   BODY("\x02")};
    for (size_t i = 0; i < 4; i++) {
        READING;
        ASSERT_READS(&one_enum, writers[i], bodies[i]);
        assert_int_equal(one_of(&reading)->v.small, 2);
    }
}

static void
takes_the_enum_default_for_a_symbol_we_lack(void **state)
{
    (void)state;
    READING;
    ASSERT_READS(&one_enum_or, WRITER(ENUM("\"NEW\", \"X\"")), BODY("\x00"));
    assert_int_equal(one_of(&reading)->v.small, 1);
    codec_free(reading.codec);
    ASSERT_READS(&one_enum_or, WRITER(ENUM("\"NEW\", \"X\"")), BODY("\x02"));
    assert_int_equal(one_of(&reading)->v.small, 0);
}

static void
refuses_a_symbol_we_lack_only_when_it_comes(void **state)
{
    (void)state;
    READING;
    ASSERT_REFUSES(&one_enum, WRITER(ENUM("\"NEW\", \"X\"")), BODY("\x00"),
                   "schema_incompatible");
    ASSERT_REFUSES(&one_enum, WRITER(ENUM("\"NEW\", \"X\"")), BODY("\x04"),
                   "body_invalid");
    ASSERT_REFUSES(&one_enum_or, WRITER(ENUM("\"NEW\", \"X\"")), BODY("\x04"),
                   "body_invalid");
    ASSERT_READS(&one_enum, WRITER(ENUM("\"NEW\", \"X\"")), BODY("\x02"));
    assert_int_equal(one_of(&reading)->v.small, 0);
}

/* ---- Promotions ------------------------------------------------------------------ */

static void
promotes_numbers(void **state)
{
    (void)state;
    const struct {
        const struct record_type *type;
        const char *writer;
        struct slice body;
        double want;
    } cases[] = {
        {&one_long, WRITER("\"int\""), BODY("\xff\xff\xff\xff\x0f"), INT32_MIN},
        {&one_float, WRITER("\"int\""), BODY("\x03"), -2},
        {&one_double, WRITER("\"int\""), BODY("\xfe\xff\xff\xff\x0f"), INT32_MAX},
        {&one_float, WRITER("\"long\""), BODY("\x80\x80\x80\x80\x80\x02"), 0x1p35},
        {&one_double, WRITER("\"long\""), BODY("\x80\x80\x80\x80\x80\x02"), 0x1p35},
        {&one_double, WRITER("\"float\""), BODY("\x00\x00\xc0\x3f"), 1.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        READING;
        ASSERT_READS(cases[i].type, cases[i].writer, cases[i].body);
        const struct one *one = one_of(&reading);
        double got = cases[i].type == &one_long    ? (double)one->v.big
                     : cases[i].type == &one_float ? (double)one->v.half
                                                   : one->v.wide;
        assert_true(got >= cases[i].want && got <= cases[i].want);
    }
}

static void
keeps_the_range_of_the_writers_int(void **state)
{
    (void)state;
    READING;
    ASSERT_REFUSES(&one_long, WRITER("\"int\""), BODY("\x80\x80\x80\x80\x10"),
                   "body_invalid");
    ASSERT_REFUSES(&one_double, WRITER("\"int\""), BODY("\x80\x80\x80\x80\x10"),
                   "body_invalid");
}

static void
reads_strings_as_bytes_and_bytes_as_strings(void **state)
{
    (void)state;
    READING;
    ASSERT_READS(&one_bytes, WRITER("\"string\""), BODY("\x04\xc3\xa9"));
    assert_true(slice_is(one_of(&reading)->v.text, "\xc3\xa9"));
    codec_free(reading.codec);
    ASSERT_READS(&one_text, WRITER("\"bytes\""), BODY("\x04\xc3\xa9"));
    assert_true(slice_is(one_of(&reading)->v.text, "\xc3\xa9"));
    reading_done(&reading);
    ASSERT_REFUSES(&one_text, WRITER("\"bytes\""), BODY("\x02\xff"), "body_invalid");
    ASSERT_REFUSES(&one_bytes, WRITER("\"string\""), BODY("\x02\xff"), "body_invalid");
}

static void
promotes_items_and_values(void **state)
{
    (void)state;
    READING;
    ASSERT_READS(&one_longs, WRITER("{\"type\": \"array\", \"items\": \"int\"}"),
                 BODY("\x04\x01\x04\x00"));
    assert_int_equal(((const int64_t *)one_of(&reading)->v.list.items)[0], -1);
    codec_free(reading.codec);
    ASSERT_READS(&one_numbers, WRITER("{\"type\": \"map\", \"values\": \"int\"}"),
                 BODY("\x02\x02k\x04\x00"));
    const struct number *number = one_of(&reading)->v.list.items;
    assert_true(slice_is(number->key, "k"));
    assert_true(number->value >= 2 && number->value <= 2);
}

static void
refuses_types_that_do_not_fit(void **state)
{
    (void)state;
    const char *const into_int[] = {"\"long\"",   "\"float\"",   "\"double\"",
                                    "\"string\"", "\"boolean\"", "\"null\""};
    READING;
    for (size_t i = 0; i < sizeof into_int / sizeof into_int[0]; i++) {
        CLEANUP(buf_done) struct buf writer = BUF_INIT;
        buf_addf(&writer, WRITER("%s"), into_int[i]);
        ASSERT_REFUSES(&one_int, buf_text(&writer), BODY(""), "schema_incompatible");
    }
    ASSERT_REFUSES(&one_float, WRITER("\"double\""), BODY(""), "schema_incompatible");
    ASSERT_REFUSES(&one_long, WRITER("\"float\""), BODY(""), "schema_incompatible");
    ASSERT_REFUSES(&one_longs, WRITER("{\"type\": \"array\", \"items\": \"double\"}"),
                   BODY("\x00"), "schema_incompatible");
    ASSERT_REFUSES(&one_longs, WRITER("{\"type\": \"map\", \"values\": \"long\"}"),
                   BODY("\x00"), "schema_incompatible");
    ASSERT_REFUSES(&one_enum, WRITER("\"string\""), BODY("\x00"), "schema_incompatible");
    ASSERT_REFUSES(&pair_type, "\"string\"", BODY("\x00"), "schema_incompatible");
    read_as(&reading, &one_longs, WRITER("{\"type\": \"array\", \"items\": \"double\"}"),
            BODY("\x00"));
    assert_non_null(strstr(reading.err.msg, "field v[]"));
}

/* ---- Unions ---------------------------------------------------------------------- */

static void
reads_values_into_unions_with_null(void **state)
{
    (void)state;
    READING;
    ASSERT_READS(&one_opt_int, WRITER("\"int\""), BODY("\x0e"));
    assert_true(one_of(&reading)->present);
    assert_int_equal(one_of(&reading)->v.small, 7);
    codec_free(reading.codec);
    ASSERT_READS(&one_opt_long, WRITER("\"int\""), BODY("\x0e"));
    assert_true(one_of(&reading)->present);
    assert_int_equal(one_of(&reading)->v.big, 7);
    codec_free(reading.codec);
    ASSERT_READS(&one_opt_text, WRITER("\"string\""), BODY("\x02x"));
    assert_true(slice_is(one_of(&reading)->v.text, "x"));
    codec_free(reading.codec);
    ASSERT_READS(&one_opt_text, WRITER("\"null\""), BODY(""));
    assert_null(one_of(&reading)->v.text.data);
    codec_free(reading.codec);
    ASSERT_READS(&one_opt_int, WRITER("\"null\""), BODY(""));
    assert_false(one_of(&reading)->present);
}

static void
reads_unions_with_null_in_any_order_and_width(void **state)
{
    (void)state;
    const char *const writers[] = {
        WRITER("[\"null\", \"int\"]"), WRITER("[\"int\", \"null\"]"),
        WRITER("[\"null\", \"string\", \"int\"]"), WRITER("[\"long\", \"null\"]")};
    const struct slice values[] = {BODY("\x02\x0e"), BODY("\x00\x0e"), BODY("\x04\x0e"),
                                   BODY("\x00\x0e")};
    const struct slice nulls[] = {BODY("\x00"), BODY("\x02"), BODY("\x00"), BODY("\x02")};
    for (size_t i = 0; i < 4; i++) {
        READING;
        ASSERT_READS(&one_opt_long, writers[i], values[i]);
        assert_true(one_of(&reading)->present);
        assert_int_equal(one_of(&reading)->v.big, 7);
        codec_free(reading.codec);
        ASSERT_READS(&one_opt_long, writers[i], nulls[i]);
        assert_false(one_of(&reading)->present);
    }
    READING;
    ASSERT_READS(&one_opt_text, WRITER("[\"bytes\", \"null\"]"), BODY("\x00\x02x"));
    assert_true(slice_is(one_of(&reading)->v.text, "x"));
    codec_free(reading.codec);
    ASSERT_READS(&one_opt_text, WRITER("[\"bytes\", \"null\"]"), BODY("\x02"));
    assert_null(one_of(&reading)->v.text.data);
}

static void
refuses_a_branch_without_a_place_only_when_it_comes(void **state)
{
    (void)state;
    READING;
    ASSERT_REFUSES(&one_int, WRITER("[\"null\", \"int\"]"), BODY("\x00"),
                   "schema_incompatible");
    ASSERT_REFUSES(&one_opt_int, WRITER("[\"null\", \"string\"]"), BODY("\x02\x00"),
                   "schema_incompatible");
    ASSERT_REFUSES(
        &one_opt_long,
        WRITER("[\"null\", \"long\", {\"type\": \"array\", \"items\": \"int\"}]"),
        BODY("\x04\x00"), "schema_incompatible");
    ASSERT_REFUSES(&one_int, WRITER("[\"null\", \"int\"]"), BODY("\x04"), "body_invalid");
    ASSERT_REFUSES(&one_int, WRITER("[\"null\", \"string\"]"), BODY("\x00"),
                   "schema_incompatible");
    ASSERT_READS(&one_int, WRITER("[\"null\", \"int\"]"), BODY("\x02\x0e"));
    assert_int_equal(one_of(&reading)->v.small, 7);
    codec_free(reading.codec);
    ASSERT_READS(&one_opt_int, WRITER("[\"null\", \"string\"]"), BODY("\x00"));
    assert_false(one_of(&reading)->present);
}

/* Items that can't be resolved spoil their branch, not the others. */
static void
refuses_a_branch_whose_items_do_not_fit_only_when_it_comes(void **state)
{
    (void)state;
    static const struct field row[] = {{.name = "v",
                                        .type = FIELD_ARRAY,
                                        .size = sizeof(int64_t),
                                        .of = &long_item,
                                        .nullable = true,
                                        .present = offsetof(struct one, present)}};
    static const struct record_type type = {
        "R", WRITER("[\"null\", {\"type\": \"array\", \"items\": \"long\"}]"),
        FIELD_ROWS(row), sizeof(struct one), NULL};
    const char *writer =
        WRITER("[\"null\", {\"type\": \"array\", \"items\": \"string\"}]");
    READING;
    ASSERT_REFUSES(&type, writer, BODY("\x02\x00"), "schema_incompatible");
    ASSERT_READS(&type, writer, BODY("\x00"));
    assert_false(one_of(&reading)->present);
}

struct wide_choice {
    int32_t tag;
    double wide;
    int64_t big;
    struct slice text;
    struct deep deep;
};
static const struct field wide_branches[] = {
    {.type = FIELD_NULL, .tag = 1},
    {.type = FIELD_DOUBLE, .offset = offsetof(struct wide_choice, wide), .tag = 2},
    {.type = FIELD_LONG, .offset = offsetof(struct wide_choice, big), .tag = 3},
    {.type = FIELD_STRING, .offset = offsetof(struct wide_choice, text), .tag = 4},
    {.type = FIELD_RECORD,
     .offset = offsetof(struct wide_choice, deep),
     .record = &deep_type,
     .tag = 5},
};
static const struct field wide_fields[] = {
    {.name = "v", .type = FIELD_UNION, .of = wide_branches, .n_of = 5}};
#define DEEP                                                                             \
    "{\"type\": \"record\", \"name\": \"Deep\", \"fields\": ["                           \
    "{\"name\": \"x\", \"type\": \"int\", \"default\": 3},"                              \
    "{\"name\": \"names\", \"type\": {\"type\": \"array\", \"items\": \"string\"}}]}"
static const struct record_type wide_type = {
    "R", WRITER("[\"null\", \"double\", \"long\", \"string\", " DEEP "]"),
    FIELD_ROWS(wide_fields), sizeof(struct wide_choice), NULL};

static void
takes_the_exact_branch_before_a_promotion(void **state)
{
    (void)state;
    const struct {
        const char *writer;
        struct slice body;
        int32_t tag;
    } cases[] = {
        {WRITER("\"long\""), BODY("\x0e"), 3},
        {WRITER("\"int\""), BODY("\x0e"), 2},
        {WRITER("\"float\""), BODY("1234"), 2},
        {WRITER("\"bytes\""), BODY("\x02x"), 4},
        {WRITER("\"null\""), BODY(""), 1},
        {WRITER("[\"string\", \"int\", \"null\"]"), BODY("\x00\x02x"), 4},
        {WRITER("[\"string\", \"int\", \"null\"]"), BODY("\x02\x0e"), 2},
        {WRITER("[\"string\", \"int\", \"null\"]"), BODY("\x04"), 1},
        {WRITER("{\"type\": \"record\", \"name\": \"o.Deep\", \"fields\": ["
                "{\"name\": \"names\", \"type\": {\"type\": \"array\", \"items\": "
                "\"string\"}}]}"),
         BODY("\x02\x02n\x00"), 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        READING;
        ASSERT_READS(&wide_type, cases[i].writer, cases[i].body);
        const struct wide_choice *choice =
            (const struct wide_choice *)(void *)reading.value;
        assert_int_equal(choice->tag, cases[i].tag);
        if (choice->tag == 5)
            assert_int_equal(choice->deep.x, 3);
    }
    READING;
    ASSERT_REFUSES(&wide_type, WRITER("\"boolean\""), BODY("\x00"),
                   "schema_incompatible");
}

/* ---- Schemas that hold themselves ------------------------------------------------ */

struct tree {
    int64_t value;
    struct list children; /* struct tree */
};
extern const struct record_type tree_type;
static const struct field tree_item = {.type = FIELD_RECORD, .record = &tree_type};
static const struct field tree_fields[] = {
    {.name = "value", .type = FIELD_LONG, .offset = offsetof(struct tree, value)},
    {.name = "children",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct tree, children),
     .size = sizeof(struct tree),
     .of = &tree_item},
};
const struct record_type tree_type = {
    "R",
    RECORD(FIELD("value", "\"long\"") "," FIELD(
        "children", "{\"type\": \"array\", \"items\": \"R\"}")),
    FIELD_ROWS(tree_fields), sizeof(struct tree), NULL};

static void
resolves_schemas_that_hold_themselves(void **state)
{
    (void)state;
    READING;
    ASSERT_READS(
        &tree_type,
        RECORD(FIELD("children", "{\"type\": \"array\", \"items\": \"R\"}") "," FIELD(
            "value", "\"int\"") "," FIELD("note", "\"string\"")),
        BODY("\x02\x02\x00\x06\x02z\x00\x04\x02y\x00\x02\x02x"));
    const struct tree *root = (const struct tree *)(void *)reading.value;
    const struct tree *child = root->children.items;
    const struct tree *grandchild = child->children.items;
    assert_int_equal(root->value, 1);
    assert_int_equal(child->value, 2);
    assert_int_equal(grandchild->value, 3);
    assert_int_equal(grandchild->children.n, 0);
}

static void
refuses_schemas_that_hold_themselves_and_differ(void **state)
{
    (void)state;
    READING;
    ASSERT_REFUSES(
        &tree_type,
        RECORD(FIELD("children", "{\"type\": \"array\", \"items\": \"R\"}") "," FIELD(
            "value", "\"string\"")),
        BODY("\x00\x00"), "schema_incompatible");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_fields_by_name_in_another_order),
        cmocka_unit_test(steps_over_fields_that_we_lack),
        cmocka_unit_test(bounds_what_it_steps_over),
        cmocka_unit_test(refuses_to_step_over_a_value_nested_too_deep),
        cmocka_unit_test(sets_fields_that_the_writer_lacks_to_their_defaults),
        cmocka_unit_test(gives_each_record_its_own_copy_of_a_default_list),
        cmocka_unit_test(sets_defaults_within_items_of_lists),
        cmocka_unit_test(refuses_a_writer_that_lacks_a_field_without_default),
        cmocka_unit_test(finds_fields_and_records_by_our_aliases),
        cmocka_unit_test(prefers_a_name_over_an_alias),
        cmocka_unit_test(refuses_records_and_fixed_of_another_name_or_size),
        cmocka_unit_test(reads_enum_symbols_by_name),
        cmocka_unit_test(takes_the_enum_default_for_a_symbol_we_lack),
        cmocka_unit_test(refuses_a_symbol_we_lack_only_when_it_comes),
        cmocka_unit_test(promotes_numbers),
        cmocka_unit_test(keeps_the_range_of_the_writers_int),
        cmocka_unit_test(reads_strings_as_bytes_and_bytes_as_strings),
        cmocka_unit_test(promotes_items_and_values),
        cmocka_unit_test(refuses_types_that_do_not_fit),
        cmocka_unit_test(reads_values_into_unions_with_null),
        cmocka_unit_test(reads_unions_with_null_in_any_order_and_width),
        cmocka_unit_test(refuses_a_branch_without_a_place_only_when_it_comes),
        cmocka_unit_test(refuses_a_branch_whose_items_do_not_fit_only_when_it_comes),
        cmocka_unit_test(takes_the_exact_branch_before_a_promotion),
        cmocka_unit_test(resolves_schemas_that_hold_themselves),
        cmocka_unit_test(refuses_schemas_that_hold_themselves_and_differ),
    };
    return cmocka_run_group_tests_name("resolution", tests, NULL, NULL);
}
