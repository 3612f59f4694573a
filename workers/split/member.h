/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of JSON objects, written one after the other: the comma that is due comes by
 * itself. A failure marks the buffer.
 */
#pragma once

#include "buf.h"
#include "refusal.h"
#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

/* A value of a list begins: the comma in front of it, where one is due. */
void member_begin(struct buf *out);
void member_key(struct buf *out, const char *key);
void member_count(struct buf *out, const char *key, uint64_t n);
void member_int(struct buf *out, const char *key, int64_t n);
/* Microseconds with three decimals. */
void member_us(struct buf *out, const char *key, int64_t ns);
void member_double(struct buf *out, const char *key, double value);
void member_bool(struct buf *out, const char *key, bool value);
void member_null(struct buf *out, const char *key);
/* A text without data is null, as a NULL name is. */
void member_text(struct buf *out, const char *key, struct slice text);
void member_name(struct buf *out, const char *key, const char *name);
/* [first, last] */
void member_pair(struct buf *out, const char *key, uint64_t first, uint64_t last);
/* Opens an object or a list; `key` NULL: as a value of a list. */
void member_open(struct buf *out, const char *key, char bracket);
/* Only what is true, not 0, or set. */
void member_flag(struct buf *out, const char *key, bool is_set);
void member_some(struct buf *out, const char *key, uint64_t n);
void member_set(struct buf *out, const char *key, struct refusal_number number);
