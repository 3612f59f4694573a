/* SPDX-License-Identifier: Apache-2.0 */
/* The structural index with AVX2, BMI and carry-less multiplication. */
#include "quotes_body.h"

#include <immintrin.h>

static inline uint64_t
high_bits(__m256i a, __m256i b)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(a) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}

static inline uint64_t
equal_bits(__m256i a, __m256i b, char byte)
{
    __m256i wanted = _mm256_set1_epi8(byte);
    return high_bits(_mm256_cmpeq_epi8(a, wanted), _mm256_cmpeq_epi8(b, wanted));
}

static inline __m256i
is_control(__m256i part)
{
    return _mm256_cmpeq_epi8(_mm256_min_epu8(part, _mm256_set1_epi8(0x1f)), part);
}

static inline struct masks
line_masks(const char *text)
{
    const __m256i *from = (const __m256i *)(const void *)text;
    __m256i a = _mm256_loadu_si256(from);
    __m256i b = _mm256_loadu_si256(from + 1);
    return (struct masks){
        .quote = equal_bits(a, b, '"'),
        .backslash = equal_bits(a, b, '\\'),
        .control = high_bits(is_control(a), is_control(b)),
        .high = high_bits(a, b),
    };
}

static inline uint64_t
prefix_xor(uint64_t bits)
{
    __m128i ones = _mm_set1_epi8((char)0xff);
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)bits), ones, 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

static inline uint32_t *
add_places(uint32_t *places, uint32_t base, uint64_t bits)
{
    return add_places_by_count(places, base, bits);
}

void
quotes_avx2(const char *text,
            size_t from,
            size_t to,
            struct quotes_state *state,
            struct quotes *ret)
{
    index_lines(text, from, to, state, ret);
}
