/* SPDX-License-Identifier: Apache-2.0 */
/* Names of operators. */
#include "opname.h"

#include "amount.h"

#include <ctype.h>
#include <stdbool.h>

static struct slice
skip(struct slice text, size_t n)
{
    return (struct slice){text.data + n, text.len - n};
}

static bool
is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static struct slice
strip_accessor(struct slice text)
{
    size_t i = 0;
    if (text.len == 0 || !isalpha((unsigned char)text.data[0]))
        return text;
    while (i < text.len && is_name_char(text.data[i]))
        i++;
    if (text.len - i < 2 || memcmp(text.data + i, "->", 2) != 0)
        return text;
    return amount_trim(skip(text, i + 2));
}

static struct slice
strip_type(struct slice text)
{
    static const char *const types[] = {"void",  "bool", "int",   "unsigned", "long",
                                        "short", "char", "float", "double",   "size_t"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t len = strlen(types[i]);
        if (text.len > len && memcmp(text.data, types[i], len) == 0 &&
            isspace((unsigned char)text.data[len]))
            return amount_trim(skip(text, len));
    }
    return text;
}

/* A trailing " (... Op)" without parentheses inside. */
static struct slice
strip_op(struct slice text)
{
    if (text.len < 4 || memcmp(text.data + text.len - 3, "Op)", 3) != 0 ||
        is_name_char(text.data[text.len - 4]))
        return text;
    for (size_t i = text.len - 3; i-- > 0;) {
        if (text.data[i] == ')')
            return text;
        if (text.data[i] == '(')
            return amount_trim((struct slice){text.data, i});
    }
    return text;
}

struct slice
opname_normal(struct slice name)
{
    struct slice text = strip_op(strip_type(strip_accessor(amount_trim(name))));
    if (text.len >= 3 && memcmp(text.data + text.len - 3, ".kd", 3) == 0)
        text = amount_trim((struct slice){text.data, text.len - 3});
    return text;
}

struct slice
opname_plain(struct slice name, struct arena *arena)
{
    char *plain = arena_alloc(arena, name.len + 1);
    size_t depth = 0;
    size_t n = 0;
    if (!plain)
        return (struct slice){0};
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        if (c == '<')
            depth++;
        else if (c == '>')
            depth -= depth > 0;
        else if (depth == 0)
            plain[n++] = c;
    }
    struct slice text = amount_trim((struct slice){plain, n});
    return text.len ? text : name;
}

/* A length and as many bytes at `*at`. */
static bool
read_part(struct slice name, size_t *at, struct slice *ret_part)
{
    size_t size = 0;
    size_t i = *at;
    while (i < name.len && isdigit((unsigned char)name.data[i]) && size <= name.len)
        size = size * 10 + (size_t)(name.data[i++] - '0');
    if (size == 0 || size > name.len - i)
        return false;
    *ret_part = (struct slice){name.data + i, size};
    *at = i + size;
    return true;
}

static size_t
add_part(char *to, size_t n, struct slice part)
{
    static const char anonymous[] = "_GLOBAL__N";
    enum { ANONYMOUS = sizeof anonymous - 1 };
    if (part.len >= ANONYMOUS && memcmp(part.data, anonymous, ANONYMOUS) == 0)
        part = SLICE("(anonymous namespace)");
    if (n) {
        to[n++] = ':';
        to[n++] = ':';
    }
    memcpy(to + n, part.data, part.len);
    return n + part.len;
}

/* Of a member function, between N and its name. */
static bool
is_qualifier(char c)
{
    return c == 'r' || c == 'V' || c == 'K' || c == 'R' || c == 'O';
}

struct slice
opname_demangle(struct slice name, struct arena *arena)
{
    size_t at = 2;
    size_t n = 0;
    /* "_GLOBAL__N" takes 12 bytes there and 21 here; a separator replaces a digit. */
    char *text = arena_alloc(arena, 2 * name.len + 1);
    if (!text)
        return (struct slice){0};
    if (name.len < 2 || memcmp(name.data, "_Z", 2) != 0)
        return SLICE("");
    bool nested = at < name.len && name.data[at] == 'N';
    at += nested;
    while (nested && at < name.len && is_qualifier(name.data[at]))
        at++;
    while (at < name.len && isdigit((unsigned char)name.data[at])) {
        struct slice part;
        if (!read_part(name, &at, &part))
            return SLICE("");
        n = add_part(text, n, part);
        if (!nested)
            break;
    }
    return (struct slice){text, n};
}
