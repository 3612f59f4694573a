/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of tuners_run (tuning-audit.md 3, 6): what each says, its fields of the
 * row, its log, what became of it.
 */
#pragma once

#include "carried.h"
#include "envelope.h"
#include "outcome.h"

/* One entry that is an object. */
struct tuner {
    size_t index;      /* in the input */
    struct slice name; /* tuner, else name, else tuner_name: a string that is not empty;
                          else null */
    struct claims claims;
    struct json_value env_value;
    /* The fields of the row. */
    struct carried tuner;
    struct carried best_micro_speedup;
    struct carried kept;
    struct carried status;
    struct carried elapsed_s;
    struct carried error_class;
    struct carried error;
    /* For x. */
    const struct log_scan *log; /* NULL: none */
    enum outcome outcome;
    struct slice exit_code; /* number text; null: none in the error */
    struct members unknown;
    /* Verdicts that came later: it stands in "kept", in "reverted". */
    bool seen_kept, seen_reverted;
    bool is_ambiguous; /* of the first of its name: a verdict can't tell the entries */
};

/* An entry that is no object. */
struct misfit {
    size_t index;
    const char *type;
    struct carried value;
};

struct tuners {
    struct tuner *items;
    size_t n;
    struct tuner **by_name; /* those with a name, by name, then in input order */
    size_t n_named;
    struct misfit *misfits;
    size_t n_misfits;
    struct carried malformed;   /* tuners_run itself, when it is no array and not empty */
    struct carried first_class; /* the first class that is not empty, as in the row */
};

/*
 * Reads the entries. Notes duplicate names and what the row can't hold. ERR_RECORD
 * "record_too_large".
 */
enum err_kind tuners_read(struct json_value tuners_run,
                          struct notes *notes,
                          struct tuners *ret_tuners,
                          struct err *err);

/* The entries of that name, in input order; `*ret_n` 0: none. */
struct tuner **
tuners_named(const struct tuners *tuners, struct slice name, size_t *ret_n);

/* Is it the name that the row shows? Then x needs no alias. */
bool tuner_shows_name(const struct tuner *tuner);
