/* SPDX-License-Identifier: Apache-2.0 */
/* Well-formed UTF-8. */
#include "utf8.h"

static bool
is_tail(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Length of the character that begins at `s`, 0 when it is not well-formed. */
static size_t
character(const unsigned char *s, size_t left)
{
    unsigned char lead = s[0];
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    if (left < 2 || !is_tail(s[1]))
        return 0;
    if (lead < 0xE0)
        return 2;
    if (left < 3 || !is_tail(s[2]))
        return 0;
    if (lead < 0xF0) {
        bool overlong = lead == 0xE0 && s[1] < 0xA0;
        bool surrogate = lead == 0xED && s[1] > 0x9F;
        return overlong || surrogate ? 0 : 3;
    }
    if (left < 4 || !is_tail(s[3]))
        return 0;
    bool overlong = lead == 0xF0 && s[1] < 0x90;
    bool beyond = lead == 0xF4 && s[1] > 0x8F;
    return overlong || beyond ? 0 : 4;
}

bool
utf8_check(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t i = 0;
    while (i < len) {
        while (len - i >= 8 && !(utf8_load8(text + i) & UTF8_HIGH_BITS))
            i += 8;
        if (i == len)
            break;
        size_t n = character(s + i, len - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}
