/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and ids of a trace, from their text. */
#include "number.h"

#include "scan_value.h"

#include "cleanup.h"

enum {
    NANO_DIGITS = 3,     /* decimals of a microsecond that are kept */
    MAX_EXPONENT = 4096, /* what is read of an exponent; beyond it nothing changes */
};

/* A number in pieces: its digits, and where the point stands among them. */
struct decimal {
    const char *at;
    const char *end;
    bool is_negative;
    const char *digits; /* first digit; the point may stand between them */
    const char *digits_end;
    int64_t point; /* digits before the point, the exponent included */
};

static bool
read_exponent(struct decimal *decimal)
{
    bool is_negative = false;
    int64_t exponent = 0;
    decimal->at++;
    if (decimal->at < decimal->end && (*decimal->at == '+' || *decimal->at == '-'))
        is_negative = *decimal->at++ == '-';
    const char *start = decimal->at;
    for (; decimal->at < decimal->end && scan_is_digit(*decimal->at); decimal->at++)
        if (exponent < MAX_EXPONENT)
            exponent = exponent * 10 + (*decimal->at - '0');
    /* Digits of the number itself can't outweigh an exponent that was cut. */
    if (exponent >= MAX_EXPONENT)
        exponent = INT64_MAX / 4;
    decimal->point += is_negative ? -exponent : exponent;
    return decimal->at > start;
}

/* -?digits(.digits)?([eE][+-]?digits)? and nothing behind it. */
static bool
read_decimal(const char *text, const char *end, struct decimal *ret)
{
    *ret = (struct decimal){.at = text, .end = end};
    ret->is_negative = text < end && *text == '-';
    ret->at += ret->is_negative;
    ret->digits = ret->at;
    while (ret->at < end && scan_is_digit(*ret->at))
        ret->at++;
    ret->point = ret->at - ret->digits;
    if (ret->point == 0)
        return false;
    if (ret->at < end && *ret->at == '.') {
        const char *start = ++ret->at;
        while (ret->at < end && scan_is_digit(*ret->at))
            ret->at++;
        if (ret->at == start)
            return false;
    }
    ret->digits_end = ret->at;
    if (ret->at < end && (*ret->at | 0x20) == 'e' && !read_exponent(ret))
        return false;
    return ret->at == end;
}

/* Whole nanoseconds, the rest rounded half away from zero. False: out of range. */
static bool
decimal_ns(const struct decimal *decimal, int64_t *ret_ns)
{
    int64_t left = decimal->point + NANO_DIGITS;
    uint64_t ns = 0;
    int next = 0;
    const char *at = decimal->digits;
    bool is_zero = true;
    for (; at < decimal->digits_end; at++) {
        if (*at == '.')
            continue;
        int digit = *at - '0';
        is_zero = is_zero && digit == 0;
        if (left-- <= 0) {
            next = left == -1 ? digit : next;
            if (left < -1)
                break;
            continue;
        }
        if (ns > (uint64_t)NUMBER_MAX_NS / 10)
            return false;
        ns = ns * 10 + (uint64_t)digit;
    }
    for (; !is_zero && left > 0; left--) {
        if (ns > (uint64_t)NUMBER_MAX_NS / 10)
            return false;
        ns *= 10;
    }
    ns += next >= 5;
    *ret_ns = decimal->is_negative ? -(int64_t)ns : (int64_t)ns;
    return ns <= (uint64_t)NUMBER_MAX_NS;
}

static bool
text_ns(const char *text, const char *end, bool *ret_is_number, int64_t *ret_ns)
{
    struct decimal decimal;
    *ret_is_number = read_decimal(text, end, &decimal);
    return *ret_is_number && decimal_ns(&decimal, ret_ns);
}

static bool
is_python_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r') ||
           (byte >= 0x1c && byte <= 0x1f);
}

static bool
string_ns(struct scan_value value, bool *ret_is_number, int64_t *ret_ns)
{
    CLEANUP(buf_done) struct buf decoded = BUF_INIT;
    *ret_is_number = false;
    scan_add_text(&decoded, value);
    struct slice text = buf_slice(&decoded);
    const char *start = text.data;
    const char *end = start + text.len;
    while (start < end && is_python_space(*start))
        start++;
    while (end > start && is_python_space(end[-1]))
        end--;
    return text_ns(start, end, ret_is_number, ret_ns);
}

/* Eight digits at once, the first one in the lowest byte. False: not all are digits. */
static bool
eight_digits(const char *at, uint64_t *ret_number)
{
    const uint64_t zeros = UINT64_C(0x3030303030303030);
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);
    uint64_t word;
    memcpy(&word, at, sizeof word);
    /* Adding 6 carries a byte above 9 out of its lower half. */
    if ((word & high) != zeros || ((word + UINT64_C(0x0606060606060606)) & high) != zeros)
        return false;
    word -= zeros;
    word = word * 10 + (word >> 8);
    word = ((word & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
            (word >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
           32;
    *ret_number = word;
    return true;
}

/* The common form: up to 15 digits, a point, up to 3 decimals. */
static bool
simple_ns(struct scan_value value, int64_t *ret_ns)
{
    enum { WHOLE_DIGITS = 15, AT_ONCE = 8 };
    const char *at = value.text;
    const char *end = at + value.len;
    uint64_t number = 0;
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && end - at >= AT_ONCE &&
        eight_digits(at, &number))
        at += AT_ONCE;
    while (at < end && scan_is_digit(*at) && at - value.text <= WHOLE_DIGITS)
        number = number * 10 + (uint64_t)(*at++ - '0');
    if (at - value.text > WHOLE_DIGITS || at == value.text)
        return false;
    number *= 1000;
    if (at < end) {
        static const uint64_t weights[] = {100, 10, 1};
        if (*at++ != '.' || end - at > NANO_DIGITS)
            return false;
        for (int i = 0; at < end; i++, at++) {
            if (!scan_is_digit(*at))
                return false;
            number += weights[i] * (uint64_t)(*at - '0');
        }
    }
    *ret_ns = (int64_t)number;
    return true;
}

bool
number_ns(struct scan_value value, int64_t *ret_ns, bool *ret_is_string)
{
    bool is_number;
    *ret_is_string = false;
    if (value.type == SCAN_STRING)
        return string_ns(value, ret_is_string, ret_ns);
    if (value.type != SCAN_INTEGER && value.type != SCAN_DECIMAL)
        return false;
    return simple_ns(value, ret_ns) ||
           text_ns(value.text, value.text + value.len, &is_number, ret_ns);
}

/* `5.0` and `5.00` are 5; every other decimal is its own text. */
static struct slice
decimal_id(struct slice text)
{
    const char *point = memchr(text.data, '.', text.len);
    if (!point)
        return text;
    for (const char *at = point + 1; at < text.data + text.len; at++)
        if (*at != '0')
            return text;
    return (struct slice){text.data, (size_t)(point - text.data)};
}

bool
number_id(struct scan_value value, struct buf *scratch, struct slice *ret_text)
{
    struct slice text = {value.text, value.len};
    switch ((enum scan_type)value.type) {
    case SCAN_NULL:
    case SCAN_NON_FINITE:
    case SCAN_ARRAY:
    case SCAN_OBJECT:
        return false;
    case SCAN_INTEGER:
        *ret_text = slice_is(text, "-0") ? SLICE("0") : text;
        return true;
    case SCAN_DECIMAL:
        *ret_text = decimal_id(text);
        return true;
    case SCAN_STRING:
        if (!value.plain) {
            buf_reset(scratch);
            scan_add_text(scratch, value);
            text = buf_slice(scratch);
        }
        break;
    case SCAN_TRUE:
    case SCAN_FALSE:
        break;
    }
    *ret_text = text;
    return true;
}
