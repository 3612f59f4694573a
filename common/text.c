/* SPDX-License-Identifier: Apache-2.0 */
/* Code points in UTF-8: check, repair, step, count, cut. */
#include "text.h"

#include "utf8.h"

static size_t
ascii_run(const char *text, size_t len)
{
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, sizeof word);
        if (word & 0x8080808080808080U)
            break;
    }
    while (i < len && !(text[i] & 0x80))
        i++;
    return i;
}

/* Range of the second byte, which alone keeps out overlong forms and surrogates. */
static bool
second_fits(unsigned char lead, unsigned char second)
{
    switch (lead) {
    case 0xE0:
        return second >= 0xA0 && second <= 0xBF;
    case 0xED:
        return second >= 0x80 && second <= 0x9F;
    case 0xF0:
        return second >= 0x90 && second <= 0xBF;
    case 0xF4:
        return second >= 0x80 && second <= 0x8F;
    default:
        return second >= 0x80 && second <= 0xBF;
    }
}

static size_t
length_by_lead(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Bytes of the character at `at`, 0 when it is bad; then `*ret_bad` bytes are one part.
 */
static size_t
character(const unsigned char *at, size_t left, size_t *ret_bad)
{
    size_t want = length_by_lead(at[0]);
    if (want == 0 || (want > 1 && (left < 2 || !second_fits(at[0], at[1])))) {
        *ret_bad = 1;
        return 0;
    }
    for (size_t i = 2; i < want; i++)
        if (i >= left || (at[i] & 0xC0) != 0x80) {
            *ret_bad = i;
            return 0;
        }
    return want;
}

size_t
text_bad(struct slice text)
{
    if (utf8_is_ascii(text.data, text.len))
        return text.len;
    size_t i = 0;
    while (i < text.len) {
        i += ascii_run(text.data + i, text.len - i);
        if (i == text.len)
            break;
        size_t bad = 0;
        size_t n = character((const unsigned char *)text.data + i, text.len - i, &bad);
        if (n == 0)
            return i;
        i += n;
    }
    return i;
}

size_t
text_repair_to(char *to, struct slice text)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len;) {
        size_t run = ascii_run(text.data + i, text.len - i);
        memcpy(to + len, text.data + i, run);
        len += run;
        i += run;
        if (i == text.len)
            break;
        size_t bad = 0;
        size_t n = character((const unsigned char *)text.data + i, text.len - i, &bad);
        if (n)
            memcpy(to + len, text.data + i, n);
        len += n ? n : text_put(to + len, TEXT_REPLACEMENT);
        i += n ? n : bad;
    }
    return len;
}

size_t
text_repaired_len(struct slice text)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len;) {
        size_t bad = 0;
        size_t n = character((const unsigned char *)text.data + i, text.len - i, &bad);
        len += n ? n : 3;
        i += n ? n : bad;
    }
    return len;
}

struct slice
text_repair(struct arena *arena, struct slice text)
{
    if (!text.data || text_bad(text) == text.len)
        return text;
    size_t len = text_repaired_len(text);
    char *copy = arena_alloc(arena, len);
    if (!copy)
        return (struct slice){NULL, 0};
    text_repair_to(copy, text);
    return (struct slice){copy, len};
}

uint32_t
text_next_wide(const char **at, const char *end)
{
    const unsigned char *p = (const unsigned char *)*at;
    size_t want = p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if ((size_t)(end - *at) < want)
        want = 1;
    *at += want;
    switch (want) {
    case 1:
        return p[0];
    case 2:
        return (p[0] & 0x1FU) << 6 | (p[1] & 0x3FU);
    case 3:
        return (p[0] & 0x0FU) << 12 | (p[1] & 0x3FU) << 6 | (p[2] & 0x3FU);
    default:
        return (p[0] & 0x07U) << 18 | (p[1] & 0x3FU) << 12 | (p[2] & 0x3FU) << 6 |
               (p[3] & 0x3FU);
    }
}

uint32_t
text_last_wide(const char *begin, const char *end, const char **ret_at)
{
    const char *at = end - 1;
    while (at > begin && ((unsigned char)*at & 0xC0) == 0x80)
        at--;
    *ret_at = at;
    return text_next(&at, end);
}

size_t
text_put(char *to, uint32_t point)
{
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        to[0] = (char)(0xC0 | point >> 6);
        to[1] = (char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        to[0] = (char)(0xE0 | point >> 12);
        to[1] = (char)(0x80 | (point >> 6 & 0x3F));
        to[2] = (char)(0x80 | (point & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | point >> 18);
    to[1] = (char)(0x80 | (point >> 12 & 0x3F));
    to[2] = (char)(0x80 | (point >> 6 & 0x3F));
    to[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}

size_t
text_count(struct slice text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return n;
}

struct slice
text_cut(struct slice text, size_t n)
{
    if (text.len <= n)
        return text;
    size_t i = 0;
    for (; i < text.len; i++)
        if (((unsigned char)text.data[i] & 0xC0) != 0x80 && n-- == 0)
            break;
    return (struct slice){text.data, i};
}

struct slice
text_cut_bytes(struct slice text, size_t n)
{
    if (text.len <= n)
        return text;
    while (n > 0 && ((unsigned char)text.data[n] & 0xC0) == 0x80)
        n--;
    return (struct slice){text.data, n};
}

/* A surrogate is ED A0..BF xx, as long as U+FFFD, so the copy has the same length. */
struct slice
text_scalar(struct arena *arena, struct slice text)
{
    char *copy = NULL;
    if (text.len == 0 || !memchr(text.data, 0xED, text.len))
        return text;
    for (size_t i = 0; i + 2 < text.len; i++) {
        if ((unsigned char)text.data[i] != 0xED || (unsigned char)text.data[i + 1] < 0xA0)
            continue;
        if (!copy) {
            copy = arena_alloc(arena, text.len);
            if (!copy)
                return (struct slice){NULL, 0};
            memcpy(copy, text.data, text.len);
        }
        text_put(copy + i, TEXT_REPLACEMENT);
    }
    return copy ? (struct slice){copy, text.len} : text;
}
