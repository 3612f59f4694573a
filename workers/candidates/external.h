/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An external kernel_candidates.json (kernel-table.md 7): known fields are read, unknown
 * ones kept, and nothing is lost on the way.
 */
#pragma once

#include "arena.h"
#include "err.h"
#include "external_field.h"
#include "json.h"

#include <stddef.h>

enum external_state {
    EXTERNAL_ABSENT = 0,
    EXTERNAL_NULL,  /* null, or of a type that the field has not: then also in extra */
    EXTERNAL_VALUE, /* `value` as it came; trimmed and parsed forms beside it */
};

struct external_value {
    enum external_state state;
    struct json_value value;
    struct slice text; /* of a string field */
    double number;     /* of a number field */
    bool flag;         /* of a boolean field */
};

struct external_extra {
    struct slice name;
    struct json_value value;
};

struct external_row {
    struct external_value fields[EXTERNAL_FIELDS];
    struct external_extra *extra; /* what the struct has no place for, in order */
    size_t n_extra;
};

struct external_note {
    struct slice kernel_id; /* empty: the row has none */
    struct slice code;
};

struct external_table {
    struct json doc;
    struct external_row *rows;
    size_t n_rows;
    struct external_note *notes;
    size_t n_notes;
    struct external_extra *top_extra;
    size_t n_top_extra;
};

enum {
    EXTERNAL_MAX_BYTES = 32 << 20,
    EXTERNAL_MAX_DEPTH = 32,
    EXTERNAL_MAX_ROWS = 10000
};

/*
 * Reads `bytes`; everything lies in `arena`. ERR_RECORD "candidates_over_limit" above the
 * limits, "candidates_malformed" when it is no JSON object with one of the four lists.
 * ERR_FATAL "out_of_memory".
 */
enum err_kind candidates_read(struct slice bytes,
                              struct arena *arena,
                              struct external_table *ret_table,
                              struct err *err);
/* The answer as JSON: rows of row and extra, notes, top_extra. */
void candidates_write(const struct external_table *table, struct buf *out);
