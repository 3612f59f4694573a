/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of collective operations. */
#include "collective.h"

#include <stdbool.h>
#include <string.h>

/* Names that a token could be cut from at all: longer ones are looked at in part. */
enum { NAME_BYTES = 4096, TEXT_BYTES = 2 * NAME_BYTES };

/* "head" and "tail" with at most one underscore between; no tail: the head alone. */
struct token {
    const char *head;
    const char *mid;
    const char *tail;
};

static const struct token tokens[] = {
    {"all", NULL, "reduce"}, {"all", NULL, "gather"},   {"reduce", NULL, "scatter"},
    {"all", "to", "all"},    {"broadcast", NULL, NULL},
};

static const char *const marks[] = {"nccl", "rccl", "cross_device_reduce"};

/* What a collective is called, the first that the name holds. */
static const struct operation {
    const char *name;
    struct token token;
} operations[] = {
    {"reduce_scatter", {"reduce", NULL, "scatter"}},
    {"all_gather", {"all", NULL, "gather"}},
    {"all_to_all", {"all", "to", "all"}},
    {"all_reduce", {"all", NULL, "reduce"}},
    {"all_reduce", {"cross_device_reduce", NULL, NULL}},
    {"broadcast", {"broadcast", NULL, NULL}},
};

static bool
is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool
is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static char
lower(char c)
{
    return (char)(is_upper(c) ? c + 32 : c);
}

/* Words apart and in lower case: fooBar-baz becomes foo_bar_baz. */
static struct slice
normalize(struct slice name, char text[TEXT_BYTES])
{
    size_t n = 0;
    bool gap = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool plain = is_lower_or_digit(c) || is_upper(c) || c == '_';
        if (!plain && gap)
            continue;
        if (is_upper(c) && i && is_lower_or_digit(name.data[i - 1]))
            text[n++] = '_';
        text[n] = '_';
        if (plain)
            text[n] = lower(c);
        n++;
        gap = !plain;
    }
    return (struct slice){text, n};
}

/* Bytes that `word` takes at `at` of `text`, 0 when it is not there. */
static size_t
word_at(struct slice text, size_t at, const char *word)
{
    size_t len = strlen(word);
    return text.len - at >= len && memcmp(text.data + at, word, len) == 0 ? len : 0;
}

static size_t
part_at(struct slice text, size_t at, const char *part)
{
    size_t gap = at < text.len && text.data[at] == '_';
    size_t len = word_at(text, at + gap, part);
    return len ? gap + len : 0;
}

static size_t
token_at(struct slice text, size_t at, const struct token *token)
{
    size_t len = word_at(text, at, token->head);
    if (!len)
        return 0;
    const char *const parts[] = {token->mid, token->tail};
    for (size_t i = 0; i < 2; i++) {
        if (!parts[i])
            continue;
        size_t part = part_at(text, at + len, parts[i]);
        if (!part)
            return 0;
        len += part;
    }
    return len;
}

/* Names of the libraries: n?cc?lx? */
static size_t
library_at(struct slice text, size_t at)
{
    size_t i = at;
    i += i < text.len && text.data[i] == 'n';
    if (i == text.len || text.data[i] != 'c')
        return 0;
    i++;
    i += i < text.len && text.data[i] == 'c';
    if (i == text.len || text.data[i] != 'l')
        return 0;
    i++;
    i += i < text.len && text.data[i] == 'x';
    return i - at;
}

static bool
is_end(struct slice text, size_t at)
{
    return at == text.len || text.data[at] == '_';
}

static bool
starts_token(struct slice text, size_t at)
{
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        size_t len = token_at(text, at, &tokens[i]);
        if (len && is_end(text, at + len))
            return true;
    }
    size_t len = library_at(text, at);
    return len && is_end(text, at + len);
}

static bool
has_token(struct slice text)
{
    for (size_t at = 0; at < text.len; at++)
        if ((at == 0 || text.data[at - 1] == '_') && starts_token(text, at))
            return true;
    return false;
}

static bool
has_mark(struct slice text)
{
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (memmem(text.data, text.len, marks[i], strlen(marks[i])))
            return true;
    return false;
}

static bool
holds(struct slice text, const struct token *token)
{
    for (size_t at = 0; at < text.len; at++)
        if (token_at(text, at, token))
            return true;
    return false;
}

static bool
follows(struct slice name, size_t at, const char *word)
{
    size_t len = strlen(word);
    if (name.len - at < len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (lower(name.data[at + i]) != word[i])
            return false;
    return true;
}

/*
 * Every token and mark holds one of these, in one piece: words are only ever parted where
 * a capital follows, which is inside of none. Most names hold none, and are done.
 */
static bool
may_be(struct slice name)
{
    for (size_t at = 0; at + 1 < name.len; at++) {
        switch (name.data[at] | 32) {
        case 'a':
            if (follows(name, at, "all"))
                return true;
            break;
        case 'b':
            if (follows(name, at, "broadcast"))
                return true;
            break;
        case 'c':
            if (follows(name, at, "cl") || follows(name, at, "cross_device"))
                return true;
            break;
        case 's':
            if (follows(name, at, "scatter"))
                return true;
            break;
        default:
            break;
        }
    }
    return false;
}

const char *
collective_of(struct slice name)
{
    char plain[NAME_BYTES];
    char words[TEXT_BYTES];
    if (!may_be(name))
        return NULL;
    if (name.len > sizeof plain)
        name.len = sizeof plain;
    for (size_t i = 0; i < name.len; i++)
        plain[i] = lower(name.data[i]);
    struct slice low = {plain, name.len};
    struct slice text = normalize(name, words);
    if (!has_token(text) && !has_mark(low))
        return NULL;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (holds(text, &operations[i].token) || holds(low, &operations[i].token))
            return operations[i].name;
    return "unknown";
}
