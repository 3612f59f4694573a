/* SPDX-License-Identifier: Apache-2.0 */
/* The event of attempt 2, rebuilt from the split record alone (gates.md 7). */
#include "emit.h"

#include "cleanup.h"
#include "digest.h"
#include "json_out.h"
#include "topics.h"
#include "trace_event.h"

static void
write_baseline(struct buf *out, const struct request *request)
{
    if (!request->has_baseline) {
        json_out_text(out, "baseline", (struct slice){0});
        return;
    }
    json_out_name(out, "baseline");
    buf_add_byte(out, '{');
    json_out_text(out, "conc", request->baseline.conc);
    json_out_text(out, "osl", request->baseline.osl);
    json_out_text(out, "random_range_ratio", request->baseline.random_range_ratio);
    buf_add_byte(out, '}');
}

static void
write_request(struct buf *out, const struct request *request)
{
    json_out_name(out, "request");
    buf_add_byte(out, '{');
    json_out_count(out, "attempt", request->attempt);
    write_baseline(out, request);
    json_out_text(out, "campaign_framework", request->campaign_framework);
    json_out_text(out, "framework", request->framework);
    json_out_text(out, "framework_kind", request->framework_kind);
    json_out_text(out, "from_mode", request->from_mode);
    json_out_text(out, "model_name", request->model_name);
    json_out_text(out, "request_id", request->request_id);
    json_out_text(out, "requested_mode", request->requested_mode);
    json_out_text(out, "retry_of", request->retry_of);
    json_out_text(out, "source_warning_code", request->source_warning_code);
    json_out_text(out, "target_platform", request->target_platform);
    buf_add_byte(out, '}');
}

static void
write_count(struct buf *out, const char *name, bool known, int64_t count)
{
    if (known)
        json_out_count(out, name, count);
    else
        json_out_text(out, name, (struct slice){0});
}

static void
write_split(struct buf *out, const struct split_request_parameters *split)
{
    json_out_name(out, "split");
    buf_add_byte(out, '{');
    json_out_bool(out, "allow_degraded", split->allow_degraded);
    write_count(out, "conc", split->has_conc, split->conc);
    json_out_text(out, "iterations", split->iterations);
    json_out_bool(out, "llm_inference", split->llm_inference);
    write_count(out, "max_num_seq", split->has_max_num_seq, split->max_num_seq);
    json_out_text(out, "mode", split->mode);
    json_out_count(out, "num_steps", split->num_steps);
    json_out_amount(out, "osl", AMOUNT_IF(split->has_osl, split->osl));
    json_out_amount(out, "r", AMOUNT_IF(split->has_r, split->r));
    json_out_bool(out, "salvage", split->salvage);
    buf_add_byte(out, '}');
}

/* The digest of the event without its origin, in line form. */
static enum err_kind
make_id(struct trace_event *event, struct arena *arena, struct err *err)
{
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    char id[DIGEST_HEX];
    buf_add_byte(&line, '{');
    json_out_text(&line, "payload", event->payload.claim.sha256);
    write_request(&line, &event->request);
    write_split(&line, &event->split);
    json_out_text(&line, "trace_name", event->trace_name);
    buf_add_byte(&line, '}');
    if (line.failed)
        return err_no_memory(err, "the event of a retry");
    digest_hex(buf_slice(&line), id);
    event->origin.event_id = arena_copy(arena, slice_of(id));
    return event->origin.event_id.data ? ERR_OK
                                       : err_no_memory(err, "the event of a retry");
}

/* What the splitter worked with is given in full, so that it works the same again. */
static struct split_request_parameters
same_parameters(const struct split_parameters *split)
{
    return (struct split_request_parameters){
        .has_num_steps = true,
        .num_steps = split->num_steps,
        .has_conc = split->has_conc,
        .conc = split->conc,
        .has_osl = split->has_osl,
        .osl = split->osl,
        .has_r = split->has_r,
        .r = split->r,
        .has_max_num_seq = split->has_max_num_seq,
        .max_num_seq = split->max_num_seq,
        .mode = split->mode,
        .iterations = split->iterations,
        .has_llm_inference = true,
        .llm_inference = split->llm_inference,
        .has_allow_degraded = true,
        .allow_degraded = split->allow_degraded,
        .has_salvage = true,
        .salvage = split->salvage,
    };
}

static void
set_request(struct request *request, const struct gate_request *next)
{
    request->request_id = next->request_id;
    request->requested_mode = next->requested_mode;
    request->attempt = (int32_t)next->attempt;
    request->retry_of = next->retry_of;
    request->from_mode = next->from_mode;
    request->source_warning_code = next->source_warning_code;
}

enum err_kind
emit_retry(const struct emit_frame *frame,
           const struct gate_answer *answer,
           struct emits *out,
           struct err *err)
{
    const struct split_record *record = frame->record;
    struct trace_event *event = arena_alloc(out->arena, sizeof *event);
    struct gate_request next;
    if (!event ||
        !retry_follow(frame->request, answer->mode, answer->retry, out->arena, &next))
        return err_no_memory(err, "the event of a retry");
    *event = (struct trace_event){
        .origin = record->origin,
        .payload = {.kind = PAYLOAD_CLAIM,
                    .claim = {record->trace.uri, record->trace.size,
                              record->trace.sha256}},
        .trace_name = record->trace.name,
        .request = record->request,
        .split = same_parameters(&record->split),
    };
    set_request(&event->request, &next);
    event->origin.producer = SLICE("heddle-gate");
    if (make_id(event, out->arena, err))
        return err->kind;
    return emits_add(out, TOPIC_TRACES, frame->key, &trace_event_type, event,
                     frame->timestamp_ms, err);
}
