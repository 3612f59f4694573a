/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text as Python sees it: code points in UTF-8. Bytes from outside are repaired once, as
 * bytes.decode("utf-8", "replace") does it. Inside, a lone surrogate (legal as a JSON
 * escape) is kept in the three bytes that UTF-8 would give it, so the order of the bytes
 * is the order of the code points; text_scalar() takes them out where text leaves for a
 * place that must be valid UTF-8 (Avro strings, Kafka keys).
 */
#pragma once

#include "arena.h"
#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { TEXT_MAX_BYTES = 4, TEXT_REPLACEMENT = 0xFFFD };

/* Offset of the first byte that is not part of valid UTF-8; `text.len` when all is. */
size_t text_bad(struct slice text);
/*
 * `text` itself when it is valid UTF-8, else a copy in `arena` with U+FFFD for each
 * maximal bad part. A null slice when there is no room.
 */
struct slice text_repair(struct arena *arena, struct slice text);
/* Bytes that the repaired text takes. */
size_t text_repaired_len(struct slice text);
/* Writes the repaired text into `to`, which has room for text_repaired_len(). */
size_t text_repair_to(char *to, struct slice text);

uint32_t text_next_wide(const char **at, const char *end);
uint32_t text_last_wide(const char *begin, const char *end, const char **ret_at);

/* The code point at `*at` (before `end`), and steps over it. Repaired text only. */
static inline uint32_t
text_next(const char **at, const char *end)
{
    unsigned char byte = (unsigned char)**at;
    if (byte >= 0x80)
        return text_next_wide(at, end);
    ++*at;
    return byte;
}

/* The code point that ends at `end` (after `begin`); `*ret_at` is where it begins. */
static inline uint32_t
text_last(const char *begin, const char *end, const char **ret_at)
{
    unsigned char byte = (unsigned char)end[-1];
    if (byte >= 0x80)
        return text_last_wide(begin, end, ret_at);
    *ret_at = end - 1;
    return byte;
}

/* Writes `point` and returns its bytes, at most TEXT_MAX_BYTES. */
size_t text_put(char *to, uint32_t point);
/* Number of code points. */
size_t text_count(struct slice text);
/* The first `n` code points. */
struct slice text_cut(struct slice text, size_t n);
/* The longest beginning of whole code points in at most `n` bytes. */
struct slice text_cut_bytes(struct slice text, size_t n);
/*
 * Valid UTF-8: `text` itself, or a copy in `arena` with U+FFFD for each lone surrogate.
 * A null slice when there is no room; null stays null.
 */
struct slice text_scalar(struct arena *arena, struct slice text);
