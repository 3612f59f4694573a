/* SPDX-License-Identifier: Apache-2.0 */
/* Struct to Avro's JSON encoding and back. */
#include "cleanup.h"
#include "codec_program.h"
#include "utf8.h"
#include "varint.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

/* ---- Writing --------------------------------------------------------------------- */

struct printer {
    const struct codec *codec;
    struct buf *out;
    struct path path;
    size_t depth;
    struct err *err;
};

static enum err_kind print_row(struct printer *printer,
                               const struct field *row,
                               const struct schema_node *node,
                               const char *base);

static enum err_kind
unprintable(struct printer *printer, const char *what)
{
    return err_set(printer->err, ERR_RECORD, "body_invalid", "can't print field %s: %s",
                   printer->path.len ? printer->path.text : "(root)", what);
}

static void
print_char(struct buf *out, unsigned char byte, bool is_text)
{
    if (byte == '"' || byte == '\\') {
        buf_add_byte(out, '\\');
        buf_add_byte(out, (char)byte);
    } else if (byte == '\n') {
        buf_add_str(out, "\\n");
    } else if (byte == '\r') {
        buf_add_str(out, "\\r");
    } else if (byte == '\t') {
        buf_add_str(out, "\\t");
    } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !is_text)) {
        buf_addf(out, "\\u%04x", byte);
    } else {
        buf_add_byte(out, (char)byte);
    }
}

static bool
is_verbatim(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

/* Text as it is; bytes as ISO 8859-1, what is not ASCII escaped. */
static void
print_string(struct buf *out, const char *data, size_t len, bool is_text)
{
    size_t done = 0;
    buf_add_byte(out, '"');
    for (size_t i = 0; i < len; i++) {
        if (is_verbatim((unsigned char)data[i]))
            continue;
        buf_add(out, data + done, i - done);
        print_char(out, (unsigned char)data[i], is_text);
        done = i + 1;
    }
    buf_add(out, data + done, len - done);
    buf_add_byte(out, '"');
}

static enum err_kind
print_slice(struct printer *printer, const char *at, bool is_text)
{
    struct slice text;
    memcpy(&text, at, sizeof text);
    if (!text.data)
        return unprintable(printer, "it has no value, and its schema no null");
    if (is_text && !utf8_valid(text.data, text.len))
        return unprintable(printer, "it is not UTF-8");
    print_string(printer->out, text.data, text.len, is_text);
    return ERR_OK;
}

/*
 * As many digits as every number of the type keeps: fewer are never shorter, as %g drops
 * zeros at the end. Subnormal numbers keep fewer.
 */
static int
sure_digits(double value, bool is_float)
{
    double least = is_float ? (double)FLT_MIN : DBL_MIN;
    if (value != 0 && fabs(value) < least)
        return 1;
    return is_float ? FLT_DIG : DBL_DIG;
}

/* The shortest digits that read back as the same number, with a mark that it is real. */
static void
print_real(struct buf *out, double value, bool is_float)
{
    if (!isfinite(value)) {
        buf_add_str(out, isnan(value) ? "\"NaN\""
                         : value > 0  ? "\"Infinity\""
                                      : "\"-Infinity\"");
        return;
    }
    char text[40];
    int most = is_float ? 9 : 17;
    for (int digits = sure_digits(value, is_float); digits <= most; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (back == value || (is_float && (float)back == (float)value))
            break;
    }
    char *comma = strchr(text, ',');
    if (comma)
        *comma = '.';
    buf_add_str(out, text);
    if (!strpbrk(text, ".e"))
        buf_add_str(out, ".0");
}

static enum err_kind
print_record(struct printer *printer,
             const struct record_type *type,
             const struct schema_node *node,
             const char *base)
{
    const struct layout *layout = codec_layout(printer->codec, type, node);
    buf_add_byte(printer->out, '{');
    for (size_t i = 0; i < type->n_fields; i++) {
        size_t len = path_push(&printer->path, ".", type->fields[i].name);
        if (i)
            buf_add_byte(printer->out, ',');
        print_string(printer->out, type->fields[i].name, strlen(type->fields[i].name),
                     true);
        buf_add_byte(printer->out, ':');
        if (print_row(printer, &type->fields[i], layout->fields[i]->type, base))
            return ERR_RECORD;
        path_pop(&printer->path, len);
    }
    buf_add_byte(printer->out, '}');
    return ERR_OK;
}

static enum err_kind
print_items(struct printer *printer,
            const struct field *row,
            const struct schema_node *node,
            struct list list)
{
    bool is_map = node->type == SCHEMA_MAP;
    buf_add_byte(printer->out, is_map ? '{' : '[');
    for (size_t i = 0; i < list.n; i++) {
        const char *item = (const char *)list.items + i * row->size;
        if (i)
            buf_add_byte(printer->out, ',');
        if (is_map && print_slice(printer, item, true))
            return ERR_RECORD;
        if (is_map)
            buf_add_byte(printer->out, ':');
        if (print_row(printer, row->of, node->items, item))
            return ERR_RECORD;
    }
    buf_add_byte(printer->out, is_map ? '}' : ']');
    return ERR_OK;
}

static enum err_kind
print_list(struct printer *printer,
           const struct field *row,
           const struct schema_node *node,
           const char *at)
{
    struct list list;
    memcpy(&list, at, sizeof list);
    if (list.n && !list.items)
        return unprintable(printer, "it counts items and has none");
    if (printer->depth == printer->codec->limits.max_depth)
        return unprintable(printer, "it nests deeper than the codec's limit");
    size_t len = path_push(&printer->path, "", "[]");
    printer->depth++;
    enum err_kind kind = print_items(printer, row, node, list);
    printer->depth--;
    if (!kind)
        path_pop(&printer->path, len);
    return kind;
}

static enum err_kind
print_enum(struct printer *printer, const struct schema_node *node, const char *at)
{
    int32_t position;
    memcpy(&position, at, sizeof position);
    if (position < 0 || (size_t)position >= node->n_symbols)
        return unprintable(printer, "its enum has no symbol at that position");
    const char *symbol = node->symbols[position];
    print_string(printer->out, symbol, strlen(symbol), true);
    return ERR_OK;
}

static enum err_kind
print_number(struct printer *printer, enum schema_type type, const char *at)
{
    int32_t small = 0;
    int64_t number = 0;
    float real = 0;
    double wide = 0;
    if (type == SCHEMA_INT) {
        memcpy(&small, at, sizeof small);
        buf_addf(printer->out, "%ld", (long)small);
    } else if (type == SCHEMA_LONG) {
        memcpy(&number, at, sizeof number);
        buf_addf(printer->out, "%lld", (long long)number);
    } else if (type == SCHEMA_FLOAT) {
        memcpy(&real, at, sizeof real);
        print_real(printer->out, (double)real, true);
    } else {
        memcpy(&wide, at, sizeof wide);
        print_real(printer->out, wide, false);
    }
    return ERR_OK;
}

static const char *
branch_name(const struct schema_node *node)
{
    return node->name ? node->name : schema_type_name(node->type);
}

static enum err_kind print_plain(struct printer *printer,
                                 const struct field *row,
                                 const struct schema_node *node,
                                 const char *base);

/* A value of a union: {"type": value}, or null. */
static enum err_kind
print_branch(struct printer *printer,
             const struct field *row,
             const struct schema_node *node,
             const char *base)
{
    if (node->type == SCHEMA_NULL) {
        buf_add_str(printer->out, "null");
        return ERR_OK;
    }
    const char *name = branch_name(node);
    buf_add_byte(printer->out, '{');
    print_string(printer->out, name, strlen(name), true);
    buf_add_byte(printer->out, ':');
    enum err_kind kind = print_plain(printer, row, node, base);
    buf_add_byte(printer->out, '}');
    return kind;
}

static enum err_kind
print_union(struct printer *printer,
            const struct field *row,
            const struct schema_node *node,
            const char *at)
{
    int32_t tag;
    memcpy(&tag, at, sizeof tag);
    for (size_t i = 0; i < row->n_of; i++)
        if (row->of[i].tag == tag)
            return print_branch(printer, &row->of[i], node->branches[i], at);
    return unprintable(printer, "no branch of its union has that tag");
}

static enum err_kind
print_plain(struct printer *printer,
            const struct field *row,
            const struct schema_node *node,
            const char *base)
{
    const char *at = base + row->offset;
    switch (node->type) {
    case SCHEMA_NULL:
        buf_add_str(printer->out, "null");
        return ERR_OK;
    case SCHEMA_BOOLEAN:
        buf_add_str(printer->out, *at ? "true" : "false");
        return ERR_OK;
    case SCHEMA_INT:
    case SCHEMA_LONG:
    case SCHEMA_FLOAT:
    case SCHEMA_DOUBLE:
        return print_number(printer, node->type, at);
    case SCHEMA_BYTES:
    case SCHEMA_STRING:
        return print_slice(printer, at, node->type == SCHEMA_STRING);
    case SCHEMA_FIXED:
        print_string(printer->out, at, node->fixed_size, false);
        return ERR_OK;
    case SCHEMA_ENUM:
        return print_enum(printer, node, at);
    case SCHEMA_RECORD:
        return print_record(printer, row->record, node, at);
    case SCHEMA_ARRAY:
    case SCHEMA_MAP:
        return print_list(printer, row, node, at);
    case SCHEMA_UNION:
        return print_union(printer, row, node, at);
    }
    return ERR_OK;
}

static bool
has_value(const struct field *row, const char *base)
{
    if (!field_is_slice(row))
        return base[row->present] != 0;
    struct slice text;
    memcpy(&text, base + row->offset, sizeof text);
    return text.data != NULL;
}

static enum err_kind
print_row(struct printer *printer,
          const struct field *row,
          const struct schema_node *node,
          const char *base)
{
    if (!row->nullable)
        return print_plain(printer, row, node, base);
    if (has_value(row, base))
        return print_branch(printer, row, other_branch(node), base);
    buf_add_str(printer->out, "null");
    return ERR_OK;
}

enum err_kind
codec_to_json(const struct codec *codec,
              const void *value,
              struct buf *out,
              struct err *err)
{
    struct printer printer = {.codec = codec, .out = out, .err = err};
    size_t before = out->len;
    enum err_kind kind =
        print_record(&printer, codec->type, schema_root(codec->schema), value);
    if (!kind)
        kind = buf_check(out, "the record's JSON", err);
    if (kind)
        out->len = before;
    return kind;
}

/* ---- Reading: JSON to a body of our own schema, and that through our own plan ---- */

struct parser {
    struct buf body;
    struct path path;
    struct err *err;
};

static enum err_kind
parse_value(struct parser *parser, const struct schema_node *node, const json_t *json);

static const char *
json_type_name(const json_t *json)
{
    static const char *const names[] = {"an object", "an array", "a string", "an integer",
                                        "a real",    "true",     "false",    "null"};
    return names[json_typeof(json)];
}

static enum err_kind
unfit(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    return err_set(parser->err, ERR_RECORD, "body_invalid",
                   "JSON of field %s: %s is no value of %s",
                   parser->path.len ? parser->path.text : "(root)", json_type_name(json),
                   branch_name(node));
}

static void
add_long(struct buf *body, int64_t value)
{
    char bytes[VARINT_MAX_BYTES];
    buf_add(body, bytes, (size_t)(varint_put(bytes, value) - bytes));
}

static void
add_text(struct buf *body, const char *text, size_t len)
{
    add_long(body, (int64_t)len);
    buf_add(body, text, len);
}

static enum err_kind
parse_integer(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    json_int_t value = json_integer_value(json);
    if (!json_is_integer(json) ||
        (node->type == SCHEMA_INT && (value < INT32_MIN || value > INT32_MAX)))
        return unfit(parser, node, json);
    add_long(&parser->body, value);
    return ERR_OK;
}

static bool
real_of(const json_t *json, double *ret)
{
    const char *text = json_is_string(json) ? json_string_value(json) : "";
    if (json_is_number(json))
        *ret = json_number_value(json);
    else if (strcmp(text, "NaN") == 0)
        *ret = (double)NAN;
    else if (strcmp(text, "Infinity") == 0)
        *ret = (double)INFINITY;
    else if (strcmp(text, "-Infinity") == 0)
        *ret = -(double)INFINITY;
    else
        return false;
    return true;
}

static enum err_kind
parse_real(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    double value = 0;
    bool is_real = real_of(json, &value);
    bool fits =
        node->type == SCHEMA_DOUBLE || !isfinite(value) || fabs(value) <= (double)FLT_MAX;
    if (!is_real || !fits)
        return unfit(parser, node, json);
    float narrow = (float)value;
    if (node->type == SCHEMA_FLOAT)
        buf_add(&parser->body, &narrow, sizeof narrow);
    else
        buf_add(&parser->body, &value, sizeof value);
    return ERR_OK;
}

static enum err_kind
parse_text(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    if (!json_is_string(json))
        return unfit(parser, node, json);
    add_text(&parser->body, json_string_value(json), json_string_length(json));
    return ERR_OK;
}

/* Code points up to U+00FF as bytes. */
static bool
latin_of(const char *text, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x80) {
            if (byte > 0xC3)
                return false;
            byte =
                (unsigned char)((byte & 0x03) << 6 | ((unsigned char)text[++i] & 0x3F));
        }
        buf_add_byte(out, (char)byte);
    }
    return true;
}

static enum err_kind
parse_bytes(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    if (!json_is_string(json) ||
        !latin_of(json_string_value(json), json_string_length(json), &bytes))
        return unfit(parser, node, json);
    if (node->type == SCHEMA_FIXED && bytes.len != node->fixed_size)
        return unfit(parser, node, json);
    enum err_kind kind = buf_check(&bytes, "a value of the JSON", parser->err);
    if (kind)
        return kind;
    if (node->type == SCHEMA_BYTES)
        add_long(&parser->body, (int64_t)bytes.len);
    buf_add_slice(&parser->body, buf_slice(&bytes));
    return ERR_OK;
}

static enum err_kind
parse_enum(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    for (size_t i = 0; json_is_string(json) && i < node->n_symbols; i++)
        if (strcmp(json_string_value(json), node->symbols[i]) == 0) {
            add_long(&parser->body, (int64_t)i);
            return ERR_OK;
        }
    return unfit(parser, node, json);
}

static enum err_kind
unknown_field(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        size_t i = 0;
        while (i < node->n_fields && strcmp(node->fields[i].name, key) != 0)
            i++;
        if (i == node->n_fields)
            return err_set(parser->err, ERR_RECORD, "body_invalid",
                           "JSON of field %s: %s has no field %s",
                           parser->path.len ? parser->path.text : "(root)", node->name,
                           key);
    }
    return ERR_OK;
}

static enum err_kind
parse_record(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    if (!json_is_object(json))
        return unfit(parser, node, json);
    for (size_t i = 0; i < node->n_fields; i++) {
        const struct schema_field *field = &node->fields[i];
        const json_t *value = json_object_get(json, field->name);
        size_t len = path_push(&parser->path, ".", field->name);
        if (!value && !field->default_body.data)
            return err_set(parser->err, ERR_RECORD, "body_invalid",
                           "JSON of field %s: it is missing and has no default",
                           parser->path.text);
        enum err_kind kind = ERR_OK;
        if (value)
            kind = parse_value(parser, field->type, value);
        else
            buf_add_slice(&parser->body, field->default_body);
        if (kind)
            return kind;
        path_pop(&parser->path, len);
    }
    return unknown_field(parser, node, json);
}

static enum err_kind
parse_array(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    size_t i;
    const json_t *item;
    if (!json_is_array(json))
        return unfit(parser, node, json);
    if (json_array_size(json))
        add_long(&parser->body, (int64_t)json_array_size(json));
    json_array_foreach(json, i, item)
    {
        enum err_kind kind = parse_value(parser, node->items, item);
        if (kind)
            return kind;
    }
    add_long(&parser->body, 0);
    return ERR_OK;
}

static enum err_kind
parse_map(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    const char *key;
    json_t *item;
    if (!json_is_object(json))
        return unfit(parser, node, json);
    if (json_object_size(json))
        add_long(&parser->body, (int64_t)json_object_size(json));
    json_object_foreach((json_t *)(uintptr_t)json, key, item)
    {
        add_text(&parser->body, key, strlen(key));
        enum err_kind kind = parse_value(parser, node->items, item);
        if (kind)
            return kind;
    }
    add_long(&parser->body, 0);
    return ERR_OK;
}

static enum err_kind
parse_union(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    const char *name = "null";
    const json_t *value = json;
    if (json_is_object(json) && json_object_size(json) == 1) {
        void *only = json_object_iter((json_t *)(uintptr_t)json);
        name = json_object_iter_key(only);
        value = json_object_iter_value(only);
    } else if (!json_is_null(json)) {
        return unfit(parser, node, json);
    }
    for (size_t i = 0; i < node->n_branches; i++) {
        const struct schema_node *branch = node->branches[i];
        if (strcmp(branch_name(branch), name) == 0) {
            add_long(&parser->body, (int64_t)i);
            return parse_value(parser, branch, value);
        }
    }
    return err_set(parser->err, ERR_RECORD, "body_invalid",
                   "JSON of field %s: its union has no branch %s", parser->path.text,
                   name);
}

/* Calls itself no deeper than jansson nests, 2048. */
static enum err_kind
parse_value(struct parser *parser, const struct schema_node *node, const json_t *json)
{
    switch (node->type) {
    case SCHEMA_NULL:
        return json_is_null(json) ? ERR_OK : unfit(parser, node, json);
    case SCHEMA_BOOLEAN:
        if (!json_is_boolean(json))
            return unfit(parser, node, json);
        buf_add_byte(&parser->body, json_is_true(json));
        return ERR_OK;
    case SCHEMA_INT:
    case SCHEMA_LONG:
        return parse_integer(parser, node, json);
    case SCHEMA_FLOAT:
    case SCHEMA_DOUBLE:
        return parse_real(parser, node, json);
    case SCHEMA_BYTES:
    case SCHEMA_FIXED:
        return parse_bytes(parser, node, json);
    case SCHEMA_STRING:
        return parse_text(parser, node, json);
    case SCHEMA_ENUM:
        return parse_enum(parser, node, json);
    case SCHEMA_RECORD:
        return parse_record(parser, node, json);
    case SCHEMA_ARRAY:
        return parse_array(parser, node, json);
    case SCHEMA_MAP:
        return parse_map(parser, node, json);
    case SCHEMA_UNION:
        return parse_union(parser, node, json);
    }
    return ERR_OK;
}

static enum err_kind
decode_own(const struct codec *codec,
           const struct buf *body,
           struct arena *arena,
           void *ret_value,
           struct err *err)
{
    struct slice copy = arena_copy(arena, buf_slice(body));
    if (!copy.data)
        return err_no_memory(err, "the values of a JSON record");
    return codec_decode(codec->own, copy, arena, ret_value, err);
}

enum err_kind
codec_from_json(const struct codec *codec,
                struct slice json,
                struct arena *arena,
                void *ret_value,
                struct err *err)
{
    json_error_t where;
    json_t *root = json_loadb(json.data ? json.data : "", json.data ? json.len : 0,
                              JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &where);
    if (!root && json_error_code(&where) == json_error_out_of_memory)
        return err_no_memory(err, "a record's JSON");
    if (!root)
        return err_set(err, ERR_RECORD, "body_invalid", "JSON, byte %d: %s",
                       where.position, where.text);
    struct parser parser = {.err = err};
    enum err_kind kind = parse_value(&parser, schema_root(codec->schema), root);
    if (!kind)
        kind = buf_check(&parser.body, "the record", err);
    if (!kind)
        kind = decode_own(codec, &parser.body, arena, ret_value, err);
    buf_done(&parser.body);
    json_decref(root);
    return kind;
}
