/* SPDX-License-Identifier: Apache-2.0 */
/* Strings in line form, and the UTF-8 reader they need. */
#include "line_form.h"

#include <stdint.h>

enum { REPLACEMENT = 0xFFFD };

/* Length of the sequence at `s` (1 to 4), its code point in `*ret`; 0: not UTF-8. */
static size_t
read_code_point(struct slice s, uint32_t *ret)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)s.data[0];
    size_t len = lead < 0x80   ? 1
                 : lead < 0xC0 ? 0
                 : lead < 0xE0 ? 2
                 : lead < 0xF0 ? 3
                               : 4;
    if (len == 0 || len > s.len || lead > 0xF4)
        return 0;
    uint32_t point = len == 1 ? lead : lead & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if ((c & 0xC0) != 0x80)
            return 0;
        point = point << 6 | (c & 0x3F);
    }
    if (point < smallest[len] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
        return 0;
    *ret = point;
    return len;
}

bool
utf8_valid(struct slice text)
{
    for (size_t i = 0; i < text.len;) {
        uint32_t point;
        size_t n = read_code_point((struct slice){text.data + i, text.len - i}, &point);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

static const char *
short_form(uint32_t point)
{
    switch (point) {
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    default:
        return NULL;
    }
}

static void
add_point(struct buf *out, uint32_t point)
{
    const char *escape = short_form(point);
    if (escape)
        buf_add_str(out, escape);
    else if (point >= 0x20 && point <= 0x7E)
        buf_add_byte(out, (char)point);
    else if (point <= 0xFFFF)
        buf_addf(out, "\\u%04x", point);
    else
        buf_addf(out, "\\u%04x\\u%04x", 0xD800 + ((point - 0x10000) >> 10),
                 0xDC00 + ((point - 0x10000) & 0x3FF));
}

void
line_form_string(struct buf *out, struct slice text)
{
    buf_add_byte(out, '"');
    for (size_t i = 0; i < text.len;) {
        uint32_t point;
        size_t n = read_code_point((struct slice){text.data + i, text.len - i}, &point);
        add_point(out, n ? point : REPLACEMENT);
        i += n ? n : 1;
    }
    buf_add_byte(out, '"');
}
