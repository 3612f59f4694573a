/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a C struct and an Avro record correspond, said once in a table: the codec decodes
 * and encodes through it, prints JSON through it, and a test holds it against the .avsc.
 *
 * | Avro            | C                                                             |
 * |-----------------|---------------------------------------------------------------|
 * | boolean         | bool                                                          |
 * | int, long       | int32_t, int64_t                                              |
 * | float, double   | float, double                                                 |
 * | string, bytes   | struct slice                                                  |
 * | fixed           | uint8_t[size]                                                 |
 * | enum            | int32_t: position of the symbol in our own schema             |
 * | record          | the struct itself, in place                                   |
 * | array           | struct list of items                                          |
 * | map             | struct list of items that begin with a `struct slice` key     |
 * | ["null", T]     | slices: data NULL means null; other T: a `bool` beside it     |
 * | other unions    | a struct that begins with its int32_t tag                     |
 */
#pragma once

#include "slice.h"

#include <stddef.h>
#include <stdint.h>

enum field_type {
    FIELD_NULL, /* only as a branch of a union */
    FIELD_BOOLEAN,
    FIELD_INT,
    FIELD_LONG,
    FIELD_FLOAT,
    FIELD_DOUBLE,
    FIELD_STRING,
    FIELD_BYTES,
    FIELD_FIXED,
    FIELD_ENUM,
    FIELD_RECORD,
    FIELD_ARRAY,
    FIELD_MAP,
    FIELD_UNION,
};

/* An array or a map. Items of decoded values lie in the arena of the decode. */
struct list {
    void *items;
    size_t n;
};

struct record_type;

/*
 * One row: a field of a record, the item of an array or map, or a branch of a union.
 * Offsets count from the struct that the row's table is about; the row of an array's
 * item counts from the item, as does that of a map's value; the rows of a union's
 * branches count from the union's struct.
 */
struct field {
    const char *name; /* as in the .avsc; NULL for items, values and branches */
    enum field_type type;
    size_t offset;
    size_t size;                      /* FIXED: bytes; ARRAY, MAP: sizeof one item */
    const struct record_type *record; /* RECORD: its table */
    const struct field *of; /* ARRAY, MAP: the item's row; UNION: the branches in order */
    size_t n_of;            /* UNION: number of branches */
    int32_t tag;            /* branch of a UNION: the value of the tag that means it */
    bool nullable;          /* a union of null and this type, in either order */
    size_t present;         /* nullable, not a slice: offset of the `bool` that says so */
};

/*
 * A record: its table and, for the ones that travel alone, its schema's text. The
 * order of rows is free (matching is by name); every field of the schema has a row.
 */
struct record_type {
    const char *name; /* full name, "heddle.v1.TuningEvent" */
    const char *avsc; /* terminated author's text; NULL for records inside another */
    const struct field *fields;
    size_t n_fields;
    size_t size; /* sizeof the struct */
    /* Texts of the released versions, NULL-terminated; NULL for records inside another.
     */
    const char *const *released;
};

/* A table and its number of rows, for the initialiser of a record_type. */
#define FIELD_ROWS(table) table, sizeof(table) / sizeof(table)[0]
