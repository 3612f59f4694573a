/* SPDX-License-Identifier: Apache-2.0 */
/* What an area gives the vector runner: how each kind of case is run. */
#pragma once

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "json.h"

struct vector_kind {
    const char *name;     /* the file's name without .json; NULL ends a table */
    const char *expected; /* key of the right answer in a case */
    /*
     * Runs one case and appends the whole answer as JSON. An error is a case that could
     * not be run. NULL: the kind is not built yet; its cases are skipped by name.
     */
    enum err_kind (*run)(struct json_value vector,
                         struct arena *arena,
                         struct buf *answer,
                         struct err *err);
};

/* How the cases of a kind differ from those of others. */
struct vector_rule {
    const char *area; /* NULL ends a table */
    const char *kind;
    /* Whether the answers agree, `where` not; NULL: values_equal(). */
    bool (*equal)(struct json_value want,
                  struct json_value got,
                  struct arena *arena,
                  struct buf *where);
    /*
     * Whether the kind can be run here; NULL: always. `ret_missing` says what there is
     * not; the kind is then skipped by name, and with CI=true that is a failure.
     */
    bool (*can_run)(const char **ret_missing);
};

/* The trace generator (--gen FILE); NULL: that of the source tree. */
extern const char *vector_generator;

extern const struct vector_kind candidates_kinds[];
extern const struct vector_kind gate_kinds[];
extern const struct vector_kind split_kinds[];
extern const struct vector_kind tuning_kinds[];
extern const struct vector_rule split_rules[];
