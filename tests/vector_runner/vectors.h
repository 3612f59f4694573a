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

extern const struct vector_kind candidates_kinds[];
extern const struct vector_kind gate_kinds[];

extern const struct vector_kind split_kinds[];
extern const struct vector_kind tuning_kinds[];
