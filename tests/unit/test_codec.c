/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to struct and back: every type both ways, and every way a body can be wrong. */
#include "codec.h"

#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

CLEANUP_DEFINE(struct codec, codec_free);
CLEANUP_DEFINE(struct codec_plan, codec_plan_free);

/* ---- A record with everything in it ---------------------------------------------- */

struct inner {
    int32_t a;
    struct slice b;
};

struct entry {
    struct slice key;
    double number;
};

struct inner_entry {
    struct slice key;
    struct inner inner;
};

struct tree {
    int32_t value;
    struct list children; /* struct tree */
};

enum choice_kind { CHOICE_NONE = 5, CHOICE_LONG, CHOICE_TEXT, CHOICE_INNER, CHOICE_MAP };

struct choice {
    int32_t kind;
    int64_t number;
    struct slice text;
    struct inner inner;
    struct list map; /* struct entry */
};

struct all {
    bool flag;
    int32_t small;
    int64_t big;
    float half;
    double wide;
    struct slice text;
    struct slice raw;
    uint8_t pin[4];
    int32_t color;
    struct inner inner;
    struct list longs;
    struct list names;
    struct list grid; /* struct list of int32_t */
    struct list map;
    struct list inners;
    bool has_flag;
    bool opt_flag;
    bool has_small;
    int32_t opt_small;
    struct slice opt_text;
    struct slice opt_raw;
    bool has_wide;
    double opt_wide;
    bool has_pin;
    uint8_t opt_pin[4];
    bool has_color;
    int32_t opt_color;
    bool has_inner;
    struct inner opt_inner;
    bool has_longs;
    struct list opt_longs;
    struct choice choice;
    struct tree tree;
};

static const char all_avsc[] =
    "{\"type\": \"record\", \"name\": \"All\", \"namespace\": \"t\", \"fields\": ["
    "{\"name\": \"flag\", \"type\": \"boolean\"},"
    "{\"name\": \"small\", \"type\": \"int\"},"
    "{\"name\": \"big\", \"type\": \"long\"},"
    "{\"name\": \"half\", \"type\": \"float\"},"
    "{\"name\": \"wide\", \"type\": \"double\"},"
    "{\"name\": \"text\", \"type\": \"string\"},"
    "{\"name\": \"raw\", \"type\": \"bytes\"},"
    "{\"name\": \"pin\", \"type\": {\"type\": \"fixed\", \"name\": \"Pin\", \"size\": "
    "4}},"
    "{\"name\": \"color\", \"type\": {\"type\": \"enum\", \"name\": \"Color\","
    " \"symbols\": [\"RED\", \"GREEN\", \"BLUE\"]}},"
    "{\"name\": \"inner\", \"type\": {\"type\": \"record\", \"name\": \"Inner\","
    " \"fields\": [{\"name\": \"a\", \"type\": \"int\"},"
    " {\"name\": \"b\", \"type\": \"string\"}]}},"
    "{\"name\": \"longs\", \"type\": {\"type\": \"array\", \"items\": \"long\"}},"
    "{\"name\": \"names\", \"type\": {\"type\": \"array\", \"items\": \"string\"}},"
    "{\"name\": \"grid\", \"type\": {\"type\": \"array\", \"items\":"
    " {\"type\": \"array\", \"items\": \"int\"}}},"
    "{\"name\": \"map\", \"type\": {\"type\": \"map\", \"values\": \"double\"}},"
    "{\"name\": \"inners\", \"type\": {\"type\": \"map\", \"values\": \"Inner\"}},"
    "{\"name\": \"opt_flag\", \"type\": [\"null\", \"boolean\"]},"
    "{\"name\": \"opt_small\", \"type\": [\"int\", \"null\"]},"
    "{\"name\": \"opt_text\", \"type\": [\"null\", \"string\"]},"
    "{\"name\": \"opt_raw\", \"type\": [\"bytes\", \"null\"]},"
    "{\"name\": \"opt_wide\", \"type\": [\"null\", \"double\"]},"
    "{\"name\": \"opt_pin\", \"type\": [\"null\", \"Pin\"]},"
    "{\"name\": \"opt_color\", \"type\": [\"Color\", \"null\"]},"
    "{\"name\": \"opt_inner\", \"type\": [\"null\", \"Inner\"]},"
    "{\"name\": \"opt_longs\", \"type\":"
    " [\"null\", {\"type\": \"array\", \"items\": \"long\"}]},"
    "{\"name\": \"choice\", \"type\": [\"null\", \"long\", \"string\", \"Inner\","
    " {\"type\": \"map\", \"values\": \"double\"}]},"
    "{\"name\": \"tree\", \"type\": {\"type\": \"record\", \"name\": \"Tree\","
    " \"fields\": [{\"name\": \"value\", \"type\": \"int\"},"
    " {\"name\": \"children\", \"type\": {\"type\": \"array\", \"items\": \"Tree\"},"
    " \"default\": []}]}}]}";

#define ROW(strct, member, avro_type)                                                    \
    {                                                                                    \
        .name = #member, .type = avro_type, .offset = offsetof(struct strct, member)     \
    }
#define LIST_ROW(strct, member, avro_type, item, row)                                    \
    {                                                                                    \
        .name = #member, .type = avro_type, .offset = offsetof(struct strct, member),    \
        .size = sizeof(item), .of = row                                                  \
    }
#define OPT_SLICE_ROW(member, avro_type)                                                 \
    {                                                                                    \
        .name = #member, .type = avro_type, .offset = offsetof(struct all, member),      \
        .nullable = true                                                                 \
    }
#define OPT_ROW(member, has, avro_type, ...)                                             \
    {                                                                                    \
        .name = #member, .type = avro_type, .offset = offsetof(struct all, member),      \
        .nullable = true, .present = offsetof(struct all, has), __VA_ARGS__              \
    }

static const struct field inner_fields[] = {
    ROW(inner, b, FIELD_STRING),
    ROW(inner, a, FIELD_INT),
};
static const struct record_type inner_type = {"t.Inner", NULL, FIELD_ROWS(inner_fields),
                                              sizeof(struct inner), NULL};

extern const struct record_type tree_type;
static const struct field tree_item = {.type = FIELD_RECORD, .record = &tree_type};
static const struct field tree_fields[] = {
    ROW(tree, value, FIELD_INT),
    LIST_ROW(tree, children, FIELD_ARRAY, struct tree, &tree_item),
};
const struct record_type tree_type = {
    "t.Tree",
    "{\"type\": \"record\", \"name\": \"t.Tree\", \"fields\": ["
    "{\"name\": \"value\", \"type\": \"int\"},"
    "{\"name\": \"children\", \"type\": {\"type\": \"array\", \"items\": \"Tree\"}}]}",
    FIELD_ROWS(tree_fields), sizeof(struct tree), NULL};

static const struct field long_item = {.type = FIELD_LONG};
static const struct field int_item = {.type = FIELD_INT};
static const struct field text_item = {.type = FIELD_STRING};
static const struct field row_item = {
    .type = FIELD_ARRAY, .size = sizeof(int32_t), .of = &int_item};
static const struct field number_value = {.type = FIELD_DOUBLE,
                                          .offset = offsetof(struct entry, number)};
static const struct field inner_value = {.type = FIELD_RECORD,
                                         .offset = offsetof(struct inner_entry, inner),
                                         .record = &inner_type};
static const struct field choice_branches[] = {
    {.type = FIELD_NULL, .tag = CHOICE_NONE},
    {.type = FIELD_LONG, .offset = offsetof(struct choice, number), .tag = CHOICE_LONG},
    {.type = FIELD_STRING, .offset = offsetof(struct choice, text), .tag = CHOICE_TEXT},
    {.type = FIELD_RECORD,
     .offset = offsetof(struct choice, inner),
     .record = &inner_type,
     .tag = CHOICE_INNER},
    {.type = FIELD_MAP,
     .offset = offsetof(struct choice, map),
     .size = sizeof(struct entry),
     .of = &number_value,
     .tag = CHOICE_MAP},
};

/* Not in the schema's order: rows are matched by name. */
static const struct field all_fields[] = {
    {.name = "tree",
     .type = FIELD_RECORD,
     .offset = offsetof(struct all, tree),
     .record = &tree_type},
    ROW(all, flag, FIELD_BOOLEAN),
    ROW(all, small, FIELD_INT),
    ROW(all, big, FIELD_LONG),
    ROW(all, half, FIELD_FLOAT),
    ROW(all, wide, FIELD_DOUBLE),
    ROW(all, text, FIELD_STRING),
    ROW(all, raw, FIELD_BYTES),
    {.name = "pin", .type = FIELD_FIXED, .offset = offsetof(struct all, pin), .size = 4},
    ROW(all, color, FIELD_ENUM),
    {.name = "inner",
     .type = FIELD_RECORD,
     .offset = offsetof(struct all, inner),
     .record = &inner_type},
    LIST_ROW(all, longs, FIELD_ARRAY, int64_t, &long_item),
    LIST_ROW(all, names, FIELD_ARRAY, struct slice, &text_item),
    LIST_ROW(all, grid, FIELD_ARRAY, struct list, &row_item),
    LIST_ROW(all, map, FIELD_MAP, struct entry, &number_value),
    LIST_ROW(all, inners, FIELD_MAP, struct inner_entry, &inner_value),
    OPT_ROW(opt_flag, has_flag, FIELD_BOOLEAN, .size = 0),
    OPT_ROW(opt_small, has_small, FIELD_INT, .size = 0),
    OPT_SLICE_ROW(opt_text, FIELD_STRING),
    OPT_SLICE_ROW(opt_raw, FIELD_BYTES),
    OPT_ROW(opt_wide, has_wide, FIELD_DOUBLE, .size = 0),
    OPT_ROW(opt_pin, has_pin, FIELD_FIXED, .size = 4),
    OPT_ROW(opt_color, has_color, FIELD_ENUM, .size = 0),
    OPT_ROW(opt_inner, has_inner, FIELD_RECORD, .record = &inner_type),
    OPT_ROW(opt_longs, has_longs, FIELD_ARRAY, .size = sizeof(int64_t), .of = &long_item),
    {.name = "choice",
     .type = FIELD_UNION,
     .offset = offsetof(struct all, choice),
     .of = choice_branches,
     .n_of = 5},
};

static const struct record_type all_type = {"t.All", all_avsc, FIELD_ROWS(all_fields),
                                            sizeof(struct all), NULL};

static void
fill(struct all *all)
{
    static int64_t longs[] = {0, -1, INT64_MAX, INT64_MIN};
    static struct slice names[] = {{"", 0}, {"caf\xc3\xa9", 5}};
    static int32_t cells[] = {1, INT32_MAX, INT32_MIN};
    static struct list grid[] = {{NULL, 0}, {cells, 3}};
    static struct entry map[] = {{{"pi", 2}, 3.25}, {{"", 0}, -0.0}};
    static struct inner_entry inners[] = {{{"k", 1}, {-5, {"five", 4}}}};
    static struct tree leaves[] = {{3, {NULL, 0}}, {4, {NULL, 0}}};
    static struct tree twigs[] = {{2, {leaves, 2}}};
    *all = (struct all){
        .flag = true,
        .small = INT32_MIN,
        .big = INT64_MIN,
        .half = 0.1F,
        .wide = 0.1,
        .text = SLICE("text with \"quotes\" and \xe2\x82\xac"),
        .raw = SLICE("\x00\x7f\x80\xff"),
        .pin = {1, 2, 254, 0},
        .color = 2,
        .inner = {150, SLICE("inner")},
        .longs = {longs, 4},
        .names = {names, 2},
        .grid = {grid, 2},
        .map = {map, 2},
        .inners = {inners, 1},
        .choice = {.kind = CHOICE_NONE},
        .tree = {1, {twigs, 1}},
    };
}

static void
fill_optional(struct all *all)
{
    fill(all);
    all->has_flag = true;
    all->has_small = true;
    all->opt_small = -1;
    all->opt_text = SLICE("");
    all->opt_raw = SLICE("\xff");
    all->has_wide = true;
    all->opt_wide = DBL_MAX;
    all->has_pin = true;
    all->has_color = true;
    all->opt_color = 1;
    all->has_inner = true;
    all->opt_inner = (struct inner){1, SLICE("x")};
    all->has_longs = true;
}

/* ---- Helpers --------------------------------------------------------------------- */

static struct codec *
open_codec(const struct record_type *type)
{
    struct err err = {0};
    struct codec *codec = codec_new(type, NULL, &err);
    if (!codec)
        fail_msg("%s", err.msg);
    return codec;
}

static struct codec_plan *
open_plan(const struct codec *codec)
{
    struct err err = {0};
    struct codec_plan *plan = codec_plan_new(codec, codec_schema(codec), &err);
    if (!plan)
        fail_msg("%s", err.msg);
    return plan;
}

static void
assert_same(const struct buf *a, const struct buf *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
}

/* The value through bytes, and through JSON, and what both say of it. */
static void
assert_round_trip(const struct record_type *type,
                  const void *value,
                  struct arena *arena,
                  void *ret_value)
{
    CLEANUP(codec_freep) struct codec *codec = open_codec(type);
    CLEANUP(codec_plan_freep) struct codec_plan *plan = open_plan(codec);
    CLEANUP(buf_done) struct buf first = BUF_INIT;
    CLEANUP(buf_done) struct buf second = BUF_INIT;
    CLEANUP(buf_done) struct buf json = BUF_INIT;
    struct err err = {0};

    assert_int_equal(codec_encode(codec, value, &first, &err), ERR_OK);
    if (codec_decode(plan, buf_slice(&first), arena, ret_value, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(codec_encode(codec, ret_value, &second, &err), ERR_OK);
    assert_same(&first, &second);
    buf_reset(&second);
    assert_int_equal(codec_to_json(codec, value, &json, &err), ERR_OK);
    if (codec_from_json(codec, buf_slice(&json), arena, ret_value, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(codec_encode(codec, ret_value, &second, &err), ERR_OK);
    assert_same(&first, &second);
}

/* Decodes with the type's own schema; the code of the refusal, "" when there is none. */
static const char *
decode_as(const struct record_type *type,
          const struct codec_limits *limits,
          struct slice body,
          struct err *err)
{
    struct codec *codec = codec_new(type, limits, err);
    assert_non_null(codec);
    struct codec_plan *plan = open_plan(codec);
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    char value[512];
    char zero[512] = {0};
    assert_true(type->size <= sizeof value);
    *err = (struct err){0};
    enum err_kind kind = codec_decode(plan, body, &arena, value, err);
    assert_true(kind == ERR_OK || kind == ERR_RECORD);
    assert_int_equal(kind, err->kind);
    if (kind)
        assert_memory_equal(value, zero, type->size);
    codec_plan_free(plan);
    codec_free(codec);
    return err->code;
}

static void
assert_decodes(const struct record_type *type, struct slice body, const char *code)
{
    struct err err = {0};
    const char *got = decode_as(type, NULL, body, &err);
    if (strcmp(got, code) != 0)
        fail_msg("'%s' instead of '%s': %s", got, code, err.msg);
}

/* A type of one field `v`, in a struct that fits any. */
struct one {
    union {
        bool flag;
        int32_t small;
        int64_t big;
        double wide;
        struct slice text;
        struct list list;
        uint8_t fixed[16];
    } v;
    bool present;
};

#define ONE_TYPE(name_, avro, ...)                                                       \
    static const struct field name_##_field[] = {{.name = "v", __VA_ARGS__}};            \
    static const struct record_type name_ = {                                            \
        "One",                                                                           \
        "{\"type\": \"record\", \"name\": \"One\", \"fields\": [{\"name\": \"v\", "      \
        "\"type\": " avro "}]}",                                                         \
        FIELD_ROWS(name_##_field), sizeof(struct one), NULL}

static const struct field null_item = {.type = FIELD_NULL};
static const struct field byte_item = {.type = FIELD_BOOLEAN};

ONE_TYPE(one_flag, "\"boolean\"", .type = FIELD_BOOLEAN);
ONE_TYPE(one_int, "\"int\"", .type = FIELD_INT);
ONE_TYPE(one_long, "\"long\"", .type = FIELD_LONG);
ONE_TYPE(one_double, "\"double\"", .type = FIELD_DOUBLE);
ONE_TYPE(one_text, "\"string\"", .type = FIELD_STRING);
ONE_TYPE(one_bytes, "\"bytes\"", .type = FIELD_BYTES);
ONE_TYPE(one_enum,
         "{\"type\": \"enum\", \"name\": \"E\", \"symbols\": [\"A\", \"B\"]}",
         .type = FIELD_ENUM);
ONE_TYPE(one_opt, "[\"null\", \"string\"]", .type = FIELD_STRING, .nullable = true);
ONE_TYPE(one_opt_int,
         "[\"null\", \"int\"]",
         .type = FIELD_INT,
         .nullable = true,
         .present = offsetof(struct one, present));
ONE_TYPE(one_nulls,
         "{\"type\": \"array\", \"items\": \"null\"}",
         .type = FIELD_ARRAY,
         .size = 1,
         .of = &null_item);
ONE_TYPE(one_flags,
         "{\"type\": \"array\", \"items\": \"boolean\"}",
         .type = FIELD_ARRAY,
         .size = 1,
         .of = &byte_item);
ONE_TYPE(one_fixed,
         "{\"type\": \"fixed\", \"name\": \"F\", \"size\": 16}",
         .type = FIELD_FIXED,
         .size = 16);

/* ---- Both ways ------------------------------------------------------------------- */

static void
carries_every_type_both_ways(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct all all;
    struct all back;
    fill(&all);

    assert_round_trip(&all_type, &all, &arena, &back);

    assert_null(back.opt_text.data);
    assert_int_equal(back.choice.kind, CHOICE_NONE);
    assert_int_equal(back.big, INT64_MIN);
    assert_true(slice_equal(back.text, all.text));
    assert_int_equal(((const struct list *)back.grid.items)[1].n, 3);
}

static void
carries_values_of_unions_with_null(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct all all;
    struct all back;
    fill_optional(&all);

    assert_round_trip(&all_type, &all, &arena, &back);

    assert_non_null(back.opt_text.data);
    assert_int_equal(back.opt_text.len, 0);
    assert_true(back.has_flag && !back.opt_flag && back.has_longs);
    assert_int_equal(back.opt_color, 1);
    assert_int_equal(back.opt_inner.a, 1);
}

static void
carries_each_branch_of_a_union(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    static struct entry map[] = {{{"k", 1}, 0.5}};
    const struct choice choices[] = {
        {.kind = CHOICE_NONE},
        {.kind = CHOICE_LONG, .number = -7},
        {.kind = CHOICE_TEXT, .text = SLICE("seven")},
        {.kind = CHOICE_INNER, .inner = {7, SLICE("b")}},
        {.kind = CHOICE_MAP, .map = {map, 1}},
    };
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        struct all all;
        struct all back;
        fill(&all);
        all.choice = choices[i];

        assert_round_trip(&all_type, &all, &arena, &back);

        assert_int_equal(back.choice.kind, choices[i].kind);
        assert_int_equal(back.choice.number, choices[i].number);
        assert_true(slice_equal(back.choice.text, choices[i].text));
        assert_int_equal(back.choice.map.n, choices[i].map.n);
    }
}

static void
writes_the_bytes_of_the_specification(void **state)
{
    (void)state;
    CLEANUP(codec_freep) struct codec *codec = open_codec(&tree_type);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct tree leaf = {-64, {NULL, 0}};
    struct tree root = {64, {&leaf, 1}};

    assert_int_equal(codec_encode(codec, &root, &out, NULL), ERR_OK);

    assert_int_equal(out.len, 6);
    assert_memory_equal(out.data, "\x80\x01\x02\x7f\x00\x00", 6);
}

static void
keeps_slices_in_the_body(void **state)
{
    (void)state;
    CLEANUP(codec_freep) struct codec *codec = open_codec(&one_text);
    CLEANUP(codec_plan_freep) struct codec_plan *plan = open_plan(codec);
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    const char body[] = "\x06"
                        "abc";
    struct one one;

    assert_int_equal(codec_decode(plan, (struct slice){body, 4}, &arena, &one, NULL), 0);

    assert_ptr_equal(one.v.text.data, body + 1);
    assert_int_equal(arena.taken, 0);
}

static void
reads_arrays_in_several_blocks(void **state)
{
    (void)state;
    CLEANUP(codec_freep) struct codec *codec = open_codec(&one_flags);
    CLEANUP(codec_plan_freep) struct codec_plan *plan = open_plan(codec);
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    const char body[] = "\x02\x01\x03\x04\x00\x01\x02\x00\x00";
    struct one one;
    struct err err = {0};

    if (codec_decode(plan, (struct slice){body, 9}, &arena, &one, &err))
        fail_msg("%s", err.msg);

    assert_int_equal(one.v.list.n, 4);
    assert_memory_equal(one.v.list.items, "\x01\x00\x01\x00", 4);
}

static void
reads_a_hundred_thousand_blocks_of_one_item(void **state)
{
    (void)state;
    CLEANUP(codec_freep) struct codec *codec = open_codec(&one_flags);
    CLEANUP(codec_plan_freep) struct codec_plan *plan = open_plan(codec);
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct one one;
    for (int i = 0; i < 100000; i++)
        buf_add(&body, "\x02\x01", 2);
    buf_add_byte(&body, 0);

    assert_int_equal(codec_decode(plan, buf_slice(&body), &arena, &one, NULL), ERR_OK);

    assert_int_equal(one.v.list.n, 100000);
    assert_true(arena.taken < 1000000);
}

/* ---- Refusing to read ------------------------------------------------------------ */

#define BODY(literal) ((struct slice){(literal), sizeof(literal) - 1})

static void
refuses_numbers_out_of_range(void **state)
{
    (void)state;
    assert_decodes(&one_int, BODY("\xff\xff\xff\xff\x0f"), "");
    assert_decodes(&one_int, BODY("\xfe\xff\xff\xff\x0f"), "");
    assert_decodes(&one_int, BODY("\x80\x80\x80\x80\x10"), "body_invalid");
    assert_decodes(&one_int, BODY("\x81\x80\x80\x80\x10"), "body_invalid");
    assert_decodes(&one_int, BODY("\x80\x80\x80\x80\x80\x00"), "body_invalid");
    assert_decodes(&one_long, BODY("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "");
    assert_decodes(&one_long, BODY("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
                   "body_invalid");
    assert_decodes(&one_long, BODY("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                   "body_invalid");
    assert_decodes(&one_long, BODY("\xff\xff\xff\xff"), "body_truncated");
    assert_decodes(&one_long, BODY(""), "body_truncated");
}

static void
refuses_booleans_but_0_and_1(void **state)
{
    (void)state;
    assert_decodes(&one_flag, BODY("\x00"), "");
    assert_decodes(&one_flag, BODY("\x01"), "");
    assert_decodes(&one_flag, BODY("\x02"), "body_invalid");
    assert_decodes(&one_flag, BODY("\x07"), "body_invalid");
    assert_decodes(&one_flag, BODY("\xff"), "body_invalid");
    assert_decodes(&one_flag, BODY(""), "body_truncated");
}

static void
refuses_enum_positions_and_branches_out_of_range(void **state)
{
    (void)state;
    assert_decodes(&one_enum, BODY("\x02"), "");
    assert_decodes(&one_enum, BODY("\x04"), "body_invalid");
    assert_decodes(&one_enum, BODY("\x0a"), "body_invalid");
    assert_decodes(&one_enum, BODY("\x05"), "body_invalid");
    assert_decodes(&one_opt, BODY("\x00"), "");
    assert_decodes(&one_opt, BODY("\x02\x00"), "");
    assert_decodes(&one_opt, BODY("\x04\x00"), "body_invalid");
    assert_decodes(&one_opt, BODY("\x01"), "body_invalid");
    assert_decodes(&one_opt_int, BODY("\x02\x00"), "");
    assert_decodes(&one_opt_int, BODY("\x04\x00"), "body_invalid");
    assert_decodes(&one_opt_int, BODY("\x01"), "body_invalid");
    assert_decodes(&one_opt_int, BODY("\x02"), "body_truncated");
}

static void
refuses_lengths_past_the_end(void **state)
{
    (void)state;
    assert_decodes(&one_text,
                   BODY("\x04"
                        "ab"),
                   "");
    assert_decodes(&one_text,
                   BODY("\x06"
                        "ab"),
                   "body_truncated");
    assert_decodes(&one_text,
                   BODY("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                        "ab"),
                   "body_truncated");
    assert_decodes(&one_bytes, BODY("\x80\x80\x80\x80\x20"), "body_truncated");
    assert_decodes(&one_bytes, BODY("\x01"), "body_invalid");
    assert_decodes(&one_bytes, BODY("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                   "body_invalid");
    assert_decodes(&one_fixed, BODY("123456789012345"), "body_truncated");
    assert_decodes(&one_double, BODY("1234567"), "body_truncated");
}

static void
refuses_text_that_is_not_utf8(void **state)
{
    (void)state;
    assert_decodes(&one_text, BODY("\x04\xc3\xa9"), "");
    assert_decodes(&one_text, BODY("\x06\xed\x9f\xbf"), "");
    assert_decodes(&one_text, BODY("\x08\xf4\x8f\xbf\xbf"), "");
    assert_decodes(&one_text, BODY("\x02\xff"), "body_invalid");
    assert_decodes(&one_text, BODY("\x02\x80"), "body_invalid");
    assert_decodes(&one_text, BODY("\x02\xc3"), "body_invalid");
    assert_decodes(&one_text, BODY("\x04\xc0\x80"), "body_invalid");
    assert_decodes(&one_text, BODY("\x06\xe0\x80\x80"), "body_invalid");
    assert_decodes(&one_text, BODY("\x06\xed\xa0\x80"), "body_invalid");
    assert_decodes(&one_text, BODY("\x08\xf0\x80\x80\x80"), "body_invalid");
    assert_decodes(&one_text, BODY("\x08\xf4\x90\x80\x80"), "body_invalid");
    assert_decodes(&one_text, BODY("\x08\xf5\x80\x80\x80"), "body_invalid");
    assert_decodes(&one_opt, BODY("\x02\x02\xff"), "body_invalid");
}

/* A wrong byte is found at every position of texts of every length, fast paths or not. */
static void
finds_a_wrong_byte_wherever_it_stands(void **state)
{
    (void)state;
    CLEANUP(codec_freep) struct codec *codec = open_codec(&one_text);
    CLEANUP(codec_plan_freep) struct codec_plan *plan = open_plan(codec);
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    for (size_t len = 1; len < 60; len++) {
        for (size_t at = 0; at <= len; at++) {
            char body[64];
            struct one one;
            body[0] = (char)(len * 2);
            memset(body + 1, 'a', len);
            if (at < len)
                body[1 + at] = (char)0x9f;
            struct slice bytes = {body, len + 1};
            enum err_kind want = at < len ? ERR_RECORD : ERR_OK;
            assert_int_equal(codec_decode(plan, bytes, &arena, &one, NULL), want);
        }
    }
}

static void
refuses_bytes_behind_the_record(void **state)
{
    (void)state;
    assert_decodes(&one_flag, BODY("\x01\x00"), "body_trailing");
    assert_decodes(&one_nulls, BODY("\x00\x00"), "body_trailing");
}

static void
refuses_huge_counts_at_once(void **state)
{
    (void)state;
    clock_t from = clock();
    /* 2^32, 2^63 - 1 and -2^63 items without bytes. */
    assert_decodes(&one_nulls, BODY("\x80\x80\x80\x80\x20\x00"), "body_invalid");
    assert_decodes(&one_nulls, BODY("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
                   "body_invalid");
    assert_decodes(&one_nulls, BODY("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00"),
                   "body_invalid");
    /* The same of items that take a byte each. */
    assert_decodes(&one_flags, BODY("\x80\x80\x80\x80\x20\x00"), "body_truncated");
    assert_decodes(&one_flags, BODY("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
                   "body_truncated");
    assert_decodes(&one_flags, BODY("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00"),
                   "body_truncated");
    assert_true((double)(clock() - from) / CLOCKS_PER_SEC < 2.0);
}

static void
bounds_the_items_of_all_blocks_together(void **state)
{
    (void)state;
    const struct codec_limits limits = {.max_items = 10};
    struct err err;
    assert_string_equal(decode_as(&one_nulls, &limits, BODY("\x0a\x0a\x00"), &err), "");
    assert_string_equal(decode_as(&one_nulls, &limits, BODY("\x0a\x0c\x00"), &err),
                        "body_invalid");
}

static void
holds_a_block_to_the_length_it_says(void **state)
{
    (void)state;
    assert_decodes(&one_flags, BODY("\x03\x04\x00\x01\x00"), "");
    assert_decodes(&one_flags, BODY("\x03\x02\x00\x01\x00"), "body_invalid");
    assert_decodes(&one_flags, BODY("\x03\x06\x00\x01\x00"), "body_invalid");
    assert_decodes(&one_flags, BODY("\x03\x05\x00\x01\x00"), "body_invalid");
    assert_decodes(&one_flags, BODY("\x03\x40\x00\x01\x00"), "body_truncated");
}

static void
refuses_a_value_nested_a_hundred_thousand_deep(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    for (int i = 0; i < 100000; i++)
        buf_add(&body, "\x00\x02", 2);
    assert_decodes(&tree_type, buf_slice(&body), "body_invalid");
}

static void
reads_down_to_the_depth_it_allows(void **state)
{
    (void)state;
    const struct codec_limits limits = {.max_depth = 3};
    struct err err;
    const struct slice three = BODY("\x00\x02\x00\x02\x00\x00\x00\x00");
    const struct slice four = BODY("\x00\x02\x00\x02\x00\x02\x00\x00\x00\x00\x00");
    assert_string_equal(decode_as(&tree_type, &limits, three, &err), "");
    assert_string_equal(decode_as(&tree_type, &limits, four, &err), "body_invalid");
}

static void
keeps_its_stack_and_memory_whatever_limits_it_is_given(void **state)
{
    (void)state;
    const struct codec_limits limits = {.max_depth = SIZE_MAX, .max_items = SIZE_MAX};
    CLEANUP(buf_done) struct buf deep = BUF_INIT;
    struct err err;
    for (int i = 0; i < 100000; i++)
        buf_add(&deep, "\x00\x02", 2);
    const struct slice many = BODY("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00");
    assert_string_equal(decode_as(&tree_type, &limits, buf_slice(&deep), &err),
                        "body_invalid");
    assert_string_equal(decode_as(&one_nulls, &limits, many, &err), "body_invalid");
}

static void
refuses_items_that_outgrow_the_arena(void **state)
{
    (void)state;
    CLEANUP(codec_freep) struct codec *codec = open_codec(&one_nulls);
    CLEANUP(codec_plan_freep) struct codec_plan *plan = open_plan(codec);
    CLEANUP(arena_done) struct arena arena;
    arena_init(&arena, 1000);
    struct one one;
    struct err err = {0};

    enum err_kind kind = codec_decode(plan, BODY("\xa0\x1f\x00"), &arena, &one, &err);

    assert_int_equal(kind, ERR_RECORD);
    assert_string_equal(err.code, "body_invalid");
}

static void
names_the_field_and_the_byte_it_refuses(void **state)
{
    (void)state;
    struct err err = {0};
    decode_as(&tree_type, NULL, BODY("\x00\x02\x00\x02\x80\x80"), &err);
    assert_non_null(strstr(err.msg, "children[].value"));
    assert_non_null(strstr(err.msg, "byte 4"));
}

static void
refuses_a_body_cut_at_any_byte(void **state)
{
    (void)state;
    CLEANUP(codec_freep) struct codec *codec = open_codec(&all_type);
    CLEANUP(codec_plan_freep) struct codec_plan *plan = open_plan(codec);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct all all;
    fill_optional(&all);
    assert_int_equal(codec_encode(codec, &all, &body, NULL), ERR_OK);

    for (size_t len = 0; len < body.len; len++) {
        struct err err = {0};
        char *cut = malloc(len ? len : 1);
        memcpy(cut, body.data, len);
        enum err_kind kind =
            codec_decode(plan, (struct slice){cut, len}, &arena, &all, &err);
        free(cut);
        assert_int_equal(kind, ERR_RECORD);
        assert_string_equal(err.code, "body_truncated");
    }
    assert_int_equal(codec_decode(plan, (struct slice){NULL, 0}, &arena, &all, NULL),
                     ERR_RECORD);
}

static uint64_t
next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void
flip_bit(const struct buf *body, uint64_t random)
{
    unsigned char *byte = (unsigned char *)body->data + random / 8 % body->len;
    *byte = (unsigned char)(*byte ^ 1U << random % 8);
}

/* Whatever is read can be written, and whatever is not has a code. */
static void
survives_random_damage(void **state)
{
    (void)state;
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2 + 1;
    print_message("SEED=%llu\n", (unsigned long long)seed);
    CLEANUP(codec_freep) struct codec *codec = open_codec(&all_type);
    CLEANUP(codec_plan_freep) struct codec_plan *plan = open_plan(codec);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    CLEANUP(buf_done) struct buf again = BUF_INIT;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct all all;
    size_t n_read = 0;
    for (int i = 0; i < 20000; i++) {
        struct err err = {0};
        fill_optional(&all);
        buf_reset(&body);
        buf_reset(&again);
        arena_reset(&arena);
        assert_int_equal(codec_encode(codec, &all, &body, NULL), ERR_OK);
        for (uint64_t k = next_random(&seed) % 4; k < 4; k++)
            flip_bit(&body, next_random(&seed));
        if (codec_decode(plan, buf_slice(&body), &arena, &all, &err)) {
            assert_int_equal(err.kind, ERR_RECORD);
            assert_memory_equal(err.code, "body_", 5);
            continue;
        }
        n_read++;
        if (codec_encode(codec, &all, &again, &err))
            fail_msg("%s", err.msg);
    }
    assert_true(n_read > 0);
}

/* ---- Refusing to write ----------------------------------------------------------- */

static void
assert_unwritable(const struct all *all)
{
    CLEANUP(codec_freep) struct codec *codec = open_codec(&all_type);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct err err = {0};
    buf_add_str(&out, "before");
    assert_int_equal(codec_encode(codec, all, &out, &err), ERR_RECORD);
    assert_string_equal(err.code, "body_invalid");
    assert_int_equal(out.len, 6);
    err = (struct err){0};
    assert_int_equal(codec_to_json(codec, all, &out, &err), ERR_RECORD);
    assert_string_equal(err.code, "body_invalid");
    assert_int_equal(out.len, 6);
}

static void
refuses_to_write_what_no_reader_accepts(void **state)
{
    (void)state;
    struct all all;
    fill(&all);
    all.color = 3;
    assert_unwritable(&all);
    fill(&all);
    all.color = -1;
    assert_unwritable(&all);
    fill(&all);
    all.choice.kind = 0;
    assert_unwritable(&all);
    fill(&all);
    all.text = SLICE("\xff");
    assert_unwritable(&all);
    fill(&all);
    all.text = (struct slice){NULL, 0};
    assert_unwritable(&all);
    fill(&all);
    all.raw = (struct slice){NULL, 0};
    assert_unwritable(&all);
    fill(&all);
    all.longs.items = NULL;
    assert_unwritable(&all);
}

static void
refuses_to_write_more_items_or_deeper_than_it_reads(void **state)
{
    (void)state;
    const struct codec_limits limits = {.max_items = 3, .max_depth = 2};
    CLEANUP(codec_freep) struct codec *codec = codec_new(&tree_type, &limits, NULL);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct err err = {0};
    struct tree leaves[4] = {{0}};
    struct tree twig = {0, {leaves, 2}};
    struct tree root = {0, {&twig, 1}};

    assert_int_equal(codec_encode(codec, &(struct tree){0, {leaves, 3}}, &out, &err), 0);
    assert_int_equal(codec_encode(codec, &(struct tree){0, {leaves, 4}}, &out, &err),
                     ERR_RECORD);
    assert_int_equal(codec_encode(codec, &root, &out, &err), ERR_OK);
    leaves[0].children = (struct list){leaves + 3, 1};
    twig.children.n = 1;
    assert_int_equal(codec_encode(codec, &root, &out, &err), ERR_RECORD);
    assert_string_equal(err.code, "body_invalid");
}

static void
writes_up_to_the_ceiling_and_not_a_byte_more(void **state)
{
    (void)state;
    CLEANUP(codec_freep) struct codec *codec = open_codec(&all_type);
    CLEANUP(buf_done) struct buf whole = BUF_INIT;
    struct all all;
    fill_optional(&all);
    assert_int_equal(codec_encode(codec, &all, &whole, NULL), ERR_OK);
    for (size_t max = 1; max <= whole.len; max++) {
        CLEANUP(buf_done) struct buf out;
        struct err err = {0};
        buf_init(&out, max);
        enum err_kind kind = codec_encode(codec, &all, &out, &err);
        assert_int_equal(kind, max < whole.len ? ERR_RECORD : ERR_OK);
        if (kind)
            assert_string_equal(err.code, "record_too_large");
        assert_int_equal(out.len, kind ? 0 : whole.len);
    }
}

/* ---- JSON ------------------------------------------------------------------------ */

static void
assert_json(const struct record_type *type, const void *value, const char *want)
{
    CLEANUP(codec_freep) struct codec *codec = open_codec(type);
    CLEANUP(buf_done) struct buf json = BUF_INIT;
    assert_int_equal(codec_to_json(codec, value, &json, NULL), ERR_OK);
    assert_string_equal(buf_text(&json), want);
}

static void
prints_one_line_in_the_order_of_the_table(void **state)
{
    (void)state;
    struct all all;
    fill_optional(&all);
    all.choice = (struct choice){.kind = CHOICE_INNER, .inner = {7, SLICE("b")}};
    assert_json(
        &all_type, &all,
        "{\"tree\":{\"value\":1,\"children\":[{\"value\":2,\"children\":["
        "{\"value\":3,\"children\":[]},{\"value\":4,\"children\":[]}]}]},"
        "\"flag\":true,\"small\":-2147483648,\"big\":-9223372036854775808,"
        "\"half\":0.1,\"wide\":0.1,"
        "\"text\":\"text with \\\"quotes\\\" and \xe2\x82\xac\","
        "\"raw\":\"\\u0000\\u007f\\u0080\\u00ff\","
        "\"pin\":\"\\u0001\\u0002\\u00fe\\u0000\",\"color\":\"BLUE\","
        "\"inner\":{\"b\":\"inner\",\"a\":150},"
        "\"longs\":[0,-1,9223372036854775807,-9223372036854775808],"
        "\"names\":[\"\",\"caf\xc3\xa9\"],\"grid\":[[],[1,2147483647,-2147483648]],"
        "\"map\":{\"pi\":3.25,\"\":-0.0},\"inners\":{\"k\":{\"b\":\"five\",\"a\":-5}},"
        "\"opt_flag\":{\"boolean\":false},\"opt_small\":{\"int\":-1},"
        "\"opt_text\":{\"string\":\"\"},\"opt_raw\":{\"bytes\":\"\\u00ff\"},"
        "\"opt_wide\":{\"double\":1.7976931348623157e+308},"
        "\"opt_pin\":{\"t.Pin\":\"\\u0000\\u0000\\u0000\\u0000\"},"
        "\"opt_color\":{\"t.Color\":\"GREEN\"},"
        "\"opt_inner\":{\"t.Inner\":{\"b\":\"x\",\"a\":1}},"
        "\"opt_longs\":{\"array\":[]},"
        "\"choice\":{\"t.Inner\":{\"b\":\"b\",\"a\":7}}}");
}

static void
prints_numbers_that_read_back_the_same(void **state)
{
    (void)state;
    const double numbers[] = {0.0,
                              -0.0,
                              1.0,
                              0.1,
                              1.0 / 3,
                              1e22,
                              1e23,
                              DBL_MAX,
                              DBL_MIN,
                              4.9e-324,
                              123456789,
                              1e15,
                              1e17,
                              -1e-7,
                              (double)INFINITY,
                              -(double)INFINITY};
    CLEANUP(codec_freep) struct codec *codec = open_codec(&one_double);
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        CLEANUP(buf_done) struct buf json = BUF_INIT;
        struct one one = {.v.wide = numbers[i]};
        struct one back;
        struct err err = {0};
        assert_int_equal(codec_to_json(codec, &one, &json, NULL), ERR_OK);
        if (codec_from_json(codec, buf_slice(&json), &arena, &back, &err))
            fail_msg("%s: %s", buf_text(&json), err.msg);
        assert_memory_equal(&back.v.wide, &numbers[i], sizeof(double));
    }
    assert_json(&one_double, &(struct one){.v.wide = (double)NAN}, "{\"v\":\"NaN\"}");
    assert_json(&one_double, &(struct one){.v.wide = 1.0}, "{\"v\":1.0}");
    assert_json(&one_double, &(struct one){.v.wide = 5e-324}, "{\"v\":5e-324}");
    assert_json(&one_double, &(struct one){.v.wide = 0.1 + 0.2},
                "{\"v\":0.30000000000000004}");
}

static void
carries_text_with_zero_bytes_through_json(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct one one = {.v.text = {"a\0b\n\x1f\x7f", 6}};
    struct one back;
    assert_json(&one_text, &one, "{\"v\":\"a\\u0000b\\n\\u001f\\u007f\"}");
    assert_round_trip(&one_text, &one, &arena, &back);
}

static void
carries_every_byte_through_json(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    struct one one = {.v.text = {bytes, 256}};
    struct one back;
    assert_round_trip(&one_bytes, &one, &arena, &back);
}

static void
assert_json_refused(const struct record_type *type, const char *json)
{
    CLEANUP(codec_freep) struct codec *codec = open_codec(type);
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct one one;
    struct err err = {0};
    enum err_kind kind = codec_from_json(codec, slice_of(json), &arena, &one, &err);
    if (kind != ERR_RECORD)
        fail_msg("accepted %s", json);
    assert_string_equal(err.code, "body_invalid");
}

static void
refuses_json_that_is_no_value_of_the_schema(void **state)
{
    (void)state;
    assert_json_refused(&one_int, "");
    assert_json_refused(&one_int, "{");
    assert_json_refused(&one_int, "[]");
    assert_json_refused(&one_int, "{}");
    assert_json_refused(&one_int, "{\"v\": 1, \"w\": 2}");
    assert_json_refused(&one_int, "{\"v\": 1, \"v\": 2}");
    assert_json_refused(&one_int, "{\"v\": 2147483648}");
    assert_json_refused(&one_int, "{\"v\": 1.5}");
    assert_json_refused(&one_int, "{\"v\": \"1\"}");
    assert_json_refused(&one_int, "{\"v\": null}");
    assert_json_refused(&one_long, "{\"v\": 9223372036854775808}");
    assert_json_refused(&one_flag, "{\"v\": 1}");
    assert_json_refused(&one_text, "{\"v\": 1}");
    assert_json_refused(&one_text, "{\"v\": \"\xff\"}");
    assert_json_refused(&one_bytes, "{\"v\": \"\xc4\x80\"}");
    assert_json_refused(&one_bytes, "{\"v\": \"\xe2\x82\xac\"}");
    assert_json_refused(&one_fixed, "{\"v\": \"123456789012345\"}");
    assert_json_refused(&one_enum, "{\"v\": \"C\"}");
    assert_json_refused(&one_enum, "{\"v\": 0}");
    assert_json_refused(&one_opt, "{\"v\": \"text\"}");
    assert_json_refused(&one_opt, "{\"v\": {\"int\": 1}}");
    assert_json_refused(&one_opt, "{\"v\": {}}");
    assert_json_refused(&one_double, "{\"v\": \"nan\"}");
    assert_json_refused(&one_flags, "{\"v\": {}}");
    assert_json_refused(&one_flags, "{\"v\": [0]}");
}

static void
fills_missing_json_fields_with_their_default(void **state)
{
    (void)state;
    CLEANUP(codec_freep) struct codec *codec = open_codec(&all_type);
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf json = BUF_INIT;
    struct all all;
    fill(&all);
    all.tree.children.n = 0;
    assert_int_equal(codec_to_json(codec, &all, &json, NULL), ERR_OK);
    const char *from = ",\"children\":[]";
    char *text = strdup(buf_text(&json));
    char *at = strstr(text, from);
    memmove(at, at + strlen(from), strlen(at + strlen(from)) + 1);
    struct err err = {0};

    if (codec_from_json(codec, slice_of(text), &arena, &all, &err))
        fail_msg("%s", err.msg);

    assert_int_equal(all.tree.children.n, 0);
    free(text);
}

static void
refuses_json_nested_beyond_its_limits(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf json = BUF_INIT;
    for (int i = 0; i < 1000; i++)
        buf_add_str(&json, "{\"value\": 0, \"children\": [");
    for (int i = 0; i < 1000; i++)
        buf_add_str(&json, "]}");
    assert_json_refused(&tree_type, buf_text(&json));
}

/* ---- Tables ---------------------------------------------------------------------- */

static void
assert_table_refused(const struct record_type *type, const char *names)
{
    struct err err = {0};
    assert_null(codec_new(type, NULL, &err));
    assert_int_equal(err.kind, ERR_FATAL);
    assert_string_equal(err.code, "schema_table");
    if (!strstr(err.msg, names))
        fail_msg("'%s' does not name '%s'", err.msg, names);
}

/* The table of everything with one row changed. */
#define ASSERT_ROW_REFUSED(row_name, change)                                             \
    do {                                                                                 \
        struct field rows[sizeof all_fields / sizeof all_fields[0]];                     \
        memcpy(rows, all_fields, sizeof rows);                                           \
        struct field *row = rows;                                                        \
        while (strcmp(row->name, row_name) != 0)                                         \
            row++;                                                                       \
        change;                                                                          \
        struct record_type changed = all_type;                                           \
        changed.fields = rows;                                                           \
        assert_table_refused(&changed, row_name);                                        \
    } while (0)

static void
refuses_tables_that_disagree_with_their_schema(void **state)
{
    (void)state;
    struct field branches[5];
    ASSERT_ROW_REFUSED("small", row->type = FIELD_LONG);
    ASSERT_ROW_REFUSED("big", row->type = FIELD_INT);
    ASSERT_ROW_REFUSED("text", row->nullable = true);
    ASSERT_ROW_REFUSED("opt_text", row->nullable = false);
    ASSERT_ROW_REFUSED("opt_raw", row->type = FIELD_STRING);
    ASSERT_ROW_REFUSED("pin", row->size = 5);
    ASSERT_ROW_REFUSED("longs", row->of = NULL);
    ASSERT_ROW_REFUSED("longs", row->size = 0);
    ASSERT_ROW_REFUSED("longs", row->size = 4);
    ASSERT_ROW_REFUSED("longs", row->of = &int_item);
    ASSERT_ROW_REFUSED("map", row->type = FIELD_ARRAY);
    ASSERT_ROW_REFUSED("map", row->of = &int_item);
    ASSERT_ROW_REFUSED("inner", row->record = &tree_type);
    ASSERT_ROW_REFUSED("inner", row->record = NULL);
    ASSERT_ROW_REFUSED("wide", row->offset = sizeof(struct all));
    ASSERT_ROW_REFUSED("opt_wide", row->present = sizeof(struct all));
    ASSERT_ROW_REFUSED("choice", row->n_of = 4);
    ASSERT_ROW_REFUSED("choice", row->nullable = true);
    memcpy(branches, choice_branches, sizeof branches);
    branches[1] = choice_branches[2];
    branches[2] = choice_branches[1];
    ASSERT_ROW_REFUSED("choice", row->of = branches);
    memcpy(branches, choice_branches, sizeof branches);
    branches[2].tag = CHOICE_LONG;
    ASSERT_ROW_REFUSED("choice", row->of = branches);
    memcpy(branches, choice_branches, sizeof branches);
    branches[2].offset = 0;
    ASSERT_ROW_REFUSED("choice", row->of = branches);
}

static void
refuses_tables_with_rows_too_many_or_too_few(void **state)
{
    (void)state;
    struct record_type type = all_type;
    type.n_fields--;
    assert_table_refused(&type, "choice");
    ASSERT_ROW_REFUSED("small", row[1].name = "small");
    ASSERT_ROW_REFUSED("big", row->name = "bigger");
}

static void
refuses_tables_without_a_sound_schema(void **state)
{
    (void)state;
    struct record_type type = all_type;
    type.avsc = NULL;
    assert_table_refused(&type, "t.All");
    type.avsc = "{\"type\": \"record\"";
    assert_table_refused(&type, "t.All");
    type.avsc = "\"string\"";
    assert_table_refused(&type, "t.All");
    type = all_type;
    type.name = "t.Other";
    assert_table_refused(&type, "t.Other");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carries_every_type_both_ways),
        cmocka_unit_test(carries_values_of_unions_with_null),
        cmocka_unit_test(carries_each_branch_of_a_union),
        cmocka_unit_test(writes_the_bytes_of_the_specification),
        cmocka_unit_test(keeps_slices_in_the_body),
        cmocka_unit_test(reads_arrays_in_several_blocks),
        cmocka_unit_test(reads_a_hundred_thousand_blocks_of_one_item),
        cmocka_unit_test(refuses_numbers_out_of_range),
        cmocka_unit_test(refuses_booleans_but_0_and_1),
        cmocka_unit_test(refuses_enum_positions_and_branches_out_of_range),
        cmocka_unit_test(refuses_lengths_past_the_end),
        cmocka_unit_test(refuses_text_that_is_not_utf8),
        cmocka_unit_test(finds_a_wrong_byte_wherever_it_stands),
        cmocka_unit_test(refuses_bytes_behind_the_record),
        cmocka_unit_test(refuses_huge_counts_at_once),
        cmocka_unit_test(bounds_the_items_of_all_blocks_together),
        cmocka_unit_test(holds_a_block_to_the_length_it_says),
        cmocka_unit_test(refuses_a_value_nested_a_hundred_thousand_deep),
        cmocka_unit_test(reads_down_to_the_depth_it_allows),
        cmocka_unit_test(keeps_its_stack_and_memory_whatever_limits_it_is_given),
        cmocka_unit_test(refuses_items_that_outgrow_the_arena),
        cmocka_unit_test(names_the_field_and_the_byte_it_refuses),
        cmocka_unit_test(refuses_a_body_cut_at_any_byte),
        cmocka_unit_test(survives_random_damage),
        cmocka_unit_test(refuses_to_write_what_no_reader_accepts),
        cmocka_unit_test(refuses_to_write_more_items_or_deeper_than_it_reads),
        cmocka_unit_test(writes_up_to_the_ceiling_and_not_a_byte_more),
        cmocka_unit_test(prints_one_line_in_the_order_of_the_table),
        cmocka_unit_test(prints_numbers_that_read_back_the_same),
        cmocka_unit_test(carries_text_with_zero_bytes_through_json),
        cmocka_unit_test(carries_every_byte_through_json),
        cmocka_unit_test(refuses_json_that_is_no_value_of_the_schema),
        cmocka_unit_test(fills_missing_json_fields_with_their_default),
        cmocka_unit_test(refuses_json_nested_beyond_its_limits),
        cmocka_unit_test(refuses_tables_that_disagree_with_their_schema),
        cmocka_unit_test(refuses_tables_with_rows_too_many_or_too_few),
        cmocka_unit_test(refuses_tables_without_a_sound_schema),
    };
    return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
