/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a JSON value: type, text, number, members. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool
is_node(struct json_value value, enum node_type type)
{
    return value.doc && json_node(value)->type == type;
}

struct json_value
json_root(const struct json *doc)
{
    return (struct json_value){doc, 0};
}

const char *
json_kind_name(struct json_value value)
{
    static const char *const names[] = {
        [JSON_ABSENT] = "absent", [JSON_NULL] = "null",     [JSON_BOOLEAN] = "boolean",
        [JSON_NUMBER] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "array",
        [JSON_OBJECT] = "object",
    };
    return names[json_kind(value)];
}

static struct slice
text_of(struct json_value value)
{
    return json_node_text(value.doc, json_node(value));
}

struct slice
json_number(struct json_value value)
{
    bool number = is_node(value, NODE_NUMBER) || is_node(value, NODE_SPECIAL);
    return number ? text_of(value) : (struct slice){NULL, 0};
}

bool
json_is_special(struct json_value value)
{
    return is_node(value, NODE_SPECIAL);
}

/* Digits that can change the nearest double; what lies beyond only says "more". */
enum { SIGNIFICANT_DIGITS = 800, EXPONENT_MAX = 1000000, EXPONENT_LIMIT = 2000000 };

/* A number's text as [-]DIGITS e EXPONENT. */
struct decimal {
    bool negative;
    bool more; /* a digit other than 0 was left out */
    char digits[SIGNIFICANT_DIGITS];
    size_t n_digits; /* without leading zeros */
    int64_t exponent;
};

static void
add_digit(struct decimal *decimal, char digit, bool fraction)
{
    bool leading = decimal->n_digits == 0 && digit == '0';
    bool kept = !leading && decimal->n_digits < SIGNIFICANT_DIGITS;
    if (kept)
        decimal->digits[decimal->n_digits++] = digit;
    else if (!leading)
        decimal->more |= digit != '0';
    if (fraction)
        decimal->exponent -= kept || leading;
    else
        decimal->exponent += !kept && !leading;
}

static int64_t
read_exponent(const char *at, const char *end)
{
    bool negative = *at == '-';
    at += *at == '-' || *at == '+';
    int64_t exponent = 0;
    for (; at < end; at++)
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

static void
read_decimal(struct decimal *decimal, struct slice text)
{
    const char *at = text.data;
    const char *end = at + text.len;
    bool fraction = false;
    decimal->negative = at < end && *at == '-';
    for (at += decimal->negative; at < end; at++) {
        if (*at == '.')
            fraction = true;
        else if (*at == 'e' || *at == 'E')
            break;
        else
            add_digit(decimal, *at, fraction);
    }
    if (at < end)
        decimal->exponent += read_exponent(at + 1, end);
}

/* Up to 2^53 and powers of ten up to 22 are exact, so one operation rounds once. */
static bool
exact_double(const struct decimal *decimal, double *ret_double)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (decimal->n_digits > 15 || decimal->exponent < -22 || decimal->exponent > 22)
        return false;
    uint64_t whole = 0;
    for (size_t i = 0; i < decimal->n_digits; i++)
        whole = whole * 10 + (uint64_t)(decimal->digits[i] - '0');
    double value = (double)whole;
    value = decimal->exponent < 0 ? value / powers[-decimal->exponent]
                                  : value * powers[decimal->exponent];
    *ret_double = decimal->negative ? -value : value;
    return true;
}

/* strtod() of digits and exponent: without a decimal point no locale matters. */
static double
nearest_double(struct decimal *decimal)
{
    char text[SIGNIFICANT_DIGITS + 32];
    if (decimal->exponent > EXPONENT_LIMIT)
        decimal->exponent = EXPONENT_LIMIT;
    int64_t exponent = decimal->exponent - decimal->more;
    snprintf(text, sizeof text, "%s%.*s%se%lld", decimal->negative ? "-" : "",
             (int)decimal->n_digits, decimal->digits, decimal->more ? "1" : "",
             (long long)exponent);
    return strtod(text, NULL);
}

static double
to_double(struct json_value value)
{
    struct decimal decimal;
    decimal.n_digits = 0;
    decimal.more = false;
    decimal.exponent = 0;
    read_decimal(&decimal, text_of(value));
    double number = 0;
    if (decimal.n_digits == 0)
        return decimal.negative ? -0.0 : 0.0;
    return exact_double(&decimal, &number) ? number : nearest_double(&decimal);
}

bool
json_double(struct json_value value, double *ret_double)
{
    if (!is_node(value, NODE_NUMBER))
        return false;
    double number = to_double(value);
    if (!isfinite(number))
        return false;
    *ret_double = number;
    return true;
}

bool
json_int(struct json_value value, int64_t *ret_int)
{
    if (!is_node(value, NODE_NUMBER))
        return false;
    struct slice text = text_of(value);
    bool negative = text.data[0] == '-';
    int64_t whole = 0;
    for (size_t i = negative; i < text.len; i++) {
        int64_t digit = text.data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_sub_overflow(whole, digit, &whole))
            return false;
    }
    if (!negative && __builtin_sub_overflow(0, whole, &whole))
        return false;
    *ret_int = whole;
    return true;
}

bool
json_is_true(struct json_value value)
{
    return is_node(value, NODE_TRUE);
}

bool
json_truthy(struct json_value value)
{
    if (!value.doc)
        return false;
    switch ((enum node_type)json_node(value)->type) {
    case NODE_NULL:
    case NODE_FALSE:
        return false;
    case NODE_NUMBER:
        return fpclassify(to_double(value)) != FP_ZERO;
    case NODE_STRING:
    case NODE_ARRAY:
    case NODE_OBJECT:
        return json_node(value)->len > 0;
    case NODE_TRUE:
    case NODE_SPECIAL:
    default:
        return true;
    }
}

size_t
json_count(struct json_value value)
{
    bool container = is_node(value, NODE_ARRAY) || is_node(value, NODE_OBJECT);
    return container ? json_node(value)->len : 0;
}

struct json_value
json_get_slice(struct json_value object, struct slice name)
{
    struct json_iter iter = json_iter(object);
    struct slice key;
    struct json_value value;
    while (iter.members && json_next(&iter, &key, &value))
        if (slice_equal(key, name))
            return value;
    return JSON_NONE;
}

struct json_value
json_get(struct json_value object, const char *name)
{
    return json_get_slice(object, slice_of(name));
}

struct json_iter
json_iter(struct json_value container)
{
    if (!is_node(container, NODE_ARRAY) && !is_node(container, NODE_OBJECT))
        return (struct json_iter){0};
    return (struct json_iter){
        .doc = container.doc,
        .at = container.at + 1,
        .end = json_node(container)->next,
        .members = is_node(container, NODE_OBJECT),
    };
}
