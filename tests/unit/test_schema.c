/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas: what the Avro specification allows, what it forbids, and what names them. */
#include "buf.h"
#include "digest.h"
#include "schema_tree.h"

#include "unit.h"

#include <stdio.h>

CLEANUP_DEFINE(struct schema, schema_free);

static struct schema *
parse(const char *text)
{
    struct err err = {0};
    struct schema *schema = schema_parse(slice_of(text), &err);
    if (!schema)
        fail_msg("%s\nrefused: %s", text, err.msg);
    return schema;
}

static void
assert_taken(const char *text)
{
    schema_free(parse(text));
}

/* `where` is the beginning of the message's path, `why` some of its words. */
static void
assert_refused(const char *text, const char *where, const char *why)
{
    struct err err = {0};
    struct schema *schema = schema_parse(slice_of(text), &err);
    if (schema)
        fail_msg("taken: %s", text);
    assert_int_equal(err.kind, ERR_RECORD);
    assert_string_equal(err.code, "schema_invalid");
    char begin[256];
    snprintf(begin, sizeof begin, "schema at %s: ", where);
    if (strncmp(err.msg, begin, strlen(begin)) != 0 || !strstr(err.msg, why))
        fail_msg("%s\nwants %s...%s\nsays  %s", text, begin, why, err.msg);
}

/* A record R with one field f, of `type` and with `rest` behind it. */
static const char *
with_field(const char *type, const char *rest)
{
    static char text[4096];
    snprintf(text, sizeof text,
             "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"f\",\"type\":%"
             "s%s}]}",
             type, rest);
    return text;
}

static void
assert_default(const char *type, const char *value, const void *body, size_t len)
{
    char rest[1024];
    snprintf(rest, sizeof rest, ",\"default\":%s", value);
    CLEANUP(schema_freep) struct schema *schema = parse(with_field(type, rest));
    struct slice got = schema_root(schema)->fields[0].default_body;
    assert_non_null(got.data);
    assert_int_equal(got.len, len);
    assert_memory_equal(got.data, body, len);
}

static void
assert_default_refused(const char *type, const char *value, const char *where)
{
    char rest[1024];
    snprintf(rest, sizeof rest, ",\"default\":%s", value);
    assert_refused(with_field(type, rest), where, "default");
}

struct published {
    const char *text;
    const char *canonical;
    int64_t fingerprint;
};

/* The cases that Avro publishes for every language (share/test/data/schema-tests.txt).
 * Number 26 gives a boolean the default "true", which the specification forbids; here it
 * is true. */
static const struct published published[] = {
    {"\"null\"", "\"null\"", 7195948357588979594},
    {"{\"type\":\"null\"}", "\"null\"", 7195948357588979594},
    {"\"boolean\"", "\"boolean\"", -6970731678124411036},
    {"{\"type\":\"boolean\"}", "\"boolean\"", -6970731678124411036},
    {"\"int\"", "\"int\"", 8247732601305521295},
    {"{\"type\":\"int\"}", "\"int\"", 8247732601305521295},
    {"\"long\"", "\"long\"", -3434872931120570953},
    {"{\"type\":\"long\"}", "\"long\"", -3434872931120570953},
    {"\"float\"", "\"float\"", 5583340709985441680},
    {"{\"type\":\"float\"}", "\"float\"", 5583340709985441680},
    {"\"double\"", "\"double\"", -8181574048448539266},
    {"{\"type\":\"double\"}", "\"double\"", -8181574048448539266},
    {"\"bytes\"", "\"bytes\"", 5746618253357095269},
    {"{\"type\":\"bytes\"}", "\"bytes\"", 5746618253357095269},
    {"\"string\"", "\"string\"", -8142146995180207161},
    {"{\"type\":\"string\"}", "\"string\"", -8142146995180207161},
    {"[  ]", "[]", -1241056759729112623},
    {"[ \"int\"  ]", "[\"int\"]", -5232228896498058493},
    {"[ \"int\" , {\"type\":\"boolean\"} ]", "[\"int\",\"boolean\"]",
     5392556393470105090},
    {"{\"fields\":[], \"type\":\"record\", \"name\":\"foo\"}",
     "{\"name\":\"foo\",\"type\":\"record\",\"fields\":[]}", -4824392279771201922},
    {"{\"fields\":[], \"type\":\"record\", \"name\":\"foo\", \"namespace\":\"x.y\"}",
     "{\"name\":\"x.y.foo\",\"type\":\"record\",\"fields\":[]}", 5916914534497305771},
    {"{\"fields\":[], \"type\":\"record\", \"name\":\"a.b.foo\", \"namespace\":\"x.y\"}",
     "{\"name\":\"a.b.foo\",\"type\":\"record\",\"fields\":[]}", -4616218487480524110},
    {"{\"fields\":[], \"type\":\"record\", \"name\":\"foo\", \"doc\":\"Useful info\"}",
     "{\"name\":\"foo\",\"type\":\"record\",\"fields\":[]}", -4824392279771201922},
    {"{\"fields\":[], \"type\":\"record\", \"name\":\"foo\", "
     "\"aliases\":[\"foo\",\"bar\"]}",
     "{\"name\":\"foo\",\"type\":\"record\",\"fields\":[]}", -4824392279771201922},
    {"{\"fields\":[], \"type\":\"record\", \"name\":\"foo\", \"doc\":\"foo\", "
     "\"aliases\":[\"foo\",\"bar\"]}",
     "{\"name\":\"foo\",\"type\":\"record\",\"fields\":[]}", -4824392279771201922},
    {"{\"fields\":[{\"type\":{\"type\":\"boolean\"}, \"name\":\"f1\"}], "
     "\"type\":\"record\", \"name\":\"foo\"}",
     "{\"name\":\"foo\",\"type\":\"record\",\"fields\":[{\"name\":\"f1\","
     "\"type\":\"boolean\"}]}",
     7843277075252814651},
    {"{ \"fields\":[{\"type\":\"boolean\", \"aliases\":[], \"name\":\"f1\", "
     "\"default\":true},\n {\"order\":\"descending\",\"name\":\"f2\",\"doc\":\"Hello\","
     "\"type\":\"int\"}],\n \"type\":\"record\", \"name\":\"foo\"\n}\n",
     "{\"name\":\"foo\",\"type\":\"record\",\"fields\":[{\"name\":\"f1\",\"type\":"
     "\"boolean\"},{\"name\":\"f2\",\"type\":\"int\"}]}",
     -4860222112080293046},
    {"{\"type\":\"enum\", \"name\":\"foo\", \"symbols\":[\"A1\"]}",
     "{\"name\":\"foo\",\"type\":\"enum\",\"symbols\":[\"A1\"]}", -6342190197741309591},
    {"{\"namespace\":\"x.y.z\", \"type\":\"enum\", \"name\":\"foo\", "
     "\"doc\":\"foo bar\", \"symbols\":[\"A1\", \"A2\"]}",
     "{\"name\":\"x.y.z.foo\",\"type\":\"enum\",\"symbols\":[\"A1\",\"A2\"]}",
     -4448647247586288245},
    {"{\"name\":\"foo\",\"type\":\"fixed\",\"size\":15}",
     "{\"name\":\"foo\",\"type\":\"fixed\",\"size\":15}", 1756455273707447556},
    {"{\"namespace\":\"x.y.z\", \"type\":\"fixed\", \"name\":\"foo\", "
     "\"doc\":\"foo bar\", \"size\":32}",
     "{\"name\":\"x.y.z.foo\",\"type\":\"fixed\",\"size\":32}", -3064184465700546786},
    {"{ \"items\":{\"type\":\"null\"}, \"type\":\"array\"}",
     "{\"type\":\"array\",\"items\":\"null\"}", -589620603366471059},
    {"{ \"values\":\"string\", \"type\":\"map\"}",
     "{\"type\":\"map\",\"values\":\"string\"}", -8732877298790414990},
    {"{\"name\":\"PigValue\",\"type\":\"record\",\n \"fields\":[{\"name\":\"value\", "
     "\"type\":[\"null\", \"int\", \"long\", \"PigValue\"]}]}",
     "{\"name\":\"PigValue\",\"type\":\"record\",\"fields\":[{\"name\":\"value\","
     "\"type\":[\"null\",\"int\",\"long\",\"PigValue\"]}]}",
     -1759257747318642341},
};

static void
gives_the_published_canonical_forms_and_fingerprints(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        CLEANUP(schema_freep) struct schema *schema = parse(published[i].text);

        assert_string_equal(schema_canonical(schema).data, published[i].canonical);
        assert_int_equal((int64_t)schema_crc64(schema), published[i].fingerprint);
        /* A canonical form is its own. */
        CLEANUP(schema_freep) struct schema *again = parse(published[i].canonical);
        assert_true(slice_equal(schema_canonical(again), schema_canonical(schema)));
    }
}

static void
writes_full_names_once_and_strips_the_rest(void **state)
{
    (void)state;
    CLEANUP(schema_freep)
    struct schema *schema = parse(
        "{\"type\":\"record\",\"name\":\"A\",\"namespace\":\"n.m\",\"x\":[{}],\"fields\":"
        "["
        "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"S\"],"
        "\"default\":\"S\"},\"default\":\"S\"},"
        "{\"name\":\"again\",\"type\":[\"null\",\"E\"]},"
        "{\"name\":\"other\",\"type\":{\"type\":\"fixed\",\"name\":\"o.F\",\"size\":"
        "\"007\"}},"
        "{\"name\":\"t\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-"
        "micros\"}},"
        "{\"name\":\"l\",\"type\":{\"type\":\"array\",\"items\":\"o.F\",\"default\":[]}}]"
        "}");

    assert_string_equal(
        schema_canonical(schema).data,
        "{\"name\":\"n.m.A\",\"type\":\"record\",\"fields\":[{\"name\":\"e\",\"type\":{"
        "\"name\":\"n.m.E\",\"type\":\"enum\",\"symbols\":[\"S\"]}},{\"name\":\"again\","
        "\"type\":[\"null\",\"n.m.E\"]},{\"name\":\"other\",\"type\":{\"name\":\"o.F\","
        "\"type\":\"fixed\",\"size\":7}},{\"name\":\"t\",\"type\":\"long\"},{\"name\":"
        "\"l\","
        "\"type\":{\"type\":\"array\",\"items\":\"o.F\"}}]}");
}

static void
gives_sha256_of_the_canonical_form(void **state)
{
    (void)state;
    CLEANUP(schema_freep) struct schema *schema = parse("{\"type\" : \"int\"}");
    uint8_t got[SCHEMA_SHA256_BYTES];
    /* sha256sum of the five bytes "int". */
    static const uint8_t want[4] = {0x3f, 0x2b, 0x87, 0xa9};

    schema_sha256(schema, got);

    assert_memory_equal(got, want, sizeof want);
}

static void
keeps_the_authors_text_and_name(void **state)
{
    (void)state;
    const char *text = " {\"type\":\"fixed\", \"name\":\"a.F\", \"size\":2}\n";
    CLEANUP(schema_freep) struct schema *schema = parse(text);
    CLEANUP(schema_freep)
    struct schema *array = parse("{\"type\":\"array\",\"items\":\"int\"}");

    assert_true(slice_is(schema_text(schema), text));
    assert_string_equal(schema_name(schema), "a.F");
    assert_string_equal(schema_name(array), "array");
}

static void
builds_the_tree_with_everything_resolution_wants(void **state)
{
    (void)state;
    CLEANUP(schema_freep)
    struct schema *schema = parse(
        "{\"type\":\"record\",\"name\":\"R\",\"namespace\":\"n\",\"doc\":\"Doc.\","
        "\"aliases\":[\"Old\",\"m.Older\"],\"fields\":["
        "{\"name\":\"a\",\"type\":\"int\",\"aliases\":[\"b\"],\"order\":\"ignore\","
        "\"heddle.diff\":\"ignore\",\"doc\":\"A.\"},"
        "{\"name\":\"next\",\"type\":[\"null\",\"R\"],\"default\":null,"
        "\"heddle.identity\":true},"
        "{\"name\":\"d\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\"}}]}");
    const struct schema_node *root = schema_root(schema);

    assert_int_equal(root->type, SCHEMA_RECORD);
    assert_string_equal(root->name, "n.R");
    assert_string_equal(root->base_name, "R");
    assert_string_equal(root->space, "n");
    assert_string_equal(root->doc, "Doc.");
    assert_int_equal(root->n_aliases, 2);
    assert_string_equal(root->aliases[0], "n.Old");
    assert_string_equal(root->aliases[1], "m.Older");
    assert_int_equal(root->n_fields, 3);
    assert_string_equal(root->fields[0].aliases[0], "b");
    assert_int_equal(root->fields[0].order, SCHEMA_IGNORE);
    assert_true(root->fields[0].diff_ignore);
    assert_false(root->fields[0].identity);
    assert_null(root->fields[0].default_body.data);
    assert_string_equal(root->fields[0].doc, "A.");
    assert_true(root->fields[1].identity);
    assert_ptr_equal(root->fields[1].type->branches[1], root);
    assert_non_null(root->fields[1].default_body.data);
    assert_string_equal(root->fields[2].type->logical_type, "decimal");
    assert_int_equal(schema_node_count(schema), 5);
}

static void
resolves_names_by_the_enclosing_namespace(void **state)
{
    (void)state;
    CLEANUP(schema_freep)
    struct schema *schema = parse(
        "{\"type\":\"record\",\"name\":\"a.R\",\"namespace\":\"ignored\",\"fields\":["
        "{\"name\":\"x\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":1}},"
        "{\"name\":\"y\",\"type\":{\"type\":\"record\",\"name\":\"S\",\"namespace\":"
        "\"b\","
        "\"fields\":[{\"name\":\"z\",\"type\":{\"type\":\"fixed\",\"name\":\"F\","
        "\"size\":2}},{\"name\":\"own\",\"type\":\"F\"},{\"name\":\"outer\","
        "\"type\":\"a.F\"}]}},"
        "{\"name\":\"none\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"namespace\":"
        "\"\","
        "\"symbols\":[]}},"
        "{\"name\":\"bare\",\"type\":\"E\"},{\"name\":\"back\",\"type\":{\"type\":\"F\"}}"
        "]}");
    const struct schema_field *fields = schema_root(schema)->fields;
    const struct schema_field *inner = fields[1].type->fields;

    assert_string_equal(fields[0].type->name, "a.F");
    assert_string_equal(inner[0].type->name, "b.F");
    assert_ptr_equal(inner[1].type, inner[0].type);
    assert_ptr_equal(inner[2].type, fields[0].type);
    assert_string_equal(fields[2].type->name, "E");
    assert_string_equal(fields[2].type->space, "");
    assert_ptr_equal(fields[3].type, fields[2].type);
    assert_ptr_equal(fields[4].type, fields[0].type);
}

static void
refuses_what_is_not_a_type(void **state)
{
    (void)state;
    assert_refused("", "$, line 1 column 0", "not JSON");
    assert_refused("{\"type\":\"int\"", "$, line 1 column 13", "not JSON");
    assert_refused("\"int\" \"int\"", "$, line 1 column 11", "not JSON");
    assert_refused("{\"type\":\"int\",\"type\":\"int\"}", "$, line 1 column 20",
                   "duplicate");
    assert_refused("5", "$", "a type is");
    assert_refused("null", "$", "a type is");
    assert_refused("{}", "$", "\"type\"");
    assert_refused("{\"type\":{\"type\":\"int\"}}", "$", "\"type\"");
    assert_refused("\"Unknown\"", "$", "is no type");
    assert_refused("\"a\\u0000\"", "$", "is no type");
    assert_refused("{\"type\":\"x..y\"}", "$", "is no type");
    assert_refused("{\"type\":\"array\"}", "$", "\"items\" is missing");
    assert_refused("{\"type\":\"map\"}", "$", "\"values\" is missing");
    assert_refused("{\"type\":\"array\",\"items\":{\"type\":\"map\",\"values\":1}}",
                   "$.items.values", "a type is");
    assert_taken("{\"type\":\"array\",\"items\":{\"type\":\"map\",\"values\":\"int\"}}");
}

static void
refuses_bad_names_and_namespaces(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\"\"",   "\"1a\"", "\"a-b\"",  "\"a b\"",      "\"\\u00e9\"",
        "\".a\"", "\"a.\"", "\"a..b\"", "\"int\"",      "\"x.string\"",
        "5",      "null",   "\"a\\n\"", "\"a\\u0000\"",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"type\":\"fixed\",\"size\":1,\"name\":%s}",
                 bad[i]);
        assert_refused(text, "$", "name");
    }
    assert_refused("{\"type\":\"fixed\",\"size\":1}", "$", "\"name\"");
    assert_taken("{\"type\":\"fixed\",\"size\":1,\"name\":\"_a9.B_\"}");

    assert_refused("{\"type\":\"fixed\",\"size\":1,\"name\":\"a\",\"namespace\":\"1\"}",
                   "$", "\"namespace\"");
    assert_refused("{\"type\":\"fixed\",\"size\":1,\"name\":\"a\",\"namespace\":\"a.\"}",
                   "$", "\"namespace\"");
    assert_refused("{\"type\":\"fixed\",\"size\":1,\"name\":\"a\",\"namespace\":7}", "$",
                   "\"namespace\"");
    assert_taken("{\"type\":\"fixed\",\"size\":1,\"name\":\"a\",\"namespace\":\"\"}");
    assert_refused(with_field("\"int\"", "},{\"name\":\"a.b\",\"type\":\"int\""),
                   "$.fields[1]", "\"name\"");
    assert_refused(with_field("\"int\"", "},{\"type\":\"int\""), "$.fields[1]",
                   "\"name\"");
}

static void
refuses_a_name_defined_twice(void **state)
{
    (void)state;
    const char *fixed = "{\"type\":\"fixed\",\"name\":\"F\",\"size\":1}";
    char text[256];

    snprintf(text, sizeof text, "},{\"name\":\"g\",\"type\":%s", fixed);
    assert_refused(with_field(fixed, text), "$.fields[1].type", "defined already");
    assert_refused(with_field("{\"type\":\"enum\",\"name\":\"R\",\"symbols\":[]}", ""),
                   "$.fields[0].type", "defined already");
    assert_taken(with_field("{\"type\":\"enum\",\"name\":\"x.R\",\"symbols\":[]}", ""));
    assert_refused(with_field("\"F\"", text), "$.fields[0].type", "before its first use");
}

static void
refuses_repeated_fields_symbols_and_branches(void **state)
{
    (void)state;
    assert_refused(with_field("\"int\"", "},{\"name\":\"f\",\"type\":\"int\""),
                   "$.fields[1]", "already");
    assert_taken(with_field("\"int\"", "},{\"name\":\"g\",\"type\":\"int\""));
    assert_refused("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\",\"A\"]}",
                   "$", "already");
    assert_taken("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\",\"a\"]}");
    assert_refused("[\"int\",\"null\",\"int\"]", "$[2]", "already");
    assert_refused("[\"int\",{\"type\":\"int\",\"logicalType\":\"date\"}]", "$[1]",
                   "already");
    assert_refused(
        "[{\"type\":\"array\",\"items\":\"int\"},{\"type\":\"array\",\"items\":"
        "\"long\"}]",
        "$[1]", "already");
    assert_refused("[{\"type\":\"fixed\",\"name\":\"F\",\"size\":1},\"F\"]", "$[1]",
                   "already");
    assert_refused(with_field("[\"null\",\"R\",\"R\"]", ""), "$.fields[0].type[2]",
                   "already");
    assert_taken("[{\"type\":\"fixed\",\"name\":\"F\",\"size\":1},{\"type\":\"fixed\","
                 "\"name\":\"G\",\"size\":1},\"null\"]");
    assert_taken(
        "[{\"type\":\"fixed\",\"name\":\"array\",\"size\":1},{\"type\":\"array\","
        "\"items\":\"int\"},{\"type\":\"map\",\"values\":\"int\"}]");
}

static void
refuses_a_union_directly_in_a_union(void **state)
{
    (void)state;
    assert_refused("[\"null\",[\"int\"]]", "$[1]", "a union");
    assert_taken("[\"null\",{\"type\":\"array\",\"items\":[\"null\",\"int\"]}]");
}

static void
vets_enums(void **state)
{
    (void)state;
    assert_refused("{\"type\":\"enum\",\"name\":\"E\"}", "$", "\"symbols\"");
    assert_refused("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":\"A\"}", "$",
                   "\"symbols\"");
    assert_refused("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[1]}", "$", "symbol 0");
    assert_refused("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"b-c\"]}", "$",
                   "symbol 1");
    assert_refused(
        "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"],\"default\":\"B\"}", "$",
        "none of its symbols");
    assert_refused(
        "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"],\"default\":null}", "$",
        "none of its symbols");
    CLEANUP(schema_freep)
    struct schema *schema = parse(
        "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"],\"default\":\"B\"}");
    assert_string_equal(schema_root(schema)->enum_default, "B");
    assert_int_equal(schema_root(schema)->n_symbols, 2);
}

static void
vets_the_size_of_a_fixed(void **state)
{
    (void)state;
    static const char *const bad[] = {"-1",
                                      "1.0",
                                      "1.5",
                                      "null",
                                      "\"\"",
                                      "\"-1\"",
                                      "\"1x\"",
                                      "16777217",
                                      "[1]",
                                      "9223372036854775807",
                                      "\"99999999999999999999\""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"type\":\"fixed\",\"name\":\"F\",\"size\":%s}",
                 bad[i]);
        assert_refused(text, "$", "\"size\"");
    }
    assert_refused("{\"type\":\"fixed\",\"name\":\"F\"}", "$", "\"size\"");
    assert_taken("{\"type\":\"fixed\",\"name\":\"F\",\"size\":0}");
    assert_taken("{\"type\":\"fixed\",\"name\":\"F\",\"size\":16777216}");
}

static void
vets_records_and_what_fields_say(void **state)
{
    (void)state;
    assert_refused("{\"type\":\"record\",\"name\":\"R\"}", "$", "\"fields\"");
    assert_refused("{\"type\":\"record\",\"name\":\"R\",\"fields\":{}}", "$",
                   "\"fields\"");
    assert_refused("{\"type\":\"record\",\"name\":\"R\",\"fields\":[7]}", "$.fields[0]",
                   "\"name\"");
    assert_refused("{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"f\"}]}",
                   "$.fields[0]", "\"type\" is missing");
    assert_refused(with_field("\"int\"", ",\"order\":\"up\""), "$.fields[0]",
                   "\"order\"");
    assert_taken(with_field("\"int\"", ",\"order\":\"descending\""));
    assert_refused(with_field("\"int\"", ",\"aliases\":\"g\""), "$.fields[0]",
                   "\"aliases\"");
    assert_refused(with_field("\"int\"", ",\"aliases\":[\"a.b\"]"), "$.fields[0]",
                   "alias 0");
    assert_refused(
        "{\"type\":\"fixed\",\"name\":\"F\",\"size\":1,\"aliases\":[\"A\",\"1\"]}", "$",
        "alias 1");
    assert_taken(
        "{\"type\":\"fixed\",\"name\":\"F\",\"size\":1,\"aliases\":[\"A\",\"b.C\"]}");
    assert_refused(with_field("\"int\"", ",\"heddle.diff\":\"ignored\""), "$.fields[0]",
                   "heddle.diff");
    assert_refused(with_field("\"int\"", ",\"heddle.identity\":\"yes\""), "$.fields[0]",
                   "heddle.identity");
    assert_taken(with_field("\"int\"", ",\"heddle.identity\":false"));
    assert_taken("{\"type\":\"error\",\"name\":\"E\",\"fields\":[]}");
}

static void
ignores_attributes_and_logical_types_it_does_not_know(void **state)
{
    (void)state;
    assert_taken(with_field("{\"type\":\"int\",\"logicalType\":\"moon-phase\"}",
                            ",\"doc\":5,\"zone\":{\"a\":[null]}"));
    assert_taken("{\"type\":\"int\",\"logicalType\":7,\"items\":\"nonsense\"}");
}

static void
keeps_defaults_as_avro_bodies(void **state)
{
    (void)state;
    assert_default("\"null\"", "null", "", 0);
    assert_default("\"boolean\"", "true", "\1", 1);
    assert_default("\"int\"", "-2147483648", "\xff\xff\xff\xff\x0f", 5);
    assert_default("\"long\"", "64", "\x80\1", 2);
    assert_default("\"long\"", "-9223372036854775808",
                   "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 10);
    assert_default("\"float\"", "1", "\0\0\x80\x3f", 4);
    assert_default("\"double\"", "-1.5", "\0\0\0\0\0\0\xf8\xbf", 8);
    assert_default("\"string\"", "\"\\u00e9\"", "\4\xc3\xa9", 3);
    assert_default("\"bytes\"", "\"\\u0000\\u00ffA\"",
                   "\6\0\xff"
                   "A",
                   4);
    assert_default("{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}", "\"a\\u0080\"",
                   "a\x80", 2);
    assert_default("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}",
                   "\"B\"", "\2", 1);
    assert_default("{\"type\":\"array\",\"items\":\"int\"}", "[]", "\0", 1);
    assert_default("{\"type\":\"array\",\"items\":\"int\"}", "[1,2]", "\4\2\4\0", 4);
    assert_default("{\"type\":\"map\",\"values\":\"int\"}", "{\"b\":1,\"a\":2}",
                   "\4\2b\2\2a\4\0", 8);
    assert_default("[\"null\",\"int\"]", "null", "\0", 1);
    assert_default("[\"int\",\"null\"]", "1", "\0\2", 2);
}

static void
fills_a_record_default_with_its_fields_own_defaults(void **state)
{
    (void)state;
    const char *inner = "{\"type\":\"record\",\"name\":\"I\",\"fields\":["
                        "{\"name\":\"a\",\"type\":\"int\"},"
                        "{\"name\":\"b\",\"type\":\"string\",\"default\":\"x\"}]}";

    assert_default(inner, "{\"a\":1}", "\2\2x", 3);
    assert_default(inner, "{\"b\":\"\",\"a\":1}", "\2\0", 2);
    assert_default_refused(inner, "{\"b\":\"y\"}", "$.fields[0].default.a");
    assert_default_refused(inner, "{\"a\":null}", "$.fields[0].default.a");
    assert_default_refused(inner, "[]", "$.fields[0].default");
}

static void
refuses_defaults_of_the_wrong_type_at_every_depth(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"\"null\"", "0"},
        {"\"boolean\"", "\"true\""},
        {"\"boolean\"", "0"},
        {"\"int\"", "2147483648"},
        {"\"int\"", "1.0"},
        {"\"int\"", "\"1\""},
        {"\"int\"", "null"},
        {"\"long\"", "1e3"},
        {"\"float\"", "1e39"},
        {"\"float\"", "\"NaN\""},
        {"\"double\"", "true"},
        {"\"string\"", "null"},
        {"\"bytes\"", "[1]"},
        {"\"bytes\"", "\"\\u0100\""},
        {"{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}", "\"abc\""},
        {"{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}", "\"B\""},
        {"{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}", "0"},
        {"{\"type\":\"array\",\"items\":\"int\"}", "{}"},
        {"{\"type\":\"map\",\"values\":\"int\"}", "[]"},
        {"[\"null\",\"int\"]", "1"},
        {"[\"int\",\"null\"]", "null"},
        {"[]", "null"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_default_refused(bad[i][0], bad[i][1], "$.fields[0].default");
    assert_default_refused("{\"type\":\"array\",\"items\":{\"type\":\"map\",\"values\":"
                           "[\"int\",\"null\"]}}",
                           "[{},{\"k\":1,\"l\":null}]", "$.fields[0].default[1][1]");
}

static void
ends_defaults_that_unfold_without_end(void **state)
{
    (void)state;
    /* R's only field is an R whose default is empty: it takes its own default, for ever.
     */
    assert_refused(
        with_field("\"R\"", ",\"default\":{}"),
        "$.fields[0].default.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f"
        ".f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f",
        "within each other");
}

/* Each record holds the one before twice, all by default: 2^40 values of no bytes. */
static void
ends_defaults_that_double_at_every_level(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct err err = {0};
    buf_add_str(&text, "[\"null\"");
    for (int i = 0; i < 40; i++) {
        buf_addf(&text, ",{\"type\":\"record\",\"name\":\"R%d\",\"fields\":[", i);
        for (int f = 0; f < 2; f++)
            if (i)
                buf_addf(&text, "%s{\"name\":\"f%d\",\"type\":\"R%d\",\"default\":{}}",
                         f ? "," : "", f, i - 1);
        buf_add_str(&text, "]}");
    }
    buf_add_str(&text, "]");

    assert_null(schema_parse(buf_slice(&text), &err));

    assert_string_equal(err.code, "schema_invalid");
    assert_non_null(strstr(err.msg, "values in all defaults"));
}

static char *
nested_arrays(int n)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < n; i++)
        buf_add_str(&text, "{\"type\":\"array\",\"items\":");
    buf_add_str(&text, "\"int\"");
    for (int i = 0; i < n; i++)
        buf_add_byte(&text, '}');
    return buf_take(&text, NULL);
}

static void
bounds_depth(void **state)
{
    (void)state;
    char *deepest = nested_arrays(SCHEMA_MAX_DEPTH - 1);
    char *deeper = nested_arrays(SCHEMA_MAX_DEPTH);
    char *hostile = nested_arrays(20000);
    struct err err = {0};

    assert_taken(deepest);
    assert_null(schema_parse(slice_of(deeper), &err));
    assert_non_null(strstr(err.msg, "within each other"));
    assert_null(schema_parse(slice_of(hostile), &err));
    assert_string_equal(err.code, "schema_invalid");

    free(deepest);
    free(deeper);
    free(hostile);
}

static void
bounds_size_and_number_of_types(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct err err = {0};
    buf_add_str(&text, "{\"type\":\"record\",\"name\":\"R\",\"fields\":[");
    for (int i = 0; i < SCHEMA_MAX_NODES; i++)
        buf_addf(&text, "%s{\"name\":\"f%d\",\"type\":\"int\"}", i ? "," : "", i);
    buf_add_str(&text, "]}");

    assert_null(schema_parse(buf_slice(&text), &err));
    assert_non_null(strstr(err.msg, "types"));

    buf_reset(&text);
    while (text.len < SCHEMA_MAX_BYTES)
        buf_add_byte(&text, ' ');
    buf_add_str(&text, "\"int\"");
    assert_null(schema_parse(buf_slice(&text), &err));
    assert_non_null(strstr(err.msg, "at most"));
    assert_null(schema_parse((struct slice){0}, NULL));
}

static void
bounds_names_and_the_memory_they_take(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct err err = {0};
    buf_add_str(&text, "{\"type\":\"fixed\",\"size\":1,\"name\":\"F\",\"namespace\":\"");
    for (int i = 0; i < SCHEMA_MAX_NAME_BYTES - 2; i++)
        buf_add_byte(&text, 'n');
    size_t shortest = text.len;
    buf_add_str(&text, "\",\"aliases\":[");
    while (text.len < SCHEMA_MAX_BYTES - 16)
        buf_add_str(&text, "\"a\",");
    buf_add_str(&text, "\"a\"]}");

    assert_null(schema_parse(buf_slice(&text), &err));
    assert_int_equal(err.kind, ERR_RECORD);
    assert_non_null(strstr(err.msg, "bytes of memory"));

    text.len = shortest;
    buf_add_str(&text, "\"}");
    CLEANUP(schema_freep) struct schema *schema = schema_parse(buf_slice(&text), &err);
    assert_non_null(schema);
    text.len = shortest;
    buf_add_str(&text, "n\"}");
    assert_null(schema_parse(buf_slice(&text), &err));
    assert_non_null(strstr(err.msg, "longer than"));
}

static void
shows_hostile_text_as_printable_ascii(void **state)
{
    (void)state;
    struct err err = {0};
    const char *text =
        "\"\\u001b[31m\\n\\u00e9aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"";

    assert_null(schema_parse(slice_of(text), &err));

    assert_non_null(strstr(err.msg, "...\""));
    for (const char *c = err.msg; *c; c++)
        assert_in_range(*c, ' ', '~');
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_published_canonical_forms_and_fingerprints),
        cmocka_unit_test(writes_full_names_once_and_strips_the_rest),
        cmocka_unit_test(gives_sha256_of_the_canonical_form),
        cmocka_unit_test(keeps_the_authors_text_and_name),
        cmocka_unit_test(builds_the_tree_with_everything_resolution_wants),
        cmocka_unit_test(resolves_names_by_the_enclosing_namespace),
        cmocka_unit_test(refuses_what_is_not_a_type),
        cmocka_unit_test(refuses_bad_names_and_namespaces),
        cmocka_unit_test(refuses_a_name_defined_twice),
        cmocka_unit_test(refuses_repeated_fields_symbols_and_branches),
        cmocka_unit_test(refuses_a_union_directly_in_a_union),
        cmocka_unit_test(vets_enums),
        cmocka_unit_test(vets_the_size_of_a_fixed),
        cmocka_unit_test(vets_records_and_what_fields_say),
        cmocka_unit_test(ignores_attributes_and_logical_types_it_does_not_know),
        cmocka_unit_test(keeps_defaults_as_avro_bodies),
        cmocka_unit_test(fills_a_record_default_with_its_fields_own_defaults),
        cmocka_unit_test(refuses_defaults_of_the_wrong_type_at_every_depth),
        cmocka_unit_test(ends_defaults_that_unfold_without_end),
        cmocka_unit_test(ends_defaults_that_double_at_every_level),
        cmocka_unit_test(bounds_depth),
        cmocka_unit_test(bounds_size_and_number_of_types),
        cmocka_unit_test(bounds_names_and_the_memory_they_take),
        cmocka_unit_test(shows_hostile_text_as_printable_ascii),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
