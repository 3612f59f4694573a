/* SPDX-License-Identifier: Apache-2.0 */
/* Operands as text. */
#include "operand.h"

#include "amount.h"
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

bool
operand_add(struct buf *out, struct json_value dims, struct slice dtype)
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
    if (operand_add(&text, dims, dtype))
        *ret_operand = (struct operand){arena_copy(arena, buf_slice(&text)), dtype};
    return !text.failed && (text.len == 0 || ret_operand->text.data);
}
