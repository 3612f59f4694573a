/* SPDX-License-Identifier: Apache-2.0 */
/* The event of attempt 2, rebuilt from the split record alone (gates.md 7). */
#include "emit.h"

#include "cleanup.h"
#include "digest.h"
#include "topics.h"
#include "trace_line.h"

/* The digest of the event without its origin, in line form. */
static enum err_kind
make_id(struct trace_event *event, struct arena *arena, struct err *err)
{
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    char id[DIGEST_HEX];
    trace_line_event(&line, event, event->payload.claim.sha256);
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
