/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the codec: a table and a schema (or two) are compiled into a program, a flat
 * array of steps that codec_encode() or codec_decode() runs in a loop. Records that lie
 * in place are inlined; only items of arrays and maps are bodies of their own, run once
 * an item. Private to common/codec*.c.
 */
#pragma once

#include "codec.h"
#include "schema_tree.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "floats and doubles are copied as they lie: Avro has them little-endian");

enum op_code {
    OP_END, /* of a body: next item, or return */
    OP_BOOLEAN,
    OP_INT,
    OP_LONG,
    OP_FLOAT,
    OP_DOUBLE,
    OP_STRING,
    OP_BYTES,
    OP_FIXED,
    OP_ENUM,
    OP_OPT,        /* union with null; a bool says whether there is a value */
    OP_OPT_STRING, /* the same for slices, value included */
    OP_OPT_BYTES,
    OP_LIST, /* array or map: a map's body begins with its key */
    OP_UNION,
    OP_JUMP,

    /* Decoding only. */
    OP_ENUM_BY_NAME,
    OP_INT_TO_LONG,
    OP_INT_TO_FLOAT,
    OP_INT_TO_DOUBLE,
    OP_LONG_TO_FLOAT,
    OP_LONG_TO_DOUBLE,
    OP_FLOAT_TO_DOUBLE,
    OP_SET_TAG,
    OP_SET_PRESENT,
    OP_DEFAULT, /* a field that the writer lacks */
    OP_REFUSE,  /* a branch that has no place in our schema */
    OP_SKIP_VARINT,
    OP_SKIP_FIXED,
    OP_SKIP_BYTES,
    OP_SKIP_LIST,
    OP_CALL, /* a record to step over; by call, as it may hold itself */
};

/* Steps that end with OP_END. `ops` is set last: a body may refer to itself. */
struct body {
    const struct op *ops;
};

/* A branch of a union: which tag means it and where its steps begin. */
struct op_branch {
    int32_t tag; /* encoding only */
    uint32_t target;
};

/* A default: a body of our own schema, and how to read it. */
struct op_default {
    struct slice bytes;
    const struct body *body;
};

struct op {
    uint8_t code;
    uint8_t null_index; /* OPT*: position of null in the union */
    uint32_t offset;    /* of the value (OPT: of its bool) in the item */
    union {
        uint32_t n;  /* FIXED: bytes; ENUM*: symbols; UNION: branches; LIST: of an item */
        int32_t tag; /* SET_TAG */
    };
    union {
        uint32_t jump;  /* OPT, JUMP: the step to go on with */
        uint32_t least; /* LIST: fewest bytes an item takes in the body */
    };
    union {
        const struct body *body;          /* LIST, SKIP_LIST, CALL */
        const struct op_branch *branches; /* UNION */
        const int32_t *positions;         /* ENUM_BY_NAME: ours by the writer's, or -1 */
        const struct op_default *value;   /* DEFAULT */
    };
    const char *path; /* for messages; REFUSE: the whole message */
};

/* A program under construction. A failure sticks: look at `failed` at the end. */
struct program {
    struct arena *memory;
    struct op *ops;
    size_t n;
    size_t cap;
    bool failed;
};

/* Where a walk is, "tuners[].name"; cut when too long. */
struct path {
    char text[512];
    size_t len;
};

/* A record's table beside its schema. */
struct layout {
    struct layout *next;
    const struct record_type *type;
    const struct schema_node *node;
    const struct field **rows;          /* by position of the field in the schema */
    const struct schema_field **fields; /* by position of the row in the table */
};

struct codec {
    const struct record_type *type;
    struct schema *schema;
    struct codec_limits limits;
    struct arena memory; /* layouts and the program */
    struct layout *layouts;
    const struct body *encode;
    struct codec_plan *own; /* for what was written with our own schema */
};

struct codec_plan {
    const struct codec *codec;
    struct arena memory;
    const struct body *decode;
};

/* Deepest nesting of records in place, and steps of all bodies of one program. */
enum { PROGRAM_MAX_DEPTH = 64, PROGRAM_MAX_OPS = 1 << 16 };

/* What the programs of a codec or a plan may take: they grow with the schemas. */
#define PROGRAM_MAX_BYTES ((size_t)64 << 20)

/* Appends a step, zeroed but for code, offset and path, and returns its position. */
size_t program_add(struct program *program,
                   enum op_code code,
                   size_t offset,
                   const struct path *path);
/* Appends OP_END and moves the steps into `body`; false when anything had failed. */
bool program_end(struct program *program, struct body *body);

/* Appends to the path; returns the length to give to path_pop(). */
size_t path_push(struct path *path, const char *between, const char *name);
void path_pop(struct path *path, size_t len);

/*
 * Holds table against schema and keeps what it finds as layouts. ERR_FATAL
 * "schema_table".
 */
enum err_kind codec_check_table(struct codec *codec, struct err *err);
/* The layout of a record that was checked. */
const struct layout *codec_layout(const struct codec *codec,
                                  const struct record_type *type,
                                  const struct schema_node *node);
/* Compiles `codec->encode`. */
enum err_kind codec_compile_encode(struct codec *codec, struct err *err);

static inline bool
field_is_slice(const struct field *row)
{
    return row->type == FIELD_STRING || row->type == FIELD_BYTES;
}

/* The branch of a union with null that is not null. */
static inline const struct schema_node *
other_branch(const struct schema_node *pair)
{
    return pair->branches[pair->branches[0]->type == SCHEMA_NULL ? 1 : 0];
}
