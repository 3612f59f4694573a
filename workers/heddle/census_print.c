/* SPDX-License-Identifier: Apache-2.0 */
/* The census, laid out. */
#include "census_print.h"

#include <stdlib.h>

#include "line_form.h"

/* --- for people --------------------------------------------------------------------- */

enum { NAME_COLUMN = 30, COUNT_COLUMN = 7 };

static void
add_line(struct buf *out, int indent, struct slice name, size_t n)
{
    buf_addf(out, "%*s%-*.*s %*zu\n", indent, "", NAME_COLUMN - indent, SLICE_ARG(name),
             COUNT_COLUMN, n);
}

static void
add_count(struct buf *out, int indent, const char *name, size_t n)
{
    add_line(out, indent, slice_of(name), n);
}

static int
by_count(const void *a, const void *b)
{
    const struct tally_row *left = a;
    const struct tally_row *right = b;
    if (left->n != right->n)
        return left->n < right->n ? 1 : -1;
    return slice_compare(left->name, right->name);
}

/* Largest first: a reader looks for what happened most. */
static void
add_tally(struct buf *out, int indent, const struct tally *tally)
{
    struct tally_row *rows = malloc((tally->n + 1) * sizeof *rows);
    if (!rows) {
        out->failed = true;
        return;
    }
    if (tally->n)
        memcpy(rows, tally->rows, tally->n * sizeof *rows);
    qsort(rows, tally->n, sizeof *rows, by_count);
    for (size_t i = 0; i < tally->n; i++)
        add_line(out, indent, rows[i].name, rows[i].n);
    free(rows);
}

static void
add_group(struct buf *out, const char *title, const struct tally *tally)
{
    if (tally->n == 0)
        return;
    buf_addf(out, "\n%s\n", title);
    add_tally(out, 2, tally);
}

void
census_table(const struct census_counts *counts, struct buf *out)
{
    add_count(out, 0, "traces", counts->traces);
    add_count(out, 0, "rows", counts->rows);
    add_tally(out, 2, &counts->rows_by_backend);
    add_count(out, 2, "with status ok", counts->rows_status_ok);
    add_count(out, 4, "with an error_class", counts->ok_rows_with_error_class);
    add_count(out, 4, "holding a silent tuner", counts->ok_rows_with_silent_entry);
    add_count(out, 0, "tuner entries", counts->entries);
    add_tally(out, 2, &counts->entries_by_outcome);
    add_count(out, 2, "without speedup", counts->silent);
    add_count(out, 4, "in rows with status ok", counts->silent_in_ok_rows);
    add_count(out, 2, "failed or empty_output", counts->entries_failed_or_empty);
    add_count(out, 2, "kept not null", counts->entries_kept_non_null);
    add_count(out, 0, "logs", counts->logs);
    add_count(out, 2, "rejected arguments", counts->logs_rejected);
    add_count(out, 4, "header 0, inner exit 2", counts->logs_rejected_zero_two);
    add_count(out, 2, "without an entry", counts->logs_orphan);

    add_group(out, "entries without speedup, by tuner", &counts->silent_by_tuner);
    add_group(out, "entries without speedup, by micro_decision",
              &counts->silent_by_decision);
    add_group(out, "logs by tuner", &counts->logs_by_tuner);
    add_group(out, "rejected logs by tuner", &counts->logs_rejected_by_tuner);
    if (counts->geak_rows == 0)
        return;
    buf_addf(out, "\ngeak rows: %zu, without tuners: %zu\n", counts->geak_rows,
             counts->geak_rows_without_entries);
    add_tally(out, 2, &counts->geak_states);
}

/* --- for machines ------------------------------------------------------------------- */

static void
add_member(struct buf *out, const char *name, size_t n)
{
    buf_addf(out, " \"%s\": %zu,\n", name, n);
}

static void
add_rows(struct buf *out, const struct tally *tally, const char *before)
{
    for (size_t i = 0; i < tally->n; i++) {
        buf_add_str(out, i ? ",\n  " : before);
        line_form_string(out, tally->rows[i].name);
        buf_addf(out, ": %zu", tally->rows[i].n);
    }
}

static void
add_object(struct buf *out, const char *name, const struct tally *tally)
{
    buf_addf(out, " \"%s\": {", name);
    add_rows(out, tally, "\n  ");
    buf_add_str(out, tally->n ? "\n },\n" : "},\n");
}

static int
by_name(const void *a, const void *b)
{
    const struct tally_row *left = a;
    const struct tally_row *right = b;
    return slice_compare(left->name, right->name);
}

static void
add_geak(struct buf *out, const struct census_counts *counts)
{
    size_t n = counts->geak_states.n;
    struct tally_row *rows = malloc((n + 2) * sizeof *rows);
    if (!rows) {
        out->failed = true;
        return;
    }
    rows[0] = (struct tally_row){SLICE("rows"), counts->geak_rows};
    rows[1] =
        (struct tally_row){SLICE("tuners_run_empty"), counts->geak_rows_without_entries};
    if (n)
        memcpy(rows + 2, counts->geak_states.rows, n * sizeof *rows);
    qsort(rows, n + 2, sizeof *rows, by_name);
    add_object(out, "geak_rows", &(struct tally){rows, n + 2});
    free(rows);
}

static size_t
count_of(const struct tally *tally, const char *name)
{
    for (size_t i = 0; i < tally->n; i++)
        if (slice_is(tally->rows[i].name, name))
            return tally->rows[i].n;
    return 0;
}

void
census_json(const struct census_counts *counts, struct buf *out)
{
    buf_add_str(out, "{\n");
    add_member(out, "entries_found_nothing", counts->entries_found_nothing);
    add_member(out, "entries_improved", counts->entries_improved);
    add_object(out, "entries_without_speedup_by_outcome", &counts->silent_by_outcome);
    add_member(out, "failed_or_empty_output_entries", counts->entries_failed_or_empty);
    add_geak(out, counts);
    add_member(out, "kept_non_null", counts->entries_kept_non_null);
    add_member(out, "logs_by_tuner_sglang_dense_bf16",
               count_of(&counts->logs_by_tuner, "sglang_dense_bf16"));
    add_member(out, "logs_rejected", counts->logs_rejected);
    add_object(out, "logs_rejected_by_tuner", &counts->logs_rejected_by_tuner);
    add_member(out, "logs_rejected_header_zero_inner_two",
               counts->logs_rejected_zero_two);
    add_member(out, "no_speedup", counts->silent);
    add_object(out, "no_speedup_by_decision", &counts->silent_by_decision);
    add_object(out, "no_speedup_by_tuner", &counts->silent_by_tuner);
    add_member(out, "no_speedup_in_ok_run", counts->silent_in_ok_rows);
    add_member(out, "ok_rows_holding_a_tuner_without_speedup",
               counts->ok_rows_with_silent_entry);
    add_member(out, "ok_rows_with_error_class", counts->ok_rows_with_error_class);
    add_member(out, "orphan_logs", counts->logs_orphan);
    add_member(out, "rows", counts->rows);
    add_object(out, "rows_by_backend", &counts->rows_by_backend);
    add_member(out, "rows_status_ok", counts->rows_status_ok);
    add_member(out, "traces", counts->traces);
    add_member(out, "tune_logs", counts->logs);
    buf_addf(out, " \"tuner_entries\": %zu\n}\n", counts->entries);
}
