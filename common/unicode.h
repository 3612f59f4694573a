/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Python's str methods know about characters: strip(), lower(), isalnum(). The
 * tables come from Python itself (gen_unicode.py). Text is as text.h has it inside.
 */
#pragma once

#include "arena.h"
#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

bool unicode_is_space_wide(uint32_t point);

/* str.isspace() of one character, which is also what \s of `re` means. */
static inline bool
unicode_is_space(uint32_t point)
{
    if (point < 0x80)
        return (point >= 0x09 && point <= 0x0D) || (point >= 0x1C && point <= 0x20);
    return unicode_is_space_wide(point);
}

/* \w of `re`: str.isalnum() or the underscore. */
bool unicode_is_word(uint32_t point);
/* str.strip() and str.rstrip() without an argument. Borrowed. */
struct slice unicode_strip(struct slice text);
struct slice unicode_strip_end_any(struct slice text);

/* Most lines end with a letter. */
static inline struct slice
unicode_strip_end(struct slice text)
{
    bool graphic = text.len && text.data[text.len - 1] > ' ';
    return graphic ? text : unicode_strip_end_any(text);
}

/* The next word of str.split() in `*rest`, which moves behind it; null when none is left.
 */
struct slice unicode_word(struct slice *rest);
/*
 * str.lower(), the final sigma and the one character with a longer lower case included.
 * `text` itself when nothing changes; a null slice when `arena` has no room.
 */
struct slice unicode_lower(struct arena *arena, struct slice text);
/* Is str.strip().lower() of `text` equal to `word`, which is ASCII in lower case? */
bool unicode_is_folded(struct slice text, const char *word);
