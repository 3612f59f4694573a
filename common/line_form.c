/* SPDX-License-Identifier: Apache-2.0 */
/* Strings and numbers from outside in line form. */
#include "line_form.h"

#include "cleanup.h"
#include "json.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void
line_form_string(struct buf *out, struct slice text)
{
    if (text_bad(text) == text.len) {
        json_write_string(out, text);
        return;
    }
    CLEANUP(buf_done) struct buf repaired;
    size_t len = text_repaired_len(text);
    buf_init(&repaired, len);
    if (!buf_reserve(&repaired, len)) {
        out->failed = true;
        return;
    }
    repaired.len = text_repair_to(repaired.data, text);
    json_write_string(out, buf_slice(&repaired));
}

void
line_form_double(struct buf *out, double value)
{
    enum { MAX_DIGITS = 17 };
    char text[64];
    if (value == trunc(value) && fabs(value) < 1e16) {
        buf_addf(out, "%.1f", value);
        return;
    }
    for (int digits = 1; digits <= MAX_DIGITS; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_add_str(out, text);
}
