/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of a JSON document: for json.c (reads), json_write.c (measures and writes) and
 * what json.h does in place. Nobody else looks inside. A container is followed by its
 * items; a member is its key's node, then its value's.
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define NO_NODE UINT32_MAX

enum node_type {
    NODE_NULL = 1,
    NODE_FALSE,
    NODE_TRUE,
    NODE_NUMBER,
    NODE_SPECIAL,
    NODE_STRING,
    NODE_ARRAY,
    NODE_OBJECT,
};

enum node_flag {
    NODE_PLAIN = 1 << 0,    /* string: its line form is itself between quotes */
    NODE_KEY = 1 << 1,      /* string: a key */
    NODE_DEAD = 1 << 2,     /* key: a later member has the same */
    NODE_SORTED = 1 << 3,   /* object: its keys rise */
    NODE_HAS_DEAD = 1 << 4, /* object: it has a dead key */
};

struct json_node {
    uint32_t off;  /* of the text; container: its depth */
    uint32_t len;  /* of the text in bytes; container: its live items or members */
    uint32_t next; /* the node behind this value; of a key: its value */
    uint8_t type;  /* enum node_type */
    uint8_t flags; /* enum node_flag */
};

/*
 * json_plain_bytes: of the JSON_STEP_BYTES at `at` the number before the first one that
 * is not plain: a quote, a backslash, or outside U+0020-007E. json_stops: a bit for each
 * of the JSON_BLOCK_BYTES that is not.
 */
#ifdef __SSE2__
enum { JSON_STEP_BYTES = 16, JSON_BLOCK_BYTES = 64 };

/* A bit for each of 16 bytes. */
static inline uint32_t
json_stops_16(const char *at)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* Signed, so what lies beyond ASCII is below the space, too. */
    __m128i stop = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
    stop = _mm_or_si128(stop, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    stop = _mm_or_si128(stop, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    stop = _mm_or_si128(stop, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7F)));
    return (uint32_t)_mm_movemask_epi8(stop);
}

static inline size_t
json_plain_bytes(const char *at)
{
    uint32_t stops = json_stops_16(at);
    return stops ? (size_t)__builtin_ctz(stops) : JSON_STEP_BYTES;
}

static inline uint64_t
json_stops(const char *at)
{
    uint64_t stops = json_stops_16(at);
    stops |= (uint64_t)json_stops_16(at + 16) << 16;
    stops |= (uint64_t)json_stops_16(at + 32) << 32;
    return stops | (uint64_t)json_stops_16(at + 48) << 48;
}
#else
enum { JSON_STEP_BYTES = 8, JSON_BLOCK_BYTES = 64 };

#define JSON_EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Carries only reach bytes behind a marked one, so the first mark is right. */
static inline size_t
json_plain_bytes(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    word = le64toh(word);
    uint64_t quote = word ^ JSON_EACH_BYTE('"');
    uint64_t slash = word ^ JSON_EACH_BYTE('\\');
    uint64_t stop =
        ((quote - JSON_EACH_BYTE(1)) & ~quote) | ((slash - JSON_EACH_BYTE(1)) & ~slash) |
        ((word - JSON_EACH_BYTE(0x20)) & ~word) | word | (word + JSON_EACH_BYTE(1));
    stop &= JSON_EACH_BYTE(0x80);
    return stop ? (size_t)__builtin_ctzll(stop) / 8 : JSON_STEP_BYTES;
}

static inline uint64_t
json_stops(const char *at)
{
    uint64_t stops = 0;
    for (unsigned i = 0; i < JSON_BLOCK_BYTES; i++) {
        unsigned char byte = (unsigned char)at[i];
        bool stop = byte < 0x20 || byte >= 0x7F || byte == '"' || byte == '\\';
        stops |= (uint64_t)stop << i;
    }
    return stops;
}
#endif
