/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the defaults of record fields and keeps them as Avro bodies. */
#include "schema_build.h"

#include "cleanup.h"

#include <float.h>
#include <limits.h>

/* A value inside a default: its JSON, the type it should have, where it stands. */
struct value {
    const json_t *json;
    const struct schema_node *type;
    const struct place *at;
    size_t depth;
};

static enum err_kind value_write(struct build *b, const struct value *v, struct buf *out);

static enum err_kind
refuse_type(struct build *b, const struct value *v, const char *wanted)
{
    return schema_refuse(b, v->at, "a default of type %s wants %s",
                         v->type->name ? v->type->name : schema_type_name(v->type->type),
                         wanted);
}

static void
number_write(struct buf *out, int64_t number)
{
    uint64_t rest = ((uint64_t)number << 1) ^ (number < 0 ? UINT64_MAX : 0);
    for (; rest > 0x7F; rest >>= 7)
        buf_add_byte(out, (char)(0x80 | (rest & 0x7F)));
    buf_add_byte(out, (char)rest);
}

/* Avro's floats are little-endian whatever the machine's order is. */
static void
bits_write(struct buf *out, uint64_t bits, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        buf_add_byte(out, (char)(bits >> (8 * i) & 0xFF));
}

static void
text_write(struct buf *out, struct slice text)
{
    number_write(out, (int64_t)text.len);
    buf_add_slice(out, text);
}

static enum err_kind
boolean_write(struct build *b, const struct value *v, struct buf *out)
{
    if (!json_is_boolean(v->json))
        return refuse_type(b, v, "true or false");
    buf_add_byte(out, json_is_true(v->json) ? 1 : 0);
    return ERR_OK;
}

static enum err_kind
integer_write(struct build *b, const struct value *v, struct buf *out)
{
    json_int_t number = json_integer_value(v->json);
    bool fits =
        v->type->type == SCHEMA_LONG || (number >= INT32_MIN && number <= INT32_MAX);
    if (!json_is_integer(v->json) || !fits)
        return refuse_type(b, v, "an integer in its range, without point or exponent");
    number_write(out, number);
    return ERR_OK;
}

static enum err_kind
real_write(struct build *b, const struct value *v, struct buf *out)
{
    double number = json_number_value(v->json);
    bool is_float = v->type->type == SCHEMA_FLOAT;
    const double float_max = (double)FLT_MAX;
    if (!json_is_number(v->json) ||
        (is_float && (number > float_max || number < -float_max)))
        return refuse_type(b, v, "a number in its range");
    uint64_t bits = 0;
    if (is_float) {
        float narrow = (float)number;
        uint32_t narrow_bits;
        memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
        bits = narrow_bits;
    } else {
        memcpy(&bits, &number, sizeof bits);
    }
    bits_write(out, bits, is_float ? 4 : 8);
    return ERR_OK;
}

static enum err_kind
string_write(struct build *b, const struct value *v, struct buf *out)
{
    if (!json_is_string(v->json))
        return refuse_type(b, v, "text");
    text_write(out, schema_json_text(v->json));
    return ERR_OK;
}

/* Code points 0 to 255 stand for the bytes; the JSON reader has vetted the UTF-8. */
static bool
bytes_of_text(struct slice text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char lead = (unsigned char)text.data[i];
        if (lead < 0x80) {
            buf_add_byte(out, (char)lead);
            continue;
        }
        if (lead > 0xC3)
            return false;
        unsigned char tail = (unsigned char)text.data[++i];
        buf_add_byte(out, (char)((lead & 0x03) << 6 | (tail & 0x3F)));
    }
    return true;
}

static enum err_kind
bytes_write(struct build *b, const struct value *v, struct buf *out)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    if (!json_is_string(v->json) || !bytes_of_text(schema_json_text(v->json), &bytes))
        return refuse_type(b, v, "text of the characters U+0000 to U+00FF");
    enum err_kind kind = buf_check(&bytes, "a default", b->err);
    if (kind)
        return kind;
    if (v->type->type == SCHEMA_BYTES)
        number_write(out, (int64_t)bytes.len);
    else if (bytes.len != v->type->fixed_size)
        return refuse_type(b, v, "as many characters as its size");
    buf_add_slice(out, buf_slice(&bytes));
    return ERR_OK;
}

static enum err_kind
symbol_write(struct build *b, const struct value *v, struct buf *out)
{
    struct slice symbol = schema_json_text(v->json);
    for (size_t i = 0; i < v->type->n_symbols; i++)
        if (slice_is(symbol, v->type->symbols[i])) {
            number_write(out, (int64_t)i);
            return ERR_OK;
        }
    return refuse_type(b, v, "one of its symbols");
}

static enum err_kind
array_write(struct build *b, const struct value *v, struct buf *out)
{
    if (!json_is_array(v->json))
        return refuse_type(b, v, "an array");
    size_t n = json_array_size(v->json);
    if (n)
        number_write(out, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        struct value item = {json_array_get(v->json, i), v->type->items,
                             schema_place_index(b, v->at, i), v->depth + 1};
        if (!item.at || value_write(b, &item, out))
            return ERR_RECORD;
    }
    number_write(out, 0);
    return ERR_OK;
}

static enum err_kind
map_write(struct build *b, const struct value *v, struct buf *out)
{
    if (!json_is_object(v->json))
        return refuse_type(b, v, "an object");
    size_t n = json_object_size(v->json);
    if (n)
        number_write(out, (int64_t)n);
    /* The iterator reads only; jansson has no const one. */
    json_t *object = (json_t *)(uintptr_t)v->json;
    size_t i = 0;
    for (void *at = json_object_iter(object); at;
         at = json_object_iter_next(object, at)) {
        struct value item = {json_object_iter_value(at), v->type->items,
                             schema_place_index(b, v->at, i++), v->depth + 1};
        text_write(out, slice_of(json_object_iter_key(at)));
        if (!item.at || value_write(b, &item, out))
            return ERR_RECORD;
    }
    number_write(out, 0);
    return ERR_OK;
}

/* A field that the default leaves out takes its own default. */
static enum err_kind
record_write(struct build *b, const struct value *v, struct buf *out)
{
    if (!json_is_object(v->json))
        return refuse_type(b, v, "an object");
    const struct draft *draft = (const struct draft *)v->type;
    for (size_t i = 0; i < v->type->n_fields; i++) {
        const struct schema_field *field = &v->type->fields[i];
        const json_t *json = json_object_get(v->json, field->name);
        struct value value = {json ? json : draft->defaults[i], field->type,
                              schema_place_key(b, v->at, field->name), v->depth + 1};
        if (!value.at)
            return ERR_FATAL;
        if (!value.json)
            return schema_refuse(b, value.at,
                                 "default of %s lacks this field, which has "
                                 "no default itself",
                                 v->type->name);
        if (value_write(b, &value, out))
            return ERR_RECORD;
    }
    return ERR_OK;
}

/* Avro 1.11: the default of a union is a value of its first branch. */
static enum err_kind
union_write(struct build *b, const struct value *v, struct buf *out)
{
    if (v->type->n_branches == 0)
        return refuse_type(b, v, "a branch, and this union has none");
    struct value value = *v;
    value.type = v->type->branches[0];
    number_write(out, 0);
    return value_write(b, &value, out);
}

static enum err_kind
typed_write(struct build *b, const struct value *v, struct buf *out)
{
    switch (v->type->type) {
    case SCHEMA_NULL:
        return json_is_null(v->json) ? ERR_OK : refuse_type(b, v, "null");
    case SCHEMA_BOOLEAN:
        return boolean_write(b, v, out);
    case SCHEMA_INT:
    case SCHEMA_LONG:
        return integer_write(b, v, out);
    case SCHEMA_FLOAT:
    case SCHEMA_DOUBLE:
        return real_write(b, v, out);
    case SCHEMA_BYTES:
    case SCHEMA_FIXED:
        return bytes_write(b, v, out);
    case SCHEMA_STRING:
        return string_write(b, v, out);
    case SCHEMA_ENUM:
        return symbol_write(b, v, out);
    case SCHEMA_RECORD:
        return record_write(b, v, out);
    case SCHEMA_ARRAY:
        return array_write(b, v, out);
    case SCHEMA_MAP:
        return map_write(b, v, out);
    case SCHEMA_UNION:
        return union_write(b, v, out);
    }
    return refuse_type(b, v, "a known type");
}

/* Records may leave out fields whose defaults leave out fields: count what unfolds. */
static enum err_kind
value_write(struct build *b, const struct value *v, struct buf *out)
{
    if (v->depth >= SCHEMA_MAX_DEFAULT_DEPTH)
        return schema_refuse(b, v->at, "default of more than %d values within each other",
                             SCHEMA_MAX_DEFAULT_DEPTH);
    if (b->n_values++ >= SCHEMA_MAX_DEFAULT_VALUES)
        return schema_refuse(b, v->at, "more than %d values in all defaults",
                             SCHEMA_MAX_DEFAULT_VALUES);
    return typed_write(b, v, out);
}

static enum err_kind
default_read(struct build *b, const struct draft *draft, size_t i, struct buf *body)
{
    /* The tree is ours until it is handed out. */
    struct schema_field *field = (struct schema_field *)(uintptr_t)&draft->node.fields[i];
    const struct place *at = schema_place_index(b, draft->at, i);
    struct value value = {draft->defaults[i], field->type,
                          schema_place_key(b, at, "default"), 0};
    if (!value.at || value_write(b, &value, body))
        return ERR_RECORD;
    b->n_default_bytes += body->len;
    if (body->no_memory)
        return buf_check(body, "the default of a field", b->err);
    if (body->failed || b->n_default_bytes > SCHEMA_MAX_DEFAULT_BYTES)
        return schema_refuse(b, value.at, "more than %d bytes of defaults",
                             SCHEMA_MAX_DEFAULT_BYTES);
    field->default_body = schema_keep(b, buf_slice(body));
    return field->default_body.data ? ERR_OK : ERR_RECORD;
}

enum err_kind
schema_read_defaults(struct build *b)
{
    CLEANUP(buf_done) struct buf body;
    buf_init(&body, SCHEMA_MAX_DEFAULT_BYTES);
    for (const struct draft *draft = b->drafts; draft; draft = draft->next)
        for (size_t i = 0; i < draft->node.n_fields; i++) {
            buf_reset(&body);
            if (draft->defaults[i] && default_read(b, draft, i, &body))
                return ERR_RECORD;
        }
    return ERR_OK;
}
