/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as Python writes it: NaN and the infinities are numbers, of repeated keys the last
 * one wins, a lone surrogate escape is legal; otherwise strict. Numbers keep the text
 * they came in. A document is a flat row of nodes, so nesting of any depth is read,
 * measured and written without recursion.
 *
 * The line form: keys sorted by code point, ", " and ": ", ASCII only, lower-case
 * escapes, NaN and the infinities as strings. Strings hold text as text.h has it inside.
 */
#pragma once

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "json_node.h"
#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

enum json_kind {
    JSON_ABSENT = 0, /* no such key; not a value */
    JSON_NULL,
    JSON_BOOLEAN,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

/* A document. Everything in it lies in the arena it was read with. */
struct json {
    char *text; /* repaired, escapes of its strings undone in place */
    struct json_node *nodes;
    uint32_t n_nodes;
    uint32_t cap;
    uint32_t n_special; /* NaN and infinities */
    struct arena *arena;
};

/* A value of a document; `doc` NULL: absent. Borrowed from the document. */
struct json_value {
    const struct json *doc;
    uint32_t at;
};

#define JSON_NONE ((struct json_value){NULL, 0})

/*
 * Reads one document: UTF-8 is repaired, a leading byte order mark skipped. ERR_RECORD
 * "json_empty" (nothing but white space), "json_invalid" with the offset, or
 * "record_too_large" when it needs more than the arena gives.
 */
enum err_kind
json_read(struct json *ret_doc, struct slice bytes, struct arena *arena, struct err *err);
/* A document that is one string. `text` is as text.h has it inside. */
enum err_kind json_make_string(struct json *ret_doc,
                               struct slice text,
                               struct arena *arena,
                               struct err *err);
struct json_value json_root(const struct json *doc);

static inline const struct json_node *
json_node(struct json_value value)
{
    return &value.doc->nodes[value.at];
}

static inline struct slice
json_node_text(const struct json *doc, const struct json_node *node)
{
    return (struct slice){doc->text + node->off, node->len};
}

static inline enum json_kind
json_kind(struct json_value value)
{
    static const uint8_t kinds[] = {
        [NODE_NULL] = JSON_NULL,      [NODE_FALSE] = JSON_BOOLEAN,
        [NODE_TRUE] = JSON_BOOLEAN,   [NODE_NUMBER] = JSON_NUMBER,
        [NODE_SPECIAL] = JSON_NUMBER, [NODE_STRING] = JSON_STRING,
        [NODE_ARRAY] = JSON_ARRAY,    [NODE_OBJECT] = JSON_OBJECT,
    };
    return value.doc ? (enum json_kind)kinds[json_node(value)->type] : JSON_ABSENT;
}

/* "null", "boolean", "number", "string", "array", "object"; "absent". */
const char *json_kind_name(struct json_value value);
/* The text of a string; null for anything else. */
static inline struct slice
json_string(struct json_value value)
{
    if (!value.doc || json_node(value)->type != NODE_STRING)
        return (struct slice){NULL, 0};
    return json_node_text(value.doc, json_node(value));
}

/* The text a number came in, NaN and the infinities included; null for others. */
struct slice json_number(struct json_value value);
/* NaN, Infinity or -Infinity, which the line form writes as strings. */
bool json_is_special(struct json_value value);
/* A number that is finite as a double ("1e400" is not). */
bool json_double(struct json_value value, double *ret_double);
/* A number that is a whole one without fraction or exponent and fits. */
bool json_int(struct json_value value, int64_t *ret_int);
bool json_is_true(struct json_value value);
/* Python's bool(): absent, null, false, 0, "", [] and {} are false; NaN is true. */
bool json_truthy(struct json_value value);
/* Levels of arrays and objects: 0 for a scalar, 1 for [] and {}. */
static inline uint32_t
json_depth(struct json_value value)
{
    bool container = value.doc && json_node(value)->type >= NODE_ARRAY;
    return container ? json_node(value)->off : 0;
}

/* Items of an array or members of an object, repeated keys counted once. */
size_t json_count(struct json_value value);

/* The member of that name, JSON_NONE when there is none or `object` is no object. */
struct json_value json_get(struct json_value object, const char *name);
struct json_value json_get_slice(struct json_value object, struct slice name);

/* Walks the items or members in the order of the text. */
struct json_iter {
    const struct json *doc;
    uint32_t at, end;
    bool members;
};
struct json_iter json_iter(struct json_value container);

/* The next one; `ret_key` is null for items. False at the end. */
static inline bool
json_next(struct json_iter *iter, struct slice *ret_key, struct json_value *ret_value)
{
    while (iter->at < iter->end) {
        const struct json_node *node = &iter->doc->nodes[iter->at];
        uint32_t value = iter->at + iter->members;
        iter->at = iter->doc->nodes[value].next;
        if (node->flags & NODE_DEAD)
            continue;
        *ret_key =
            iter->members ? json_node_text(iter->doc, node) : (struct slice){NULL, 0};
        *ret_value = (struct json_value){iter->doc, value};
        return true;
    }
    return false;
}

/* Bytes of the line form. */
size_t json_size(struct json_value value);
/* Appends the line form. A failure marks `out`. */
void json_write(struct buf *out, struct json_value value);
/* As json_write behind `before`, which is not empty: one append for the usual string. */
void json_write_after(struct buf *out, struct slice before, struct json_value value);
/* As json_write, but stops soon after `limit` bytes: for the beginning of a value. */
void json_write_begin(struct buf *out, struct json_value value, size_t limit);
/* As json_write with NaN and the infinities as they came: it reads as the same value. */
void json_write_verbatim(struct buf *out, struct json_value value);
/* Appends a string with its quotes. `text` as text.h has it inside. */
void json_write_string(struct buf *out, struct slice text);
/* Bytes that json_write_string writes. */
size_t json_string_size(struct slice text);
/*
 * Calls `found` with the path of each NaN or infinity in `value`: `path`, then ".key"
 * and "[i]" for each level. Stops at the first error and returns it.
 */
typedef enum err_kind json_path_fn(void *state, struct slice path, struct err *err);
enum err_kind json_each_special(struct json_value value,
                                struct slice path,
                                json_path_fn *found,
                                void *state,
                                struct err *err);
