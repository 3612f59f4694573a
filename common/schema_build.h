/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the schema reader share while a tree is being built: schema.c reads
 * the types, schema_default.c the defaults, schema_canonical.c writes the canonical
 * form. Private to them, and the one place that includes jansson for schemas. A function
 * that fails has set the error, whose kind is the one that counts.
 */
#pragma once

#include "arena.h"
#include "buf.h"
#include "schema_tree.h"

#include <jansson.h>

struct schema {
    struct arena arena; /* the tree, its texts, the default bodies */
    const struct schema_node *root;
    size_t n_nodes;
    struct slice text;
    struct slice canonical;
    uint64_t crc64;
    uint8_t sha256[SCHEMA_SHA256_BYTES];
};

/* Where in the JSON text we are, as a chain up to the root ("$"). */
struct place {
    const struct place *up; /* NULL: the root */
    const char *key;        /* NULL: an item of an array */
    size_t index;
};

/* A record as long as its defaults still are JSON. The node comes first. */
struct draft {
    struct schema_node node;
    json_t **defaults;      /* one per field, borrowed; NULL: none */
    const struct place *at; /* of its "fields" */
    struct draft *next;     /* in the order they were finished */
};

struct build {
    struct schema *schema;
    struct arena scratch;   /* places, drafts' lists */
    void *names;            /* tsearch tree of named nodes, by full name */
    struct draft *drafts;   /* first record */
    struct draft **last;    /* link behind the last one */
    size_t n_values;        /* in the defaults so far */
    size_t n_default_bytes; /* of the defaults so far */
    struct err *err;
};

/* Text of a JSON string; a null slice for anything else. */
struct slice schema_json_text(const json_t *json);
/* A place below `up`; NULL with the error set. `key` must be static. */
const struct place *
schema_place_key(struct build *b, const struct place *up, const char *key);
const struct place *
schema_place_index(struct build *b, const struct place *up, size_t index);
/* ERR_RECORD "schema_invalid": the place, then the message. */
enum err_kind schema_refuse(struct build *b, const struct place *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Cleared memory of the schema's life; NULL with the error set. */
void *schema_take(struct build *b, size_t n, size_t size);
/* A terminated copy of the schema's life; a null slice with the error set. */
struct slice schema_keep(struct build *b, struct slice text);

/* A piece of somebody's text fit for a message: short, printable ASCII. */
struct quote {
    char text[72];
};
struct quote schema_quote(struct slice text);

/* Checks every default of the drafts and sets `default_body`. */
enum err_kind schema_read_defaults(struct build *b);
/* Sets canonical, crc64 and sha256. */
enum err_kind schema_identify(struct build *b);
