/* SPDX-License-Identifier: Apache-2.0 */
/* The row line and x: keys in the order of their code points, one write each. */
#include "run.h"

#include <stdlib.h>

/* `before` is a literal: its length is known where it stands. */
static inline void
add_text(struct buf *out, struct slice before, struct slice text)
{
    buf_add_slice(out, before);
    json_write_string(out, text);
}

/* A name or digits of our own, which need no escape. */
static inline void
add_name(struct buf *out, struct slice before, const char *name)
{
    buf_add_slice(out, before);
    buf_add_str(out, name);
    buf_add_byte(out, '"');
}

static inline void
add_always(struct buf *out, struct slice before, const struct carried *carried)
{
    if (carried->form == CARRIED_VALUE) {
        json_write_after(out, before, carried->value);
        return;
    }
    buf_add_slice(out, before);
    carried_write(carried, out);
}

static inline void
add_field(struct buf *out, struct slice before, const struct carried *carried)
{
    if (carried->form != CARRIED_NONE)
        add_always(out, before, carried);
}

static void
tuner_row_write(const struct tuner *tuner, struct buf *out)
{
    add_always(out, SLICE("{\"best_micro_speedup\": "), &tuner->best_micro_speedup);
    add_field(out, SLICE(", \"elapsed_s\": "), &tuner->elapsed_s);
    add_field(out, SLICE(", \"error\": "), &tuner->error);
    add_field(out, SLICE(", \"error_class\": "), &tuner->error_class);
    add_always(out, SLICE(", \"kept\": "), &tuner->kept);
    add_field(out, SLICE(", \"status\": "), &tuner->status);
    add_always(out, SLICE(", \"tuner\": "), &tuner->tuner);
    buf_add_byte(out, '}');
}

/* Days since 1970-01-01 to a date of the proleptic Gregorian calendar, by eras of 400
 * years that begin in March. */
static void
date_of(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    *ret_day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    *ret_month = (int)(month < 10 ? month + 3 : month - 9);
    *ret_year = year_of_era + era * 400 + (*ret_month <= 2);
}

static char *
put_digits(char *to, int64_t number, int digits, char behind)
{
    uint32_t rest = (uint32_t)number;
    for (int i = digits; i-- > 0; rest /= 10)
        to[i] = (char)('0' + rest % 10);
    to[digits] = behind;
    return to + digits + 1;
}

void
stamp_write(struct buf *out, int64_t time_us)
{
    const int64_t day_us = INT64_C(86400000000);
    int64_t days = time_us / day_us;
    int64_t rest = time_us % day_us;
    if (rest < 0) {
        rest += day_us;
        days--;
    }
    int64_t year;
    int month;
    int day;
    date_of(days, &year, &month, &day);
    int64_t seconds = rest / 1000000;
    char text[] = "YYYY-mm-ddTHH:MM:SS.uuuuuu+00:00";
    char *to = put_digits(text, year, 4, '-');
    to = put_digits(to, month, 2, '-');
    to = put_digits(to, day, 2, 'T');
    to = put_digits(to, seconds / 3600, 2, ':');
    to = put_digits(to, seconds / 60 % 60, 2, ':');
    to = put_digits(to, seconds % 60, 2, '.');
    put_digits(to, rest % 1000000, 6, '+');
    buf_add(out, text, sizeof text - 1);
}

static void
tuners_write(const struct tuners *tuners, struct buf *out)
{
    buf_add_str(out, ", \"tuners_run\": [");
    for (size_t i = 0; i < tuners->n; i++) {
        if (i)
            buf_add(out, ", ", 2);
        tuner_row_write(&tuners->items[i], out);
    }
    buf_add_byte(out, ']');
}

void
row_write(const struct run *run, const struct audit_parts *parts, struct buf *out)
{
    const struct carried *fields = run->fields;
    buf_add_byte(out, '{');
    add_field(out, SLICE("\"backend\": "), &fields[RUN_BACKEND]);
    bool first = fields[RUN_BACKEND].form == CARRIED_NONE;
    add_field(out, first ? SLICE("\"best_speedup\": ") : SLICE(", \"best_speedup\": "),
              &fields[RUN_BEST_SPEEDUP]);
    first = first && fields[RUN_BEST_SPEEDUP].form == CARRIED_NONE;
    add_field(out, first ? SLICE("\"decision\": ") : SLICE(", \"decision\": "),
              &fields[RUN_DECISION]);
    first = first && fields[RUN_DECISION].form == CARRIED_NONE;
    add_text(out, first ? SLICE("\"engine\": ") : SLICE(", \"engine\": "), run->engine);
    add_field(out, SLICE(", \"error_class\": "), &run->error_class);
    add_field(out, SLICE(", \"framework\": "), &fields[RUN_FRAMEWORK]);
    add_field(out, SLICE(", \"gpu_type\": "), &fields[RUN_GPU_TYPE]);
    buf_add_str(out, ", \"kind\": \"gemm_tuning\"");
    add_field(out, SLICE(", \"micro_decision\": "), &fields[RUN_MICRO_DECISION]);
    add_field(out, SLICE(", \"precision\": "), &fields[RUN_PRECISION]);
    add_field(out, SLICE(", \"requires_e2e_validation\": "),
              &fields[RUN_REQUIRES_E2E_VALIDATION]);
    add_field(out, SLICE(", \"status\": "), &fields[RUN_STATUS]);
    if (parts->has_event_time) {
        buf_add_str(out, ", \"ts\": \"");
        stamp_write(out, parts->event_time_us);
        buf_add_byte(out, '"');
    }
    add_field(out, SLICE(", \"tuned_file\": "), &fields[RUN_TUNED_FILE]);
    tuners_write(&run->tuners, out);
    add_field(out, SLICE(", \"workspace\": "), &fields[RUN_WORKSPACE]);
    buf_add_byte(out, '}');
}

static void
tuner_x_write(const struct tuner *tuner, struct buf *out)
{
    const char *before = "{";
    if (!tuner_shows_name(tuner)) {
        add_text(out, SLICE("{\"alias\": "), tuner->name);
        before = ", ";
    }
    if (tuner->outcome == OUTCOME_REJECTED_ARGUMENTS &&
        !json_truthy(tuner->claims.error_class)) {
        buf_add_str(out, before);
        buf_add_str(out, "\"error_class\": \"unsupported_argument\"");
        before = ", ";
    }
    if (tuner->exit_code.data) {
        buf_add_str(out, before);
        buf_add_str(out, "\"exit_code\": ");
        buf_add_slice(out, tuner->exit_code);
        before = ", ";
    }
    buf_add_str(out, before);
    buf_add_str(out, "\"i\": ");
    buf_add_number(out, tuner->index);
    if (tuner->log) {
        buf_add_str(out, ", \"log\": ");
        log_scan_write(tuner->log, out);
    }
    add_name(out, SLICE(", \"outcome\": \""), outcome_name(tuner->outcome));
    if (tuner->unknown.n) {
        buf_add_str(out, ", \"unknown\": ");
        members_write(&tuner->unknown, out);
    }
    buf_add_byte(out, '}');
}

static void
misfits_write(const struct tuners *tuners, struct buf *out)
{
    if (tuners->n_misfits == 0)
        return;
    buf_add_str(out, "\"malformed\": [");
    for (size_t i = 0; i < tuners->n_misfits; i++) {
        const struct misfit *misfit = &tuners->misfits[i];
        buf_addf(out, "%s{\"i\": %zu, \"type\": \"%s\", \"value\": ", i ? ", " : "",
                 misfit->index, misfit->type);
        carried_write(&misfit->value, out);
        buf_add_byte(out, '}');
    }
    buf_add_str(out, "], ");
}

static void
add_before(struct buf *out, struct slice name, const struct carried *carried)
{
    add_field(out, name, carried);
    if (carried->form != CARRIED_NONE)
        buf_add(out, ", ", 2);
}

static bool
has_orphans(const struct run_logs *logs)
{
    for (size_t i = 0; i < logs->n; i++)
        if (!logs->items[i].used)
            return true;
    return false;
}

static void
x_write_head(const struct run *run, struct buf *out)
{
    if (run->validation.known) {
        buf_add_str(out, "\"e2e\": {");
        validation_write_members(&run->validation, out);
        buf_add_str(out, "}, ");
    }
    add_before(out, SLICE("\"error\": "), &run->error);
    misfits_write(&run->tuners, out);
    add_before(out, SLICE("\"malformed_tuners_run\": "), &run->tuners.malformed);
    if (run->notes.n) {
        buf_add_str(out, "\"notes\": ");
        notes_write(&run->notes, out);
        buf_add(out, ", ", 2);
    }
    if (has_orphans(&run->logs)) {
        buf_add_str(out, "\"orphan_logs\": ");
        logs_write_orphans(&run->logs, out);
        buf_add(out, ", ", 2);
    }
    add_before(out, SLICE("\"returncode\": "), &run->returncode);
}

void
x_write(const struct run *run, struct buf *out)
{
    buf_add_byte(out, '{');
    x_write_head(run, out);
    add_text(out, SLICE("\"run_key\": "), run->key);
    if (run->rejection.kind) {
        buf_add_str(out, ", \"run_rejected\": ");
        rejection_write(&run->rejection, out);
    }
    add_field(out, SLICE(", \"skip_reason\": "), &run->skip_reason);
    add_name(out, SLICE(", \"src\": \""), run->src);
    for (size_t i = 0; i < run->tuners.n; i++) {
        buf_add_str(out, i ? ", " : ", \"tuners\": [");
        tuner_x_write(&run->tuners.items[i], out);
    }
    if (run->tuners.n)
        buf_add_byte(out, ']');
    if (run->envelope.unknown.n) {
        buf_add_str(out, ", \"unknown\": ");
        members_write(&run->envelope.unknown, out);
    }
    add_name(out, SLICE(", \"verdict\": \""), run->verdict);
    buf_add_byte(out, '}');
}
