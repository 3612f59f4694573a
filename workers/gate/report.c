/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts for a person. */
#include "report.h"

#include "answer_json.h"
#include "chunk_json.h"
#include "json_out.h"
#include "table_json.h"

#include <stdio.h>

static const char *const suppressing[] = {"high_gpu_idle_pct", "low_gpu_compute_pct"};

enum { SUPPRESSING = sizeof suppressing / sizeof suppressing[0] };

/* --- judging ------------------------------------------------------------------------ */

bool
report_suppressing(const struct gate_answer *answer,
                   struct arena *arena,
                   struct list *ret_codes)
{
    struct slice *codes = arena_alloc(arena, SUPPRESSING * sizeof codes[0]);
    size_t n = 0;
    *ret_codes = (struct list){0};
    if (!codes || !answer->suppress_candidates)
        return codes != NULL;
    for (size_t i = 0; i < answer->notes.n; i++)
        for (size_t k = 0; k < SUPPRESSING; k++)
            if (strcmp(answer->notes.items[i].code, suppressing[k]) == 0)
                codes[n++] = slice_of(suppressing[k]);
    *ret_codes = (struct list){codes, n};
    return true;
}

static enum err_kind
judge(struct report *report,
      const struct gate_config *config,
      struct arena *arena,
      struct err *err)
{
    struct gate_request request = report->given->request;
    while (report->n_attempts < REPORT_ATTEMPTS) {
        struct report_attempt *attempt = &report->attempts[report->n_attempts++];
        struct err cause = {0};
        attempt->request = request;
        enum err_kind kind = gate_decide(&request, &report->given->split, config, arena,
                                         &attempt->answer, &cause);
        if (kind == ERR_RECORD) {
            snprintf(attempt->dead_letter, sizeof attempt->dead_letter, "%s", cause.code);
            snprintf(attempt->reason, sizeof attempt->reason, "%s", cause.msg);
            return ERR_OK;
        }
        if (kind) {
            *err = cause;
            return kind;
        }
        if (!attempt->answer.retry.mode.data)
            return ERR_OK;
        if (!retry_follow(&attempt->request, attempt->answer.mode, attempt->answer.retry,
                          arena, &request))
            return err_no_memory(err, "a retry");
    }
    return ERR_OK;
}

static struct json_value
item_at(struct json_value array, size_t n)
{
    struct json_iter iter = json_iter(array);
    struct slice key;
    struct json_value item = JSON_NONE;
    for (size_t i = 0; i <= n; i++)
        if (!json_next(&iter, &key, &item))
            return JSON_NONE;
    return item;
}

static enum err_kind
make_table(struct report *report,
           const struct gate_config *config,
           struct arena *arena,
           struct err *err)
{
    const struct gate_answer *answer = &report->attempts[report->n_attempts - 1].answer;
    struct table_limits limits = {config->max_rows, config->min_gpu_pct};
    struct categories *categories = arena_alloc(arena, sizeof *categories);
    size_t position = (size_t)(answer->chunk - report->given->split.chunks);
    struct split_chunk chunk;
    struct list codes;
    if (!categories ||
        !chunk_json_read(item_at(report->given->chunks, position), arena, &chunk) ||
        !report_suppressing(answer, arena, &codes))
        return err_no_memory(err, "the table");
    categories_init(categories);
    if (table_build(&chunk, categories, &limits, arena, &report->table, err))
        return err->kind;
    if (codes.n)
        table_suppress(&report->table, codes);
    report->has_table = true;
    return ERR_OK;
}

bool
report_accepted(const struct report *report)
{
    const struct report_attempt *last = &report->attempts[report->n_attempts - 1];
    return last->dead_letter[0] == '\0' && last->answer.accepted;
}

enum err_kind
report_make(const struct report_case *given,
            const struct gate_config *config,
            struct arena *arena,
            struct report *ret_report,
            struct err *err)
{
    *ret_report = (struct report){.given = given};
    if (impossible_find(&given->split, arena, &ret_report->impossible,
                        &ret_report->n_impossible, err) ||
        judge(ret_report, config, arena, err))
        return err->kind;
    bool rows = json_kind(given->chunks) == JSON_ARRAY;
    return rows && report_accepted(ret_report)
               ? make_table(ret_report, config, arena, err)
               : ERR_OK;
}

/* --- as JSON ------------------------------------------------------------------------ */

static void
write_request(struct buf *out, const struct gate_request *request)
{
    json_out_name(out, "request");
    buf_add_byte(out, '{');
    json_out_text(out, "request_id", request->request_id);
    json_out_text(out, "framework", request->framework);
    json_out_text(out, "framework_kind", request->framework_kind);
    json_out_text(out, "requested_mode", request->requested_mode);
    json_out_count(out, "attempt", request->attempt);
    if (request->retry_of.data)
        json_out_text(out, "retry_of", request->retry_of);
    if (request->from_mode.data)
        json_out_text(out, "from_mode", request->from_mode);
    if (request->source_warning_code.data)
        json_out_text(out, "source_warning_code", request->source_warning_code);
    buf_add_byte(out, '}');
}

static void
write_amounts(struct buf *out,
              const void *numbers,
              const struct number_field *fields,
              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct amount amount = number_get(numbers, &fields[i]);
        if (fields[i].duration)
            amount.value /= 1000.0;
        json_out_amount(out, fields[i].name, amount);
    }
}

static void
write_trace_numbers(struct buf *out, const struct gate_split *split)
{
    const struct trace_numbers *numbers = &split->numbers;
    if (!split->has_numbers) {
        json_out_text(out, "numbers", (struct slice){0});
        return;
    }
    json_out_name(out, "numbers");
    buf_add_byte(out, '{');
    if (numbers->startup_transient_trimmed == BOOL_UNKNOWN)
        json_out_text(out, "startup_transient_trimmed", (struct slice){0});
    else
        json_out_bool(out, "startup_transient_trimmed",
                      numbers->startup_transient_trimmed == BOOL_TRUE);
    json_out_text(out, "startup_transient_kernel", numbers->startup_transient_kernel);
    write_amounts(out, numbers, trace_number_fields, TRACE_AMOUNTS);
    buf_add_byte(out, '}');
}

static void
write_chunk(struct buf *out, const struct gate_chunk *chunk)
{
    buf_add_byte(out, '{');
    json_out_text(out, "kind", chunk->kind);
    json_out_text(out, "file", chunk->file);
    if (chunk->has_numbers) {
        json_out_name(out, "numbers");
        buf_add_byte(out, '{');
        write_amounts(out, &chunk->numbers, chunk_number_fields, CHUNK_NUMBERS);
        buf_add_byte(out, '}');
    } else {
        json_out_text(out, "numbers", (struct slice){0});
    }
    buf_add_byte(out, '}');
}

static void
write_split(struct buf *out, const struct gate_split *split)
{
    json_out_name(out, "split");
    buf_add_byte(out, '{');
    json_out_text(out, "status",
                  split->status == STATUS_UNKNOWN
                      ? (struct slice){0}
                      : slice_of(split_status_names[split->status]));
    json_out_bool(out, "aborted", split->aborted);
    json_out_bool(out, "failed", split->failed);
    json_out_text(out, "refusal_code", split->refusal_code);
    json_out_name(out, "chunks");
    buf_add_byte(out, '[');
    for (size_t i = 0; i < split->n_chunks; i++) {
        buf_add_str(out, i ? ", " : "");
        write_chunk(out, &split->chunks[i]);
    }
    buf_add_byte(out, ']');
    write_trace_numbers(out, split);
    buf_add_byte(out, '}');
}

static void
write_attempt(struct buf *out, const struct report_attempt *attempt)
{
    if (attempt->dead_letter[0])
        buf_addf(out, "{\"dead_letter\": \"%s\"}", attempt->dead_letter);
    else
        answer_json_verdict(out, &attempt->request, &attempt->answer);
}

/* What goes to heddle.warnings and is no part of a verdict. */
static void
write_warnings(struct buf *out, const struct report *report)
{
    const struct note_list *notes = &report->given->notes;
    if (notes->n == 0 && report->n_impossible == 0)
        return;
    json_out_name(out, "warnings");
    note_write_list(out, notes, true);
    if (out->len)
        out->len--; /* the list goes on */
    for (size_t i = 0; i < report->n_impossible; i++) {
        buf_add_str(out, i || notes->n ? ", {" : "{");
        json_out_text(out, "code", SLICE("split_numbers_impossible"));
        json_out_text(out, "severity", SLICE("warning"));
        json_out_text(out, "field", report->impossible[i].field);
        json_out_amount(out, "value", report->impossible[i].value);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}

void
report_write_json(const struct report *report, struct buf *out)
{
    buf_add_byte(out, '{');
    json_out_name(out, "gate_input");
    buf_add_byte(out, '{');
    write_request(out, &report->given->request);
    write_split(out, &report->given->split);
    buf_add_byte(out, '}');
    json_out_name(out, "verdicts");
    buf_add_byte(out, '[');
    for (size_t i = 0; i < report->n_attempts; i++) {
        buf_add_str(out, i ? ", " : "");
        write_attempt(out, &report->attempts[i]);
    }
    buf_add_byte(out, ']');
    json_out_name(out, "table");
    if (report->has_table)
        table_json_write(out, &report->table);
    else
        buf_add_str(out, "null");
    write_warnings(out, report);
    buf_add_str(out, "}\n");
}

/* --- as text ------------------------------------------------------------------------ */

static void
say_note(struct buf *out, const struct note *note)
{
    buf_addf(out, "  %s %s: %.*s\n", severity_name(note->severity), note->code,
             SLICE_ARG(note->message));
    for (size_t i = 0; i < note->n; i++) {
        buf_add_str(out, "      ");
        size_t before = out->len;
        buf_add_byte(out, '{');
        note_write_field(out, note->fields[i].name, &note->fields[i]);
        /* `"name": value`, without the brace that the writer looks at. */
        if (!out->failed)
            memmove(out->data + before, out->data + before + 1, out->len - before - 1);
        out->len -= out->failed ? 0 : 1;
        buf_add_byte(out, '\n');
    }
}

static void
say_attempt(struct buf *out, const struct report_attempt *attempt)
{
    const struct gate_answer *answer = &attempt->answer;
    if (attempt->dead_letter[0]) {
        buf_addf(out, "dead letter %s: %s\n", attempt->dead_letter, attempt->reason);
        return;
    }
    buf_addf(out, "attempt %lld: %s (%s), mode %.*s", (long long)attempt->request.attempt,
             answer->accepted ? "accepted" : "refused", answer->verdict_class,
             SLICE_ARG(answer->mode));
    if (answer->chunk)
        buf_addf(out, ", chunk %.*s", SLICE_ARG(answer->chunk->file));
    if (answer->busy_ratio.known)
        buf_addf(out, ", busy %.2f %%", 100.0 * answer->busy_ratio.value);
    buf_add_byte(out, '\n');
    for (size_t i = 0; i < answer->notes.n; i++)
        say_note(out, &answer->notes.items[i]);
    if (answer->retry.mode.data)
        buf_addf(out, "  retried once as %.*s\n", SLICE_ARG(answer->retry.mode));
    if (answer->retry_exhausted)
        buf_add_str(out, "  no retry is left\n");
}

static void
say_table(struct buf *out, const struct kernel_table *table)
{
    size_t n = table->hot_kernels.n + table->suppressed_kernels.n;
    buf_addf(out, "table: %zu kernels%s", n,
             table->suppressed_by.n ? ", suppressed" : "");
    if (table->omitted.rows)
        buf_addf(out, ", %lld more left out", (long long)table->omitted.rows);
    const struct table_note *notes = table->notes.items;
    for (size_t i = 0; i < table->notes.n; i++)
        buf_addf(out, "; %.*s", SLICE_ARG(notes[i].code));
    buf_add_byte(out, '\n');
}

void
report_write_text(const struct report *report, struct buf *out)
{
    for (size_t i = 0; i < report->n_attempts; i++)
        say_attempt(out, &report->attempts[i]);
    for (size_t i = 0; i < report->given->notes.n; i++)
        say_note(out, &report->given->notes.items[i]);
    for (size_t i = 0; i < report->n_impossible; i++) {
        buf_addf(out, "warning split_numbers_impossible: %.*s is ",
                 SLICE_ARG(report->impossible[i].field));
        json_out_number(out, report->impossible[i].value.value);
        buf_add_byte(out, '\n');
    }
    if (report->has_table)
        say_table(out, &report->table);
}
