/* SPDX-License-Identifier: Apache-2.0 */
/* A run as it was derived: what the row, x, the projections and the warnings show. */
#pragma once

#include "derive.h"
#include "envelope.h"
#include "kept.h"
#include "logs.h"
#include "notes.h"
#include "tuners.h"

/* The fields that are carried into the row as they are. */
enum run_field {
    RUN_BACKEND,
    RUN_BEST_SPEEDUP,
    RUN_DECISION,
    RUN_FRAMEWORK,
    RUN_GPU_TYPE,
    RUN_MICRO_DECISION,
    RUN_PRECISION,
    RUN_REQUIRES_E2E_VALIDATION,
    RUN_STATUS,
    RUN_TUNED_FILE,
    RUN_WORKSPACE,
    N_RUN_FIELDS,
};

struct run {
    struct envelope envelope;
    struct tuners tuners;
    struct run_logs logs;
    struct validation validation;
    bool e2e_is_foreign; /* it is about a result with another started_at */
    struct notes notes;
    struct slice engine;
    struct carried error_class;
    struct carried fields[N_RUN_FIELDS];
    struct carried error;
    struct carried returncode;
    struct carried skip_reason;
    struct rejection rejection;
    const char *verdict;
    char src[AUDIT_SRC_DIGITS + 1];
    struct slice key;
};

/*
 * Derives everything about the run whose result was read into `identity`, in `arena`.
 * Errors of audit_row_derive().
 */
enum err_kind run_derive(const struct audit_parts *parts,
                         const struct audit_identity *identity,
                         struct arena *arena,
                         struct run *ret_run,
                         struct err *err);

/*
 * Reads a verdict document. `*ret_e2e` is its object and `*ret_error` NULL; or JSON_NONE,
 * and the note "e2e_invalid" says the same as the static `*ret_error`: "unparseable" or a
 * JSON type. ERR_RECORD "record_too_large".
 */
enum err_kind verdict_read(struct slice e2e,
                           struct notes *notes,
                           struct json_value *ret_e2e,
                           const char **ret_error,
                           struct err *err);

/* Appends the row line, without a line feed. */
void row_write(const struct run *run, const struct audit_parts *parts, struct buf *out);
/* Appends x in line form. */
void x_write(const struct run *run, struct buf *out);
/* Appends a UTC time with six decimals, as Python's isoformat() writes it. */
void stamp_write(struct buf *out, int64_t time_us);
