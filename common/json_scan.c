/* SPDX-License-Identifier: Apache-2.0 */
/* JSON without a tree: one pass over the bytes, open brackets on a stack of bytes. */
#include "json_scan.h"

#include "buf.h"

#include <stdint.h>

struct scan {
    const char *start;
    const char *p;
    const char *end;
    struct buf open; /* one '{' or '[' for each open bracket */
};

const char *
json_type_name(enum json_type type)
{
    static const char *const names[] = {"",       "null",  "boolean", "number",
                                        "string", "array", "object"};
    return names[type];
}

static bool
at(const struct scan *s, char c)
{
    return s->p < s->end && *s->p == c;
}

static void
skip_space(struct scan *s)
{
    while (s->p < s->end &&
           (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n'))
        s->p++;
}

static bool
skip_word(struct scan *s, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(s->end - s->p) < len || memcmp(s->p, word, len) != 0)
        return false;
    s->p += len;
    return true;
}

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool
skip_escape(struct scan *s)
{
    if (s->p == s->end)
        return false;
    char c = *s->p++;
    if (c != 'u')
        return c != '\0' && strchr("\"\\/bfnrt", c) != NULL;
    for (int i = 0; i < 4; i++)
        if (s->p == s->end || hex_digit(*s->p++) < 0)
            return false;
    return true;
}

static bool
skip_string(struct scan *s)
{
    if (!at(s, '"'))
        return false;
    s->p++;
    while (s->p < s->end) {
        unsigned char c = (unsigned char)*s->p++;
        if (c == '"')
            return true;
        if (c < 0x20 || (c == '\\' && !skip_escape(s)))
            return false;
    }
    return false;
}

static bool
skip_digits(struct scan *s)
{
    const char *first = s->p;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return s->p > first;
}

static bool
skip_number(struct scan *s)
{
    if (at(s, '-'))
        s->p++;
    if (skip_word(s, "Infinity"))
        return true;
    if (at(s, '0'))
        s->p++;
    else if (!skip_digits(s))
        return false;
    if (at(s, '.')) {
        s->p++;
        if (!skip_digits(s))
            return false;
    }
    if (at(s, 'e') || at(s, 'E')) {
        s->p++;
        if (at(s, '+') || at(s, '-'))
            s->p++;
        return skip_digits(s);
    }
    return true;
}

/* A value without brackets. */
static bool
skip_scalar(struct scan *s, enum json_type *ret_type)
{
    if (at(s, '"')) {
        *ret_type = JSON_TYPE_STRING;
        return skip_string(s);
    }
    *ret_type = JSON_TYPE_NULL;
    if (skip_word(s, "null"))
        return true;
    *ret_type = JSON_TYPE_BOOLEAN;
    if (skip_word(s, "true") || skip_word(s, "false"))
        return true;
    *ret_type = JSON_TYPE_NUMBER;
    return skip_word(s, "NaN") || skip_number(s);
}

static bool
skip_key(struct scan *s)
{
    skip_space(s);
    if (!skip_string(s))
        return false;
    skip_space(s);
    return skip_word(s, ":");
}

/* After a bracket was opened: closes it when it is empty, else stands before a value. */
static bool
open_bracket(struct scan *s, bool *ret_closed)
{
    char bracket = *s->p++;
    skip_space(s);
    *ret_closed = at(s, bracket == '{' ? '}' : ']');
    if (*ret_closed) {
        s->p++;
        return true;
    }
    buf_add_byte(&s->open, bracket);
    return !s->open.failed && (bracket == '[' || skip_key(s));
}

/* After a value: closes what ends here; true and `*ret_more` when another one follows. */
static bool
after_value(struct scan *s, bool *ret_more)
{
    while (s->open.len > 0) {
        bool object = s->open.data[s->open.len - 1] == '{';
        skip_space(s);
        if (at(s, ',')) {
            s->p++;
            *ret_more = true;
            return !object || skip_key(s);
        }
        if (!at(s, object ? '}' : ']'))
            return false;
        s->p++;
        s->open.len--;
    }
    *ret_more = false;
    return true;
}

static bool
skip_value(struct scan *s, enum json_type *ret_type)
{
    enum json_type type;
    skip_space(s);
    *ret_type = at(s, '{') ? JSON_TYPE_OBJECT : JSON_TYPE_ARRAY;
    if (!at(s, '{') && !at(s, '['))
        return skip_scalar(s, ret_type);
    for (bool more = true; more;) {
        skip_space(s);
        bool closed = true;
        bool good =
            at(s, '{') || at(s, '[') ? open_bracket(s, &closed) : skip_scalar(s, &type);
        if (!good || (closed && !after_value(s, &more)))
            return false;
    }
    return true;
}

static enum err_kind
invalid(const struct scan *s, struct err *err)
{
    return err_set(err, ERR_RECORD, "json_invalid", "no JSON: wrong or cut at byte %td",
                   s->p - s->start);
}

enum err_kind
json_scan_check(struct slice text, enum json_type *ret_type, struct err *err)
{
    struct scan s = {.start = text.data, .p = text.data, .end = text.data + text.len};
    enum json_type type;
    bool good = skip_value(&s, &type);
    buf_done(&s.open);
    skip_space(&s);
    if (!good || s.p != s.end)
        return invalid(&s, err);
    *ret_type = type;
    return ERR_OK;
}

/* `text` is known to be a whole object. */
static enum err_kind
visit_members(struct scan *s, json_member_fn *member, void *state, struct err *err)
{
    skip_space(s);
    s->p++;
    skip_space(s);
    while (!at(s, '}')) {
        skip_space(s);
        struct slice key = {s->p, 0};
        skip_string(s);
        key.len = (size_t)(s->p - key.data);
        skip_space(s);
        s->p++;
        skip_space(s);
        struct slice value = {s->p, 0};
        enum json_type type;
        if (!skip_value(s, &type))
            return invalid(s, err);
        value.len = (size_t)(s->p - value.data);
        if (member(state, key, type, value, err))
            return err ? err->kind : ERR_RECORD;
        skip_space(s);
        if (at(s, ','))
            s->p++;
    }
    return ERR_OK;
}

enum err_kind
json_scan_members(struct slice text, json_member_fn *member, void *state, struct err *err)
{
    enum json_type type;
    if (json_scan_check(text, &type, err))
        return ERR_RECORD;
    if (type != JSON_TYPE_OBJECT)
        return err_set(err, ERR_RECORD, "json_no_object", "JSON, but a %s, no object",
                       json_type_name(type));
    struct scan s = {.start = text.data, .p = text.data, .end = text.data + text.len};
    enum err_kind kind = visit_members(&s, member, state, err);
    buf_done(&s.open);
    return kind;
}

/* `text` is known to be a whole array. */
static enum err_kind
visit_items(struct scan *s, json_item_fn *item, void *state, struct err *err)
{
    skip_space(s);
    s->p++;
    skip_space(s);
    for (size_t i = 0; !at(s, ']'); i++) {
        skip_space(s);
        struct slice value = {s->p, 0};
        enum json_type type;
        if (!skip_value(s, &type))
            return invalid(s, err);
        value.len = (size_t)(s->p - value.data);
        if (item(state, i, type, value, err))
            return err ? err->kind : ERR_RECORD;
        skip_space(s);
        if (at(s, ','))
            s->p++;
    }
    return ERR_OK;
}

enum err_kind
json_scan_items(struct slice text, json_item_fn *item, void *state, struct err *err)
{
    enum json_type type;
    if (json_scan_check(text, &type, err))
        return ERR_RECORD;
    if (type != JSON_TYPE_ARRAY)
        return err_set(err, ERR_RECORD, "json_no_array", "JSON, but a %s, no array",
                       json_type_name(type));
    struct scan s = {.start = text.data, .p = text.data, .end = text.data + text.len};
    enum err_kind kind = visit_items(&s, item, state, err);
    buf_done(&s.open);
    return kind;
}

static uint32_t
read_hex4(const char *p)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++)
        unit = unit << 4 | (uint32_t)hex_digit(p[i]);
    return unit;
}

/* The code point of the \u escape whose digits begin at `*p`; moves past it. */
static uint32_t
read_unicode(const char **p, const char *end)
{
    uint32_t unit = read_hex4(*p);
    *p += 4;
    if (unit < 0xD800 || unit > 0xDFFF)
        return unit;
    if (unit > 0xDBFF || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
        return 0xFFFD;
    uint32_t low = read_hex4(*p + 2);
    if (low < 0xDC00 || low > 0xDFFF)
        return 0xFFFD;
    *p += 6;
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

static size_t
put_utf8(char *out, uint32_t point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (point & 0x3F));
        point >>= 6;
    }
    out[0] = (char)(lead[len] | point);
    return len;
}

static char
plain_escape(char c)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *found = strchr(from, c);
    if (!found || !*found)
        return c;
    return to[found - from];
}

struct slice
json_scan_string(struct slice raw, struct arena *arena)
{
    /* An escape is never shorter than what it stands for. */
    char *text = arena_alloc(arena, raw.len);
    if (!text)
        return (struct slice){0};
    size_t len = 0;
    const char *p = raw.data + 1;
    const char *end = raw.data + raw.len - 1;
    while (p < end) {
        if (*p != '\\') {
            text[len++] = *p++;
            continue;
        }
        p += 2;
        if (p[-1] == 'u')
            len += put_utf8(text + len, read_unicode(&p, end));
        else
            text[len++] = plain_escape(p[-1]);
    }
    text[len] = '\0';
    return (struct slice){text, len};
}
