/* SPDX-License-Identifier: Apache-2.0 */
/* The warnings of a record. */
#include "warnings.h"

#include "cleanup.h"
#include "json.h"
#include "text.h"

#include <stdio.h>

/* A field's text is whole JSON, so its content is cut before it is written: a character
 * takes at most 12 bytes there. */
enum { FIELD_TEXT_CHARS = (WARNING_TEXT_BYTES - 2) / 12, MAX_FIELDS = 3 };

static const struct note_warning {
    const char *code;
    const char *field; /* what follows the code in a note */
    bool is_number;
    const char *message;
} note_warnings[] = {
    {"e2e_invalid", "reason", false,
     "the verdict document is no JSON object; the row is derived without it"},
    {"kept_conflict", "entries", true,
     "a recorded kept disagrees with the validation, which replaces it, in entries"},
    {"orphan_e2e", "tuners", false, "the validation names what is no entry of the run:"},
    {"orphan_log", "tuners", false, "a tune.log belongs to no entry of the run:"},
    {"stale_log", "entries", true,
     "a log of an earlier attempt, which was rejected, lies beside a speedup in entries"},
};

static enum err_kind
take(struct buf *text, struct arena *arena, struct slice *ret_text, struct err *err)
{
    if (text->failed)
        return audit_full(err);
    *ret_text = arena_copy(arena, buf_slice(text));
    buf_reset(text);
    return ret_text->data ? ERR_OK : audit_full(err);
}

static enum err_kind
take_string(struct slice text,
            struct arena *arena,
            struct slice *ret_json,
            struct err *err)
{
    CLEANUP(buf_done) struct buf json = BUF_INIT;
    if (json_string_size(text) > WARNING_TEXT_BYTES)
        text = text_cut(text, FIELD_TEXT_CHARS);
    json_write_string(&json, text);
    return take(&json, arena, ret_json, err);
}

static enum err_kind
emit(const struct warning_frame *frame,
     const char *code,
     enum severity severity,
     struct list fields,
     struct slice message,
     struct emits *out,
     struct err *err)
{
    struct warning *warning = arena_calloc(out->arena, 1, sizeof *warning);
    if (!warning)
        return audit_full(err);
    *warning = (struct warning){
        .code = slice_of(code),
        .severity = (int32_t)severity,
        .subject = text_cut_bytes(frame->subject, WARNING_TEXT_BYTES),
        .fields = fields,
        .message = text_cut_bytes(message, WARNING_TEXT_BYTES),
        .origin = *frame->origin,
        .provenance = *frame->provenance,
    };
    return emits_add(out, "heddle.warnings", warning->code, &warning_type, warning,
                     frame->timestamp_ms, err);
}

static enum err_kind
add_rejection(const struct warning_frame *frame,
              const struct rejection *rejection,
              struct emits *out,
              struct err *err)
{
    struct warning_field *fields = arena_calloc(out->arena, MAX_FIELDS, sizeof *fields);
    struct slice args = text_scalar(out->arena, rejection->args);
    if (!fields || !args.data)
        return audit_full(err);
    size_t n = rejection->prog.data ? 3 : 2;
    fields[0].key = SLICE("args");
    fields[1].key = SLICE("kind");
    fields[2].key = SLICE("prog");
    if (take_string(rejection->args, out->arena, &fields[0].json, err) ||
        take_string(slice_of(rejection->kind), out->arena, &fields[1].json, err) ||
        (n == 3 && take_string(rejection->prog, out->arena, &fields[2].json, err)))
        return err->kind;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct slice message = {0};
    buf_add_str(&text, "the front command refused its options: ");
    buf_add_slice(&text, text_cut_bytes(args, WARNING_TEXT_BYTES));
    if (take(&text, out->arena, &message, err))
        return err->kind;
    return emit(frame, "run_rejected", SEVERITY_ERROR, (struct list){fields, n}, message,
                out, err);
}

static bool
is_note_of(struct slice note, const char *code)
{
    size_t len = strlen(code);
    return note.len > len && memcmp(note.data, code, len) == 0 && note.data[len] == ':';
}

/* What notes [first, first + n) name, as JSON; as many as fit. */
static void
write_details(const struct notes *notes,
              size_t first,
              size_t n,
              const struct note_warning *kind,
              struct buf *json)
{
    bool list = strcmp(kind->field, "reason") != 0;
    size_t skip = strlen(kind->code) + 1;
    if (list)
        buf_add_byte(json, '[');
    for (size_t i = first; i < first + n; i++) {
        struct slice note = notes->items[i];
        struct slice detail = {note.data + skip, note.len - skip};
        size_t before = json->len;
        if (i > first)
            buf_add(json, ", ", 2);
        if (kind->is_number)
            buf_add_slice(json, detail);
        else
            json_write_string(json, text_cut(detail, FIELD_TEXT_CHARS));
        if (json->len > WARNING_TEXT_BYTES - 1) {
            json->len = before;
            break;
        }
    }
    if (list)
        buf_add_byte(json, ']');
}

static enum err_kind
add_note_warning(const struct warning_frame *frame,
                 const struct notes *notes,
                 size_t first,
                 size_t n,
                 const struct note_warning *kind,
                 struct emits *out,
                 struct err *err)
{
    struct warning_field *fields = arena_calloc(out->arena, MAX_FIELDS, sizeof *fields);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    if (!fields)
        return audit_full(err);
    fields[0].key = SLICE("count");
    fields[0].json = arena_printf(out->arena, "%zu", n);
    fields[1].key = slice_of(kind->field);
    write_details(notes, first, n, kind, &text);
    if (!fields[0].json.data || take(&text, out->arena, &fields[1].json, err))
        return audit_full(err);
    struct slice message = {0};
    buf_add_str(&text, kind->message);
    buf_add_byte(&text, ' ');
    buf_add_slice(&text, fields[1].json);
    if (take(&text, out->arena, &message, err))
        return err->kind;
    return emit(frame, kind->code, SEVERITY_WARNING, (struct list){fields, 2}, message,
                out, err);
}

enum err_kind
warnings_add(const struct warning_frame *frame,
             const struct rejection *rejection,
             const struct notes *notes,
             struct emits *out,
             struct err *err)
{
    if (rejection->kind && add_rejection(frame, rejection, out, err))
        return err->kind;
    for (size_t k = 0; k < sizeof note_warnings / sizeof note_warnings[0]; k++) {
        size_t first = 0;
        while (first < notes->n &&
               !is_note_of(notes->items[first], note_warnings[k].code))
            first++;
        size_t n = 0;
        while (first + n < notes->n &&
               is_note_of(notes->items[first + n], note_warnings[k].code))
            n++;
        if (n && add_note_warning(frame, notes, first, n, &note_warnings[k], out, err))
            return err->kind;
    }
    return ERR_OK;
}

enum err_kind
warnings_add_join_full(const struct warning_frame *frame,
                       const char *what,
                       size_t max,
                       size_t n,
                       struct emits *out,
                       struct err *err)
{
    struct warning_field *fields = arena_calloc(out->arena, MAX_FIELDS, sizeof *fields);
    struct slice message = arena_printf(
        out->arena,
        "more than %zu %s under one input key: the oldest %zu were audited and are "
        "forgotten; let each run have a key of its own",
        max, what, n);
    if (!fields || !message.data)
        return audit_full(err);
    fields[0] =
        (struct warning_field){SLICE("dropped"), arena_printf(out->arena, "%zu", n)};
    fields[1] =
        (struct warning_field){SLICE("kept"), arena_printf(out->arena, "%zu", max)};
    fields[2] =
        (struct warning_field){SLICE("what"), arena_printf(out->arena, "\"%s\"", what)};
    if (!fields[0].json.data || !fields[1].json.data || !fields[2].json.data)
        return audit_full(err);
    return emit(frame, "join_full", SEVERITY_WARNING, (struct list){fields, 3}, message,
                out, err);
}
