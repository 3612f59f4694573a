/* SPDX-License-Identifier: Apache-2.0 */
/* Long and damaged varints. */
#include "varint.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bytes are read as a word");

#define STOP_BITS UINT64_C(0x8080808080808080)

static const struct varint unreadable = {0};

static struct varint
get_by_byte(const char *at, const char *end)
{
    uint64_t bits = 0;
    for (unsigned shift = 0; at < end && shift < 7 * VARINT_MAX_BYTES; shift += 7) {
        uint64_t byte = (unsigned char)*at++;
        if (shift == 63 && byte > 1)
            return unreadable;
        bits |= (byte & 0x7F) << shift;
        if (byte < 0x80)
            return (struct varint){at, varint_unzigzag(bits)};
    }
    return unreadable;
}

/* A time in microseconds takes eight bytes: those are read at once. */
struct varint
varint_get_long(const char *at, const char *end)
{
    uint64_t word;
    if (end - at < (ptrdiff_t)sizeof word)
        return get_by_byte(at, end);
    memcpy(&word, at, sizeof word);
    uint64_t stops = ~word & STOP_BITS;
    if (stops == 0)
        return get_by_byte(at, end);
    uint64_t last = stops & -stops;
    word &= (last << 1) - 1;
    word = (word & UINT64_C(0x007F007F007F007F)) |
           (word & UINT64_C(0x7F007F007F007F00)) >> 1;
    word = (word & UINT64_C(0x00003FFF00003FFF)) |
           (word & UINT64_C(0x3FFF00003FFF0000)) >> 2;
    word = (word & UINT64_C(0x000000000FFFFFFF)) |
           (word & UINT64_C(0x0FFFFFFF00000000)) >> 4;
    const char *next = at + __builtin_ctzll(last) / 8 + 1;
    return (struct varint){next, varint_unzigzag(word)};
}
