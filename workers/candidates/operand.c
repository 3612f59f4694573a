/* SPDX-License-Identifier: Apache-2.0 */
/* Operands as text. */
#include "operand.h"

#include "amount.h"
#include "buf.h"
#include "cleanup.h"

#include <strings.h>

static const struct dtype {
    struct slice type;
    struct slice suffix;
} dtypes[] = {
    {{"c10::bfloat16", 13}, {"bf16", 4}},
    {{"bfloat16", 8}, {"bf16", 4}},
    {{"c10::half", 9}, {"fp16", 4}},
    {{"half", 4}, {"fp16", 4}},
    {{"float16", 7}, {"fp16", 4}},
    {{"float", 5}, {"fp32", 4}},
    {{"float32", 7}, {"fp32", 4}},
    {{"double", 6}, {"fp64", 4}},
    {{"float64", 7}, {"fp64", 4}},
    {{"int", 3}, {"i32", 3}},
    {{"int32", 5}, {"i32", 3}},
    {{"long", 4}, {"i64", 3}},
    {{"long int", 8}, {"i64", 3}},
    {{"int64", 5}, {"i64", 3}},
    {{"short", 5}, {"i16", 3}},
    {{"int16", 5}, {"i16", 3}},
    {{"char", 4}, {"i8", 2}},
    {{"int8", 4}, {"i8", 2}},
    {{"signed char", 11}, {"i8", 2}},
    {{"unsigned char", 13}, {"u8", 2}},
    {{"uint8", 5}, {"u8", 2}},
    {{"bool", 4}, {"bool", 4}},
    {{"c10::float8_e4m3fnuz", 20}, {"fp8_e4m3fnuz", 12}},
    {{"c10::float8_e4m3fn", 18}, {"fp8_e4m3fn", 10}},
    {{"c10::float8_e5m2", 16}, {"fp8_e5m2", 8}},
    {{"c10::float8_e5m2fnuz", 20}, {"fp8_e5m2fnuz", 12}},
};

struct slice
operand_dtype(struct slice type)
{
    type = amount_trim(type);
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (type.len == dtypes[i].type.len &&
            strncasecmp(type.data, dtypes[i].type.data, type.len) == 0)
            return dtypes[i].suffix;
    return SLICE("");
}

/* A whole number's text as it is printed; null for any other value. */
static struct slice
whole_text(struct json_value value)
{
    struct slice text = json_number(value);
    if (json_is_special(value) || (text.len && (memchr(text.data, '.', text.len) ||
                                                memchr(text.data, 'e', text.len) ||
                                                memchr(text.data, 'E', text.len))))
        return (struct slice){0};
    return slice_is(text, "-0") ? SLICE("0") : text;
}

/* "(d0,d1)"; a single one keeps its comma. False: no dims, or some that are no integers.
 */
static bool
add_dims(struct buf *out, struct json_value dims)
{
    struct json_iter iter = json_iter(dims);
    struct slice key;
    struct json_value dim;
    size_t n = 0;
    if (json_kind(dims) != JSON_ARRAY)
        return false;
    buf_add_byte(out, '(');
    for (; json_next(&iter, &key, &dim); n++) {
        struct slice text = whole_text(dim);
        if (!text.data)
            return false;
        if (n)
            buf_add_byte(out, ',');
        buf_add_slice(out, text);
    }
    buf_add_str(out, n == 1 ? ",)" : ")");
    return n > 0;
}

/* Appends the operand; false, and nothing is appended, when it is none. */
static bool
add_operand(struct buf *out, struct json_value dims, struct slice dtype)
{
    size_t before = out->len;
    if (!add_dims(out, dims)) {
        out->len = before;
        return false;
    }
    if (dtype.len) {
        buf_add_byte(out, ' ');
        buf_add_slice(out, dtype);
    }
    return true;
}

bool
operand_of(struct json_value dims,
           struct json_value type,
           struct arena *arena,
           struct operand *ret_operand)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct slice dtype = operand_dtype(json_string(type));
    *ret_operand = (struct operand){0};
    if (add_operand(&text, dims, dtype))
        *ret_operand = (struct operand){arena_copy(arena, buf_slice(&text)), dtype};
    return !text.failed && (text.len == 0 || ret_operand->text.data);
}

/* False: no memory. What is no JSON leaves JSON_NONE. */
static bool
read_text(struct slice text,
          struct arena *arena,
          struct json *doc,
          struct json_value *ret_value)
{
    struct err err = {0};
    *ret_value = JSON_NONE;
    if (!text.data)
        return true;
    if (json_read(doc, text, arena, &err) == ERR_OK) {
        *ret_value = json_root(doc);
        return true;
    }
    return strcmp(err.code, "json_invalid") == 0 || strcmp(err.code, "json_empty") == 0;
}

/* The operands in the making: `text` of an item is its length until all are joined. */
struct joint {
    struct buf text;
    struct operand *items;
    size_t *begins;
    size_t n;
};

static void
add_item(struct joint *joint, struct json_value dims, struct slice dtype)
{
    size_t before = joint->text.len;
    if (joint->n)
        buf_add_str(&joint->text, "<br>");
    size_t begin = joint->text.len;
    if (!add_operand(&joint->text, dims, dtype)) {
        joint->text.len = before;
        return;
    }
    joint->begins[joint->n] = begin;
    joint->items[joint->n++] = (struct operand){{NULL, joint->text.len - begin}, dtype};
}

static void
add_items(struct joint *joint, struct json_value dims, struct json_value types)
{
    struct json_iter iter = json_iter(dims);
    struct json_iter type_iter = json_iter(types);
    bool typed = json_kind(types) == JSON_ARRAY;
    struct slice key;
    struct json_value item;
    while (json_next(&iter, &key, &item)) {
        struct json_value type = JSON_NONE;
        if (typed && !json_next(&type_iter, &key, &type))
            type = JSON_NONE;
        add_item(joint, item, operand_dtype(json_string(type)));
    }
}

static bool
join(struct json_value dims,
     struct json_value types,
     struct joint *joint,
     struct arena *arena,
     struct signature *ret_signature)
{
    size_t n = json_count(dims);
    joint->items = arena_alloc(arena, n * sizeof joint->items[0]);
    joint->begins = arena_alloc(arena, n * sizeof joint->begins[0]);
    if (!joint->items || !joint->begins)
        return false;
    add_items(joint, dims, types);
    struct slice text = arena_copy(arena, buf_slice(&joint->text));
    if (joint->text.failed || !text.data)
        return false;
    for (size_t i = 0; i < joint->n; i++)
        joint->items[i].text.data = text.data + joint->begins[i];
    *ret_signature = (struct signature){text, joint->items, joint->n};
    return true;
}

static bool
read_signature(struct slice dims,
               struct slice types,
               struct arena *arena,
               struct signature *ret_signature)
{
    struct json dims_doc;
    struct json types_doc;
    struct json_value dims_value;
    struct json_value types_value;
    struct joint joint = {.text = BUF_INIT};
    if (!read_text(dims, arena, &dims_doc, &dims_value) ||
        !read_text(types, arena, &types_doc, &types_value))
        return false;
    if (json_kind(dims_value) != JSON_ARRAY)
        return true;
    bool done = join(dims_value, types_value, &joint, arena, ret_signature);
    buf_done(&joint.text);
    return done;
}

/* --- texts as the splitter writes them ---------------------------------------------- */

/* A text that is walked once, and where it stands. */
struct walk {
    const char *at;
    const char *end;
};

static bool
step(struct walk *walk, char c)
{
    if (walk->at == walk->end || *walk->at != c)
        return false;
    walk->at++;
    return true;
}

/* A whole number without needless digits. */
static bool
step_number(struct walk *walk)
{
    const char *begin = walk->at;
    step(walk, '-');
    const char *digits = walk->at;
    while (walk->at < walk->end && *walk->at >= '0' && *walk->at <= '9')
        walk->at++;
    size_t n = (size_t)(walk->at - digits);
    return n > 0 && (*digits != '0' || (n == 1 && digits == begin));
}

/* "[1,2]"; `*ret_n` numbers. */
static bool
step_dims(struct walk *walk, size_t *ret_n)
{
    *ret_n = 0;
    if (!step(walk, '['))
        return false;
    if (step(walk, ']'))
        return true;
    do {
        if (!step_number(walk))
            return false;
        ++*ret_n;
    } while (step(walk, ','));
    return step(walk, ']');
}

/* A string without escapes. */
static bool
step_string(struct walk *walk, struct slice *ret_text)
{
    if (!step(walk, '"'))
        return false;
    const char *begin = walk->at;
    while (walk->at < walk->end && *walk->at != '"')
        if (*walk->at == '\\' || (unsigned char)*walk->at < 0x20 ||
            (unsigned char)*walk->at++ >= 0x80)
            return false;
    *ret_text = (struct slice){begin, (size_t)(walk->at - begin)};
    return step(walk, '"');
}

/* The type beside an operand; none left is no type. False: not written plainly. */
static bool
step_type(struct walk *types, bool *more, struct slice *ret_dtype)
{
    struct slice type = {0};
    if (*more) {
        if (!step_string(types, &type))
            return false;
        *more = step(types, ',');
    }
    *ret_dtype = operand_dtype(type);
    return true;
}

static char *
put(char *to, struct slice text)
{
    if (text.len)
        memcpy(to, text.data, text.len);
    return to + text.len;
}

/* The operand whose dims are `body`, "[1,2]", behind those before. */
static char *
put_operand(char *to, struct slice body, size_t n_dims, struct operand *operand)
{
    char *begin = to;
    to = put(to, body);
    begin[0] = '(';
    to[-1] = n_dims == 1 ? ',' : ')';
    if (n_dims == 1)
        *to++ = ')';
    if (operand->dtype.len) {
        *to++ = ' ';
        to = put(to, operand->dtype);
    }
    operand->text = (struct slice){begin, (size_t)(to - begin)};
    return to;
}

/* What is left of the types must be plain, too, for the text to be JSON. */
static bool
end_types(struct walk *types, bool more)
{
    struct slice ignored;
    while (more) {
        if (!step_string(types, &ignored))
            return false;
        more = step(types, ',');
    }
    return step(types, ']') && types->at == types->end;
}

/* Begins the list of types; `*more`: it has items. */
static bool
begin_types(struct walk *types, bool *more)
{
    *more = false;
    if (!types->at)
        return true;
    if (!step(types, '['))
        return false;
    *more = types->at < types->end && *types->at != ']';
    return true;
}

static size_t
count_operands(struct slice dims)
{
    size_t n = 0;
    for (size_t i = 0; i < dims.len; i++)
        n += dims.data[i] == '[';
    return n;
}

enum plain { PLAIN_DONE, PLAIN_NOT, PLAIN_NO_MEMORY };

/* A separator, the suffix of a type and what a single dimension adds. */
enum { OPERAND_EXTRA_BYTES = 4 + 16 + 2 };

/* Without a document in between; PLAIN_NOT: the texts need the reader of JSON. */
static enum plain
plain_signature(struct slice dims,
                struct slice types,
                struct arena *arena,
                struct signature *ret_signature)
{
    struct walk walk = {dims.data, dims.data + dims.len};
    struct walk type_walk = {types.data, types.data ? types.data + types.len : NULL};
    size_t most = count_operands(dims);
    bool more_types = false;
    if (!step(&walk, '[') || !begin_types(&type_walk, &more_types))
        return PLAIN_NOT;
    char *text = arena_alloc(arena, dims.len + most * OPERAND_EXTRA_BYTES);
    struct operand *items = arena_alloc(arena, most * sizeof items[0]);
    if (!text || !items)
        return PLAIN_NO_MEMORY;
    char *to = text;
    size_t n = 0;
    bool more = !step(&walk, ']');
    bool closed = !more;
    while (more) {
        struct slice body = {walk.at, 0};
        size_t n_dims = 0;
        if (!step_dims(&walk, &n_dims) ||
            !step_type(&type_walk, &more_types, &items[n].dtype))
            return PLAIN_NOT;
        body.len = (size_t)(walk.at - body.data);
        if (n_dims) {
            to = n ? put(to, SLICE("<br>")) : to;
            to = put_operand(to, body, n_dims, &items[n]);
            n++;
        }
        more = step(&walk, ',');
        closed = !more && step(&walk, ']');
    }
    if (!closed || walk.at != walk.end ||
        (types.data && !end_types(&type_walk, more_types)))
        return PLAIN_NOT;
    *ret_signature = (struct signature){{text, (size_t)(to - text)}, items, n};
    return PLAIN_DONE;
}

bool
signature_of(struct slice dims,
             struct slice types,
             struct arena *arena,
             struct signature *ret_signature)
{
    *ret_signature = (struct signature){0};
    if (!dims.data)
        return true;
    enum plain plain = plain_signature(dims, types, arena, ret_signature);
    if (plain == PLAIN_NOT)
        return read_signature(dims, types, arena, ret_signature);
    return plain == PLAIN_DONE;
}
