/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coded warnings of a verdict, as they are made: a code, a severity and named values
 * (gates.md 5). How they leave, as JSON or as Avro, is decided behind.
 */
#pragma once

#include "amount.h"
#include "arena.h"
#include "buf.h"
#include "warning.h"

#include <stddef.h>

enum note_kind {
    NOTE_NULL,
    NOTE_BOOLEAN,
    NOTE_NUMBER,
    NOTE_TEXT,
    NOTE_LIST,   /* of texts */
    NOTE_RATIOS, /* numbers by name: `names` and `numbers` side by side */
};

struct note_field {
    const char *name;
    enum note_kind kind;
    bool boolean;
    double number;
    struct slice text;
    const struct slice *names;
    const double *numbers;
    size_t n;
};

enum { NOTE_FIELDS = 12, NOTES = 16 };

struct note {
    const char *code;
    enum severity severity;
    struct slice message;
    struct note_field *fields; /* in the order of gates.md 5 */
    size_t n;
};

/* Zero it to begin; everything lies in `arena`. */
struct note_list {
    struct arena *arena;
    struct note items[NOTES];
    size_t n;
    bool failed; /* out of memory: what was added is not whole */
};

/* Begins a warning; fields are added to the last one. `message` is static or lives as
 * long as the list; a null one is no memory. */
void note_begin(struct note_list *notes,
                const char *code,
                enum severity severity,
                struct slice message);
void
note_text(struct note_list *notes, const char *name, struct slice text); /* null: null */
void note_boolean(struct note_list *notes, const char *name, bool boolean);
void note_number(struct note_list *notes, const char *name, double number);
/* Null when unknown, else rounded to `digits`. */
void
note_rounded(struct note_list *notes, const char *name, struct amount amount, int digits);
/* Null when unknown. */
void note_amount(struct note_list *notes, const char *name, struct amount amount);
/* `names` is kept. */
void note_names(struct note_list *notes,
                const char *name,
                const struct slice *names,
                size_t n);
void note_ratios(struct note_list *notes,
                 const char *name,
                 const struct slice *names,
                 const double *ratios,
                 size_t n);

/* A member of a JSON object: the value under `name`. */
void note_write_field(struct buf *out, const char *name, const struct note_field *field);
/* The list as a JSON array of objects. */
void note_write_list(struct buf *out, const struct note_list *notes, bool with_message);
const char *severity_name(enum severity severity);
