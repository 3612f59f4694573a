/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audit records folded into the census of tuning-audit.md 11: the last record of each key
 * stands, a tombstone takes its key out. Pure, and any order of keys gives the same
 * numbers. Per key it holds the few facts that are counted, never the row.
 */
#pragma once

#include "audit_row.h"
#include "err.h"
#include "names.h"
#include "slice.h"

#include <stddef.h>

struct census;

struct census *census_new(struct err *err);
void census_free(struct census *census);

/*
 * The next record of `key`. ERR_RECORD "row_unreadable" when its `row` or `x` is not what
 * an audit writes; the key then counts nothing, since the record that stands can't be
 * read. ERR_FATAL "out_of_memory", "too_many_names".
 */
enum err_kind census_add(struct census *census,
                         struct slice key,
                         const struct audit_row *record,
                         struct err *err);
/* A tombstone of `key`, or a record under it that can't be decoded. */
enum err_kind census_drop(struct census *census, struct slice key, struct err *err);

/*
 * The smallest key whose standing row has an entry of this outcome, with its log if any
 * has one: it shows most. Borrowed; a null slice when there is none.
 */
struct slice census_find(const struct census *census, const char *outcome);

/* How often each name occurs; sorted by name. */
struct tally_row {
    struct slice name; /* "(none)": absent; "(not text)": of a wrong type */
    size_t n;
};

struct tally {
    struct tally_row *rows;
    size_t n;
};

/* "Without speedup": best_micro_speedup is null. */
struct census_counts {
    size_t traces;
    size_t rows;
    size_t rows_status_ok;
    size_t ok_rows_with_error_class;
    size_t ok_rows_with_silent_entry; /* holding an entry without speedup */
    struct tally rows_by_backend;
    size_t entries;
    size_t entries_kept_non_null;
    size_t entries_failed_or_empty; /* by status */
    size_t entries_found_nothing;
    size_t entries_improved;
    struct tally entries_by_outcome;
    size_t silent; /* entries without speedup */
    size_t silent_in_ok_rows;
    struct tally silent_by_decision; /* micro_decision of the row */
    struct tally silent_by_tuner;
    struct tally silent_by_outcome;
    size_t logs;
    size_t logs_orphan; /* whose tuner has no entry, or whose run has no row */
    size_t logs_rejected;
    size_t logs_rejected_zero_two; /* header 0 and inner 2 */
    struct tally logs_by_tuner;
    struct tally logs_rejected_by_tuner;
    size_t geak_rows;
    size_t geak_rows_without_entries;
    struct tally geak_states; /* status and error_class of the geak rows */
    size_t orphan_records;    /* records without a row */
};

/* Names in `ret_counts` are borrowed from `census`. ERR_FATAL "out_of_memory". */
enum err_kind census_count(const struct census *census,
                           struct census_counts *ret_counts,
                           struct err *err);
void census_counts_done(struct census_counts *counts);
