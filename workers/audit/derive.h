/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit of a tuning run: a pure function of the parts of one event.
 *
 * In: a result.json, tune.log files, a verdict document (tuning-audit.md). Out: the audit
 * row, `x` beside it, warnings; or the orphan record of parts that came without their
 * result. Refused, each as a dead letter of the event: "event_without_parts",
 * "result_empty" (white space alone included), "result_unparseable",
 * "result_not_an_object", "e2e_invalid" (a verdict that is no object, alone in its
 * event), "tuning_event_malformed" (a default that is no JSON, a time outside the years 1
 * to 9999, a part that was not gathered), "record_too_large".
 *
 * What leaves as an Avro string or a key is valid UTF-8: a lone surrogate, legal in
 * JSON, becomes U+FFFD there. The row and x keep it as an escape.
 */
#pragma once

#include "audit_row.h"
#include "digest.h"
#include "record.h"
#include "tuning_event.h"
#include "warning.h"

enum { AUDIT_SRC_DIGITS = 32, AUDIT_REASON_BYTES = 32 };

/* Times that a row can show: the years 1 to 9999. */
#define AUDIT_MIN_TIME_US INT64_C(-62135596800000000)
#define AUDIT_MAX_TIME_US INT64_C(253402300799999999)

struct audit_log {
    struct slice tuner;
    struct slice bytes;
    int64_t event_time_us;
};

/* The parts of one run, all bytes at hand. */
struct audit_parts {
    struct slice result;
    bool has_event_time; /* without one the row has no ts */
    int64_t event_time_us;
    const struct audit_log *logs;
    size_t n_logs;
    struct slice e2e; /* data NULL: none */
    /* Of the result that the verdict is about; null: this one. A verdict about another
     * result is left out of the row. */
    struct slice started_at;
    struct list defaults;   /* struct default_entry */
    struct slice workspace; /* of the event; empty: none */
    /* What audit_identify() said of these parts, in the same arena, so that the result is
     * read once; NULL: it was not asked. One identity serves one derivation. */
    const struct audit_identity *identity;
};

struct audit_identity;
struct envelope;
struct run;

struct audit_answer {
    /* Why there is no row, "empty", "unparseable", "not_an_object:array"; empty: a row.
     */
    char dead_reason[AUDIT_REASON_BYTES];
    char src[AUDIT_SRC_DIGITS + 1]; /* of the result's SHA-256 */
    struct slice run_key;           /* valid UTF-8 */
    struct slice row;               /* the row line, without the line feed; terminated */
    struct slice x;                 /* the same line form; terminated */
    const struct run *run;          /* run.h; for projections and warnings */
    bool e2e_is_foreign;            /* the verdict is about another result */
};

/*
 * The row of one run. Everything in the answer lies in `arena` or in `parts`. A result
 * that gives no row is an answer, not an error. ERR_RECORD "tuning_event_malformed" or
 * "record_too_large".
 */
enum err_kind audit_row_derive(const struct audit_parts *parts,
                               struct arena *arena,
                               struct audit_answer *ret_answer,
                               struct err *err);

/* What a result is called, read without deriving anything. */
struct audit_identity {
    char dead_reason[AUDIT_REASON_BYTES]; /* as above */
    char sha256[DIGEST_HEX];              /* of the result's bytes */
    struct slice key;                     /* run_key as the result has it */
    struct slice run_key;                 /* valid UTF-8 */
    struct slice started_at;              /* valid UTF-8; data NULL: none */
    const struct envelope *envelope;      /* envelope.h */
};

/* Reads `parts->result` with defaults and workspace. Errors of audit_row_derive(). */
enum err_kind audit_identify(const struct audit_parts *parts,
                             struct arena *arena,
                             struct audit_identity *ret_identity,
                             struct err *err);

/*
 * What one event gives: the audit row with the tombstone of its orphan record, or the
 * orphan record; then the warnings. Every payload is inline (gather has been there).
 * `provenance` is the worker's with the gathered facts; the input is added here.
 */
enum err_kind audit_derive(const struct tuning_event *event,
                           const struct message *in,
                           const struct provenance *provenance,
                           struct emits *out,
                           struct err *err);
