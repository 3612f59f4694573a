/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one version read by the code of another, through a real Kafka: with the
 * fingerprint of single-object encoding and with the ids of a real registry.
 */
#include "compat.h"
#include "kafka.h"
#include "kafka_admin.h"
#include "registry.h"
#include "serde.h"

#include "real_kafka.h"
#include "real_registry.h"

#include "unit.h"

CLEANUP_DEFINE(struct producer, producer_free);
CLEANUP_DEFINE(struct schema, schema_free);
CLEANUP_DEFINE(struct topic_reader, topic_reader_free);

enum { TIMEOUT_MS = 30000 };

static struct real_kafka kafka;
static struct real_registry server;

static int
open_servers(void **state)
{
    (void)state;
    return real_kafka_start(&kafka, false) && real_registry_start(&server) ? 0 : -1;
}

static int
close_servers(void **state)
{
    (void)state;
    real_registry_stop(&server);
    real_kafka_stop(&kafka);
    return 0;
}

/* --- two versions that may meet in either order --------------------------------------
 */

#define RECORD(name, fields)                                                             \
    "{\"type\": \"record\", \"name\": \"" name "\", \"fields\": [" fields "]}"
#define ROW(member, row_name, row_type)                                                  \
    {                                                                                    \
        .name = (row_name), .type = (row_type), .offset = offsetof(struct row, member)   \
    }

/* Both versions fill the same struct, each by its own table. */
struct row {
    struct slice name;
    struct slice note;  /* a string in version 1, bytes in version 2 */
    int64_t gone;       /* version 1 alone */
    struct slice added; /* version 2 alone */
    int64_t count;      /* renamed: `old_count` in version 1 */
    int32_t state;
};

static const struct field fields_1[] = {
    ROW(name, "name", FIELD_STRING), ROW(note, "note", FIELD_STRING),
    ROW(gone, "gone", FIELD_LONG),   ROW(count, "old_count", FIELD_LONG),
    ROW(state, "state", FIELD_ENUM),
};

static const struct field fields_2[] = {
    ROW(name, "name", FIELD_STRING),   ROW(note, "note", FIELD_BYTES),
    ROW(added, "added", FIELD_STRING), ROW(count, "new_count", FIELD_LONG),
    ROW(state, "state", FIELD_ENUM),
};

#define STATES(symbols)                                                                  \
    "{\"name\": \"state\", \"type\": {\"type\": \"enum\", \"name\": \"State\", "         \
    "\"symbols\": [" symbols "], \"default\": \"OPEN\"}}"

static const char avsc_1[] =
    RECORD("Row",
           "{\"name\": \"name\", \"type\": \"string\"},"
           "{\"name\": \"note\", \"type\": \"string\"},"
           "{\"name\": \"gone\", \"type\": \"long\", \"default\": -1},"
           "{\"name\": \"old_count\", \"type\": \"long\", \"default\": -2}," STATES(
               "\"OPEN\", \"CLOSED\""));

static const char avsc_2[] =
    RECORD("Row",
           "{\"name\": \"added\", \"type\": \"string\", \"default\": \"none\"},"
           "{\"name\": \"name\", \"type\": \"string\"},"
           "{\"name\": \"note\", \"type\": \"bytes\"},"
           "{\"name\": \"new_count\", \"type\": \"long\", \"default\": -3,"
           " \"aliases\": [\"old_count\"]}," STATES("\"LOST\", \"OPEN\", \"CLOSED\""));

/* The C value of an enum is its place in the version's own list. */
enum { V1_OPEN, V1_CLOSED };
enum { V2_LOST, V2_OPEN, V2_CLOSED };

static const struct record_type type_1 = {
    "Row", avsc_1, FIELD_ROWS(fields_1), sizeof(struct row), NULL,
};
static const struct record_type type_2 = {
    "Row", avsc_2, FIELD_ROWS(fields_2), sizeof(struct row), NULL,
};

/* --- two versions where the second is wider -------------------------------------------
 */

static const struct field wide_fields[] = {ROW(count, "count", FIELD_LONG)};

struct narrow {
    int32_t count;
};

static const struct field narrow_fields[] = {
    {.name = "count", .type = FIELD_INT, .offset = offsetof(struct narrow, count)},
};

static const char narrow_avsc[] =
    RECORD("Width", "{\"name\": \"count\", \"type\": \"int\"}");
static const char wide_avsc[] =
    RECORD("Width", "{\"name\": \"count\", \"type\": \"long\"}");

static const struct record_type narrow_type = {
    "Width", narrow_avsc, FIELD_ROWS(narrow_fields), sizeof(struct narrow), NULL,
};
static const struct record_type wide_type = {
    "Width", wide_avsc, FIELD_ROWS(wide_fields), sizeof(struct row), NULL,
};

/* --- the wire --------------------------------------------------------------------------
 */

static struct kafka_settings
settings(void)
{
    return (struct kafka_settings){.brokers = kafka.bootstrap, .client_id = "test"};
}

static void
make_topic(const char *topic)
{
    struct kafka_settings to = settings();
    struct err err;
    struct kafka_admin *admin = kafka_admin_new(&to, TIMEOUT_MS, &err);
    assert_non_null(admin);
    assert_int_equal(kafka_admin_create(admin, topic, 1, NULL, 0, &err), ERR_OK);
    kafka_admin_free(admin);
}

static void
send(const char *topic, struct slice value)
{
    struct kafka_settings to = settings();
    struct err err;
    CLEANUP(producer_freep)
    struct producer *producer = producer_new(&to, NULL, NULL, &err);
    const struct outgoing record = {
        .topic = topic, .key = SLICE("k"), .value = value, .timestamp_ms = 1785024000000};
    assert_non_null(producer);
    assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
}

/* The one record of the topic, copied into `ret_value`. */
static void
receive(const char *topic, struct buf *ret_value)
{
    struct kafka_settings to = settings();
    struct err err = {0};
    bool done = false;
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader =
        topic_reader_new(&to, topic, TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(reader);
    const struct message *message = topic_reader_next(reader, TIMEOUT_MS, &done, &err);
    assert_non_null(message);
    buf_add_slice(ret_value, message->value);
}

/* What a program with `type` is made with: the registry's ids, or the released texts. */
struct side {
    struct registry *registry; /* NULL: single-object encoding */
    struct serde *serde;
};

static void
side_done(struct side *side)
{
    serde_free(side->serde);
    registry_free(side->registry);
}

static struct side
side_with_registry(const struct record_type *type)
{
    struct err err;
    const struct registry_settings with = {.url = server.url,
                                           .http = {.timeout_ms = TIMEOUT_MS}};
    struct side side = {.registry = registry_new(&with, &err)};
    assert_non_null(side.registry);
    struct schema_source source = registry_source(side.registry);
    side.serde = serde_new(type, &source, &err);
    assert_non_null(side.serde);
    return side;
}

static struct side
side_with_texts(const struct record_type *type, const char *other)
{
    struct err err;
    struct side side = {.serde = serde_new(type, NULL, &err)};
    assert_non_null(side.serde);
    enum err_kind kind = serde_add_writer(side.serde, slice_of(other), &err);
    /* What can't be read is refused here; its record is then unknown. */
    assert_true(kind == ERR_OK || strcmp(err.code, "schema_incompatible") == 0);
    return side;
}

/* Writes `value` as `writer` and reads it back from the topic as `reader`. The decoded
 * value borrows from `seen`. */
static enum err_kind
pass(const char *topic,
     struct side *writer,
     struct side *reader,
     const void *value,
     struct buf *seen,
     struct arena *arena,
     void *ret_value,
     struct err *err)
{
    CLEANUP(buf_done) struct buf sent = BUF_INIT;
    make_topic(topic);
    assert_int_equal(serde_encode(writer->serde, value, &sent, err), ERR_OK);
    send(topic, buf_slice(&sent));
    receive(topic, seen);
    assert_true(slice_equal(buf_slice(seen), buf_slice(&sent)));
    return serde_decode(reader->serde, buf_slice(seen), arena, ret_value, err);
}

static void
use_registered_id(struct side *side, const char *subject, const struct record_type *type)
{
    struct err err;
    uint32_t id = 0;
    if (registry_register(side->registry, subject, slice_of(type->avsc), &id, &err))
        fail_msg("%s", err.msg);
    serde_use_id(side->serde, id);
}

/* --- the tests -------------------------------------------------------------------------
 */

static void
new_code_reads_old(const char *topic, struct side *one, struct side *two)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    struct err err = {0};
    const struct row old = {.name = SLICE("n"),
                            .note = SLICE("r\xc3\xa9sum\xc3\xa9"),
                            .gone = 5,
                            .count = 6,
                            .state = V1_CLOSED};
    struct row seen = {0};

    if (pass(topic, one, two, &old, &value, &arena, &seen, &err))
        fail_msg("%s", err.msg);

    assert_true(slice_is(seen.name, "n"));
    assert_true(slice_is(seen.note, "r\xc3\xa9sum\xc3\xa9"));
    assert_true(slice_is(seen.added, "none"));
    assert_int_equal(seen.count, 6);
    assert_int_equal(seen.state, V2_CLOSED);
}

static void
old_code_reads_new(const char *topic, struct side *one, struct side *two)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    struct err err = {0};
    const struct row new = {.name = SLICE("n"),
                            .note = SLICE("text"),
                            .added = SLICE("extra"),
                            .count = 6,
                            .state = V2_LOST};
    struct row seen = {0};

    if (pass(topic, two, one, &new, &value, &arena, &seen, &err))
        fail_msg("%s", err.msg);

    assert_true(slice_is(seen.name, "n"));
    assert_true(slice_is(seen.note, "text"));
    assert_int_equal(seen.gone, -1);
    /* Old code knows no alias: the renamed field is one it misses, with its default. */
    assert_int_equal(seen.count, -2);
    assert_int_equal(seen.state, V1_OPEN);
}

static void
versions_read_each_other_by_fingerprint(void **state)
{
    (void)state;
    CLEANUP(side_done) struct side one = side_with_texts(&type_1, avsc_2);
    CLEANUP(side_done) struct side two = side_with_texts(&type_2, avsc_1);

    new_code_reads_old("fingerprint.1", &one, &two);
    old_code_reads_new("fingerprint.2", &one, &two);
}

static void
versions_read_each_other_by_registry_id(void **state)
{
    (void)state;
    struct err err;
    CLEANUP(side_done) struct side one = side_with_registry(&type_1);
    CLEANUP(side_done) struct side two = side_with_registry(&type_2);
    /* The registry's own check agrees that the two may meet in either order. */
    use_registered_id(&one, "row-value", &type_1);
    assert_int_equal(
        registry_set_level(one.registry, "row-value", "FULL_TRANSITIVE", &err), ERR_OK);
    use_registered_id(&two, "row-value", &type_2);

    new_code_reads_old("registered.1", &one, &two);
    old_code_reads_new("registered.2", &one, &two);
}

static void
assert_wider_is_read_and_narrower_refused(const char *up,
                                          const char *down,
                                          struct side *narrow,
                                          struct side *wide,
                                          const char *code)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    struct err err = {0};
    const struct narrow small = {-2147483647};
    const struct row large = {.count = (int64_t)1 << 40};
    struct row seen = {0};
    struct narrow cut = {0};

    assert_int_equal(pass(up, narrow, wide, &small, &value, &arena, &seen, &err), ERR_OK);
    assert_int_equal(seen.count, -2147483647);

    buf_reset(&value);
    assert_int_equal(pass(down, wide, narrow, &large, &value, &arena, &cut, &err),
                     ERR_RECORD);
    assert_string_equal(err.code, code);
    assert_int_equal(cut.count, 0);
}

static void
a_widened_number_is_read_and_never_cut(void **state)
{
    (void)state;
    CLEANUP(side_done) struct side narrow = side_with_texts(&narrow_type, wide_avsc);
    CLEANUP(side_done) struct side wide = side_with_texts(&wide_type, narrow_avsc);
    assert_wider_is_read_and_narrower_refused("width.1", "width.2", &narrow, &wide,
                                              "schema_unknown");

    CLEANUP(side_done) struct side narrow_id = side_with_registry(&narrow_type);
    CLEANUP(side_done) struct side wide_id = side_with_registry(&wide_type);
    use_registered_id(&narrow_id, "width-value", &narrow_type);
    use_registered_id(&wide_id, "width-value", &wide_type);
    assert_wider_is_read_and_narrower_refused("width.3", "width.4", &narrow_id, &wide_id,
                                              "schema_incompatible");
}

static void
the_offline_check_says_the_same(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf problems = BUF_INIT;
    CLEANUP(schema_freep) struct schema *one = schema_parse(slice_of(avsc_1), NULL);
    CLEANUP(schema_freep) struct schema *two = schema_parse(slice_of(avsc_2), NULL);
    CLEANUP(schema_freep)
    struct schema *narrow = schema_parse(slice_of(narrow_avsc), NULL);
    CLEANUP(schema_freep) struct schema *wide = schema_parse(slice_of(wide_avsc), NULL);
    const struct schema *old[] = {one};
    const struct schema *small[] = {narrow};

    assert_int_equal(compat_check(COMPAT_FULL_TRANSITIVE, two, old, 1, &problems), 0);
    assert_int_equal(compat_check(COMPAT_BACKWARD, wide, small, 1, &problems), 0);
    assert_int_not_equal(compat_check(COMPAT_FORWARD, wide, small, 1, &problems), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_read_each_other_by_fingerprint),
        cmocka_unit_test(versions_read_each_other_by_registry_id),
        cmocka_unit_test(a_widened_number_is_read_and_never_cut),
        cmocka_unit_test(the_offline_check_says_the_same),
    };
    int status = 0;
    if (!real_kafka_here("kafka.evolution", &status) ||
        !real_registry_here("kafka.evolution", &status))
        return status;
    return cmocka_run_group_tests(tests, open_servers, close_servers);
}
