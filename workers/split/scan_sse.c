/* SPDX-License-Identifier: Apache-2.0 */
/* The structural index with SSE2, which every x86-64 has. */
#include "quotes_body.h"

#include <emmintrin.h>

static inline uint64_t
high_bits(__m128i a, __m128i b, __m128i c, __m128i d)
{
    return (uint64_t)(uint32_t)_mm_movemask_epi8(a) |
           (uint64_t)(uint32_t)_mm_movemask_epi8(b) << 16 |
           (uint64_t)(uint32_t)_mm_movemask_epi8(c) << 32 |
           (uint64_t)(uint32_t)_mm_movemask_epi8(d) << 48;
}

static inline uint64_t
equal_bits(const __m128i part[4], char byte)
{
    __m128i wanted = _mm_set1_epi8(byte);
    return high_bits(_mm_cmpeq_epi8(part[0], wanted), _mm_cmpeq_epi8(part[1], wanted),
                     _mm_cmpeq_epi8(part[2], wanted), _mm_cmpeq_epi8(part[3], wanted));
}

/* Unsigned below 20 hex: the smaller of the byte and 1f is the byte itself. */
static inline __m128i
is_control(__m128i part)
{
    return _mm_cmpeq_epi8(_mm_min_epu8(part, _mm_set1_epi8(0x1f)), part);
}

static inline struct masks
line_masks(const char *text)
{
    const __m128i *from = (const __m128i *)(const void *)text;
    __m128i part[4];
    for (int i = 0; i < 4; i++)
        part[i] = _mm_loadu_si128(from + i);
    return (struct masks){
        .quote = equal_bits(part, '"'),
        .backslash = equal_bits(part, '\\'),
        .control = high_bits(is_control(part[0]), is_control(part[1]),
                             is_control(part[2]), is_control(part[3])),
        .high = high_bits(part[0], part[1], part[2], part[3]),
    };
}

static inline uint64_t
prefix_xor(uint64_t bits)
{
    return prefix_xor_by_shifts(bits);
}

static inline uint32_t *
add_places(uint32_t *places, uint32_t base, uint64_t bits)
{
    return add_places_by_count(places, base, bits);
}

void
quotes_sse(const char *text,
           size_t from,
           size_t to,
           struct quotes_state *state,
           struct quotes *ret)
{
    index_lines(text, from, to, state, ret);
}
