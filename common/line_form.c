/* SPDX-License-Identifier: Apache-2.0 */
/* Strings from outside in line form. */
#include "line_form.h"

#include "cleanup.h"
#include "json.h"
#include "text.h"

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
