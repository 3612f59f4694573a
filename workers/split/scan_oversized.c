/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An element above the ceiling is read to its end all the same, so that it is known to be
 * whole, and whether it looks like an event, but byte by byte and without being kept.
 */
#include "scan_key.h"
#include "scan_state.h"
#include "scan_value.h"

enum expects {
    EXPECTS_VALUE,
    EXPECTS_VALUE_OR_CLOSE,
    EXPECTS_KEY_OR_CLOSE,
    EXPECTS_COLON,
    EXPECTS_COMMA,
    IN_STRING,
    IN_ESCAPE,
    IN_WORD,
    IS_WHOLE,
    IS_BROKEN,
};

/* Longest word or key that is kept to be looked at; both may be longer. */
enum { WORD_BYTES = 512 };

struct passer {
    enum expects expects;
    bool is_key; /* the string is one */
    int depth;
    char open[SCAN_DEPTH + 1]; /* brackets, outermost first */
    char word[WORD_BYTES];
    size_t word_len;
    enum scan_key key; /* of the element itself, the last */
    bool has_phase;    /* the last "ph" is a string */
    bool has_place;    /* "ts" or "pid" */
};

static void
value_ends(struct passer *passer)
{
    passer->expects = passer->depth ? EXPECTS_COMMA : IS_WHOLE;
}

static void
open_container(struct passer *passer, char bracket)
{
    if (passer->depth == SCAN_DEPTH) {
        passer->expects = IS_BROKEN;
        return;
    }
    passer->open[passer->depth++] = bracket;
    passer->expects = bracket == '{' ? EXPECTS_KEY_OR_CLOSE : EXPECTS_VALUE_OR_CLOSE;
}

static void
close_container(struct passer *passer, char bracket)
{
    char open = bracket == '}' ? '{' : '[';
    if (passer->depth == 0 || passer->open[passer->depth - 1] != open) {
        passer->expects = IS_BROKEN;
        return;
    }
    passer->depth--;
    value_ends(passer);
}

static void
keep_byte(struct passer *passer, char byte)
{
    if (passer->word_len < WORD_BYTES)
        passer->word[passer->word_len++] = byte;
}

static void
keep_key_byte(struct passer *passer, char byte)
{
    if (passer->is_key)
        keep_byte(passer, byte);
}

/* A key in `word` has ended; one that fills it is none that matters. */
static void
end_key(struct passer *passer)
{
    struct scan_value key = {
        .text = passer->word, .len = (uint32_t)passer->word_len, .type = SCAN_STRING};
    passer->expects = EXPECTS_COLON;
    passer->key = passer->depth == 1 && passer->word_len < WORD_BYTES
                      ? scan_value_key(key)
                      : SCAN_KEY_UNKNOWN;
}

static void
look_at_member(struct passer *passer, char byte)
{
    if (passer->key == SCAN_PH)
        passer->has_phase = byte == '"';
    passer->has_place |= passer->key == SCAN_TS || passer->key == SCAN_PID;
    passer->key = SCAN_KEY_UNKNOWN;
}

static void
begin_value(struct passer *passer, char byte)
{
    passer->is_key = false;
    look_at_member(passer, byte);
    if (byte == '"') {
        passer->expects = IN_STRING;
    } else if (byte == '{' || byte == '[') {
        open_container(passer, byte);
    } else if (byte == ']' && passer->expects == EXPECTS_VALUE_OR_CLOSE) {
        close_container(passer, byte);
    } else {
        passer->word[0] = byte;
        passer->word_len = 1;
        passer->expects = IN_WORD;
    }
}

static void
begin_key(struct passer *passer, char byte)
{
    passer->is_key = true;
    passer->word_len = 0;
    if (byte == '"')
        passer->expects = IN_STRING;
    else if (byte == '}')
        close_container(passer, byte);
    else
        passer->expects = IS_BROKEN;
}

static void
behind_value(struct passer *passer, char byte)
{
    bool in_object = passer->open[passer->depth - 1] == '{';
    if (byte == ',')
        passer->expects = in_object ? EXPECTS_KEY_OR_CLOSE : EXPECTS_VALUE_OR_CLOSE;
    else if (byte == '}' || byte == ']')
        close_container(passer, byte);
    else
        passer->expects = IS_BROKEN;
}

static bool
is_word_whole(const struct passer *passer)
{
    struct scan_value value;
    const char *end;
    uint32_t repairs;
    const char *last = passer->word + passer->word_len;
    struct scan_text text = {passer->word, last, true};
    return scan_value_read(text, NULL, &value, &end, &repairs) == SCAN_READ &&
           end == last;
}

/* A number longer than WORD_BYTES is judged by its first bytes, if the rest is digits. */
static void
in_word(struct passer *passer, char byte)
{
    bool ends = scan_is_space(byte) || byte == ',' || byte == '}' || byte == ']';
    if (!ends && passer->word_len == WORD_BYTES && !scan_is_digit(byte))
        passer->expects = IS_BROKEN;
    if (!ends) {
        keep_byte(passer, byte);
        return;
    }
    if (!is_word_whole(passer)) {
        passer->expects = IS_BROKEN;
        return;
    }
    value_ends(passer);
    if (passer->expects == EXPECTS_COMMA && !scan_is_space(byte))
        behind_value(passer, byte);
}

static void
in_string(struct passer *passer, char byte)
{
    if (byte == '"' && passer->is_key) {
        end_key(passer);
    } else if (byte == '"') {
        value_ends(passer);
    } else {
        keep_key_byte(passer, byte);
        if (byte == '\\')
            passer->expects = IN_ESCAPE;
    }
}

static void
pass_byte(struct passer *passer, char byte)
{
    if (passer->expects < IN_STRING && scan_is_space(byte))
        return;
    switch (passer->expects) {
    case EXPECTS_VALUE:
    case EXPECTS_VALUE_OR_CLOSE:
        begin_value(passer, byte);
        break;
    case EXPECTS_KEY_OR_CLOSE:
        begin_key(passer, byte);
        break;
    case EXPECTS_COLON:
        passer->expects = byte == ':' ? EXPECTS_VALUE : IS_BROKEN;
        break;
    case EXPECTS_COMMA:
        behind_value(passer, byte);
        break;
    case IN_STRING:
        in_string(passer, byte);
        break;
    case IN_ESCAPE:
        keep_key_byte(passer, byte);
        passer->expects = IN_STRING;
        break;
    case IN_WORD:
        in_word(passer, byte);
        break;
    case IS_WHOLE:
    case IS_BROKEN:
        break;
    }
}

/* Reads on from scan->at until it is known whether the element is whole. */
static enum err_kind
pass_element(struct scan *scan, struct passer *passer, struct err *err)
{
    struct window *window = &scan->window;
    for (;;) {
        while (scan->at < window->len && passer->expects < IS_WHOLE)
            pass_byte(passer, window->text[scan->at++]);
        if (passer->expects >= IS_WHOLE || window->is_last)
            return ERR_OK;
        enum err_kind kind = window_refill(window, window->len, err);
        if (kind)
            return kind;
        scan->at = 0;
    }
}

enum err_kind
scan_pass_oversized(struct scan *scan, bool *ret_is_whole, struct err *err)
{
    struct passer passer = {.expects = EXPECTS_VALUE, .key = SCAN_KEY_UNKNOWN};
    uint64_t start = scan_offset(scan);
    enum err_kind kind = pass_element(scan, &passer, err);
    if (kind)
        return kind;
    *ret_is_whole = passer.expects == IS_WHOLE;
    if (!*ret_is_whole)
        return window_seek(&scan->window, start, &scan->at, err);
    window_index_from(&scan->window, scan->at);
    return ERR_OK;
}

enum err_kind
scan_try_oversized(struct scan *scan, bool *ret_is_event, struct err *err)
{
    struct passer passer = {.expects = EXPECTS_VALUE, .key = SCAN_KEY_UNKNOWN};
    uint64_t start = scan_offset(scan);
    enum err_kind kind = pass_element(scan, &passer, err);
    if (kind)
        return kind;
    *ret_is_event = passer.expects == IS_WHOLE && passer.has_phase && passer.has_place;
    return window_seek(&scan->window, start, &scan->at, err);
}
