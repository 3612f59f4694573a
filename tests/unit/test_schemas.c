/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of this project: each is valid, said in full, and has its table. */
#include "audit_part.h"
#include "audit_row.h"
#include "candidate_table.h"
#include "codec.h"
#include "schema_tree.h"
#include "split_record.h"
#include "trace_event.h"
#include "tuning_event.h"
#include "verdict.h"
#include "warning.h"

#include "unit.h"

#include <glob.h>
#include <stdio.h>

CLEANUP_DEFINE(struct schema, schema_free);
CLEANUP_DEFINE(struct codec, codec_free);

/* The record types that travel alone. */
static const struct record_type *const types[] = {
    &audit_part_type,  &audit_row_type,    &candidate_table_type, &split_record_type,
    &trace_event_type, &tuning_event_type, &verdict_type,         &warning_type,
};

enum { N_TYPES = sizeof types / sizeof types[0] };

enum { MAX_FILE_BYTES = 1 << 20 };

static struct schema *
parse_file(const char *path)
{
    static char text[MAX_FILE_BYTES];
    struct err err = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof text, file);
    assert_true(feof(file));
    fclose(file);
    struct schema *schema = schema_parse((struct slice){text, len}, &err);
    if (!schema)
        fail_msg("%s: %s", path, err.msg);
    return schema;
}

static void
for_each_schema(void (*check)(const char *path, const struct schema *schema))
{
    glob_t found = {0};
    assert_int_equal(glob(SOURCE_DIR "/schemas/*.avsc", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 3);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        CLEANUP(schema_freep) struct schema *schema = parse_file(found.gl_pathv[i]);
        check(found.gl_pathv[i], schema);
    }
    globfree(&found);
}

static bool
says_something(const char *doc)
{
    return doc && doc[strspn(doc, " \t\r\n")];
}

static void check_docs(const char *path, const struct schema_node *node, bool *seen);

static void
check_fields(const char *path, const struct schema_node *node, bool *seen)
{
    for (size_t i = 0; i < node->n_fields; i++) {
        if (!says_something(node->fields[i].doc))
            fail_msg("%s: %s.%s has no doc", path, node->name, node->fields[i].name);
        check_docs(path, node->fields[i].type, seen);
    }
}

static void
check_docs(const char *path, const struct schema_node *node, bool *seen)
{
    if (seen[node->index])
        return;
    seen[node->index] = true;
    if (node->name && !says_something(node->doc))
        fail_msg("%s: %s has no doc", path, node->name);
    check_fields(path, node, seen);
    if (node->items)
        check_docs(path, node->items, seen);
    for (size_t i = 0; i < node->n_branches; i++)
        check_docs(path, node->branches[i], seen);
}

static void
check_one(const char *path, const struct schema *schema)
{
    bool *seen = calloc(schema_node_count(schema), sizeof *seen);
    assert_non_null(seen);
    check_docs(path, schema_root(schema), seen);
    free(seen);
}

static void
check_namespace(const char *path, const struct schema *schema)
{
    if (!schema_root(schema)->space ||
        strcmp(schema_root(schema)->space, "heddle.v1") != 0)
        fail_msg("%s: %s is outside heddle.v1", path, schema_name(schema));
    assert_int_equal(schema_root(schema)->type, SCHEMA_RECORD);
}

/* The type of the table list whose schema this is. */
static void
check_table(const char *path, const struct schema *schema)
{
    for (size_t i = 0; i < N_TYPES; i++) {
        if (strcmp(types[i]->name, schema_name(schema)) != 0)
            continue;
        struct err err = {0};
        CLEANUP(codec_freep) struct codec *codec = codec_new(types[i], NULL, &err);
        if (!codec)
            fail_msg("%s: %s", path, err.msg);
        assert_true(slice_equal(schema_text(codec_schema(codec)), schema_text(schema)));
        return;
    }
    fail_msg("%s: no record type is called %s", path, schema_name(schema));
}

static void
every_field_and_named_type_has_a_doc(void **state)
{
    (void)state;
    for_each_schema(check_one);
}

static void
every_schema_is_a_record_of_our_namespace(void **state)
{
    (void)state;
    for_each_schema(check_namespace);
}

static void
every_schema_is_embedded_and_agrees_with_its_table(void **state)
{
    (void)state;
    for_each_schema(check_table);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_and_named_type_has_a_doc),
        cmocka_unit_test(every_schema_is_a_record_of_our_namespace),
        cmocka_unit_test(every_schema_is_embedded_and_agrees_with_its_table),
    };
    return cmocka_run_group_tests_name("schemas", tests, NULL, NULL);
}
