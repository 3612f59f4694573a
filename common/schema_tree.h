/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree inside a parsed schema, for those who resolve or walk it: the codec, the
 * compatibility checker, diff. Everything is owned by the schema, const, and valid until
 * schema_free().
 *
 * A node is one place where a type is written, except that all references to a named
 * type point to the node of its definition; a recursive schema is a graph with cycles,
 * so a walk counts its depth or marks nodes by `index`.
 */
#pragma once

#include "schema.h"
#include "slice.h"

#include <stdbool.h>
#include <stddef.h>

/* Ceilings of schema_parse(). */
enum {
    SCHEMA_MAX_BYTES = 1 << 20,         /* of the text */
    SCHEMA_MAX_MEMORY = 64 << 20,       /* of the tree */
    SCHEMA_MAX_DEPTH = 64,              /* types written within types */
    SCHEMA_MAX_NODES = 20000,           /* types written, primitives included */
    SCHEMA_MAX_NAME_BYTES = 1024,       /* a full name */
    SCHEMA_MAX_FIXED_BYTES = 16 << 20,  /* size of a fixed */
    SCHEMA_MAX_DEFAULT_DEPTH = 64,      /* values within a default */
    SCHEMA_MAX_DEFAULT_VALUES = 100000, /* values in all defaults together */
    SCHEMA_MAX_DEFAULT_BYTES = 1 << 20, /* all defaults together, as Avro bodies */
};

enum schema_type {
    SCHEMA_NULL,
    SCHEMA_BOOLEAN,
    SCHEMA_INT,
    SCHEMA_LONG,
    SCHEMA_FLOAT,
    SCHEMA_DOUBLE,
    SCHEMA_BYTES,
    SCHEMA_STRING,
    SCHEMA_FIXED,
    SCHEMA_ENUM,
    SCHEMA_RECORD, /* also written "error" */
    SCHEMA_ARRAY,
    SCHEMA_MAP,
    SCHEMA_UNION,
};

enum schema_order { SCHEMA_ASCENDING, SCHEMA_DESCENDING, SCHEMA_IGNORE };

struct schema_node;

struct schema_field {
    const char *name;
    const char *const *aliases;
    size_t n_aliases;
    const char *doc; /* NULL: none */
    const struct schema_node *type;
    /*
     * The default as the Avro body of a value of `type` (of a union: its first branch),
     * checked and encoded while parsing, so that applying it is decoding it with this
     * schema as the writer's. Null slice: no default; a null default is empty, not null.
     */
    struct slice default_body;
    enum schema_order order;
    bool diff_ignore; /* "heddle.diff": "ignore" (events.md 1) */
    bool identity;    /* "heddle.identity": true */
};

struct schema_node {
    enum schema_type type;
    size_t index; /* 0 .. schema_node_count() - 1; the root is not always 0 */

    /* Named types (fixed, enum, record); NULL and empty in others. */
    const char *name;           /* full name: "heddle.v1.Origin" */
    const char *base_name;      /* its last part, within `name`: "Origin" */
    const char *space;          /* its namespace, "" for none */
    const char *doc;            /* NULL: none */
    const char *const *aliases; /* full names */
    size_t n_aliases;

    const struct schema_field *fields; /* record, in the order written */
    size_t n_fields;

    const char *const *symbols; /* enum, in the order written */
    size_t n_symbols;
    const char *enum_default; /* the symbol; NULL: none */

    size_t fixed_size; /* bytes */

    const struct schema_node *items;           /* array: item; map: value */
    const struct schema_node *const *branches; /* union */
    size_t n_branches;

    const char *logical_type; /* as written, known or not; NULL: none */
};

/* The schema's outermost type. Borrowed, never NULL. */
const struct schema_node *schema_root(const struct schema *schema);
/* Number of nodes: a table with one entry per node has this many. */
size_t schema_node_count(const struct schema *schema);
/* "int", "record", "union": the type's name in the specification. Static. */
const char *schema_type_name(enum schema_type type);
