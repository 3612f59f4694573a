/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable bytes with a ceiling. A write that would pass the ceiling, or finds no
 * memory, writes nothing and marks the buffer as failed; every later write is then a
 * no-op, so a writer checks once, at its end, with buf_check().
 */
#pragma once

#include "err.h"
#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The ceiling of a buffer that names none: 64 MiB. */
#define BUF_MAX_BYTES ((size_t)64 << 20)

struct buf {
    char *data; /* not terminated; NULL while empty */
    size_t len;
    size_t cap;
    size_t max; /* 0: BUF_MAX_BYTES */
    char *lent; /* storage of somebody else that it began with, or NULL */
    bool failed;
    bool no_memory; /* why it failed; else the ceiling */
};

#define BUF_INIT ((struct buf){0})

/* Caller's storage. `max` in bytes, 0 for BUF_MAX_BYTES. */
void buf_init(struct buf *buf, size_t max);
/* Begins with `cap` bytes of storage that somebody else owns and outlive the buffer; no
 * buf_take(). What does not fit there moves to memory of the buffer's own. */
void buf_init_lent(struct buf *buf, char *storage, size_t cap, size_t max);
/* Frees the bytes; the buffer is empty and usable again. */
void buf_done(struct buf *buf);
/* Empties, keeps the memory, forgets a failure. */
void buf_reset(struct buf *buf);
bool buf_grow(struct buf *buf, size_t len);

/* Makes room for `len` more bytes; false when that failed. */
static inline bool
buf_reserve(struct buf *buf, size_t len)
{
    if (!buf->failed && len <= buf->cap - buf->len)
        return true;
    return buf_grow(buf, len);
}

static inline void
buf_add(struct buf *buf, const void *data, size_t len)
{
    if (len == 0 || !buf_reserve(buf, len))
        return;
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): NULL has length 0 */
    memcpy(buf->data + buf->len, data, len);
    buf->len += len;
}

static inline void
buf_add_byte(struct buf *buf, char byte)
{
    if (buf_reserve(buf, 1))
        buf->data[buf->len++] = byte;
}

static inline void
buf_add_str(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

static inline void
buf_add_slice(struct buf *buf, struct slice text)
{
    buf_add(buf, text.data, text.len);
}

/* A number in decimal. */
void buf_add_number(struct buf *buf, uint64_t number);
void buf_addf(struct buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* ERR_OK, or ERR_RECORD "record_too_large" / ERR_FATAL "out_of_memory" naming `what`. */
enum err_kind buf_check(const struct buf *buf, const char *what, struct err *err);
/* Borrowed view of the content; never null. */
struct slice buf_slice(const struct buf *buf);
/* Terminates and returns the text, borrowed; "" when that failed. */
const char *buf_text(struct buf *buf);
/* Moves the terminated bytes out (free() them); NULL when the buffer had failed. */
char *buf_take(struct buf *buf, size_t *ret_len);
