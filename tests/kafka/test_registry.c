/* SPDX-License-Identifier: Apache-2.0 */
/* The registry client and `heddle schema` against a real registry. */
#include "registry.h"
#include "serde.h"

#include "real_registry.h"
#include "run_heddle.h"

#include "unit.h"

CLEANUP_DEFINE(struct registry, registry_free);
CLEANUP_DEFINE(struct serde, serde_free);

enum { GRACE_MS = 0, TIMEOUT_MS = 10000, VARIABLE_BYTES = 256 };

static struct real_registry server;

static int
open_registry(void **state)
{
    (void)state;
    return real_registry_start(&server) ? 0 : -1;
}

static int
close_registry(void **state)
{
    (void)state;
    real_registry_stop(&server);
    return 0;
}

static struct registry *
client(const char *cache_dir, int64_t grace_ms)
{
    struct err err;
    const struct registry_settings settings = {
        .url = server.url,
        .http = {.timeout_ms = TIMEOUT_MS},
        .cache_dir = cache_dir,
        .unknown_grace_ms = grace_ms,
    };
    struct registry *registry = registry_new(&settings, &err);
    assert_non_null(registry);
    return registry;
}

static uint32_t
register_text(struct registry *registry, const char *subject, const char *text)
{
    struct err err;
    uint32_t id = 0;
    if (registry_register(registry, subject, slice_of(text), &id, &err))
        fail_msg("%s", err.msg);
    assert_int_not_equal(id, 0);
    return id;
}

/* A record of one field, so that each test has a schema of its own. */
#define RECORD(name, fields)                                                             \
    "{\"type\": \"record\", \"name\": \"" name "\", \"fields\": [" fields "]}"

/* heddle schema register with one more flag (may be NULL). */
static int
register_all(struct process *process, const char *flag)
{
    char variable[VARIABLE_BYTES];
    snprintf(variable, sizeof variable, "HEDDLE_SCHEMA_REGISTRY=%s", server.url);
    const char *const environment[] = {variable, NULL};
    return heddle_run(
        process, environment,
        WORDS("schema", "register", "--schemas", SOURCE_DIR "/schemas", flag));
}

static void
registers_every_schema_and_finds_each_again(void **state)
{
    (void)state;
    struct process process;
    static const char *const subjects[] = {
        "heddle.tunings-value", "heddle.audit.tunings-value", "heddle.warnings-value"};

    assert_int_equal(register_all(&process, NULL), 0);
    assert_non_null(strstr(process.text, "(with --execute)"));
    process_close(&process);
    assert_int_equal(register_all(&process, "--execute"), 0);
    process_close(&process);
    assert_int_equal(register_all(&process, NULL), 0);
    assert_null(strstr(process.text, "--execute"));
    process_close(&process);

    CLEANUP(registry_freep) struct registry *registry = client(NULL, GRACE_MS);
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        struct err err;
        char *text = NULL;
        uint32_t id = 0;
        struct slice same = {0};
        assert_int_equal(
            registry_by_version(registry, subjects[i], "latest", &text, &id, &err),
            ERR_OK);
        assert_non_null(text);
        assert_int_equal(registry_by_id(registry, id, &same, &err), ERR_OK);
        assert_true(slice_is(same, text));
        free(text);
    }
}

static void
registers_the_text_byte_for_byte(void **state)
{
    (void)state;
    struct err err;
    uint32_t id = 0;
    struct slice text = {0};
    CLEANUP(registry_freep) struct registry *registry = client(NULL, GRACE_MS);
    static const char spaced[] =
        "{ \"type\" : \"record\",\n  \"name\":\"Spaced\", \"doc\": \"\\u00e9\",\t"
        "\"fields\": [ ] }";

    id = register_text(registry, "spaced-value", spaced);

    assert_int_equal(registry_by_id(registry, id, &text, &err), ERR_OK);
    assert_true(slice_is(text, spaced));
}

static void
is_refused_an_incompatible_schema(void **state)
{
    (void)state;
    struct err err;
    uint32_t id = 0;
    bool compatible = true;
    static const char longer[] = RECORD("Kept", "{\"name\": \"a\", \"type\": \"int\"}");
    static const char other[] = RECORD("Kept", "{\"name\": \"a\", \"type\": \"string\"}");
    CLEANUP(registry_freep) struct registry *registry = client(NULL, GRACE_MS);
    register_text(registry, "kept-value", longer);
    assert_int_equal(registry_set_level(registry, "kept-value", "FULL_TRANSITIVE", &err),
                     ERR_OK);

    assert_int_equal(
        registry_compatible(registry, "kept-value", slice_of(other), &compatible, &err),
        ERR_OK);
    assert_false(compatible);
    assert_int_equal(
        registry_register(registry, "kept-value", slice_of(other), &id, &err),
        ERR_RECORD);

    assert_string_equal(err.code, "schema_incompatible");
    assert_non_null(strstr(err.msg, "kept-value"));
}

static void
finds_no_id_for_what_is_not_registered(void **state)
{
    (void)state;
    struct err err;
    uint32_t id = 7;
    char *text = NULL;
    CLEANUP(registry_freep) struct registry *registry = client(NULL, GRACE_MS);
    static const char never[] = RECORD("Never", "");

    assert_int_equal(registry_lookup(registry, "never-value", slice_of(never), &id, &err),
                     ERR_OK);
    assert_int_equal(id, 0);
    assert_int_equal(
        registry_by_version(registry, "never-value", "latest", &text, &id, &err), ERR_OK);
    assert_null(text);
}

static void
asks_again_for_an_unknown_id_until_the_grace_is_over(void **state)
{
    (void)state;
    struct err err;
    struct slice text = {0};
    CLEANUP(registry_freep) struct registry *patient = client(NULL, 600000);
    CLEANUP(registry_freep) struct registry *brisk = client(NULL, 0);

    assert_int_equal(registry_by_id(patient, 999999, &text, &err), ERR_RETRY);
    assert_string_equal(err.code, "schema_unknown");
    assert_int_equal(registry_by_id(brisk, 999999, &text, &err), ERR_RECORD);
    assert_string_equal(err.code, "schema_unknown");
}

static void
keeps_an_id_through_a_crash_right_after_the_registration(void **state)
{
    (void)state;
    struct err err;
    struct slice text = {0};
    uint32_t found = 0;
    static const char schema[] = RECORD("Crash", "");
    CLEANUP(registry_freep) struct registry *before = client(NULL, GRACE_MS);

    uint32_t id = register_text(before, "crash-value", schema);
    assert_true(real_registry_kill(&server));
    assert_true(real_registry_restart(&server));

    CLEANUP(registry_freep) struct registry *after = client(NULL, GRACE_MS);
    assert_int_equal(registry_by_id(after, id, &text, &err), ERR_OK);
    assert_true(slice_is(text, schema));
    assert_int_equal(
        registry_lookup(after, "crash-value", slice_of(schema), &found, &err), ERR_OK);
    assert_int_equal(found, id);
}

static void
serves_known_ids_through_an_outage_and_new_ones_after_it(void **state)
{
    (void)state;
    struct err err;
    struct slice text = {0};
    struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    static const char known[] = RECORD("Known", "");
    static const char fresh[] = RECORD("Fresh", "");
    uint32_t known_id = 0;
    uint32_t fresh_id = 0;
    {
        CLEANUP(registry_freep) struct registry *before = client(dir.path, GRACE_MS);
        known_id = register_text(before, "known-value", known);
        fresh_id = register_text(before, "fresh-value", fresh);
        assert_int_equal(registry_by_id(before, known_id, &text, &err), ERR_OK);
    }
    assert_true(real_registry_kill(&server));

    CLEANUP(registry_freep) struct registry *registry = client(dir.path, GRACE_MS);
    assert_int_equal(registry_by_id(registry, known_id, &text, &err), ERR_OK);
    assert_true(slice_is(text, known));
    assert_int_equal(registry_by_id(registry, fresh_id, &text, &err), ERR_RETRY);
    assert_string_equal(err.code, "registry_unavailable");

    assert_true(real_registry_restart(&server));
    assert_int_equal(registry_by_id(registry, fresh_id, &text, &err), ERR_OK);
    assert_true(slice_is(text, fresh));
    temp_dir_done(&dir);
}

/* --- a value of one process, read by another -----------------------------------------
 */

struct point {
    int64_t x;
};

static const struct field point_fields[] = {
    {.name = "x", .type = FIELD_LONG, .offset = offsetof(struct point, x)},
};

static const char point_avsc[] = RECORD("Point", "{\"name\": \"x\", \"type\": \"long\"}");

static const struct record_type point_type = {
    "Point", point_avsc, FIELD_ROWS(point_fields), sizeof(struct point), NULL,
};

static struct serde *
serde_with(struct registry *registry)
{
    struct err err;
    struct schema_source source = registry_source(registry);
    struct serde *serde = serde_new(&point_type, &source, &err);
    assert_non_null(serde);
    return serde;
}

static void
reads_by_id_what_another_process_wrote_with_its_id(void **state)
{
    (void)state;
    struct err err;
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(registry_freep) struct registry *ours = client(NULL, GRACE_MS);
    CLEANUP(registry_freep) struct registry *theirs = client(NULL, GRACE_MS);
    CLEANUP(serde_freep) struct serde *writer = serde_with(ours);
    CLEANUP(serde_freep) struct serde *reader = serde_with(theirs);
    uint32_t id = register_text(ours, "point-value", point_avsc);
    const struct point sent = {-77};
    struct point seen = {0};

    serde_use_id(writer, id);
    assert_int_equal(serde_encode(writer, &sent, &value, &err), ERR_OK);

    const uint8_t frame[] = {0, (uint8_t)(id >> 24), (uint8_t)(id >> 16),
                             (uint8_t)(id >> 8), (uint8_t)id};
    assert_memory_equal(value.data, frame, sizeof frame);
    assert_int_equal(serde_decode(reader, buf_slice(&value), &arena, &seen, &err),
                     ERR_OK);
    assert_int_equal(seen.x, sent.x);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_every_schema_and_finds_each_again),
        cmocka_unit_test(registers_the_text_byte_for_byte),
        cmocka_unit_test(is_refused_an_incompatible_schema),
        cmocka_unit_test(finds_no_id_for_what_is_not_registered),
        cmocka_unit_test(asks_again_for_an_unknown_id_until_the_grace_is_over),
        cmocka_unit_test(keeps_an_id_through_a_crash_right_after_the_registration),
        cmocka_unit_test(serves_known_ids_through_an_outage_and_new_ones_after_it),
        cmocka_unit_test(reads_by_id_what_another_process_wrote_with_its_id),
    };
    int status = 0;
    if (!real_registry_here("kafka.registry", &status))
        return status;
    return cmocka_run_group_tests(tests, open_registry, close_registry);
}
