/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An audit row (events.md 5): what one tuning run really did. Topic heddle.audit.tunings,
 * key: run_key, or "orphan:" and the input key.
 */
#pragma once

#include "origin.h"

/* Projection of one tuner entry; every slice is nullable. */
struct tuner_entry {
    struct slice tuner;
    struct slice status;
    struct slice outcome;
    struct slice error_class;
    struct slice error;
    bool has_best_micro_speedup;
    double best_micro_speedup;
    bool has_elapsed_s;
    double elapsed_s;
    bool has_kept;
    bool kept;
    bool has_exit_code;
    int32_t exit_code;
};

struct audit_row {
    struct slice run_key;
    struct slice row; /* nullable: an orphan record; ASCII JSON without the line feed */
    struct slice x;   /* the same line form */
    /* All the following slices are nullable projections. */
    struct slice trace;
    struct slice workspace;
    struct slice backend;
    struct slice engine;
    struct slice status;
    struct slice decision;
    struct slice micro_decision;
    struct slice verdict;
    struct slice precision;
    struct slice framework;
    struct slice error_class;
    bool has_best_speedup;
    double best_speedup;
    struct list tuners; /* struct tuner_entry, in the row's order */
    struct origin origin;
    struct provenance provenance;
};

extern const struct record_type audit_row_type;
