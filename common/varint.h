/* SPDX-License-Identifier: Apache-2.0 */
/* Avro's int and long on the wire: zig-zag, seven bits a byte, lowest first. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { VARINT_MAX_BYTES = 10, VARINT_INT_BYTES = 5 };

/* A number read, and the byte after it; `next` NULL when it could not be read. */
struct varint {
    const char *next;
    int64_t value;
};

/* Writes `value` (at most VARINT_MAX_BYTES) and returns the end. */
static inline char *
varint_put(char *at, int64_t value)
{
    uint64_t bits = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    while (bits > 0x7F) {
        *at++ = (char)(bits | 0x80);
        bits >>= 7;
    }
    *at++ = (char)bits;
    return at;
}

static inline int64_t
varint_unzigzag(uint64_t bits)
{
    return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
}

/* Any length, all checks. */
struct varint varint_get_long(const char *at, const char *end);

/* Reads a number that must end before `end` and be of 64 bits at most. */
static inline __attribute__((always_inline)) struct varint
varint_get(const char *at, const char *end)
{
    if (__builtin_expect(at == end || (*at & 0x80), 0))
        return varint_get_long(at, end);
    return (struct varint){at + 1, varint_unzigzag((unsigned char)*at)};
}
