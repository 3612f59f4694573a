/* SPDX-License-Identifier: Apache-2.0 */
/* The structural index with AVX-512: a line is one register, places by VBMI2 compress. */
#include "quotes_body.h"

#include <immintrin.h>

static inline struct masks
line_masks(const char *text)
{
    __m512i line = _mm512_loadu_si512((const void *)text);
    return (struct masks){
        .quote = _mm512_cmpeq_epi8_mask(line, _mm512_set1_epi8('"')),
        .backslash = _mm512_cmpeq_epi8_mask(line, _mm512_set1_epi8('\\')),
        .control = _mm512_cmplt_epu8_mask(line, _mm512_set1_epi8(0x20)),
        .high = _mm512_movepi8_mask(line),
    };
}

static inline uint64_t
prefix_xor(uint64_t bits)
{
    __m128i ones = _mm_set1_epi8((char)0xff);
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)bits), ones, 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

static inline __m512i
byte_numbers(void)
{
    return _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
                           47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
                           31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                           15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

static inline void
store_16(uint32_t *places, __m512i base, __m128i numbers)
{
    __m512i wide = _mm512_add_epi32(base, _mm512_cvtepu8_epi32(numbers));
    _mm512_storeu_si512((void *)places, wide);
}

static inline uint32_t *
add_places(uint32_t *places, uint32_t base, uint64_t bits)
{
    __m512i numbers = _mm512_maskz_compress_epi8(bits, byte_numbers());
    __m512i bases = _mm512_set1_epi32((int)base);
    int n = __builtin_popcountll(bits);
    store_16(places, bases, _mm512_castsi512_si128(numbers));
    if (n > 16) {
        store_16(places + 16, bases, _mm512_extracti32x4_epi32(numbers, 1));
        store_16(places + 32, bases, _mm512_extracti32x4_epi32(numbers, 2));
        store_16(places + 48, bases, _mm512_extracti32x4_epi32(numbers, 3));
    }
    return places + n;
}

void
quotes_avx512(const char *text,
              size_t from,
              size_t to,
              struct quotes_state *state,
              struct quotes *ret)
{
    index_lines(text, from, to, state, ret);
}
