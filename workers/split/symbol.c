/* SPDX-License-Identifier: Apache-2.0 */
/* What a name says by itself. */
#include "symbol.h"

#include <stdlib.h>

enum { KNOWN = 128 };

static char
lower(char c)
{
    if (c < 'A' || c > 'Z')
        return c;
    return (char)(c - 'A' + 'a');
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
begins_with(const char *text, size_t len, const char *word)
{
    size_t i = 0;
    for (; word[i]; i++)
        if (i == len || lower(text[i]) != word[i])
            return false;
    return true;
}

bool
symbol_contains(struct slice name, const char *word)
{
    for (size_t i = 0; i < name.len; i++)
        if (lower(name.data[i]) == word[0] &&
            begins_with(name.data + i, name.len - i, word))
            return true;
    return false;
}

static bool
is_stall(struct slice name)
{
    return symbol_contains(name, "rccl") || symbol_contains(name, "nccl") ||
           symbol_contains(name, "cross_device_reduce");
}

/* The next character of the name in the form of kernel-table.md 6; 0: the end. */
struct tokens {
    struct slice name;
    size_t at;
    char last; /* that was given */
};

static bool
is_token(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char
next_char(struct tokens *tokens)
{
    struct slice name = tokens->name;
    size_t i = tokens->at;
    if (i == name.len)
        return 0;
    char c = name.data[i];
    char before = '_';
    if (i)
        before = name.data[i - 1];
    bool is_small = (before >= 'a' && before <= 'z') || is_digit(before);
    if (is_small && c >= 'A' && c <= 'Z' && tokens->last != '_')
        return tokens->last = '_';
    if (is_token(c)) {
        tokens->at++;
        return tokens->last = lower(c);
    }
    while (tokens->at < name.len && !is_token(name.data[tokens->at]))
        tokens->at++;
    return tokens->last = '_';
}

static bool
matches_word(struct tokens tokens, const char *word)
{
    for (; *word; word++)
        if (next_char(&tokens) != *word)
            return false;
    char end = next_char(&tokens);
    return end == 0 || end == '_';
}

static bool
is_collective(struct slice name)
{
    static const char *const words[] = {
        "allreduce", "all_reduce", "allgather", "all_gather", "reducescatter",
        "alltoall",  "all_toall",  "allto_all", "all_to_all", "reduce_scatter",
        "broadcast", "nccl",       "ncclx",     "ncl",        "nclx",
        "ccl",       "cclx",       "cl",        "clx",
    };
    struct tokens tokens = {name, 0, '_'};
    do {
        if (tokens.last != '_')
            continue;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (matches_word(tokens, words[i]))
                return true;
    } while (next_char(&tokens));
    return false;
}

/* FILE.py(LINE): FUNCTION, all of the name. */
static bool
is_frame(struct slice name)
{
    static const char mark[] = ".py(";
    for (size_t i = 1; i + sizeof mark <= name.len; i++) {
        if (memcmp(name.data + i, mark, sizeof mark - 1) != 0)
            continue;
        size_t at = i + sizeof mark - 1;
        size_t first = at;
        while (at < name.len && is_digit(name.data[at]))
            at++;
        if (at > first && name.len - at > 3 && memcmp(name.data + at, "): ", 3) == 0)
            return true;
    }
    return false;
}

unsigned
symbol_traits(struct slice name)
{
    bool stalls = is_stall(name);
    unsigned traits = stalls ? SYMBOL_STALL | SYMBOL_COLLECTIVE : 0;
    if (!stalls && is_collective(name))
        traits |= SYMBOL_COLLECTIVE;
    if (symbol_contains(name, "launch"))
        traits |= SYMBOL_LAUNCH;
    if (symbol_contains(name, "graphlaunch"))
        traits |= SYMBOL_GRAPH_LAUNCH;
    if (is_frame(name))
        traits |= SYMBOL_FRAME;
    return traits;
}

enum err_kind
symbols_init(struct symbols *symbols, const struct events *events, struct err *err)
{
    uint32_t n = texts_count(events_texts(events));
    *symbols = (struct symbols){events, calloc((size_t)n + 1, 1)};
    return symbols->known ? ERR_OK : err_no_memory(err, "the names of a trace");
}

void
symbols_done(struct symbols *symbols)
{
    free(symbols->known);
    symbols->known = NULL;
}

unsigned
symbols_find(struct symbols *symbols, uint32_t text)
{
    unsigned traits = symbol_traits(events_text(symbols->events, text));
    symbols->known[text] = (uint8_t)(traits | KNOWN);
    return traits;
}
