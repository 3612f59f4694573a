/* SPDX-License-Identifier: Apache-2.0 */
/* Python's strip(), lower() and isalnum() over generated ranges. */
#include "unicode.h"

#include "text.h"

#define N_ROWS(table) (sizeof(table) / sizeof(table)[0])

enum { CAPITAL_SIGMA = 0x3A3, SMALL_SIGMA = 0x3C3, FINAL_SIGMA = 0x3C2 };
enum { CAPITAL_I_DOT = 0x130, DOT_ABOVE = 0x307, KELVIN = 0x212A };

struct point_range {
    uint32_t first, last;
};

/* Every `stride`-th code point from first to last has its lower case `delta` away. */
struct lower_row {
    uint32_t first, last, stride;
    int32_t delta;
};

#include "unicode_table.h"

static bool
in_ranges(const struct point_range *ranges, size_t n, uint32_t point)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = (low + n) / 2;
        if (point > ranges[middle].last)
            low = middle + 1;
        else if (point < ranges[middle].first)
            n = middle;
        else
            return true;
    }
    return false;
}

bool
unicode_is_space_wide(uint32_t point)
{
    return point == 0x85 || point == 0xA0 || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
           point == 0x202F || point == 0x205F || point == 0x3000;
}

bool
unicode_is_word(uint32_t point)
{
    if (point < 0x80)
        return (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') ||
               (point >= 'a' && point <= 'z') || point == '_';
    return in_ranges(alnum_ranges, N_ROWS(alnum_ranges), point);
}

struct slice
unicode_strip_end_any(struct slice text)
{
    const char *end = text.data + text.len;
    while (end > text.data) {
        const char *at;
        if (!unicode_is_space(text_last(text.data, end, &at)))
            break;
        end = at;
    }
    return (struct slice){text.data, (size_t)(end - text.data)};
}

static struct slice
strip_begin(struct slice text)
{
    const char *at = text.data;
    const char *end = text.data + text.len;
    while (at < end) {
        const char *next = at;
        if (!unicode_is_space(text_next(&next, end)))
            break;
        at = next;
    }
    return (struct slice){at, (size_t)(end - at)};
}

struct slice
unicode_strip(struct slice text)
{
    return unicode_strip_end(strip_begin(text));
}

struct slice
unicode_word(struct slice *rest)
{
    struct slice text = strip_begin(*rest);
    if (text.len == 0)
        return (struct slice){NULL, 0};
    const char *at = text.data;
    const char *end = text.data + text.len;
    while (at < end) {
        const char *next = at;
        if (unicode_is_space(text_next(&next, end)))
            break;
        at = next;
    }
    *rest = (struct slice){at, (size_t)(end - at)};
    return (struct slice){text.data, (size_t)(at - text.data)};
}

static uint32_t
lower_point(uint32_t point)
{
    if (point < 0x80)
        return point >= 'A' && point <= 'Z' ? point + 32 : point;
    size_t low = 0;
    size_t n = N_ROWS(lower_rows);
    while (low < n) {
        size_t middle = (low + n) / 2;
        const struct lower_row *row = &lower_rows[middle];
        if (point > row->last)
            low = middle + 1;
        else if (point < row->first)
            n = middle;
        else if ((point - row->first) % row->stride)
            return point;
        else
            return (uint32_t)((int64_t)point + row->delta);
    }
    return point;
}

static bool
is_case_ignorable(uint32_t point)
{
    return in_ranges(case_ignorable_ranges, N_ROWS(case_ignorable_ranges), point);
}

static bool
is_cased(uint32_t point)
{
    return in_ranges(cased_ranges, N_ROWS(cased_ranges), point);
}

/* Is the capital sigma from `at` to `after` the last cased letter of its word? */
static bool
ends_word(struct slice text, const char *at, const char *after)
{
    uint32_t point = 0;
    while (at > text.data) {
        point = text_last(text.data, at, &at);
        if (!is_case_ignorable(point))
            break;
        point = 0;
    }
    if (!is_cased(point))
        return false;
    const char *end = text.data + text.len;
    while (after < end) {
        point = text_next(&after, end);
        if (!is_case_ignorable(point))
            return !is_cased(point);
    }
    return true;
}

/* U+023A and its like grow from two bytes to three; nothing grows more. */
static struct slice
lower_all(struct arena *arena, struct slice text)
{
    char *lower = arena_alloc(arena, text.len + text.len / 2 + TEXT_MAX_BYTES);
    if (!lower)
        return (struct slice){NULL, 0};
    size_t len = 0;
    const char *end = text.data + text.len;
    for (const char *at = text.data; at < end;) {
        const char *begin = at;
        uint32_t point = text_next(&at, end);
        if (point == CAPITAL_SIGMA)
            point = ends_word(text, begin, at) ? FINAL_SIGMA : SMALL_SIGMA;
        else if (point == CAPITAL_I_DOT)
            lower[len++] = 'i';
        point = point == CAPITAL_I_DOT ? DOT_ABOVE : lower_point(point);
        len += text_put(lower + len, point);
    }
    return (struct slice){lower, len};
}

struct slice
unicode_lower(struct arena *arena, struct slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] & 0x80 || (text.data[i] >= 'A' && text.data[i] <= 'Z'))
            return lower_all(arena, text);
    return text;
}

/* The Kelvin sign is the one character outside ASCII whose lower case lies within it
 * alone; the dotted capital I brings a combining dot along. */
bool
unicode_is_folded(struct slice text, const char *word)
{
    text = unicode_strip(text);
    const char *end = text.data + text.len;
    for (const char *at = text.data; at < end; word++) {
        uint32_t point = text_next(&at, end);
        if (point == KELVIN)
            point = 'k';
        else if (point < 0x80)
            point = lower_point(point);
        if (point != (unsigned char)*word || *word == '\0')
            return false;
    }
    return *word == '\0';
}
