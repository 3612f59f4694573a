/* SPDX-License-Identifier: Apache-2.0 */
/* Avro's int and long on the wire: zig-zag, seven bits a byte, lowest first. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { VARINT_MAX_BYTES = 10, VARINT_INT_BYTES = 5 };

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

/* Any length and every check; NULL when it does not end before `end` or is too long. */
const char *varint_get_slow(const char *at, const char *end, int64_t *ret_value);

/* Reads a value and returns the byte after it; NULL as varint_get_slow(). */
static inline const char *
varint_get(const char *at, const char *end, int64_t *ret_value)
{
    if (__builtin_expect(at == end || (*at & 0x80), 0))
        return varint_get_slow(at, end, ret_value);
    unsigned bits = (unsigned char)*at;
    *ret_value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
    return at + 1;
}
