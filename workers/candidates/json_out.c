/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON members. */
#include "json_out.h"

#include "json.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_BYTES = 40, SHORTEST = DBL_DIG, LONGEST = 17 };

void
json_out_name(struct buf *out, const char *name)
{
    if (out->len && out->data[out->len - 1] != '{')
        buf_add_str(out, ", ");
    buf_addf(out, "\"%s\": ", name);
}

void
json_out_number(struct buf *out, double number)
{
    char text[NUMBER_BYTES];
    if (!isfinite(number)) {
        buf_add_str(out, isnan(number) ? "\"nan\"" : number > 0 ? "\"inf\"" : "\"-inf\"");
        return;
    }
    for (int digits = SHORTEST; digits <= LONGEST; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        double back = strtod(text, NULL);
        if (!(back < number) && !(back > number))
            break;
    }
    buf_add_str(out, text);
}

void
json_out_amount(struct buf *out, const char *name, struct amount amount)
{
    json_out_name(out, name);
    if (amount.known)
        json_out_number(out, amount.value);
    else
        buf_add_str(out, "null");
}

void
json_out_text(struct buf *out, const char *name, struct slice text)
{
    json_out_name(out, name);
    if (text.data)
        json_write_string(out, text);
    else
        buf_add_str(out, "null");
}

void
json_out_bool(struct buf *out, const char *name, bool flag)
{
    json_out_name(out, name);
    buf_add_str(out, flag ? "true" : "false");
}

void
json_out_count(struct buf *out, const char *name, int64_t count)
{
    json_out_name(out, name);
    buf_addf(out, "%lld", (long long)count);
}

void
json_out_us(struct buf *out, const char *name, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    json_out_name(out, name);
    buf_addf(out, "%s%llu.%03u", ns < 0 ? "-" : "", (unsigned long long)(size / 1000),
             (unsigned)(size % 1000));
}

void
json_out_texts(struct buf *out, const char *name, const struct slice *texts, size_t n)
{
    json_out_name(out, name);
    buf_add_byte(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_str(out, ", ");
        json_write_string(out, texts[i]);
    }
    buf_add_byte(out, ']');
}

/* NOLINTNEXTLINE(misc-no-recursion): the caller has bounded the depth */
static void
write_container(struct buf *out, struct json_value value)
{
    bool members = json_kind(value) == JSON_OBJECT;
    struct json_iter iter = json_iter(value);
    struct slice key;
    struct json_value item;
    bool first = true;
    buf_add_byte(out, members ? '{' : '[');
    while (json_next(&iter, &key, &item)) {
        buf_add_str(out, first ? "" : ", ");
        first = false;
        if (members) {
            json_write_string(out, key);
            buf_add_str(out, ": ");
        }
        json_out_value(out, item);
    }
    buf_add_byte(out, members ? '}' : ']');
}

void
json_out_value(struct buf *out, struct json_value value)
{
    enum json_kind kind = json_kind(value);
    if (kind == JSON_OBJECT || kind == JSON_ARRAY)
        write_container(out, value);
    else if (json_is_special(value))
        buf_add_slice(out, json_number(value));
    else
        json_write(out, value);
}
