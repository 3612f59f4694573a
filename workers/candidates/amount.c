/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that may be unknown. */
#include "amount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest text of a number, and the digits of any double in full. */
enum { NUMBER_BYTES = 1024, FIXED_BYTES = 400 };

/* Below it every whole number is a double, and a tie is told from its neighbours. */
#define FAST_LIMIT 1e9
#define TIE_MARGIN 1e-5

struct amount
amount_nanoseconds(struct amount microseconds)
{
    double ns = 1000.0 * microseconds.value;
    if (!amount_usable(microseconds))
        return (struct amount){ns, microseconds.known};
    if (!isfinite(ns))
        return AMOUNT_UNKNOWN;
    double whole = floor(ns);
    whole += ns - whole >= 0.5 ? 1 : 0;
    return AMOUNT(whole < 1 && microseconds.value > 0 ? 1 : whole);
}

double
amount_round(double x, int digits)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    double scaled = x * powers[digits];
    if (fabs(scaled) < FAST_LIMIT) {
        /* The product is off by less than the margin, so away from a tie the nearest
         * whole number is the one that printf would print; the division is then as exact.
         */
        double whole = floor(scaled);
        double rest = scaled - whole;
        if (fabs(rest - 0.5) > TIE_MARGIN)
            return (whole + (rest > 0.5 ? 1 : 0)) / powers[digits] + 0.0;
    }
    if (!isfinite(x))
        return x;
    char text[FIXED_BYTES];
    snprintf(text, sizeof text, "%.*f", digits, x);
    return strtod(text, NULL) + 0.0;
}

static bool
special(struct slice text, struct amount *ret_amount)
{
    if (slice_is(text, "nan") || slice_is(text, "NaN"))
        *ret_amount = AMOUNT((double)NAN);
    else if (slice_is(text, "inf") || slice_is(text, "Infinity"))
        *ret_amount = AMOUNT((double)INFINITY);
    else if (slice_is(text, "-inf") || slice_is(text, "-Infinity"))
        *ret_amount = AMOUNT(-(double)INFINITY);
    else
        return false;
    return true;
}

struct amount
amount_of_json(struct json_value value)
{
    struct amount amount = AMOUNT_UNKNOWN;
    struct slice text = json_number(value);
    if (json_double(value, &amount.value)) {
        amount.known = true;
    } else if (json_kind(value) == JSON_STRING) {
        struct slice word = json_string(value);
        if (word.len <= 4)
            special(word, &amount);
    } else if (text.data && !special(text, &amount)) {
        /* A number beyond every double. */
        amount = AMOUNT(text.data[0] == '-' ? -(double)INFINITY : (double)INFINITY);
    }
    return amount;
}

static bool
is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

struct slice
amount_trim(struct slice text)
{
    while (text.len && is_space(text.data[0])) {
        text.data++;
        text.len--;
    }
    while (text.len && is_space(text.data[text.len - 1]))
        text.len--;
    return text;
}

static size_t
digits_at(struct slice text, size_t at)
{
    size_t n = 0;
    while (at + n < text.len && text.data[at + n] >= '0' && text.data[at + n] <= '9')
        n++;
    return n;
}

/* Decimal digits with one point among or around them; 0 when `text` has none at `at`. */
static size_t
mantissa(struct slice text, size_t at)
{
    size_t whole = digits_at(text, at);
    size_t end = at + whole;
    if (end == text.len || text.data[end] != '.')
        return whole;
    size_t fraction = digits_at(text, end + 1);
    return whole || fraction ? whole + 1 + fraction : 0;
}

static bool
is_decimal(struct slice text)
{
    size_t at = text.len && (text.data[0] == '+' || text.data[0] == '-');
    size_t n = mantissa(text, at);
    at += n;
    if (n == 0)
        return false;
    if (at == text.len)
        return true;
    if (text.data[at] != 'e' && text.data[at] != 'E')
        return false;
    at++;
    at += at < text.len && (text.data[at] == '+' || text.data[at] == '-');
    n = digits_at(text, at);
    return n && at + n == text.len;
}

struct amount
amount_of_text(struct slice text)
{
    char number[NUMBER_BYTES];
    text = amount_trim(text);
    if (!text.data || text.len >= sizeof number || !is_decimal(text))
        return AMOUNT_UNKNOWN;
    memcpy(number, text.data, text.len);
    number[text.len] = '\0';
    double value = strtod(number, NULL);
    return AMOUNT_IF(isfinite(value), value);
}
