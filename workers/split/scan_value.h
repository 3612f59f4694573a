/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thorough reader: one JSON value, byte by byte, with the allowances of splitting.md
 * 2.2.6. It decides; the fast reader (scan_fast.h) only knows when it need not be asked.
 */
#pragma once

#include "scan.h"

enum scan_status {
    SCAN_READ,   /* a value stands here */
    SCAN_BROKEN, /* none does */
    SCAN_MORE,   /* the text ends before that is known */
};

/* The text from `text` to `end`; `is_last`: nothing comes behind it. */
struct scan_text {
    const char *text;
    const char *end;
    bool is_last;
};

/*
 * Reads the value that begins at from.text. Read: *ret_end is behind it, *ret_repairs has
 * what was allowed. The members of an object become the fields of `event` (may be NULL).
 */
enum scan_status scan_value_read(struct scan_text from,
                                 struct scan_event *event,
                                 struct scan_value *ret_value,
                                 const char **ret_end,
                                 uint32_t *ret_repairs);

/* As it for a string, quotes included in the text, not in the value. */
enum scan_status scan_value_string(struct scan_text from,
                                   struct scan_value *ret_value,
                                   const char **ret_end,
                                   uint32_t *ret_repairs);

/* Which key a string is, escapes read. */
enum scan_key scan_value_key(struct scan_value key);

static inline bool
scan_is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static inline bool
scan_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Bytes of the UTF-8 sequence at `text`; 0: ill-formed; -1: it goes on behind `end`. */
int scan_utf8_length(const char *text, const char *end);
