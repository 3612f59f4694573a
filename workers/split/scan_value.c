/* SPDX-License-Identifier: Apache-2.0 */
/* The thorough reader of one JSON value. */
#include "scan_value.h"

#include "scan_decode.h"
#include "scan_key.h"

#include "utf8.h"

#include <string.h>

struct reader {
    const char *at;
    const char *end;
    bool is_last;
    enum scan_status status;
    uint32_t repairs;
    struct scan_event *event;
};

static bool value(struct reader *reader, int depth, struct scan_value *ret);

static bool
broken(struct reader *reader)
{
    reader->status = SCAN_BROKEN;
    return false;
}

/* The text ends here: more of it would decide. */
static bool
cut(struct reader *reader)
{
    reader->status = reader->is_last ? SCAN_BROKEN : SCAN_MORE;
    return false;
}

static bool
skip_space(struct reader *reader)
{
    while (reader->at < reader->end && scan_is_space(*reader->at))
        reader->at++;
    return reader->at < reader->end || cut(reader);
}

/* Whether `byte` comes next, which is then passed. */
static bool
passes(struct reader *reader, char byte)
{
    if (*reader->at != byte)
        return false;
    reader->at++;
    return true;
}

int
scan_utf8_length(const char *text, const char *end)
{
    unsigned char first = (unsigned char)*text;
    int len = first < 0x80   ? 1
              : first < 0xc2 ? 0
              : first < 0xe0 ? 2
              : first < 0xf0 ? 3
              : first < 0xf5 ? 4
                             : 0;
    if (len == 0 || end - text >= len)
        return len && utf8_check(text, (size_t)len) ? len : 0;
    for (const char *at = text + 1; at < end; at++)
        if (((unsigned char)*at & 0xc0) != 0x80)
            return 0;
    return -1;
}

static bool
wide_character(struct reader *reader, bool *is_plain)
{
    int len = scan_utf8_length(reader->at, reader->end);
    if (len < 0 && !reader->is_last)
        return cut(reader);
    if (len <= 0) {
        reader->repairs |= SCAN_INVALID_UTF8;
        *is_plain = false;
        len = 1;
    }
    reader->at += len;
    return true;
}

/* Behind a backslash and u: are four hexadecimal digits there? */
static bool
four_digits(struct reader *reader, bool *ret_are)
{
    for (int i = 2; i < 6; i++) {
        if (reader->at + i >= reader->end)
            return cut(reader);
        if (scan_hex(reader->at[i]) < 0) {
            *ret_are = false;
            return true;
        }
    }
    *ret_are = true;
    return true;
}

static bool
escape(struct reader *reader)
{
    if (reader->end - reader->at < 2)
        return cut(reader);
    char kind = reader->at[1];
    bool is_good = kind && strchr("\"\\/bfnrt", kind);
    if (kind == 'u' && !four_digits(reader, &is_good))
        return false;
    if (!is_good)
        reader->repairs |= SCAN_BAD_ESCAPE;
    reader->at += !is_good ? 1 : kind == 'u' ? 6 : 2;
    return true;
}

static bool
string(struct reader *reader, struct scan_value *ret)
{
    const char *start = ++reader->at;
    bool is_plain = true;
    while (reader->at < reader->end) {
        unsigned char byte = (unsigned char)*reader->at;
        if (byte == '"') {
            *ret = (struct scan_value){start, (uint32_t)(reader->at - start), SCAN_STRING,
                                       is_plain};
            reader->at++;
            return true;
        }
        if (byte == '\\') {
            is_plain = false;
            if (!escape(reader))
                return false;
        } else if (byte >= 0x80) {
            if (!wide_character(reader, &is_plain))
                return false;
        } else {
            if (byte < 0x20) {
                reader->repairs |= SCAN_CONTROL_CHARACTER;
                is_plain = false;
            }
            reader->at++;
        }
    }
    return cut(reader);
}

static void
token(struct scan_value *ret, const char *start, const char *end, enum scan_type type)
{
    *ret = (struct scan_value){start, (uint32_t)(end - start), (uint8_t)type, true};
}

static const char *
digits(const char *at, const char *end)
{
    while (at < end && scan_is_digit(*at))
        at++;
    return at;
}

/* Behind the whole part: what belongs to the number of a fraction and an exponent. */
static const char *
fraction(const char *at, const char *end)
{
    const char *last = at < end && *at == '.' ? digits(at + 1, end) : at;
    if (last > at + 1)
        at = last;
    if (at == end || (*at | 0x20) != 'e')
        return at;
    const char *sign = at + 1;
    if (sign < end && (*sign == '+' || *sign == '-'))
        sign++;
    last = digits(sign, end);
    return last > sign ? last : at;
}

static bool
is_number_byte(char byte)
{
    return scan_is_digit(byte) || (byte && strchr(".eE+-", byte));
}

static bool
number(struct reader *reader, struct scan_value *ret)
{
    const char *start = reader->at;
    const char *at = start + (*start == '-');
    if (!reader->is_last) {
        const char *far = at;
        while (far < reader->end && is_number_byte(*far))
            far++;
        if (far == reader->end)
            return cut(reader);
    }
    if (at == reader->end || !scan_is_digit(*at))
        return broken(reader);
    at = *at == '0' ? at + 1 : digits(at, reader->end);
    const char *end = fraction(at, reader->end);
    token(ret, start, end, end == at ? SCAN_INTEGER : SCAN_DECIMAL);
    reader->at = end;
    return true;
}

static bool
is_word_byte(char byte)
{
    return scan_is_digit(byte) || byte == '_' ||
           ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
}

/* nan, inf or infinity as whole words; as Python writes them they need not be whole. */
static size_t
non_finite_length(const char *word, size_t len, bool is_negative)
{
    if (!is_negative && len >= 3 && memcmp(word, "NaN", 3) == 0)
        return 3;
    if (len >= 8 && memcmp(word, "Infinity", 8) == 0)
        return 8;
    static const struct slice words[] = {{"nan", 3}, {"inf", 3}, {"infinity", 8}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].len == len && strncasecmp(word, words[i].data, len) == 0)
            return len;
    return 0;
}

static bool
non_finite(struct reader *reader, struct scan_value *ret)
{
    enum { LONGEST = 9 };
    const char *start = reader->at;
    const char *word = start + (*start == '-');
    const char *at = word;
    while (at < reader->end && at - word < LONGEST && is_word_byte(*at))
        at++;
    if (at == reader->end && !reader->is_last)
        return cut(reader);
    size_t len = non_finite_length(word, (size_t)(at - word), word > start);
    if (len == 0)
        return broken(reader);
    reader->repairs |= SCAN_NON_FINITE_NUMBER;
    reader->at = word + len;
    token(ret, start, reader->at, SCAN_NON_FINITE);
    return true;
}

static bool
word(struct reader *reader, struct scan_value *ret)
{
    static const struct {
        const char *text;
        size_t len;
        enum scan_type type;
    } words[] = {
        {"true", 4, SCAN_TRUE}, {"false", 5, SCAN_FALSE}, {"null", 4, SCAN_NULL}};
    size_t left = (size_t)(reader->end - reader->at);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = words[i].len;
        if (memcmp(reader->at, words[i].text, left < len ? left : len) != 0)
            continue;
        if (left < len)
            return cut(reader);
        token(ret, reader->at, reader->at + len, words[i].type);
        reader->at += len;
        return true;
    }
    return non_finite(reader, ret);
}

/* Behind an item: true to go on with the next, false at the end or when it is broken. */
static bool
comma(struct reader *reader, char close, bool *ret_closed)
{
    if (!skip_space(reader))
        return false;
    if (passes(reader, ',')) {
        if (!skip_space(reader))
            return false;
        if (*reader->at == close)
            reader->repairs |= SCAN_TRAILING_COMMA;
        return true;
    }
    if (*reader->at != close)
        return broken(reader);
    *ret_closed = true;
    reader->at++;
    return true;
}

static bool
array(struct reader *reader, int depth, struct scan_value *ret)
{
    const char *start = reader->at++;
    struct scan_value item;
    bool is_closed = false;
    if (!skip_space(reader))
        return false;
    while (!is_closed) {
        if (passes(reader, ']'))
            break;
        if (!value(reader, depth, &item) || !comma(reader, ']', &is_closed))
            return false;
    }
    token(ret, start, reader->at, SCAN_ARRAY);
    return true;
}

enum scan_key
scan_value_key(struct scan_value key)
{
    char decoded[SCAN_KEY_BYTES];
    if (key.plain)
        return scan_key_of(key.text, key.len);
    size_t len = scan_decode_short(key, decoded, sizeof decoded);
    return len <= sizeof decoded ? scan_key_of(decoded, len) : SCAN_KEY_UNKNOWN;
}

static void
keep_field(struct scan_event *event, enum scan_key key, struct scan_value field)
{
    if (key == SCAN_ARGS && field.type != SCAN_OBJECT)
        event->present &= ~SCAN_ARGS_FIELDS;
    event->present |= UINT32_C(1) << key;
    event->field[key] = field;
}

static bool
colon(struct reader *reader)
{
    if (!skip_space(reader))
        return false;
    if (!passes(reader, ':'))
        return broken(reader);
    return skip_space(reader);
}

static bool
object(struct reader *reader, int depth, enum scan_level level, struct scan_value *ret);

static bool
member(struct reader *reader, int depth, enum scan_level level, uint32_t *seen)
{
    struct scan_value name;
    struct scan_value field;
    if (*reader->at != '"')
        return broken(reader);
    if (!string(reader, &name) || !colon(reader))
        return false;
    enum scan_key key = scan_value_key(name);
    if (key < SCAN_DUPLICATE_KEYS) {
        if (*seen >> key & 1)
            reader->repairs |= SCAN_DUPLICATE_KEY;
        *seen |= UINT32_C(1) << key;
    }
    if (level == LEVEL_EVENT && key == SCAN_ARGS && *reader->at == '{') {
        reader->event->present &= ~SCAN_ARGS_FIELDS;
        if (!object(reader, depth, LEVEL_ARGS, &field))
            return false;
    } else if (!value(reader, depth, &field)) {
        return false;
    }
    if (scan_key_is_field(key, level))
        keep_field(reader->event, key, field);
    return true;
}

/* `depth`: how many containers stand around this one. */
static bool
object(struct reader *reader, int depth, enum scan_level level, struct scan_value *ret)
{
    const char *start = reader->at++;
    uint32_t seen = 0;
    bool is_closed = false;
    if (depth >= SCAN_DEPTH)
        return broken(reader);
    if (!skip_space(reader))
        return false;
    while (!is_closed) {
        if (passes(reader, '}'))
            break;
        if (!member(reader, depth + 1, level, &seen) || !comma(reader, '}', &is_closed))
            return false;
    }
    token(ret, start, reader->at, SCAN_OBJECT);
    return true;
}

static bool
value(struct reader *reader, int depth, struct scan_value *ret)
{
    switch (*reader->at) {
    case '{':
        return object(reader, depth, LEVEL_OTHER, ret);
    case '[':
        if (depth >= SCAN_DEPTH)
            return broken(reader);
        return array(reader, depth + 1, ret);
    case '"':
        return string(reader, ret);
    case '-':
        if (reader->end - reader->at < 2)
            return cut(reader);
        return scan_is_digit(reader->at[1]) ? number(reader, ret)
                                            : non_finite(reader, ret);
    default:
        return scan_is_digit(*reader->at) ? number(reader, ret) : word(reader, ret);
    }
}

enum scan_status
scan_value_read(struct scan_text from,
                struct scan_event *event,
                struct scan_value *ret_value,
                const char **ret_end,
                uint32_t *ret_repairs)
{
    struct reader reader = {
        .at = from.text, .end = from.end, .is_last = from.is_last, .event = event};
    if (from.text == from.end)
        return from.is_last ? SCAN_BROKEN : SCAN_MORE;
    if (event)
        event->present = 0;
    bool is_event = event && *from.text == '{';
    if (!(is_event ? object(&reader, 0, LEVEL_EVENT, ret_value)
                   : value(&reader, 0, ret_value)))
        return reader.status;
    *ret_end = reader.at;
    *ret_repairs = reader.repairs;
    return SCAN_READ;
}

enum scan_status
scan_value_string(struct scan_text from,
                  struct scan_value *ret_value,
                  const char **ret_end,
                  uint32_t *ret_repairs)
{
    struct reader reader = {.at = from.text, .end = from.end, .is_last = from.is_last};
    if (!string(&reader, ret_value))
        return reader.status;
    *ret_end = reader.at;
    *ret_repairs = reader.repairs;
    return SCAN_READ;
}
