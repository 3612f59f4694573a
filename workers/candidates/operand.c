/* SPDX-License-Identifier: Apache-2.0 */
/* Operands as text. */
#include "operand.h"

#include "amount.h"
#include "buf.h"
#include "cleanup.h"

#include <strings.h>

static const struct dtype {
    const char *type;
    const char *suffix;
} dtypes[] = {
    {"c10::bfloat16", "bf16"},
    {"bfloat16", "bf16"},
    {"c10::half", "fp16"},
    {"half", "fp16"},
    {"float16", "fp16"},
    {"float", "fp32"},
    {"float32", "fp32"},
    {"double", "fp64"},
    {"float64", "fp64"},
    {"int", "i32"},
    {"int32", "i32"},
    {"long", "i64"},
    {"long int", "i64"},
    {"int64", "i64"},
    {"short", "i16"},
    {"int16", "i16"},
    {"char", "i8"},
    {"int8", "i8"},
    {"signed char", "i8"},
    {"unsigned char", "u8"},
    {"uint8", "u8"},
    {"bool", "bool"},
    {"c10::float8_e4m3fnuz", "fp8_e4m3fnuz"},
    {"c10::float8_e4m3fn", "fp8_e4m3fn"},
    {"c10::float8_e5m2", "fp8_e5m2"},
    {"c10::float8_e5m2fnuz", "fp8_e5m2fnuz"},
};

struct slice
operand_dtype(struct slice type)
{
    type = amount_trim(type);
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (type.len == strlen(dtypes[i].type) &&
            strncasecmp(type.data, dtypes[i].type, type.len) == 0)
            return slice_of(dtypes[i].suffix);
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

bool
signature_of(struct slice dims,
             struct slice types,
             struct arena *arena,
             struct signature *ret_signature)
{
    struct json dims_doc;
    struct json types_doc;
    struct json_value dims_value;
    struct json_value types_value;
    struct joint joint = {.text = BUF_INIT};
    *ret_signature = (struct signature){0};
    if (!read_text(dims, arena, &dims_doc, &dims_value) ||
        !read_text(types, arena, &types_doc, &types_value))
        return false;
    if (json_kind(dims_value) != JSON_ARRAY)
        return true;
    bool done = join(dims_value, types_value, &joint, arena, ret_signature);
    buf_done(&joint.text);
    return done;
}
