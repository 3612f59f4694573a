/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts and warnings. */
#include "emit.h"

#include "cleanup.h"
#include "json.h"
#include "text.h"
#include "topics.h"

#include <stdlib.h>

/* A character takes at most 12 bytes in JSON, and a text its two quotation marks. */
enum { FIELD_TEXT_CHARS = (WARNING_TEXT_BYTES - 2) / 12 };

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "a record of the gate");
}

/* --- fields of a warning ------------------------------------------------------------ */

static int
by_name(const void *a, const void *b)
{
    return slice_compare(((const struct warning_field *)a)->key,
                         ((const struct warning_field *)b)->key);
}

static struct note_field
cut_text(struct note_field field)
{
    if (field.kind == NOTE_TEXT && json_string_size(field.text) > WARNING_TEXT_BYTES)
        field.text = text_cut(field.text, FIELD_TEXT_CHARS);
    return field;
}

/* The value alone: what the writer of members puts behind `"": `. */
static struct slice
value_of(const struct note_field *field, struct arena *arena)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    static const char lead[] = "{\"\": ";
    enum { LEAD = sizeof lead - 1 };
    struct note_field cut = cut_text(*field);
    buf_add_byte(&text, '{');
    note_write_field(&text, "", &cut);
    if (text.failed)
        return (struct slice){0};
    return arena_copy(arena, (struct slice){text.data + LEAD, text.len - LEAD});
}

static bool
fields_of(const struct note *note, struct arena *arena, struct list *ret_fields)
{
    struct warning_field *fields = arena_alloc(arena, note->n * sizeof fields[0]);
    if (!fields)
        return false;
    for (size_t i = 0; i < note->n; i++) {
        fields[i] = (struct warning_field){slice_of(note->fields[i].name),
                                           value_of(&note->fields[i], arena)};
        if (!fields[i].json.data)
            return false;
    }
    qsort(fields, note->n, sizeof fields[0], by_name);
    *ret_fields = (struct list){fields, note->n};
    return true;
}

/* --- heddle.warnings ---------------------------------------------------------------- */

static enum err_kind
emit_warning(const struct emit_frame *frame,
             const struct note *note,
             struct emits *out,
             struct err *err)
{
    struct warning *warning = arena_alloc(out->arena, sizeof *warning);
    struct list fields;
    if (!warning || !fields_of(note, out->arena, &fields))
        return no_memory(err);
    *warning = (struct warning){
        .code = slice_of(note->code),
        .severity = (int32_t)note->severity,
        .subject = text_cut_bytes(frame->request->request_id, WARNING_TEXT_BYTES),
        .fields = fields,
        .message = text_cut_bytes(note->message, WARNING_TEXT_BYTES),
        .origin = frame->record->origin,
        .provenance = *frame->provenance,
    };
    return emits_add(out, TOPIC_WARNINGS, warning->code, &warning_type, warning,
                     frame->timestamp_ms, err);
}

enum err_kind
emit_notes(const struct emit_frame *frame,
           const struct note_list *notes,
           struct emits *out,
           struct err *err)
{
    for (size_t i = 0; i < notes->n; i++)
        if (emit_warning(frame, &notes->items[i], out, err))
            return err->kind;
    return ERR_OK;
}

enum err_kind
emit_impossible(const struct emit_frame *frame,
                const struct impossible *found,
                size_t n,
                struct emits *out,
                struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct note_field fields[] = {
            {.name = "field", .kind = NOTE_TEXT, .text = found[i].field},
            {.name = "value", .kind = NOTE_NUMBER, .number = found[i].value.value},
        };
        struct note note = {
            .code = "split_numbers_impossible",
            .severity = SEVERITY_WARNING,
            .message = SLICE("a number of the split record can't be; the verdict stands "
                             "as the rules give it"),
            .fields = fields,
            .n = 2,
        };
        if (emit_warning(frame, &note, out, err))
            return err->kind;
    }
    return ERR_OK;
}

enum err_kind
emit_output_failed(const struct emit_frame *frame,
                   size_t bytes,
                   struct emits *out,
                   struct err *err)
{
    struct note_field field = {
        .name = "reason",
        .kind = NOTE_TEXT,
        .text = arena_printf(out->arena, "record of %zu bytes", bytes)};
    struct note note = {
        .code = "output_failed",
        .severity = SEVERITY_ERROR,
        .message =
            SLICE("the candidate table is too large for its topic and is not sent; "
                  "lower table.max_rows"),
        .fields = &field,
        .n = 1,
    };
    return field.text.data ? emit_warning(frame, &note, out, err) : no_memory(err);
}

/* --- heddle.audit.splits ------------------------------------------------------------ */

static bool
verdict_warnings(const struct note_list *notes,
                 struct arena *arena,
                 struct list *ret_list)
{
    struct verdict_warning *warnings = arena_alloc(arena, notes->n * sizeof warnings[0]);
    for (size_t i = 0; warnings && i < notes->n; i++) {
        const struct note *note = &notes->items[i];
        warnings[i] = (struct verdict_warning){
            .code = slice_of(note->code),
            .severity = (int32_t)note->severity,
            .message = note->message,
        };
        if (!fields_of(note, arena, &warnings[i].fields))
            return false;
    }
    *ret_list = (struct list){warnings, notes->n};
    return warnings != NULL;
}

static void
set_retry(struct verdict *verdict,
          const struct gate_request *request,
          const struct gate_answer *answer)
{
    verdict->has_retry = answer->retry.mode.data != NULL;
    if (verdict->has_retry)
        verdict->retry = (struct retry_request){
            .requested_mode = answer->retry.mode,
            .attempt = 2,
            .retry_of = request->request_id,
            .from_mode = answer->mode,
            .source_warning_code = answer->retry.code,
        };
    verdict->retry_exhausted = answer->retry_exhausted;
    verdict->has_auto_retry = request->attempt == 2;
    if (verdict->has_auto_retry)
        verdict->auto_retry = (struct auto_retry){
            .applied = true,
            .from_mode = request->from_mode,
            .to_mode = answer->mode,
            .source_warning_code = request->source_warning_code,
        };
}

enum err_kind
emit_verdict(const struct emit_frame *frame,
             const struct gate_answer *answer,
             const struct selfcert *selfcert,
             struct emits *out,
             struct err *err)
{
    const struct split_chunk *chunk = frame->accepted;
    struct verdict *verdict = arena_alloc(out->arena, sizeof *verdict);
    if (!verdict)
        return no_memory(err);
    *verdict = (struct verdict){
        .verdict = answer->accepted ? VERDICT_KIND_ACCEPTED : VERDICT_KIND_REFUSED,
        .verdict_class = slice_of(answer->verdict_class),
        .requested_mode = answer->mode,
        .has_busy_ratio = answer->busy_ratio.known,
        .busy_ratio =
            answer->busy_ratio.known ? amount_round(answer->busy_ratio.value, 6) : 0,
        .threshold = answer->threshold,
        .has_measures = answer->has_measures,
        .measures = answer->measures,
        .suppress_candidates = answer->suppress_candidates,
        .has_selfcert = selfcert != NULL,
        .request = frame->record->request,
        .trace_sha256 = frame->record->trace.sha256,
        .origin = frame->record->origin,
        .provenance = *frame->provenance,
    };
    if (chunk) {
        verdict->accepted_chunk = chunk->file;
        verdict->accepted_chunk_uri = chunk->uri;
        verdict->accepted_chunk_sha256 = chunk->sha256;
    }
    if (selfcert)
        verdict->selfcert = *selfcert;
    set_retry(verdict, frame->request, answer);
    if (!verdict_warnings(&answer->notes, out->arena, &verdict->warnings))
        return no_memory(err);
    return emits_add(out, TOPIC_AUDIT_SPLITS, frame->key, &verdict_type, verdict,
                     frame->timestamp_ms, err);
}
