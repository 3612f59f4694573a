/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON without a tree: is this text whole, and where do the members of its outermost
 * object lie. Values stay the bytes they are. The dialect is Python's (tuning-audit.md
 * 5): NaN, Infinity and -Infinity are numbers. Nesting of any depth, without recursion.
 */
#pragma once

#include "arena.h"
#include "err.h"
#include "slice.h"

#include <stdbool.h>

enum json_type {
    JSON_TYPE_NULL = 1,
    JSON_TYPE_BOOLEAN,
    JSON_TYPE_NUMBER,
    JSON_TYPE_STRING,
    JSON_TYPE_ARRAY,
    JSON_TYPE_OBJECT,
};

/* "null", "boolean", … */
const char *json_type_name(enum json_type type);

/*
 * Reads one whole text; white space around it is allowed. ERR_RECORD "json_invalid" with
 * the offset in the message.
 */
enum err_kind
json_scan_check(struct slice text, enum json_type *ret_type, struct err *err);

/* One member as it stands: `key` and `value` are raw text, quotes and escapes included.
 */
typedef enum err_kind json_member_fn(void *state,
                                     struct slice key,
                                     enum json_type type,
                                     struct slice value,
                                     struct err *err);

/*
 * Calls `member` for each member of the object `text`, in order, repeats included (the
 * last one wins in Python). Nothing is called unless all of `text` is valid. ERR_RECORD
 * "json_invalid", "json_no_object"; an error of `member` ends the scan and is returned.
 */
enum err_kind json_scan_members(struct slice text,
                                json_member_fn *member,
                                void *state,
                                struct err *err);

/* One item of an array, raw; `i` counts from 0. */
typedef enum err_kind json_item_fn(
    void *state, size_t i, enum json_type type, struct slice value, struct err *err);

/* As json_scan_members for the items of the array `text`; "json_no_array". */
enum err_kind
json_scan_items(struct slice text, json_item_fn *item, void *state, struct err *err);

/*
 * The text that a raw string (with quotes, already scanned) stands for, terminated, in
 * the arena. A lone surrogate becomes U+FFFD. A null slice when the arena is full.
 */
struct slice json_scan_string(struct slice raw, struct arena *arena);
