/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a case holds as base64. */
#include "base64.h"

#include <stdint.h>
#include <string.h>

static int
base64_digit(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

bool
base64_decode(struct slice text, struct buf *out)
{
    uint32_t bits = 0;
    int n_bits = 0;
    while (text.len && text.data[text.len - 1] == '=')
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.data[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            buf_add_byte(out, (char)(bits >> n_bits & 0xFF));
        }
    }
    return true;
}
