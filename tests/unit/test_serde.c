/* SPDX-License-Identifier: Apache-2.0 */
/* A record type on the wire: whose bytes are known, asked for, or refused. */
#include "serde.h"

#include "unit.h"

#include <stdio.h>

CLEANUP_DEFINE(struct serde, serde_free);
CLEANUP_DEFINE(struct schema, schema_free);

struct point {
    struct slice name;
    int64_t x;
};

static const struct field point_fields[] = {
    {.name = "name", .type = FIELD_STRING, .offset = offsetof(struct point, name)},
    {.name = "x", .type = FIELD_LONG, .offset = offsetof(struct point, x)},
};

static const char point_avsc[] =
    "{\"type\":\"record\",\"name\":\"Point\",\"namespace\":\"t\",\"fields\":["
    "{\"name\":\"name\",\"type\":\"string\"},"
    "{\"name\":\"x\",\"type\":\"long\",\"default\":-5}]}";

static const struct record_type point_type = {
    "t.Point", point_avsc, FIELD_ROWS(point_fields), sizeof(struct point), NULL,
};

/* An older version without x, and one that can't be read as ours. */
static const char old_avsc[] =
    "{\"type\":\"record\",\"name\":\"Point\",\"namespace\":\"t\",\"fields\":["
    "{\"name\":\"name\",\"type\":\"string\"}]}";
static const char foreign_avsc[] =
    "{\"type\":\"record\",\"name\":\"Point\",\"namespace\":\"t\",\"fields\":["
    "{\"name\":\"name\",\"type\":\"int\"}]}";

/* A registry of one answer, which counts how often it is asked. */
struct registry {
    const char *text;
    enum err_kind kind;
    int n_asked;
};

static enum err_kind
registry_by_id(void *state, uint32_t id, struct slice *ret_text, struct err *err)
{
    struct registry *registry = state;
    registry->n_asked++;
    if (registry->kind)
        return err_set(err, registry->kind, "registry_test", "id %u", id);
    *ret_text = slice_of(registry->text);
    return ERR_OK;
}

static struct serde *
serde_of(struct registry *registry)
{
    struct err err = {0};
    struct schema_source source = {registry_by_id, registry, NULL};
    struct serde *serde = serde_new(&point_type, registry ? &source : NULL, &err);
    if (!serde)
        fail_msg("%s", err.msg);
    return serde;
}

static void
assert_decodes(struct serde *serde, struct slice value, const char *name, int64_t x)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct point point = {0};
    struct err err = {0};
    if (serde_decode(serde, value, &arena, &point, &err))
        fail_msg("%s", err.msg);
    assert_true(slice_is(point.name, name));
    assert_int_equal(point.x, x);
}

static struct err
refusal(struct serde *serde, struct slice value)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct point point = {0};
    struct err err = {0};
    assert_int_not_equal(serde_decode(serde, value, &arena, &point, &err), ERR_OK);
    return err;
}

static void
writes_single_object_encoding_and_reads_it_back(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_of(NULL);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct point point = {SLICE("p"), 7};

    assert_int_equal(serde_encode(serde, &point, &out, NULL), ERR_OK);

    struct frame frame;
    assert_int_equal(frame_read(buf_slice(&out), &frame, NULL), ERR_OK);
    assert_int_equal(frame.kind, FRAME_SINGLE_OBJECT);
    assert_true(frame.fingerprint == schema_crc64(codec_schema(serde_codec(serde))));
    assert_true(slice_is(frame.body, "\2p\16"));
    assert_decodes(serde, buf_slice(&out), "p", 7);
}

static void
writes_the_id_it_was_told_and_knows_it_as_its_own(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_of(NULL);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct point point = {SLICE("p"), 7};

    serde_use_id(serde, 258);
    assert_int_equal(serde_encode(serde, &point, &out, NULL), ERR_OK);

    assert_int_equal(out.len, 8);
    assert_memory_equal(out.data, "\0\0\0\1\2\2p\16", 8);
    assert_decodes(serde, buf_slice(&out), "p", 7);
}

static void
leaves_the_output_as_it_was_when_a_value_cant_be_written(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_of(NULL);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct point point = {SLICE("\xff"), 7};
    struct err err = {0};

    buf_add_str(&out, "before");
    assert_int_equal(serde_encode(serde, &point, &out, &err), ERR_RECORD);

    assert_string_equal(err.stage, "emit");
    assert_true(slice_is(buf_slice(&out), "before"));
}

static void
says_when_a_record_passes_the_ceiling_of_the_output(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_of(NULL);
    CLEANUP(buf_done) struct buf out;
    buf_init(&out, 12);
    const struct point point = {SLICE("longer than that"), 7};
    struct err err = {0};

    assert_int_equal(serde_encode(serde, &point, &out, &err), ERR_RECORD);

    assert_string_equal(err.code, "record_too_large");
    assert_string_equal(err.stage, "emit");
}

static void
reads_a_writer_that_it_was_given(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_of(NULL);
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    CLEANUP(schema_freep) struct schema *old = schema_parse(slice_of(old_avsc), NULL);
    frame_write_single_object(&value, schema_crc64(old));
    buf_add_str(&value, "\2p");
    char hex[17];
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)schema_crc64(old));

    struct err err = refusal(serde, buf_slice(&value));
    assert_int_equal(err.kind, ERR_RECORD);
    assert_string_equal(err.code, "schema_unknown");
    assert_string_equal(err.stage, "frame");
    assert_non_null(strstr(err.msg, hex));

    assert_int_equal(serde_add_writer(serde, slice_of(old_avsc), NULL), ERR_OK);
    assert_decodes(serde, buf_slice(&value), "p", -5);
    assert_int_equal(serde_add_writer(serde, slice_of(old_avsc), NULL), ERR_OK);
    assert_int_equal(serde_add_writer(serde, slice_of(point_avsc), NULL), ERR_OK);
}

static void
refuses_writers_that_are_broken_or_foreign(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_of(NULL);
    struct err err = {0};

    assert_int_equal(serde_add_writer(serde, SLICE("{"), &err), ERR_RECORD);
    assert_string_equal(err.code, "schema_invalid");
    assert_int_equal(serde_add_writer(serde, slice_of(foreign_avsc), &err), ERR_RECORD);
    assert_string_equal(err.code, "schema_incompatible");
}

static enum err_kind
add_numbered_writer(struct serde *serde, int i, struct err *err)
{
    char avsc[256];
    snprintf(
        avsc, sizeof avsc,
        "{\"type\":\"record\",\"name\":\"Point\",\"namespace\":\"t\",\"fields\":["
        "{\"name\":\"name\",\"type\":\"string\"},{\"name\":\"y%d\",\"type\":\"int\"}]}",
        i);
    return serde_add_writer(serde, slice_of(avsc), err);
}

static void
keeps_no_more_writers_than_its_ceiling(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_of(NULL);
    struct err err = {0};

    for (int i = 1; i < SERDE_MAX_WRITERS; i++)
        assert_int_equal(add_numbered_writer(serde, i, &err), ERR_OK);

    assert_int_equal(add_numbered_writer(serde, SERDE_MAX_WRITERS, &err), ERR_FATAL);
    assert_string_equal(err.code, "schema_limit");
    assert_int_equal(add_numbered_writer(serde, 1, &err), ERR_OK);
}

static void
refuses_an_id_without_a_registry(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_of(NULL);

    struct err err = refusal(serde, SLICE("\0\0\0\0\7\2p\16"));

    assert_int_equal(err.kind, ERR_RECORD);
    assert_string_equal(err.code, "schema_unknown");
    assert_string_equal(err.stage, "frame");
    assert_non_null(strstr(err.msg, "id 7"));
    assert_non_null(strstr(err.msg, "configure the registry"));
}

static void
asks_the_registry_once_for_each_id(void **state)
{
    (void)state;
    struct registry registry = {.text = old_avsc};
    CLEANUP(serde_freep) struct serde *serde = serde_of(&registry);

    for (int i = 0; i < 3; i++)
        assert_decodes(serde, SLICE("\0\0\0\0\7\2p"), "p", -5);
    assert_int_equal(registry.n_asked, 1);

    registry.text = point_avsc;
    assert_decodes(serde, SLICE("\0\0\0\0\10\2p\16"), "p", 7);
    assert_decodes(serde, SLICE("\0\0\0\0\7\2p"), "p", -5);
    assert_int_equal(registry.n_asked, 2);
}

static void
asks_again_after_the_registry_could_not_answer(void **state)
{
    (void)state;
    struct registry registry = {.text = old_avsc, .kind = ERR_RETRY};
    CLEANUP(serde_freep) struct serde *serde = serde_of(&registry);

    struct err err = refusal(serde, SLICE("\0\0\0\0\7\2p"));
    assert_int_equal(err.kind, ERR_RETRY);
    assert_string_equal(err.stage, "frame");

    registry.kind = ERR_OK;
    assert_decodes(serde, SLICE("\0\0\0\0\7\2p"), "p", -5);
    assert_int_equal(registry.n_asked, 2);
}

static void
keeps_the_refusal_of_an_ids_schema(void **state)
{
    (void)state;
    struct registry registry = {.text = foreign_avsc};
    CLEANUP(serde_freep) struct serde *serde = serde_of(&registry);

    for (int i = 0; i < 3; i++) {
        struct err err = refusal(serde, SLICE("\0\0\0\0\7\2p"));
        assert_int_equal(err.kind, ERR_RECORD);
        assert_string_equal(err.code, "schema_incompatible");
        assert_string_equal(err.stage, "decode");
    }
    assert_int_equal(registry.n_asked, 1);

    registry.text = "nonsense";
    assert_string_equal(refusal(serde, SLICE("\0\0\0\0\10")).code, "schema_invalid");
}

static void
forgets_the_oldest_id_at_its_ceiling(void **state)
{
    (void)state;
    struct registry registry = {.text = old_avsc};
    CLEANUP(serde_freep) struct serde *serde = serde_of(&registry);
    CLEANUP(buf_done) struct buf value = BUF_INIT;

    for (uint32_t id = 0; id <= SERDE_MAX_IDS; id++) {
        buf_reset(&value);
        frame_write_confluent(&value, id);
        buf_add_str(&value, "\2p");
        assert_decodes(serde, buf_slice(&value), "p", -5);
    }
    assert_int_equal(registry.n_asked, SERDE_MAX_IDS + 1);

    assert_decodes(serde, buf_slice(&value), "p", -5);
    assert_int_equal(registry.n_asked, SERDE_MAX_IDS + 1);
    assert_decodes(serde, SLICE("\0\0\0\0\0\2p"), "p", -5);
    assert_int_equal(registry.n_asked, SERDE_MAX_IDS + 2);
}

/* A field we don't have, whose type holds the one before it twice: 2^40 empty records. */
static void
ends_the_skipping_of_records_that_double_at_every_level(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf avsc = BUF_INIT;
    buf_add_str(&avsc, "{\"type\":\"record\",\"name\":\"Point\",\"namespace\":\"t\","
                       "\"fields\":[{\"name\":\"u\",\"type\":[\"null\"");
    for (int i = 0; i < 40; i++) {
        buf_addf(&avsc, ",{\"type\":\"record\",\"name\":\"R%d\",\"fields\":[", i);
        for (int f = 0; i && f < 2; f++)
            buf_addf(&avsc, "%s{\"name\":\"f%d\",\"type\":\"R%d\"}", f ? "," : "", f,
                     i - 1);
        buf_add_str(&avsc, "]}");
    }
    buf_add_str(&avsc, "]},{\"name\":\"name\",\"type\":\"string\"}]}");
    struct registry registry = {.text = buf_text(&avsc)};
    CLEANUP(serde_freep) struct serde *serde = serde_of(&registry);

    struct err err = refusal(serde, SLICE("\0\0\0\0\7\x50\2p"));

    assert_string_equal(err.code, "body_invalid");
    assert_decodes(serde, SLICE("\0\0\0\0\7\x14\2p"), "p", -5);
}

static void
names_the_stage_of_what_fails(void **state)
{
    (void)state;
    CLEANUP(serde_freep) struct serde *serde = serde_of(NULL);
    CLEANUP(buf_done) struct buf value = BUF_INIT;

    assert_string_equal(refusal(serde, (struct slice){0}).code, "value_null");
    assert_string_equal(refusal(serde, SLICE("")).code, "value_empty");
    assert_string_equal(refusal(serde, SLICE("{}")).stage, "frame");

    frame_write_single_object(&value, schema_crc64(codec_schema(serde_codec(serde))));
    buf_add_str(&value, "\2p");
    struct err cut = refusal(serde, buf_slice(&value));
    assert_string_equal(cut.code, "body_truncated");
    assert_string_equal(cut.stage, "decode");
    buf_add_str(&value, "\16more");
    assert_string_equal(refusal(serde, buf_slice(&value)).code, "body_trailing");
}

static void
refuses_a_type_whose_table_and_schema_disagree(void **state)
{
    (void)state;
    struct record_type type = point_type;
    struct err err = {0};
    type.n_fields = 1;

    assert_null(serde_new(&type, NULL, &err));
    assert_int_equal(err.kind, ERR_FATAL);
    assert_string_equal(err.code, "schema_table");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_single_object_encoding_and_reads_it_back),
        cmocka_unit_test(writes_the_id_it_was_told_and_knows_it_as_its_own),
        cmocka_unit_test(leaves_the_output_as_it_was_when_a_value_cant_be_written),
        cmocka_unit_test(says_when_a_record_passes_the_ceiling_of_the_output),
        cmocka_unit_test(reads_a_writer_that_it_was_given),
        cmocka_unit_test(refuses_writers_that_are_broken_or_foreign),
        cmocka_unit_test(keeps_no_more_writers_than_its_ceiling),
        cmocka_unit_test(refuses_an_id_without_a_registry),
        cmocka_unit_test(asks_the_registry_once_for_each_id),
        cmocka_unit_test(asks_again_after_the_registry_could_not_answer),
        cmocka_unit_test(keeps_the_refusal_of_an_ids_schema),
        cmocka_unit_test(forgets_the_oldest_id_at_its_ceiling),
        cmocka_unit_test(ends_the_skipping_of_records_that_double_at_every_level),
        cmocka_unit_test(names_the_stage_of_what_fails),
        cmocka_unit_test(refuses_a_type_whose_table_and_schema_disagree),
    };
    return cmocka_run_group_tests_name("serde", tests, NULL, NULL);
}
