/* SPDX-License-Identifier: Apache-2.0 */
/* One record as one JSON line. */
#include "tap_line.h"

#include <inttypes.h>

#include "line_form.h"
#include "text.h"

void
tap_base64(struct buf *out, struct slice bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (k < n ? (unsigned char)bytes.data[i + k] : 0);
        for (size_t k = 0; k < 4; k++) {
            char digit = digits[group >> (18 - 6 * k) & 63];
            buf_add_byte(out, (char)(k <= n ? digit : '='));
        }
    }
}

void
tap_bytes(struct buf *out, struct slice bytes)
{
    if (!bytes.data) {
        buf_add_str(out, "null");
        return;
    }
    if (text_bad(bytes) == bytes.len) {
        line_form_string(out, bytes);
        return;
    }
    buf_add_str(out, "{\"base64\": \"");
    tap_base64(out, bytes);
    buf_add_str(out, "\"}");
}

static bool
comes_again(const struct message *in, size_t i)
{
    for (size_t k = i + 1; k < in->n_headers; k++)
        if (slice_equal(in->headers[k].name, in->headers[i].name))
            return true;
    return false;
}

static void
add_headers(struct buf *out, const struct message *in)
{
    const char *between = "";
    buf_add_byte(out, '{');
    for (size_t i = 0; i < in->n_headers; i++) {
        if (comes_again(in, i))
            continue;
        buf_add_str(out, between);
        line_form_string(out, in->headers[i].name);
        buf_add_str(out, ": ");
        tap_bytes(out, in->headers[i].value);
        between = ", ";
    }
    buf_add_byte(out, '}');
}

static void
add_error(struct buf *out, const struct err *bad)
{
    buf_add_str(out, ", \"error\": {\"code\": ");
    line_form_string(out, slice_of(bad->code));
    buf_add_str(out, ", \"message\": ");
    line_form_string(out, slice_of(bad->msg));
    buf_add_byte(out, '}');
}

void
tap_line(const struct message *in,
         struct slice value,
         const struct err *bad,
         struct buf *out)
{
    buf_add_str(out, "{\"topic\": ");
    line_form_string(out, slice_of(in->topic));
    buf_addf(out,
             ", \"partition\": %" PRId32 ", \"offset\": %" PRId64
             ", \"timestamp\": %" PRId64 ", \"key\": ",
             in->partition, in->offset, in->timestamp_ms);
    tap_bytes(out, in->key);
    buf_add_str(out, ", \"headers\": ");
    add_headers(out, in);
    buf_add_str(out, ", \"value\": ");
    if (value.data)
        buf_add_slice(out, value);
    else
        tap_bytes(out, in->value);
    if (bad)
        add_error(out, bad);
    buf_add_str(out, "}\n");
}
