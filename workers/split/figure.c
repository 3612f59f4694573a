/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a split record as JSON. */
#include "figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SURE_DIGITS = 15, ALL_DIGITS = 17, TEXT_BYTES = 40 };

void
figure_add_us(struct buf *out, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char text[TEXT_BYTES];
    int len =
        snprintf(text, sizeof text, "%s%llu.%03llu", ns < 0 ? "-" : "",
                 (unsigned long long)(size / 1000), (unsigned long long)(size % 1000));
    buf_add(out, text, (size_t)len);
}

void
figure_add_double(struct buf *out, double value)
{
    char text[TEXT_BYTES];
    for (int digits = SURE_DIGITS; digits <= ALL_DIGITS; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (!(back < value) && !(back > value))
            break;
    }
    buf_add_str(out, text);
    if (!strpbrk(text, ".e"))
        buf_add_str(out, ".0");
}
