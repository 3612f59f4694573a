/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs were slow: a pure function of the row and the limit. */
#include "derive.h"

#include <math.h>

#include "topics.h"
#include "warning.h"

static const struct slice code = {"run_slow", 8};

/* Times come from the tuner's own report: NaN, infinities and negatives say nothing. */
static double
measured_s(const struct audit_row *row)
{
    const struct tuner_entry *tuners = row->tuners.items;
    double sum = 0;
    for (size_t i = 0; i < row->tuners.n; i++) {
        double elapsed_s = tuners[i].has_elapsed_s ? tuners[i].elapsed_s : 0;
        if (isfinite(elapsed_s) && elapsed_s > 0)
            sum += elapsed_s;
    }
    return sum;
}

static enum err_kind
emit_warning(const struct audit_row *row,
             double sum_s,
             double limit_s,
             const struct provenance *provenance,
             int64_t timestamp_ms,
             struct emits *out,
             struct err *err)
{
    struct warning *warning = arena_calloc(out->arena, 1, sizeof *warning);
    struct warning_field *fields = arena_calloc(out->arena, 2, sizeof *fields);
    if (!warning || !fields)
        return err_no_memory(err, "a warning");
    fields[0] = (struct warning_field){SLICE("elapsed_s"),
                                       arena_printf(out->arena, "%.3f", sum_s)};
    fields[1] = (struct warning_field){SLICE("limit_s"),
                                       arena_printf(out->arena, "%.3f", limit_s)};
    *warning = (struct warning){
        .code = code,
        .severity = SEVERITY_WARNING,
        .subject = row->run_key,
        .fields = {fields, 2},
        .message = arena_printf(out->arena, "the tuners took %.1f s, the limit is %.1f s",
                                sum_s, limit_s),
        .origin = row->origin,
        .provenance = *provenance,
    };
    if (!fields[0].json.data || !fields[1].json.data || !warning->message.data)
        return err_no_memory(err, "a warning");
    return emits_add(out, TOPIC_WARNINGS, code, &warning_type, warning, timestamp_ms,
                     err);
}

enum err_kind
slow_derive(const struct audit_row *row,
            const struct slow_config *config,
            const struct provenance *provenance,
            int64_t timestamp_ms,
            struct emits *out,
            struct err *err)
{
    double sum_s = measured_s(row);
    double limit_s = (double)config->limit_ms / 1000;
    if (!row->row.data || sum_s <= limit_s)
        return ERR_OK;
    return emit_warning(row, sum_s, limit_s, provenance, timestamp_ms, out, err);
}
