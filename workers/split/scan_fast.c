/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast reader. The NULs behind the window end every loop; a NULL place goes up to the
 * caller, who asks the thorough reader. So nothing here knows of errors or ends.
 */
#include "scan_fast.h"

#include "scan_key.h"
#include "scan_value.h"

#define INLINE static inline __attribute__((always_inline))

struct walk {
    struct window *window;
    struct scan_event *event;
};

static const char *skip_container(struct walk *walk, const char *at, int depth);

INLINE const char *
skip_space(const char *at)
{
    while (scan_is_space(*at))
        at++;
    return at;
}

INLINE const char *
next_quote(struct window *window)
{
    while (window->quote == window->quote_end)
        if (!window_index_more(window))
            return NULL;
    return window->text + *window->quote++;
}

/* At an opening quote: the closing one. Index and walk must agree on where they are. */
INLINE const char *
string_end(struct walk *walk, const char *at)
{
    if (next_quote(walk->window) != at)
        return NULL;
    return next_quote(walk->window);
}

INLINE const char *
digits(const char *at)
{
    while (scan_is_digit(*at))
        at++;
    return at;
}

/* At an e or E: behind the exponent. */
static const char *
exponent(const char *at)
{
    at++;
    if (*at == '+' || *at == '-')
        at++;
    return scan_is_digit(*at) ? digits(at) : NULL;
}

INLINE const char *
number(const char *at, uint8_t *ret_type)
{
    at += *at == '-';
    if (!scan_is_digit(*at))
        return NULL;
    at = *at == '0' ? at + 1 : digits(at + 1);
    *ret_type = SCAN_INTEGER;
    if (*at == '.') {
        if (!scan_is_digit(*++at))
            return NULL;
        at = digits(at + 1);
        *ret_type = SCAN_DECIMAL;
    }
    if (__builtin_expect((*at | 0x20) == 'e', 0)) {
        *ret_type = SCAN_DECIMAL;
        return exponent(at);
    }
    return at;
}

static const char *
word(const char *at, uint8_t *ret_type)
{
    if (memcmp(at, "null", 4) == 0) {
        *ret_type = SCAN_NULL;
        return at + 4;
    }
    if (memcmp(at, "true", 4) == 0) {
        *ret_type = SCAN_TRUE;
        return at + 4;
    }
    *ret_type = SCAN_FALSE;
    return memcmp(at, "false", 5) == 0 ? at + 5 : NULL;
}

INLINE const char *
value(struct walk *walk, const char *at, int depth, struct scan_value *ret)
{
    const char *end;
    ret->text = at;
    ret->plain = true;
    if (*at == '"') {
        end = string_end(walk, at);
        if (!end)
            return NULL;
        ret->text = at + 1;
        ret->len = (uint32_t)(end - at - 1);
        ret->type = SCAN_STRING;
        return end + 1;
    }
    if (scan_is_digit(*at) || *at == '-') {
        end = number(at, &ret->type);
    } else if (*at == '{' || *at == '[') {
        ret->type = *at == '{' ? SCAN_OBJECT : SCAN_ARRAY;
        end = skip_container(walk, at, depth);
    } else {
        end = word(at, &ret->type);
    }
    if (!end)
        return NULL;
    ret->len = (uint32_t)(end - at);
    return end;
}

/* Behind a value: behind the comma and the space after it, or at `close`. */
INLINE const char *
pass_comma(const char *at, char close)
{
    if (*at != ',') {
        at = skip_space(at);
        if (*at == close)
            return at;
        if (*at != ',')
            return NULL;
    }
    at = skip_space(at + 1);
    return *at == close ? NULL : at;
}

INLINE const char *
pass_colon(const char *at)
{
    if (*at != ':') {
        at = skip_space(at);
        if (*at != ':')
            return NULL;
    }
    return skip_space(at + 1);
}

static const char *
array(struct walk *walk, const char *at, int depth)
{
    struct scan_value item;
    at = skip_space(at + 1);
    while (*at != ']') {
        at = value(walk, at, depth + 1, &item);
        if (!at || !(at = pass_comma(at, ']')))
            return NULL;
    }
    return at + 1;
}

static const char *args_object(struct walk *walk, const char *at, int depth);

/* `at` the opening quote of a key; behind its value. */
INLINE const char *
member(
    struct walk *walk, const char *at, int depth, enum scan_level level, uint32_t *seen)
{
    struct scan_event *event = walk->event;
    struct scan_value other;
    const char *close = string_end(walk, at);
    if (!close)
        return NULL;
    enum scan_key key = scan_key_of(at + 1, (size_t)(close - at - 1));
    if (!(at = pass_colon(close + 1)))
        return NULL;
    bool is_field = scan_key_is_field(key, level);
    if (key < SCAN_DUPLICATE_KEYS) {
        if (__builtin_expect(*seen >> key & 1, 0))
            return NULL;
        *seen |= UINT32_C(1) << key;
    }
    if (is_field)
        event->present |= UINT32_C(1) << key;
    if (level == LEVEL_EVENT && key == SCAN_ARGS && *at == '{') {
        struct scan_value *args = &event->field[SCAN_ARGS];
        const char *end = args_object(walk, at, depth);
        if (!end)
            return NULL;
        *args = (struct scan_value){at, (uint32_t)(end - at), SCAN_OBJECT, true};
        return end;
    }
    return value(walk, at, depth, is_field ? &event->field[key] : &other);
}

INLINE const char *
object(struct walk *walk, const char *at, int depth, enum scan_level level)
{
    uint32_t seen = 0;
    at = skip_space(at + 1);
    while (*at != '}') {
        if (*at != '"')
            return NULL;
        at = member(walk, at, depth + 1, level, &seen);
        if (!at || !(at = pass_comma(at, '}')))
            return NULL;
    }
    return at + 1;
}

static const char *
args_object(struct walk *walk, const char *at, int depth)
{
    return object(walk, at, depth, LEVEL_ARGS);
}

/* `depth`: how many containers stand around this one. */
static const char *
skip_container(struct walk *walk, const char *at, int depth)
{
    if (depth >= SCAN_DEPTH)
        return NULL;
    return *at == '[' ? array(walk, at, depth) : object(walk, at, depth, LEVEL_OTHER);
}

size_t
scan_fast_event(struct window *window, size_t at, struct scan_event *event)
{
    struct walk walk = {.window = window, .event = event};
    event->present = 0;
    window_index_pass(window, at);
    const char *end = object(&walk, window->text + at, 0, LEVEL_EVENT);
    if (!end)
        return 0;
    size_t behind = (size_t)(end - window->text);
    return behind > window->len || window_is_odd(window, at, behind) ? 0 : behind;
}
