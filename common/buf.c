/* SPDX-License-Identifier: Apache-2.0 */
/* Growable bytes with a ceiling. */
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAP = 256, NUMBER_DIGITS = 20 };

void
buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.max = max};
}

void
buf_init_lent(struct buf *buf,
              char *storage, /* NOLINT(readability-non-const-parameter): data writes it */
              size_t cap,
              size_t max)
{
    *buf = (struct buf){.data = storage, .cap = cap, .max = max, .lent = storage};
}

void
buf_done(struct buf *buf)
{
    if (buf->data != buf->lent)
        free(buf->data);
    *buf = (struct buf){.max = buf->max};
}

void
buf_reset(struct buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    buf->no_memory = false;
}

static size_t
ceiling(const struct buf *buf)
{
    return buf->max ? buf->max : BUF_MAX_BYTES;
}

bool
buf_grow(struct buf *buf, size_t len)
{
    if (buf->failed || len > ceiling(buf) - buf->len) {
        buf->failed = true;
        return false;
    }
    if (len <= buf->cap - buf->len)
        return true;
    size_t cap = buf->cap ? buf->cap : FIRST_CAP;
    while (cap < buf->len + len)
        cap *= 2;
    if (cap > ceiling(buf))
        cap = ceiling(buf);
    bool lent = buf->lent && buf->data == buf->lent;
    char *data = realloc(lent ? NULL : buf->data, cap);
    if (data && lent && buf->len)
        memcpy(data, buf->lent, buf->len);
    if (!data) {
        buf->failed = true;
        buf->no_memory = true;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void
buf_add_number(struct buf *buf, uint64_t number)
{
    char digits[NUMBER_DIGITS];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    buf_add(buf, digits + at, sizeof digits - at);
}

void
buf_addf(struct buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n >= 0 && buf_reserve(buf, (size_t)n + 1)) {
        vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
    } else {
        buf->failed = true;
    }
    va_end(again);
}

enum err_kind
buf_check(const struct buf *buf, const char *what, struct err *err)
{
    if (!buf->failed)
        return ERR_OK;
    if (buf->no_memory)
        return err_no_memory(err, what);
    return err_set(err, ERR_RECORD, "record_too_large", "%s is larger than %zu bytes",
                   what, ceiling(buf));
}

struct slice
buf_slice(const struct buf *buf)
{
    return (struct slice){buf->len ? buf->data : "", buf->len};
}

const char *
buf_text(struct buf *buf)
{
    if (!buf_reserve(buf, 1))
        return "";
    buf->data[buf->len] = '\0';
    return buf->data;
}

char *
buf_take(struct buf *buf, size_t *ret_len)
{
    if (!buf_reserve(buf, 1))
        return NULL;
    buf->data[buf->len] = '\0';
    char *data = buf->data;
    if (ret_len)
        *ret_len = buf->len;
    *buf = (struct buf){.max = buf->max};
    return data;
}
