/* SPDX-License-Identifier: Apache-2.0 */
/* The text that the raw bytes of a string stand for, character by character. */
#pragma once

#include "scan.h"

#include <stddef.h>
#include <stdint.h>

enum { SCAN_REPLACEMENT = 0xfffd };

/* Value of a hexadecimal digit; -1: it is none. */
static inline int
scan_hex(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/*
 * The next character of a string's raw bytes, after repair. *at moves behind it and must
 * be below `end`.
 */
uint32_t scan_decode_next(const char **at, const char *end);

/* Writes it as UTF-8; how many bytes that takes. */
size_t scan_encode_utf8(uint32_t point, char ret_bytes[4]);

/* The text of a short string; more than `cap` when it does not fit. */
size_t scan_decode_short(struct scan_value value, char *ret_text, size_t cap);
