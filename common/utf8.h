/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether bytes are well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no
 * surrogates, nothing above U+10FFFF). Text of a few dozen ASCII bytes is the common
 * case and is settled without a call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define UTF8_HIGH_BITS UINT64_C(0x8080808080808080)

/* The whole rule. */
bool utf8_check(const char *text, size_t len);

static inline uint64_t
utf8_load8(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

static inline uint32_t
utf8_load4(const char *text)
{
    uint32_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

/* Fewer than 8 bytes; loads that overlap spare the loop. */
static inline bool
utf8_is_ascii_short(const char *text, size_t len)
{
    if (len >= 4)
        return !((utf8_load4(text) | utf8_load4(text + len - 4)) &
                 (uint32_t)UTF8_HIGH_BITS);
    if (len == 0)
        return true;
    return !((text[0] | text[len / 2] | text[len - 1]) & 0x80);
}

static inline bool
utf8_is_ascii(const char *text, size_t len)
{
    if (len < 8)
        return utf8_is_ascii_short(text, len);
    const char *last = text + len - 8;
    uint64_t bits = utf8_load8(last);
#ifdef __SSE2__
    __m128i wide = _mm_setzero_si128();
    for (; last - text >= 56; text += 64) {
        const __m128i *at = (const __m128i *)(const void *)text;
        wide = _mm_or_si128(
            wide,
            _mm_or_si128(_mm_or_si128(_mm_loadu_si128(at), _mm_loadu_si128(at + 1)),
                         _mm_or_si128(_mm_loadu_si128(at + 2), _mm_loadu_si128(at + 3))));
    }
    for (; last - text >= 8; text += 16)
        wide = _mm_or_si128(wide, _mm_loadu_si128((const __m128i *)(const void *)text));
    if (_mm_movemask_epi8(wide))
        return false;
#endif
    for (; text < last; text += 8)
        bits |= utf8_load8(text);
    return !(bits & UTF8_HIGH_BITS);
}

static inline bool
utf8_valid(const char *text, size_t len)
{
    return utf8_is_ascii(text, len) || utf8_check(text, len);
}

/* The same for text that lies in a larger block, which goes on to `end`. */
static inline __attribute__((always_inline)) bool
utf8_valid_within(const char *text, size_t len, const char *end)
{
#ifdef __SSE2__
    if (len <= sizeof(__m128i) && end - text >= (ptrdiff_t)sizeof(__m128i)) {
        __m128i wide = _mm_loadu_si128((const __m128i *)(const void *)text);
        uint32_t mask = (uint32_t)((UINT64_C(1) << len) - 1);
        return !((uint32_t)_mm_movemask_epi8(wide) & mask) || utf8_check(text, len);
    }
#else
    (void)end;
#endif
    return utf8_valid(text, len);
}

/* Copies text; whether it is well-formed. What was copied of other text is no matter. */
static inline __attribute__((always_inline)) bool
utf8_copy(char *to, const char *text, size_t len)
{
    if (len > 16 || len < 4) {
        bool is_ascii = utf8_is_ascii(text, len);
        if (len > 16)
            memcpy(to, text, len);
        else
            for (size_t i = 0; i < len; i++)
                to[i] = text[i];
        return is_ascii || utf8_check(text, len);
    }
    uint64_t bits;
    if (len >= 8) {
        uint64_t first = utf8_load8(text);
        uint64_t last = utf8_load8(text + len - 8);
        memcpy(to, &first, sizeof first);
        memcpy(to + len - 8, &last, sizeof last);
        bits = first | last;
    } else {
        uint32_t first = utf8_load4(text);
        uint32_t last = utf8_load4(text + len - 4);
        memcpy(to, &first, sizeof first);
        memcpy(to + len - 4, &last, sizeof last);
        bits = first | last;
    }
    return !(bits & UTF8_HIGH_BITS) || utf8_check(text, len);
}
