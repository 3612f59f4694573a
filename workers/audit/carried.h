/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reported value on its way into the row or `x`: as it is, or in the form that a cap
 * of tuning-audit.md 5 to 7 gives it. NaN and the infinities in it are noted.
 */
#pragma once

#include "json.h"
#include "notes.h"

enum {
    ERROR_CHARS = 400,         /* code points kept of an error */
    ERROR_JSON_BYTES = 8192,   /* line form of an error that is no string */
    CARRIED_MAX_BYTES = 4096,  /* line form of a value in x */
    ROW_FIELD_MAX_DEPTH = 1000 /* levels of a value in the row */
};

enum carried_form {
    CARRIED_NONE = 0, /* absent or null */
    CARRIED_VALUE,
    CARRIED_OMITTED, /* {"$omitted_bytes": size} */
    CARRIED_TEXT,    /* a string of our own making */
    CARRIED_TRUE,    /* a verdict that came later */
    CARRIED_FALSE,
};

struct carried {
    enum carried_form form;
    union {
        struct json_value value; /* VALUE */
        size_t size;             /* OMITTED: bytes of the line form */
        struct slice text;       /* TEXT; lies in the notes' arena */
    };
};

/* Where a value stands, for the notes: `name`, "tuners_run[entry]" or both. */
struct place {
    int64_t entry;     /* -1: not in an entry */
    struct slice name; /* null: the entry itself */
};

#define PLACE(literal)          ((struct place){-1, SLICE(literal)})
#define ENTRY_PLACE(i, literal) ((struct place){(i), SLICE(literal)})

enum err_kind carry_field_noted(struct json_value value,
                                struct place place,
                                struct notes *notes,
                                struct carried *ret_carried,
                                struct err *err);

/* A field of the row: more than 1,000 levels are omitted with a note "too_deep". */
static inline enum err_kind
carry_field(struct json_value value,
            struct place place,
            struct notes *notes,
            struct carried *ret_carried,
            struct err *err)
{
    enum json_kind kind = json_kind(value);
    *ret_carried = (struct carried){.form = CARRIED_NONE};
    if (!value.doc || kind == JSON_ABSENT || kind == JSON_NULL)
        return ERR_OK;
    *ret_carried = (struct carried){.form = CARRIED_VALUE, .value = value};
    if (value.doc->n_special == 0 && json_depth(value) <= ROW_FIELD_MAX_DEPTH)
        return ERR_OK;
    return carry_field_noted(value, place, notes, ret_carried, err);
}

/* A value in x: more than 4,096 bytes are omitted. */
enum err_kind carry_capped(struct json_value value,
                           struct place place,
                           struct notes *notes,
                           struct carried *ret_carried,
                           struct err *err);
/* A value in x that no cap is set for. */
enum err_kind carry_whole(struct json_value value,
                          struct place place,
                          struct notes *notes,
                          struct carried *ret_carried,
                          struct err *err);
/* An entry's error: cut when it is too long. */
enum err_kind carry_error(struct json_value value,
                          size_t entry,
                          struct notes *notes,
                          struct carried *ret_carried,
                          struct err *err);
/* A run's error, for x; none when it is empty. */
enum err_kind carry_run_error(struct json_value value,
                              struct notes *notes,
                              struct carried *ret_carried,
                              struct err *err);

/* Appends the line form; null for CARRIED_NONE. */
void carried_write(const struct carried *carried, struct buf *out);
/* The string that is written; null when it is no string. */
struct slice carried_string(const struct carried *carried);
