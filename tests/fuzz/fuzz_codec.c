/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a body, read with our own schema or another writer's, or as JSON: they
 * are refused with a code, or the value can be written and read back as the same bytes.
 *
 * The first byte chooses the type, the second how the rest is read; a writer's schema
 * ends at a zero byte, the body follows.
 */
#include "audit_row.h"
#include "avro_sample.h"
#include "codec.h"
#include "tuning_event.h"
#include "warning.h"

#include "cleanup.h"

#include <stdlib.h>

CLEANUP_DEFINE(struct codec_plan, codec_plan_free);
CLEANUP_DEFINE(struct schema, schema_free);

/* A record that holds itself, items without bytes, and a default in every item. */
struct tree {
    int32_t value;
    struct list children; /* struct tree */
    struct list nulls;
};

extern const struct record_type fuzz_tree_type;
static const struct field tree_item = {.type = FIELD_RECORD, .record = &fuzz_tree_type};
static const struct field null_item = {.type = FIELD_NULL};
static const struct field tree_fields[] = {
    {.name = "value", .type = FIELD_INT, .offset = offsetof(struct tree, value)},
    {.name = "children",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct tree, children),
     .size = sizeof(struct tree),
     .of = &tree_item},
    {.name = "nulls",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct tree, nulls),
     .size = 1,
     .of = &null_item},
};
const struct record_type fuzz_tree_type = {
    "Tree",
    "{\"type\": \"record\", \"name\": \"Tree\", \"fields\": ["
    "{\"name\": \"value\", \"type\": \"int\", \"default\": 1},"
    "{\"name\": \"children\", \"type\": {\"type\": \"array\", \"items\": \"Tree\"}},"
    "{\"name\": \"nulls\", \"type\": {\"type\": \"array\", \"items\": \"null\"},"
    " \"default\": [null, null]}]}",
    FIELD_ROWS(tree_fields), sizeof(struct tree), NULL};

enum { N_TYPES = 5, MAX_VALUE_BYTES = 4096, MAX_ARENA_BYTES = 16 << 20 };
enum way { AS_OURS, AS_WRITTEN, AS_JSON, N_WAYS };

static const struct record_type *const types[N_TYPES] = {
    &sample_type, &tuning_event_type, &audit_row_type, &warning_type, &fuzz_tree_type};

struct target {
    struct codec *codec;
    struct codec_plan *plan;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
check(bool holds)
{
    if (!holds)
        abort();
}

static const struct target *
target_of(size_t i)
{
    static struct target targets[N_TYPES];
    const struct codec_limits limits = {.max_items = 10000};
    struct target *target = &targets[i];
    if (!target->codec) {
        target->codec = codec_new(types[i], &limits, NULL);
        check(target->codec != NULL);
        target->plan = codec_plan_new(target->codec, codec_schema(target->codec), NULL);
        check(target->plan != NULL);
    }
    return target;
}

static void
check_refusal(const struct err *err)
{
    check(err->kind == ERR_RECORD && err->code[0] && err->msg[0]);
}

/* JSON can't say which NaN, nor a key twice or with a zero byte: those may differ. */
static void
check_json(const struct target *target, const void *value, const struct buf *body)
{
    _Alignas(16) char again[MAX_VALUE_BYTES];
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf json = BUF_INIT;
    CLEANUP(buf_done) struct buf back = BUF_INIT;
    check(codec_to_json(target->codec, value, &json, NULL) == ERR_OK);
    if (codec_from_json(target->codec, buf_slice(&json), &arena, again, NULL))
        return;
    check(codec_encode(target->codec, again, &back, NULL) == ERR_OK);
    if (!memmem(json.data, json.len, "\"NaN\"", 5))
        check(slice_equal(buf_slice(&back), buf_slice(body)));
}

static void
check_value(const struct target *target, const void *value)
{
    _Alignas(16) char again[MAX_VALUE_BYTES];
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    CLEANUP(buf_done) struct buf back = BUF_INIT;
    check(codec_encode(target->codec, value, &body, NULL) == ERR_OK);
    check(codec_decode(target->plan, buf_slice(&body), &arena, again, NULL) == ERR_OK);
    check(codec_encode(target->codec, again, &back, NULL) == ERR_OK);
    check(slice_equal(buf_slice(&back), buf_slice(&body)));
    check_json(target, value, &body);
}

/* A plan for the writer's schema in front of the body, or NULL. */
static struct codec_plan *
plan_of(const struct target *target, struct slice *body, struct err *err)
{
    const char *end = memchr(body->data, 0, body->len);
    size_t len = end ? (size_t)(end - body->data) : body->len;
    struct slice text = {body->data, len};
    *body =
        (struct slice){body->data + len + (end != NULL), body->len - len - (end != NULL)};
    CLEANUP(schema_freep) struct schema *schema = schema_parse(text, err);
    return schema ? codec_plan_new(target->codec, schema, err) : NULL;
}

static enum err_kind
read_as(const struct target *target,
        enum way way,
        struct slice rest,
        struct arena *arena,
        void *ret_value,
        struct err *err)
{
    if (way == AS_JSON)
        return codec_from_json(target->codec, rest, arena, ret_value, err);
    if (way == AS_OURS)
        return codec_decode(target->plan, rest, arena, ret_value, err);
    CLEANUP(codec_plan_freep) struct codec_plan *plan = plan_of(target, &rest, err);
    return plan ? codec_decode(plan, rest, arena, ret_value, err) : err->kind;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 2)
        return 0;
    _Alignas(16) char value[MAX_VALUE_BYTES];
    const struct target *target = target_of(data[0] % N_TYPES);
    check(codec_type(target->codec)->size <= sizeof value);
    CLEANUP(arena_done) struct arena arena;
    arena_init(&arena, MAX_ARENA_BYTES);
    struct err err = {0};
    struct slice rest = {(const char *)data + 2, len - 2};
    enum way way = (enum way)(data[1] % N_WAYS);
    if (read_as(target, way, rest, &arena, value, &err))
        check_refusal(&err);
    else
        check_value(target, value);
    return 0;
}
