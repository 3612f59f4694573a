/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets each allocation of the record path fail in turn: a lack of memory is fatal, never
 * the record's fault, and nothing leaks. Linked with our own malloc, calloc and realloc
 * in front of the library's.
 */
#include "audit_row.h"
#include "schema_tree.h"
#include "serde.h"

#include "unit.h"

CLEANUP_DEFINE(struct serde, serde_free);

enum { MAX_ALLOCATIONS = 10000, UNLIMITED = -1 };

static int allocations_left = UNLIMITED;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *data, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *data, size_t size);

static bool
is_denied(void)
{
    if (allocations_left > 0)
        allocations_left--;
    return allocations_left == 0;
}

void *
__wrap_malloc(size_t size)
{
    return is_denied() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return is_denied() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *data, size_t size)
{
    return is_denied() ? NULL : __real_realloc(data, size);
}

/* Runs `attempt` with one allocation more each time, until it works. */
static void
assert_fatal_until_it_works(enum err_kind (*attempt)(void *state, struct err *err),
                            void *state)
{
    for (int n = 1; n < MAX_ALLOCATIONS; n++) {
        struct err err = {0};
        allocations_left = n;
        enum err_kind kind = attempt(state, &err);
        allocations_left = UNLIMITED;
        if (!kind) {
            assert_true(n > 1);
            return;
        }
        if (kind != ERR_FATAL)
            fail_msg("allocation %d: %s: %s", n, err.code, err.msg);
    }
    fail_msg("never works");
}

static enum err_kind
parse(void *state, struct err *err)
{
    (void)state;
    struct schema *schema = schema_parse(slice_of(audit_row_type.avsc), err);
    schema_free(schema);
    return schema ? ERR_OK : err->kind;
}

static enum err_kind
open_serde(void *state, struct err *err)
{
    (void)state;
    struct serde *serde = serde_new(&audit_row_type, NULL, err);
    serde_free(serde);
    return serde ? ERR_OK : err->kind;
}

static struct tuner_entry entry;
static struct audit_row row = {
    .run_key = {"k", 1},
    .x = {"{}", 2},
    .tuners = {&entry, 1},
    .origin = {{"e", 1}, {"n", 1}, {"s", 1}, 0, {"p", 1}},
    .provenance = {.worker = {"w", 1}, .version = {"v", 1}, .config_sha256 = {"c", 1}},
};

static enum err_kind
encode(void *state, struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    return serde_encode(state, &row, &out, err);
}

struct coded {
    struct serde *serde;
    struct buf value;
};

static enum err_kind
decode(void *state, struct err *err)
{
    struct coded *coded = state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct audit_row back;
    return serde_decode(coded->serde, buf_slice(&coded->value), &arena, &back, err);
}

/* Too long for the first room of a buffer. */
static struct audit_row
long_row(void)
{
    static char text[4000];
    memset(text, 'x', sizeof text);
    struct audit_row long_one = row;
    long_one.x = (struct slice){text, sizeof text};
    return long_one;
}

static enum err_kind
encode_long(void *state, struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct audit_row long_one = long_row();
    return codec_encode(state, &long_one, &out, err);
}

static enum err_kind
print_json(void *state, struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct audit_row long_one = long_row();
    return codec_to_json(state, &long_one, &out, err);
}

struct text {
    const struct codec *codec;
    struct buf json;
};

static enum err_kind
parse_json(void *state, struct err *err)
{
    struct text *text = state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct audit_row back;
    return codec_from_json(text->codec, buf_slice(&text->json), &arena, &back, err);
}

static enum err_kind
by_id(void *state, uint32_t id, struct slice *ret_text, struct err *err)
{
    (void)state;
    (void)id;
    (void)err;
    *ret_text = slice_of(audit_row_type.avsc);
    return ERR_OK;
}

static void
a_schema_is_read_or_there_is_no_memory(void **state)
{
    (void)state;
    assert_fatal_until_it_works(parse, NULL);
}

static void
a_record_type_is_opened_or_there_is_no_memory(void **state)
{
    (void)state;
    assert_fatal_until_it_works(open_serde, NULL);
}

static void
a_record_is_written_or_there_is_no_memory(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_new(&audit_row_type, NULL, NULL);

    assert_fatal_until_it_works(encode, serde);
}

static void
a_record_is_read_or_there_is_no_memory(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_new(&audit_row_type, NULL, NULL);
    struct coded coded = {serde, BUF_INIT};
    assert_int_equal(serde_encode(serde, &row, &coded.value, NULL), ERR_OK);

    assert_fatal_until_it_works(decode, &coded);

    buf_done(&coded.value);
}

static void
json_is_written_and_read_or_there_is_no_memory(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_new(&audit_row_type, NULL, NULL);
    struct text text = {serde_codec(serde), BUF_INIT};
    struct audit_row long_one = long_row();
    assert_int_equal(codec_to_json(text.codec, &long_one, &text.json, NULL), ERR_OK);

    assert_fatal_until_it_works(encode_long, (void *)(uintptr_t)text.codec);
    assert_fatal_until_it_works(print_json, (void *)(uintptr_t)text.codec);
    assert_fatal_until_it_works(parse_json, &text);

    buf_done(&text.json);
}

static void
the_plan_of_an_id_is_made_or_there_is_no_memory(void **state)
{
    (void)state;
    const struct schema_source source = {by_id, NULL, NULL};
    CLEANUP(serde_freep) struct serde *serde = serde_new(&audit_row_type, &source, NULL);
    struct coded coded = {serde, BUF_INIT};
    CLEANUP(buf_done) struct buf single = BUF_INIT;
    struct frame frame;
    assert_int_equal(serde_encode(serde, &row, &single, NULL), ERR_OK);
    assert_int_equal(frame_read(buf_slice(&single), &frame, NULL), ERR_OK);
    frame_write_confluent(&coded.value, 7);
    buf_add_slice(&coded.value, frame.body);

    assert_fatal_until_it_works(decode, &coded);

    buf_done(&coded.value);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schema_is_read_or_there_is_no_memory),
        cmocka_unit_test(a_record_type_is_opened_or_there_is_no_memory),
        cmocka_unit_test(a_record_is_written_or_there_is_no_memory),
        cmocka_unit_test(a_record_is_read_or_there_is_no_memory),
        cmocka_unit_test(json_is_written_and_read_or_there_is_no_memory),
        cmocka_unit_test(the_plan_of_an_id_is_made_or_there_is_no_memory),
    };
    return cmocka_run_group_tests_name("no_memory", tests, NULL, NULL);
}
