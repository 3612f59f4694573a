/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves the splitter for one event. */
#include "split_emit.h"

#include "answer_record.h"
#include "cleanup.h"
#include "framing.h"
#include "json.h"
#include "outbox.h"
#include "text.h"
#include "topics.h"
#include "warning.h"

/* A character takes at most 12 bytes in JSON, and a text its two quotation marks. */
enum { FIELD_TEXT_CHARS = (WARNING_TEXT_BYTES - 2) / 12 };

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "a record of the splitter");
}

/* --- refusals ---------------------------------------------------------------------- */

static const struct error_refusal {
    const char *error;
    const char *refusal;
    bool has_reason;
    const char *limit; /* setting that would help; NULL */
} error_refusals[] = {
    {"claim_not_found", "claim_not_found", false, NULL},
    {"claim_denied", "claim_denied", false, NULL},
    {"claim_mismatch", "claim_mismatch", false, NULL},
    {"claim_unavailable", "claim_unavailable", true, NULL},
    {"output_failed", "output_failed", true, NULL},
    {"record_too_large", "output_failed", true, NULL},
    {"trace_too_large", "trace_too_large", true, "max_spool_bytes"},
};

bool
split_refusal_of(const struct err *err, struct split_refusal *ret_refusal)
{
    const char *last = err->final_code ? err->final_code : "claim_unavailable";
    const char *code = err->kind == ERR_RETRY ? last : err->code;
    for (size_t i = 0; i < sizeof error_refusals / sizeof error_refusals[0]; i++) {
        const struct error_refusal *row = &error_refusals[i];
        if (strcmp(row->error, code) != 0)
            continue;
        *ret_refusal = (struct split_refusal){.code = slice_of(row->refusal)};
        if (row->has_reason)
            ret_refusal->reason = slice_of(err->msg);
        if (row->limit)
            ret_refusal->limit = ret_refusal->option = slice_of(row->limit);
        return true;
    }
    return false;
}

void
split_record_refused(struct split_record *ret_record, const struct split_refusal *refusal)
{
    *ret_record = (struct split_record){
        .result = SPLIT_RESULT_REFUSED,
        .has_refusal = true,
        .refusal = *refusal,
        .manifest = {.aborted = true},
    };
}

/* --- the record -------------------------------------------------------------------- */

static enum err_kind
add_fact(const struct split_frame *frame, struct provenance *provenance, struct err *err)
{
    struct fact *fact = arena_calloc(frame->out->arena, 1, sizeof *fact);
    if (!fact)
        return no_memory(err);
    fact->subject = SLICE("trace");
    fact->outcome = frame->failed.data ? SLICE("failed") : SLICE("fetched");
    fact->code = frame->failed;
    if (!frame->failed.data)
        fact->sha256 = frame->trace.sha256;
    provenance->facts = (struct list){fact, 1};
    return ERR_OK;
}

static enum err_kind
complete(const struct split_frame *frame, struct split_record *record, struct err *err)
{
    record->trace = frame->trace;
    record->has_request = true;
    record->request = frame->event->request;
    record->split = *frame->split;
    record->has_origin = true;
    record->origin = frame->event->origin;
    record->has_provenance = true;
    record->provenance = frame->provenance;
    if (frame->is_fetched || frame->failed.data)
        return add_fact(frame, &record->provenance, err);
    return ERR_OK;
}

/* Framed as it will be sent without a registry. */
static enum err_kind
encode(const struct split_frame *frame,
       const struct split_record *record,
       struct buf *out,
       struct err *err)
{
    buf_reset(out);
    frame_write_single_object(out, 0);
    if (codec_encode(frame->records, record, out, err))
        return err->kind;
    return buf_check(out, "the record of a split", err);
}

static enum err_kind
encode_within_limit(const struct split_frame *frame,
                    struct split_record *record,
                    struct buf *out,
                    struct err *err)
{
    if (encode(frame, record, out, err))
        return err->kind;
    struct err ignored;
    size_t size = record_size(frame->key, buf_slice(out), 0);
    if (record_check_size(TOPIC_SPLITS, size, &ignored) == ERR_OK)
        return ERR_OK;
    struct slice reason =
        arena_printf(frame->out->arena, "record of %zu bytes", out->len);
    if (!reason.data)
        return no_memory(err);
    answer_record_refuse(record, SLICE("output_failed"), reason);
    return encode(frame, record, out, err);
}

/* The answer and its texts are gone when the record is sent: what was encoded is read
 * again into memory that stays. */
enum err_kind
split_emit_record(const struct split_frame *frame,
                  struct split_record *record,
                  struct err *err)
{
    CLEANUP(buf_done) struct buf bytes;
    struct arena *arena = frame->out->arena;
    buf_init(&bytes, SIZE_MAX);
    if (complete(frame, record, err) || encode_within_limit(frame, record, &bytes, err))
        return err->kind;
    struct split_record *copy = arena_alloc(arena, sizeof *copy);
    struct slice kept = arena_copy(arena, buf_slice(&bytes));
    struct frame head;
    if (!copy || !kept.data)
        return no_memory(err);
    if (frame_read(kept, &head, err) ||
        codec_decode(frame->own_records, head.body, arena, copy, err))
        return err->kind;
    return emits_add(frame->out, TOPIC_SPLITS, frame->key, &split_record_type, copy,
                     frame->timestamp_ms, err);
}

/* --- warnings ---------------------------------------------------------------------- */

static struct slice
json_text(struct arena *arena, struct slice text)
{
    CLEANUP(buf_done) struct buf json = BUF_INIT;
    if (json_string_size(text) > WARNING_TEXT_BYTES)
        text = text_cut(text, FIELD_TEXT_CHARS);
    json_write_string(&json, text);
    return json.failed ? (struct slice){0} : arena_copy(arena, buf_slice(&json));
}

/* `fields` lie in the arena, sorted; one without text had no memory. */
static enum err_kind
emit_warning(const struct split_frame *frame,
             struct slice code,
             struct list fields,
             struct slice message,
             struct err *err)
{
    struct warning *warning = arena_alloc(frame->out->arena, sizeof *warning);
    const struct warning_field *items = fields.items;
    if (!warning)
        return no_memory(err);
    for (size_t i = 0; i < fields.n; i++)
        if (!items[i].json.data)
            return no_memory(err);
    *warning = (struct warning){
        .code = code,
        .severity = SEVERITY_ERROR,
        .subject = text_cut_bytes(frame->event->request.request_id, WARNING_TEXT_BYTES),
        .fields = fields,
        .message = message,
        .origin = frame->event->origin,
        .provenance = frame->provenance,
    };
    return emits_add(frame->out, TOPIC_WARNINGS, warning->code, &warning_type, warning,
                     frame->timestamp_ms, err);
}

enum err_kind
split_emit_late(const struct split_frame *frame, int64_t worked_ms, struct err *err)
{
    struct arena *arena = frame->out->arena;
    struct warning_field *fields = arena_calloc(arena, 1, sizeof *fields);
    if (!fields)
        return no_memory(err);
    fields[0] = (struct warning_field){
        SLICE("seconds"), arena_printf(arena, "%lld", (long long)(worked_ms / 1000))};
    return emit_warning(
        frame, SLICE("job_deadline"), (struct list){fields, 1},
        SLICE(
            "a trace is in work past its deadline; the worker leaves, and the trace is "
            "split again: look at its source and its size, or raise split.job_deadline"),
        err);
}

enum err_kind
split_emit_store_away(const struct split_frame *frame,
                      struct slice store,
                      const struct err *why,
                      struct err *err)
{
    enum { FIELDS = 2 };
    struct arena *arena = frame->out->arena;
    struct warning_field *fields = arena_calloc(arena, FIELDS, sizeof *fields);
    if (!fields)
        return no_memory(err);
    fields[0] =
        (struct warning_field){SLICE("reason"), json_text(arena, slice_of(why->msg))};
    fields[1] = (struct warning_field){SLICE("store"), json_text(arena, store)};
    return emit_warning(frame, SLICE("store_unavailable"), (struct list){fields, FIELDS},
                        SLICE("the chunk store takes nothing; the trace was refused with "
                              "output_failed: see to the store and send it again"),
                        err);
}
