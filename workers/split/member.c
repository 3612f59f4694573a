/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects, written one after the other. */
#include "member.h"

#include "figure.h"
#include "json.h"

void
member_begin(struct buf *out)
{
    if (out->len == 0)
        return;
    char last = out->data[out->len - 1];
    if (last != '{' && last != '[' && last != ':')
        buf_add_byte(out, ',');
}

void
member_key(struct buf *out, const char *key)
{
    member_begin(out);
    buf_add_byte(out, '"');
    buf_add_str(out, key);
    buf_add_str(out, "\":");
}

void
member_count(struct buf *out, const char *key, uint64_t n)
{
    member_key(out, key);
    buf_add_number(out, n);
}

void
member_int(struct buf *out, const char *key, int64_t n)
{
    member_key(out, key);
    buf_addf(out, "%lld", (long long)n);
}

void
member_us(struct buf *out, const char *key, int64_t ns)
{
    member_key(out, key);
    figure_add_us(out, ns);
}

void
member_double(struct buf *out, const char *key, double value)
{
    member_key(out, key);
    figure_add_double(out, value);
}

void
member_bool(struct buf *out, const char *key, bool value)
{
    member_key(out, key);
    buf_add_str(out, value ? "true" : "false");
}

void
member_null(struct buf *out, const char *key)
{
    member_key(out, key);
    buf_add_str(out, "null");
}

void
member_text(struct buf *out, const char *key, struct slice text)
{
    member_key(out, key);
    if (text.data)
        json_write_string(out, text);
    else
        buf_add_str(out, "null");
}

void
member_name(struct buf *out, const char *key, const char *name)
{
    member_text(out, key, slice_of(name));
}

void
member_pair(struct buf *out, const char *key, uint64_t first, uint64_t last)
{
    member_key(out, key);
    buf_addf(out, "[%llu,%llu]", (unsigned long long)first, (unsigned long long)last);
}

void
member_open(struct buf *out, const char *key, char bracket)
{
    if (key)
        member_key(out, key);
    else
        member_begin(out);
    buf_add_byte(out, bracket);
}

void
member_flag(struct buf *out, const char *key, bool is_set)
{
    if (is_set)
        member_bool(out, key, true);
}

void
member_some(struct buf *out, const char *key, uint64_t n)
{
    if (n)
        member_count(out, key, n);
}

void
member_set(struct buf *out, const char *key, struct refusal_number number)
{
    if (number.is_set)
        member_count(out, key, number.value);
}
