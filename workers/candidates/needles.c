/* SPDX-License-Identifier: Apache-2.0 */
/* Many words in one pass. */
#include "needles.h"

#include <assert.h>
#include <string.h>

enum { CLASS_OTHER = 0, CLASS_UNDERSCORE = 1, CLASS_LETTERS = 2, CLASS_DIGITS = 28 };

static unsigned char
lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static uint8_t
class_of(unsigned char c)
{
    if (c >= 'a' && c <= 'z')
        return (uint8_t)(CLASS_LETTERS + c - 'a');
    if (c >= '0' && c <= '9')
        return (uint8_t)(CLASS_DIGITS + c - '0');
    return c == '_' ? CLASS_UNDERSCORE : CLASS_OTHER;
}

static size_t
add(struct needle_set *set, const char *text, size_t len, bool word, size_t line)
{
    assert(set->n < NEEDLES_MAX && len >= 2 && len <= UINT8_MAX);
    size_t at = set->n++;
    uint8_t a = class_of((unsigned char)text[0]);
    uint8_t b = class_of((unsigned char)text[1]);
    int16_t *head = &set->first[a * NEEDLES_CLASSES + b];
    set->third[a * NEEDLES_CLASSES + b] |=
        len == 2 ? UINT64_MAX : UINT64_C(1) << class_of((unsigned char)text[2]);
    set->items[at] = (struct needle){
        .text = text,
        .len = (uint8_t)len,
        .word = word,
        .line = (uint8_t)line,
        .after = -1,
        .next = *head,
    };
    *head = (int16_t)at;
    return at;
}

static void
add_pair(
    struct needle_set *set, const char *text, size_t len, const char *dots, size_t line)
{
    size_t head = (size_t)(dots - text);
    size_t first = add(set, text, head, false, line);
    size_t second = add(set, dots + 2, len - head - 2, false, line);
    set->items[first].partial = true;
    set->items[second].after = (int16_t)first;
}

static void
add_texts(struct needle_set *set, const char *texts, bool word, size_t line)
{
    while (*texts) {
        size_t len = strcspn(texts, " ");
        const char *dots = memmem(texts, len, "..", 2);
        if (dots)
            add_pair(set, texts, len, dots, line);
        else if (len)
            add(set, texts, len, word, line);
        texts += len;
        texts += *texts == ' ';
    }
}

void
needles_init(struct needle_set *ret_set, const struct needle_line *lines, size_t n_lines)
{
    assert(n_lines <= NEEDLES_LINES);
    ret_set->lines = lines;
    ret_set->n_lines = n_lines;
    ret_set->n = 0;
    memset(ret_set->first, 0xff, sizeof ret_set->first);
    memset(ret_set->third, 0, sizeof ret_set->third);
    for (int c = 0; c < 256; c++)
        ret_set->classes[c] = class_of(lower((char)c));
    for (size_t i = 0; i < n_lines; i++) {
        add_texts(ret_set, lines[i].needles, false, i);
        add_texts(ret_set, lines[i].words, true, i);
    }
}

static bool
is_word_char(const struct needle_set *set, char c)
{
    return set->classes[(unsigned char)c] != CLASS_OTHER;
}

static bool
is_here(const struct needle_set *set,
        const struct needle *needle,
        struct slice text,
        size_t at)
{
    if (text.len - at < needle->len)
        return false;
    for (size_t i = 2; i < needle->len; i++)
        if (lower(text.data[at + i]) != (unsigned char)needle->text[i])
            return false;
    size_t end = at + needle->len;
    return !needle->word || ((at == 0 || !is_word_char(set, text.data[at - 1])) &&
                             (end == text.len || !is_word_char(set, text.data[end])));
}

/* The first line with a hit so far; `ends`: where the first half of a pair first ended.
 */
static size_t
meet(const struct needle_set *set,
     int16_t candidate,
     struct slice text,
     size_t at,
     size_t best,
     uint32_t *ends)
{
    for (; candidate >= 0; candidate = set->items[candidate].next) {
        const struct needle *needle = &set->items[candidate];
        if (needle->line >= best || !is_here(set, needle, text, at))
            continue;
        if (needle->partial) {
            if (ends[candidate] == 0)
                ends[candidate] = (uint32_t)(at + needle->len);
        } else if (needle->after < 0 ||
                   (ends[needle->after] && at >= ends[needle->after])) {
            best = needle->line;
        }
    }
    return best;
}

const char *
needles_first(const struct needle_set *set, struct slice text)
{
    uint32_t ends[NEEDLES_MAX] = {0};
    size_t best = set->n_lines;
    if (text.len < 2)
        return NULL;
    const uint8_t *classes = set->classes;
    size_t pair = classes[(unsigned char)text.data[0]];
    size_t next = classes[(unsigned char)text.data[1]];
    for (size_t at = 0; at + 1 < text.len && best > 0; at++) {
        pair = pair * NEEDLES_CLASSES + next;
        size_t ahead =
            at + 2 < text.len ? classes[(unsigned char)text.data[at + 2]] : CLASS_OTHER;
        if (set->third[pair] >> ahead & 1)
            best = meet(set, set->first[pair], text, at, best, ends);
        pair = next;
        next = ahead;
    }
    return best < set->n_lines ? set->lines[best].answer : NULL;
}
