/* SPDX-License-Identifier: Apache-2.0 */
/* The gate, from a split record to what leaves. */
#include "derive.h"

#include "candidate_table.h"
#include "certify.h"
#include "cleanup.h"
#include "emit.h"
#include "from_record.h"
#include "outbox.h"
#include "report.h"
#include "request_check.h"
#include "split_request.h"
#include "table.h"
#include "topics.h"

/* What an event must hold besides what gate_decide() looks at. */
static enum err_kind
check_record(const struct split_record *record, struct err *err)
{
    if (!record->has_request || !record->has_origin)
        return err_set(err, ERR_RECORD, "gate_request_malformed",
                       "the split record carries no request or origin: it is one of "
                       "local mode");
    return request_check(&record->request, err);
}

static enum err_kind
choose_framework(const struct request *request,
                 struct arena *arena,
                 struct gate_request *gate,
                 struct note_list *ret_notes,
                 struct err *err)
{
    static const struct split_hints none;
    struct split_ask ask = {.framework = request->framework,
                            .campaign_framework = request->campaign_framework};
    struct split_request_answer answer;
    if (split_request(&ask, (struct slice){0}, &none, arena, &answer, err))
        return err->kind;
    gate->framework = answer.framework;
    gate->framework_kind = slice_of(framework_kind_names[answer.kind]);
    *ret_notes = answer.notes;
    return ERR_OK;
}

/* --- the candidate table ------------------------------------------------------------ */

static enum err_kind
make_table(const struct emit_frame *frame,
           const struct gate_answer *answer,
           const struct gate_tools *tools,
           struct arena *arena,
           struct candidate_table *ret_record,
           struct err *err)
{
    struct table_limits limits = {tools->config.max_rows, tools->config.min_gpu_pct};
    struct list codes;
    *ret_record = (struct candidate_table){
        .analysis_id = frame->key,
        .has_request = true,
        .request = frame->record->request,
        .trace_sha256 = frame->record->trace.sha256,
        .has_table = true,
        .origin = frame->record->origin,
        .provenance = *frame->provenance,
    };
    if (table_build(frame->accepted, &tools->categories, &limits, arena,
                    &ret_record->table, err))
        return err->kind;
    if (!report_suppressing(answer, arena, &codes))
        return err_no_memory(err, "the table");
    if (codes.n)
        table_suppress(&ret_record->table, codes);
    return ERR_OK;
}

/* A table above the limit of its topic is told, not sent; the verdict stands. */
static enum err_kind
emit_table(const struct emit_frame *frame,
           const struct gate_tools *tools,
           const struct candidate_table *record,
           struct emits *out,
           struct err *err)
{
    CLEANUP(buf_done) struct buf encoded;
    struct err ignored = {0};
    const struct topic *topic = topic_find(TOPIC_CANDIDATES);
    buf_init(&encoded, 0);
    enum err_kind kind = serde_encode(tools->tables, record, &encoded, err);
    bool over = kind && strcmp(err->code, "record_too_large") == 0;
    if (kind && !over)
        return kind;
    size_t size = record_size(frame->key, buf_slice(&encoded), 0);
    if (over || record_check_size(topic->name, size, &ignored)) {
        *err = (struct err){0};
        return emit_output_failed(frame, over ? BUF_MAX_BYTES : encoded.len, out, err);
    }
    return emits_add(out, TOPIC_CANDIDATES, frame->key, &candidate_table_type, record,
                     frame->timestamp_ms, err);
}

static enum err_kind
add_table(const struct emit_frame *frame,
          const struct gate_answer *answer,
          const struct gate_tools *tools,
          struct emits *out,
          struct err *err)
{
    struct candidate_table *record = arena_alloc(out->arena, sizeof *record);
    if (!record)
        return err_no_memory(err, "the table");
    if (make_table(frame, answer, tools, out->arena, record, err))
        return err->kind;
    return emit_table(frame, tools, record, out, err);
}

/* --- all of it ---------------------------------------------------------------------- */

static enum err_kind
add_verdict(const struct emit_frame *frame,
            const struct gate_answer *answer,
            struct emits *out,
            struct err *err)
{
    struct selfcert selfcert;
    bool certified = false;
    if (frame->request->attempt == 1 &&
        certify_record(frame->record, frame->request->framework,
                       frame->provenance->version, out->arena, &certified, &selfcert,
                       err))
        return err->kind;
    return emit_verdict(frame, answer, certified ? &selfcert : NULL, out, err);
}

static enum err_kind
add_warnings(const struct emit_frame *frame,
             const struct gate_answer *answer,
             const struct note_list *beside,
             const struct gate_split *split,
             struct emits *out,
             struct err *err)
{
    const struct impossible *found = NULL;
    size_t n = 0;
    if (impossible_find(split, out->arena, &found, &n, err) ||
        emit_notes(frame, &answer->notes, out, err) ||
        emit_notes(frame, beside, out, err))
        return err->kind;
    return emit_impossible(frame, found, n, out, err);
}

/* A trace of which no digest is known can't be named again. */
static bool
may_retry(const struct split_record *record, const struct gate_answer *answer)
{
    return answer->retry.mode.data && record->trace.has_size && record->trace.sha256.data;
}

/* The gate's chunks stand in the order of the record's. */
static const struct split_chunk *
accepted_chunk(const struct split_record *record,
               const struct gate_split *split,
               const struct gate_answer *answer)
{
    const struct split_chunk *chunks = record->chunks.items;
    return answer->chunk ? &chunks[answer->chunk - split->chunks] : NULL;
}

enum err_kind
gate_derive(const struct split_record *record,
            const struct message *in,
            const struct gate_tools *tools,
            const struct provenance *base,
            struct emits *out,
            struct err *err)
{
    struct provenance provenance;
    struct gate_request request;
    struct gate_split split;
    struct gate_answer answer;
    struct note_list beside;
    if (check_record(record, err) ||
        provenance_of(base, in, out->arena, &provenance, err))
        return err->kind;
    gate_request_of_record(&record->request, &request);
    if (choose_framework(&record->request, out->arena, &request, &beside, err) ||
        gate_split_of_record(record, out->arena, &split, err) ||
        gate_decide(&request, &split, &tools->config, out->arena, &answer, err))
        return err->kind;
    struct emit_frame frame = {
        .record = record,
        .request = &request,
        .accepted = accepted_chunk(record, &split, &answer),
        .provenance = &provenance,
        .key = request.attempt == 2 ? request.retry_of : request.request_id,
        .timestamp_ms = in->timestamp_ms,
    };
    if (!may_retry(record, &answer))
        answer.retry = (struct retry_hint){0};
    if (add_verdict(&frame, &answer, out, err) ||
        (answer.accepted && add_table(&frame, &answer, tools, out, err)) ||
        (answer.retry.mode.data && emit_retry(&frame, &answer, out, err)))
        return err->kind;
    return add_warnings(&frame, &answer, &beside, &split, out, err);
}
