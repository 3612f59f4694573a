/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the author's .avsc into a tree and refuses what the specification forbids. */
#include "schema_build.h"

#include "cleanup.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLACE_SHOWN_BYTES = 400 };

static const char *const type_names[] = {
    [SCHEMA_NULL] = "null",   [SCHEMA_BOOLEAN] = "boolean", [SCHEMA_INT] = "int",
    [SCHEMA_LONG] = "long",   [SCHEMA_FLOAT] = "float",     [SCHEMA_DOUBLE] = "double",
    [SCHEMA_BYTES] = "bytes", [SCHEMA_STRING] = "string",   [SCHEMA_FIXED] = "fixed",
    [SCHEMA_ENUM] = "enum",   [SCHEMA_RECORD] = "record",   [SCHEMA_ARRAY] = "array",
    [SCHEMA_MAP] = "map",     [SCHEMA_UNION] = "union",
};

enum { N_TYPES = SCHEMA_UNION + 1 };

const char *
schema_type_name(enum schema_type type)
{
    return type_names[type];
}

/* A type as it is written: its JSON, and what surrounds it. */
struct written {
    const json_t *json;
    const char *space; /* the enclosing namespace, "" for none */
    size_t depth;
    const struct place *at;
};

static const struct schema_node *type_read(struct build *b, const struct written *w);

/* Errors and memory. */

static void
place_print(const struct place *at, struct buf *out)
{
    if (!at->up) {
        buf_add_byte(out, '$');
        return;
    }
    place_print(at->up, out);
    if (at->key)
        buf_addf(out, ".%s", at->key);
    else
        buf_addf(out, "[%zu]", at->index);
}

enum err_kind
schema_refuse(struct build *b, const struct place *at, const char *fmt, ...)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    place_print(at, &path);
    const char *text = buf_text(&path);
    bool is_long = path.len > PLACE_SHOWN_BYTES;
    char why[ERR_MSG_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return err_set(b->err, ERR_RECORD, "schema_invalid", "schema at %s%s: %s",
                   is_long ? "..." : "",
                   is_long ? text + path.len - PLACE_SHOWN_BYTES : text, why);
}

static const struct place *
place_new(struct build *b, struct place place)
{
    struct place *at = arena_alloc(&b->scratch, sizeof *at);
    if (!at) {
        err_no_memory(b->err, "a place in a schema");
        return NULL;
    }
    *at = place;
    return at;
}

const struct place *
schema_place_key(struct build *b, const struct place *up, const char *key)
{
    return up ? place_new(b, (struct place){.up = up, .key = key}) : NULL;
}

const struct place *
schema_place_index(struct build *b, const struct place *up, size_t index)
{
    return up ? place_new(b, (struct place){.up = up, .index = index}) : NULL;
}

struct quote
schema_quote(struct slice text)
{
    struct quote quote;
    size_t room = sizeof quote.text - 4;
    size_t n = text.len < room ? text.len : room;
    for (size_t i = 0; i < n; i++) {
        bool printable = text.data[i] >= ' ' && text.data[i] <= '~';
        quote.text[i] = (char)(printable ? text.data[i] : '?');
    }
    snprintf(quote.text + n, sizeof quote.text - n, "%s", n < text.len ? "..." : "");
    return quote;
}

/* The ceiling is the text's fault, a lack below it is the machine's. */
static void
no_room(struct build *b, size_t bytes)
{
    if (bytes > SCHEMA_MAX_MEMORY - b->schema->arena.taken)
        err_set(b->err, ERR_RECORD, "schema_invalid",
                "schema takes more than %d bytes of memory; make it smaller",
                SCHEMA_MAX_MEMORY);
    else
        err_no_memory(b->err, "a schema");
}

void *
schema_take(struct build *b, size_t n, size_t size)
{
    void *data = arena_calloc(&b->schema->arena, n, size);
    if (!data)
        no_room(b, n * size + 16);
    return data;
}

struct slice
schema_keep(struct build *b, struct slice text)
{
    struct slice copy = arena_copy(&b->schema->arena, text);
    if (!copy.data)
        no_room(b, text.len + 16);
    return copy;
}

/* Names. */

struct slice
schema_json_text(const json_t *json)
{
    if (!json_is_string(json))
        return (struct slice){0};
    return (struct slice){json_string_value(json), json_string_length(json)};
}

static struct slice
attribute_text(const json_t *json, const char *key)
{
    return schema_json_text(json_object_get(json, key));
}

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_name(struct slice text)
{
    if (text.len == 0 || text.len > SCHEMA_MAX_NAME_BYTES || !is_letter(text.data[0]))
        return false;
    for (size_t i = 1; i < text.len; i++)
        if (!is_letter(text.data[i]) && !(text.data[i] >= '0' && text.data[i] <= '9'))
            return false;
    return true;
}

/* Names joined by dots: a full name or a namespace. */
static bool
is_dotted(struct slice text)
{
    if (text.len > SCHEMA_MAX_NAME_BYTES)
        return false;
    const char *dot;
    while ((dot = text.len ? memchr(text.data, '.', text.len) : NULL)) {
        struct slice part = {text.data, (size_t)(dot - text.data)};
        if (!is_name(part))
            return false;
        text.data += part.len + 1;
        text.len -= part.len + 1;
    }
    return is_name(text);
}

static bool
has_dot(struct slice text)
{
    return text.len && memchr(text.data, '.', text.len);
}

/* `name` as it is understood inside `space`. */
static const char *
full_name(struct build *b, struct slice name, const char *space)
{
    if (has_dot(name) || !*space)
        return schema_keep(b, name).data;
    struct slice full =
        arena_printf(&b->schema->arena, "%s.%.*s", space, SLICE_ARG(name));
    if (!full.data)
        no_room(b, strlen(space) + name.len + 16);
    return full.data;
}

static int
compare_names(const void *a, const void *b)
{
    const struct schema_node *x = a;
    const struct schema_node *y = b;
    return strcmp(x->name, y->name);
}

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void
keep_item(void *item)
{
    (void)item; /* the arena's */
}

static const struct schema_node *
find_name(const struct build *b, const char *name)
{
    struct schema_node key = {.name = name};
    const struct schema_node *const *found = tfind(&key, &b->names, compare_names);
    return found ? *found : NULL;
}

static enum err_kind
name_define(struct build *b, const struct schema_node *node, const struct place *at)
{
    const struct schema_node **found = tsearch(node, &b->names, compare_names);
    if (!found)
        return err_no_memory(b->err, "the names of a schema");
    if (*found != node)
        return schema_refuse(b, at, "\"%s\" is defined already; names are defined once",
                             schema_quote(slice_of(node->name)).text);
    return ERR_OK;
}

/* Adds `text` to `set` and refuses a second one. `what` says what is repeated. */
static enum err_kind
add_once(struct build *b,
         void **set,
         const char *text,
         const char *what,
         const struct place *at)
{
    if (tfind(text, set, compare_texts))
        return schema_refuse(b, at, "%s \"%s\" is there already", what,
                             schema_quote(slice_of(text)).text);
    if (!tsearch(text, set, compare_texts))
        return err_no_memory(b->err, "the names of a schema");
    return ERR_OK;
}

static void
set_done(void **set)
{
    tdestroy(*set, keep_item);
}

static bool
is_primitive_name(struct slice text)
{
    for (int type = SCHEMA_NULL; type <= SCHEMA_STRING; type++)
        if (slice_is(text, type_names[type]))
            return true;
    return false;
}

static enum err_kind
namespace_read(struct build *b, const struct written *w, struct slice *ret_space)
{
    const json_t *json = json_object_get(w->json, "namespace");
    struct slice space = json ? schema_json_text(json) : slice_of(w->space);
    if (!space.data || (space.len && !is_dotted(space)))
        return schema_refuse(b, w->at,
                             "\"namespace\" is text of names joined by dots, or empty");
    *ret_space = space;
    return ERR_OK;
}

static enum err_kind
name_split(struct build *b, struct schema_node *node)
{
    const char *dot = strrchr(node->name, '.');
    node->base_name = dot ? dot + 1 : node->name;
    struct slice space = {node->name, dot ? (size_t)(dot - node->name) : 0};
    node->space = schema_keep(b, space).data;
    return node->space ? ERR_OK : ERR_RECORD;
}

static enum err_kind
name_read(struct build *b, const struct written *w, struct schema_node *node)
{
    struct slice name = attribute_text(w->json, "name");
    struct slice space = {0};
    if (!is_dotted(name))
        return schema_refuse(b, w->at,
                             "%s \"%s\" wants a \"name\" of letters, digits and _, not "
                             "beginning with a digit",
                             type_names[node->type], schema_quote(name).text);
    enum err_kind kind = namespace_read(b, w, &space);
    if (kind)
        return kind;
    /* A namespace can't be longer than its limit, so this copy is small. */
    char enclosing[SCHEMA_MAX_NAME_BYTES + 1];
    snprintf(enclosing, sizeof enclosing, "%.*s", SLICE_ARG(space));
    node->name = full_name(b, name, enclosing);
    if (!node->name || name_split(b, node))
        return ERR_RECORD;
    if (strlen(node->name) > SCHEMA_MAX_NAME_BYTES)
        return schema_refuse(b, w->at, "full name is longer than %d bytes",
                             SCHEMA_MAX_NAME_BYTES);
    if (is_primitive_name(slice_of(node->base_name)))
        return schema_refuse(b, w->at, "\"%s\" is the name of a primitive type",
                             node->base_name);
    return name_define(b, node, w->at);
}

/* Text that explains; what isn't text explains nothing and is left out. */
static enum err_kind
doc_read(struct build *b, const json_t *json, const char **ret_doc)
{
    struct slice doc = attribute_text(json, "doc");
    if (!doc.data)
        return ERR_OK;
    *ret_doc = schema_keep(b, doc).data;
    return *ret_doc ? ERR_OK : ERR_RECORD;
}

/* `space` NULL: the aliases of a field, which have no namespace. */
static enum err_kind
aliases_read(struct build *b,
             const struct written *w,
             const char *space,
             const char *const **ret_aliases,
             size_t *ret_n)
{
    const json_t *json = json_object_get(w->json, "aliases");
    if (!json)
        return ERR_OK;
    if (!json_is_array(json))
        return schema_refuse(b, w->at, "\"aliases\" is an array of names");
    size_t n = json_array_size(json);
    const char **aliases = schema_take(b, n, sizeof *aliases);
    if (!aliases)
        return ERR_RECORD;
    for (size_t i = 0; i < n; i++) {
        struct slice alias = schema_json_text(json_array_get(json, i));
        if (space ? !is_dotted(alias) : !is_name(alias))
            return schema_refuse(b, w->at, "alias %zu \"%s\" is not a name", i,
                                 schema_quote(alias).text);
        aliases[i] = full_name(b, alias, space ? space : "");
        if (!aliases[i])
            return ERR_RECORD;
    }
    *ret_aliases = aliases;
    *ret_n = n;
    return ERR_OK;
}

/* Nodes. */

static enum err_kind
node_count(struct build *b, const struct written *w, struct schema_node *node)
{
    if (b->schema->n_nodes >= SCHEMA_MAX_NODES)
        return schema_refuse(b, w->at, "more than %d types", SCHEMA_MAX_NODES);
    node->index = b->schema->n_nodes++;
    return ERR_OK;
}

static struct schema_node *
node_new(struct build *b, const struct written *w, enum schema_type type, size_t size)
{
    struct schema_node *node = schema_take(b, 1, size);
    if (!node || node_count(b, w, node))
        return NULL;
    node->type = type;
    struct slice logical = attribute_text(w->json, "logicalType");
    if (!logical.data)
        return node;
    node->logical_type = schema_keep(b, logical).data;
    return node->logical_type ? node : NULL;
}

static struct schema_node *
named_new(struct build *b, const struct written *w, enum schema_type type, size_t size)
{
    struct schema_node *node = node_new(b, w, type, size);
    if (!node || name_read(b, w, node) || doc_read(b, w->json, &node->doc) ||
        aliases_read(b, w, node->space, &node->aliases, &node->n_aliases))
        return NULL;
    return node;
}

static enum err_kind
symbol_default_read(struct build *b, const struct written *w, struct schema_node *node)
{
    const json_t *json = json_object_get(w->json, "default");
    if (!json)
        return ERR_OK;
    for (size_t i = 0; i < node->n_symbols; i++)
        if (slice_is(schema_json_text(json), node->symbols[i]))
            node->enum_default = node->symbols[i];
    if (!node->enum_default)
        return schema_refuse(b, w->at, "\"default\" of enum %s is none of its symbols",
                             schema_quote(slice_of(node->name)).text);
    return ERR_OK;
}

static enum err_kind
symbols_read(struct build *b, const struct written *w, struct schema_node *node)
{
    CLEANUP(set_done) void *seen = NULL;
    const json_t *json = json_object_get(w->json, "symbols");
    if (!json_is_array(json))
        return schema_refuse(b, w->at, "enum wants \"symbols\", an array of names");
    size_t n = json_array_size(json);
    const char **symbols = schema_take(b, n, sizeof *symbols);
    if (!symbols)
        return ERR_RECORD;
    for (size_t i = 0; i < n; i++) {
        struct slice symbol = schema_json_text(json_array_get(json, i));
        if (!is_name(symbol))
            return schema_refuse(b, w->at, "symbol %zu \"%s\" is not a name", i,
                                 schema_quote(symbol).text);
        symbols[i] = schema_keep(b, symbol).data;
        if (!symbols[i] || add_once(b, &seen, symbols[i], "symbol", w->at))
            return ERR_RECORD;
    }
    node->symbols = symbols;
    node->n_symbols = n;
    return symbol_default_read(b, w, node);
}

static const struct schema_node *
enum_read(struct build *b, const struct written *w)
{
    struct schema_node *node = named_new(b, w, SCHEMA_ENUM, sizeof *node);
    return node && !symbols_read(b, w, node) ? node : NULL;
}

/*
 * The canonical form's rule [INTEGERS] takes quotes and leading zeros off a size, so
 * digits in quotes are a size too.
 */
static bool
size_number(const json_t *json, json_int_t *ret_size)
{
    if (json_is_integer(json)) {
        *ret_size = json_integer_value(json);
        return true;
    }
    struct slice text = schema_json_text(json);
    json_int_t size = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || size > SCHEMA_MAX_FIXED_BYTES)
            return false;
        size = size * 10 + (text.data[i] - '0');
    }
    *ret_size = size;
    return text.len > 0;
}

static const struct schema_node *
fixed_read(struct build *b, const struct written *w)
{
    struct schema_node *node = named_new(b, w, SCHEMA_FIXED, sizeof *node);
    json_int_t size = 0;
    if (!node)
        return NULL;
    if (!size_number(json_object_get(w->json, "size"), &size) || size < 0 ||
        size > SCHEMA_MAX_FIXED_BYTES) {
        schema_refuse(b, w->at, "fixed wants \"size\", a number from 0 to %d",
                      SCHEMA_MAX_FIXED_BYTES);
        return NULL;
    }
    node->fixed_size = (size_t)size;
    return node;
}

/* The type under `key` of what `w` has written. */
static const struct schema_node *
inner_read(struct build *b, const struct written *w, const char *key, const char *space)
{
    const json_t *json = json_object_get(w->json, key);
    if (!json) {
        schema_refuse(b, w->at, "\"%s\" is missing", key);
        return NULL;
    }
    struct written inner = {json, space, w->depth + 1, schema_place_key(b, w->at, key)};
    return inner.at ? type_read(b, &inner) : NULL;
}

static const struct schema_node *
items_read(struct build *b,
           const struct written *w,
           enum schema_type type,
           const char *key)
{
    struct schema_node *node = node_new(b, w, type, sizeof *node);
    if (!node)
        return NULL;
    node->items = inner_read(b, w, key, w->space);
    return node->items ? node : NULL;
}

static enum err_kind
order_read(struct build *b, const struct written *w, enum schema_order *ret_order)
{
    static const char *const words[] = {
        [SCHEMA_ASCENDING] = "ascending",
        [SCHEMA_DESCENDING] = "descending",
        [SCHEMA_IGNORE] = "ignore",
    };
    const json_t *json = json_object_get(w->json, "order");
    if (!json)
        return ERR_OK;
    for (int i = SCHEMA_ASCENDING; i <= SCHEMA_IGNORE; i++)
        if (slice_is(schema_json_text(json), words[i])) {
            *ret_order = (enum schema_order)i;
            return ERR_OK;
        }
    return schema_refuse(b, w->at, "\"order\" is ascending, descending or ignore");
}

/* A misspelt value here would silently change what counts as equal. */
static enum err_kind
marks_read(struct build *b, const struct written *w, struct schema_field *field)
{
    const json_t *diff = json_object_get(w->json, "heddle.diff");
    const json_t *identity = json_object_get(w->json, "heddle.identity");
    field->diff_ignore = diff != NULL;
    field->identity = json_is_true(identity);
    if (diff && !slice_is(schema_json_text(diff), "ignore"))
        return schema_refuse(b, w->at, "\"heddle.diff\" is \"ignore\" or left out");
    if (identity && !json_is_boolean(identity))
        return schema_refuse(b, w->at, "\"heddle.identity\" is true or false");
    return ERR_OK;
}

static enum err_kind
field_read(struct build *b, const struct written *w, struct schema_field *field)
{
    struct slice name = attribute_text(w->json, "name");
    if (!is_name(name))
        return schema_refuse(b, w->at,
                             "field \"%s\" wants a \"name\" of letters, digits and _, "
                             "not beginning with a digit",
                             schema_quote(name).text);
    field->name = schema_keep(b, name).data;
    if (!field->name || doc_read(b, w->json, &field->doc) ||
        aliases_read(b, w, NULL, &field->aliases, &field->n_aliases) ||
        order_read(b, w, &field->order) || marks_read(b, w, field))
        return ERR_RECORD;
    field->type = inner_read(b, w, "type", w->space);
    return field->type ? ERR_OK : ERR_RECORD;
}

/* The node counts its fields only when all of them are there. */
static enum err_kind
fields_read(struct build *b, const struct written *w, const json_t *json, struct draft *d)
{
    CLEANUP(set_done) void *seen = NULL;
    size_t n = json_array_size(json);
    struct schema_field *fields = schema_take(b, n, sizeof *fields);
    d->defaults = arena_calloc(&b->scratch, n, sizeof(json_t *));
    d->at = schema_place_key(b, w->at, "fields");
    if (!fields || !d->at)
        return ERR_RECORD;
    if (!d->defaults)
        return err_no_memory(b->err, "the defaults of a schema");
    for (size_t i = 0; i < n; i++) {
        struct written field = {json_array_get(json, i), d->node.space, w->depth,
                                schema_place_index(b, d->at, i)};
        if (!field.at || field_read(b, &field, &fields[i]) ||
            add_once(b, &seen, fields[i].name, "field", field.at))
            return ERR_RECORD;
        d->defaults[i] = json_object_get(field.json, "default");
    }
    d->node.fields = fields;
    d->node.n_fields = n;
    return ERR_OK;
}

static const struct schema_node *
record_read(struct build *b, const struct written *w)
{
    struct schema_node *node = named_new(b, w, SCHEMA_RECORD, sizeof(struct draft));
    if (!node)
        return NULL;
    struct draft *draft = (struct draft *)node;
    const json_t *fields = json_object_get(w->json, "fields");
    if (!json_is_array(fields)) {
        schema_refuse(b, w->at, "record wants \"fields\", an array");
        return NULL;
    }
    if (fields_read(b, w, fields, draft))
        return NULL;
    *b->last = draft;
    b->last = &draft->next;
    return node;
}

/* Named types may stand beside each other, others once per kind. */
static enum err_kind
branch_check(struct build *b,
             const struct schema_node *branch,
             void **seen_names,
             bool *seen_types,
             const struct place *at)
{
    if (branch->type == SCHEMA_UNION)
        return schema_refuse(b, at, "a union stands directly in a union");
    if (branch->name)
        return add_once(b, seen_names, branch->name, "branch", at);
    if (seen_types[branch->type])
        return schema_refuse(b, at, "branch \"%s\" is there already",
                             type_names[branch->type]);
    seen_types[branch->type] = true;
    return ERR_OK;
}

static const struct schema_node *
union_read(struct build *b, const struct written *w)
{
    CLEANUP(set_done) void *seen_names = NULL;
    bool seen_types[N_TYPES] = {false};
    struct schema_node *node = node_new(b, w, SCHEMA_UNION, sizeof *node);
    size_t n = json_array_size(w->json);
    const struct schema_node **branches = schema_take(b, n, sizeof(void *));
    if (!node || !branches)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        struct written branch = {json_array_get(w->json, i), w->space, w->depth + 1,
                                 schema_place_index(b, w->at, i)};
        branches[i] = branch.at ? type_read(b, &branch) : NULL;
        if (!branches[i] ||
            branch_check(b, branches[i], &seen_names, seen_types, branch.at))
            return NULL;
    }
    node->branches = branches;
    node->n_branches = n;
    return node;
}

/*
 * A bare name means the enclosing namespace, then none: a type without a namespace can't
 * be written otherwise inside one, and Avro's Java library relies on it.
 */
static const struct schema_node *
reference_read(struct build *b, const struct written *w, struct slice name)
{
    const struct schema_node *node = NULL;
    if (is_dotted(name)) {
        const char *full = full_name(b, name, w->space);
        const char *bare = full ? full_name(b, name, "") : NULL;
        if (!bare)
            return NULL;
        node = find_name(b, full);
        node = node ? node : find_name(b, bare);
    }
    if (!node)
        schema_refuse(b, w->at,
                      "\"%s\" is no type; define a named type before its first use",
                      schema_quote(name).text);
    return node;
}

static const struct schema_node *
by_word_read(struct build *b, const struct written *w, struct slice word)
{
    for (int type = SCHEMA_NULL; type <= SCHEMA_STRING; type++)
        if (slice_is(word, type_names[type]))
            return node_new(b, w, (enum schema_type)type, sizeof(struct schema_node));
    return reference_read(b, w, word);
}

static const struct schema_node *
object_read(struct build *b, const struct written *w)
{
    struct slice word = attribute_text(w->json, "type");
    if (slice_is(word, "record") || slice_is(word, "error"))
        return record_read(b, w);
    if (slice_is(word, "enum"))
        return enum_read(b, w);
    if (slice_is(word, "fixed"))
        return fixed_read(b, w);
    if (slice_is(word, "array"))
        return items_read(b, w, SCHEMA_ARRAY, "items");
    if (slice_is(word, "map"))
        return items_read(b, w, SCHEMA_MAP, "values");
    if (word.data)
        return by_word_read(b, w, word);
    schema_refuse(b, w->at, "a type's \"type\" is the name of one, as text");
    return NULL;
}

static const struct schema_node *
type_read(struct build *b, const struct written *w)
{
    if (w->depth >= SCHEMA_MAX_DEPTH)
        schema_refuse(b, w->at, "more than %d types within each other", SCHEMA_MAX_DEPTH);
    else if (json_is_string(w->json))
        return by_word_read(b, w, schema_json_text(w->json));
    else if (json_is_array(w->json))
        return union_read(b, w);
    else if (json_is_object(w->json))
        return object_read(b, w);
    else
        schema_refuse(b, w->at, "a type is a name, an object or an array");
    return NULL;
}

/* The whole. */

static void
json_drop(json_t **json)
{
    json_decref(*json);
}

static json_t *
json_read(struct slice text, struct err *err)
{
    if (!text.data || text.len > SCHEMA_MAX_BYTES) {
        err_set(err, ERR_RECORD, "schema_invalid",
                "schema of %zu bytes; it is JSON text of at most %d", text.len,
                SCHEMA_MAX_BYTES);
        return NULL;
    }
    json_error_t why;
    json_t *json =
        json_loadb(text.data, text.len,
                   JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (json)
        return json;
    /* Out of memory, jansson says nothing at all, or takes a token for a broken one. */
    if (!why.text[0])
        err_no_memory(err, "the JSON of a schema");
    else
        err_set(err, ERR_RECORD, "schema_invalid",
                "schema at $, line %d column %d: not JSON: %s", why.line, why.column,
                schema_quote(slice_of(why.text)).text);
    return NULL;
}

static void
build_done(struct build *b)
{
    tdestroy(b->names, keep_item);
    arena_done(&b->scratch);
}

static enum err_kind
tree_read(struct schema *schema, const json_t *json, struct err *err)
{
    CLEANUP(build_done) struct build b = {.schema = schema, .err = err};
    b.last = &b.drafts;
    const struct place root = {0};
    const struct written whole = {json, "", 0, &root};
    schema->root = type_read(&b, &whole);
    if (!schema->root || schema_read_defaults(&b))
        return ERR_RECORD;
    return schema_identify(&b);
}

CLEANUP_DEFINE(struct schema, schema_free);

struct schema *
schema_parse(struct slice text, struct err *err)
{
    CLEANUP(json_drop) json_t *json = json_read(text, err);
    if (!json)
        return NULL;
    CLEANUP(schema_freep) struct schema *schema = calloc(1, sizeof *schema);
    if (!schema) {
        err_no_memory(err, "a schema");
        return NULL;
    }
    arena_init(&schema->arena, SCHEMA_MAX_MEMORY);
    schema->text = arena_copy(&schema->arena, text);
    if (!schema->text.data) {
        err_no_memory(err, "a schema");
        return NULL;
    }
    if (tree_read(schema, json, err))
        return NULL;
    struct schema *done = schema;
    schema = NULL;
    return done;
}

void
schema_free(struct schema *schema)
{
    if (!schema)
        return;
    arena_done(&schema->arena);
    free(schema);
}

const struct schema_node *
schema_root(const struct schema *schema)
{
    return schema->root;
}

size_t
schema_node_count(const struct schema *schema)
{
    return schema->n_nodes;
}

const char *
schema_name(const struct schema *schema)
{
    const struct schema_node *root = schema->root;
    return root->name ? root->name : type_names[root->type];
}

struct slice
schema_canonical(const struct schema *schema)
{
    return schema->canonical;
}

uint64_t
schema_crc64(const struct schema *schema)
{
    return schema->crc64;
}

void
schema_sha256(const struct schema *schema, uint8_t ret_digest[SCHEMA_SHA256_BYTES])
{
    memcpy(ret_digest, schema->sha256, SCHEMA_SHA256_BYTES);
}

struct slice
schema_text(const struct schema *schema)
{
    return schema->text;
}
