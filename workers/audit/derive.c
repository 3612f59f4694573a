/* SPDX-License-Identifier: Apache-2.0 */
/* What one tuning event gives. */
#include "derive.h"

#include "digest.h"
#include "output.h"

/* One event on its way through the derivation. */
struct derivation {
    const struct tuning_event *event;
    const struct message *in;
    struct audit_parts parts;
    struct provenance provenance;
    struct slice input_key; /* valid UTF-8 */
    struct emits *out;
};

static enum err_kind
check_gathered(const struct payload *payload, const char *part, struct err *err)
{
    if (payload->kind != PAYLOAD_CLAIM)
        return ERR_OK;
    return err_set(err, ERR_RECORD, "tuning_event_malformed",
                   "the %s is a claim that was not gathered", part);
}

/* An empty payload is a part, too: never a null slice. */
static struct slice
bytes_of(const struct payload *payload)
{
    return payload->bytes.data ? payload->bytes : SLICE("");
}

static enum err_kind
take_parts(struct derivation *derivation, struct err *err)
{
    const struct tuning_event *event = derivation->event;
    const struct log_part *logs = event->logs.items;
    struct audit_log *taken =
        arena_calloc(derivation->out->arena, event->logs.n, sizeof *taken);
    if (!taken)
        return audit_full(err);
    for (size_t i = 0; i < event->logs.n; i++) {
        if (check_gathered(&logs[i].payload, "log", err))
            return err->kind;
        taken[i] = (struct audit_log){logs[i].tuner, bytes_of(&logs[i].payload),
                                      logs[i].event_time_us};
    }
    bool has_e2e = event->has_e2e && event->e2e.payload.kind != PAYLOAD_NONE;
    if (check_gathered(&event->result, "result", err) ||
        (has_e2e && check_gathered(&event->e2e.payload, "verdict", err)))
        return err->kind;
    derivation->parts = (struct audit_parts){
        .result = bytes_of(&event->result),
        .has_event_time = true,
        .event_time_us = event->origin.captured_at_us,
        .logs = taken,
        .n_logs = event->logs.n,
        .e2e = has_e2e ? bytes_of(&event->e2e.payload) : (struct slice){NULL, 0},
        .started_at = event->started_at,
        .defaults = event->defaults,
        .workspace = event->workspace,
    };
    return ERR_OK;
}

static enum err_kind
take_provenance(struct derivation *derivation,
                const struct provenance *provenance,
                struct err *err)
{
    struct arena *arena = derivation->out->arena;
    const struct message *in = derivation->in;
    char sha256[DIGEST_HEX];
    struct input_ref *input = arena_calloc(arena, 1, sizeof *input);
    digest_hex(in->value, sha256);
    if (!input)
        return audit_full(err);
    *input = (struct input_ref){
        .topic = slice_of(in->topic),
        .partition = in->partition,
        .offset = in->offset,
        .sha256 = arena_copy(arena, slice_of(sha256)),
    };
    if (!input->sha256.data)
        return audit_full(err);
    derivation->provenance = *provenance;
    derivation->provenance.inputs = (struct list){input, 1};
    return ERR_OK;
}

static struct slice
first_part(const struct audit_parts *parts, bool has_result)
{
    if (has_result)
        return parts->result;
    return parts->n_logs ? parts->logs[0].bytes : parts->e2e;
}

static enum err_kind
take_input_key(struct derivation *derivation, const struct run *run, struct err *err)
{
    const struct output_key_source source = {
        derivation->event->workspace,
        run ? &run->envelope : NULL,
        first_part(&derivation->parts, run != NULL),
    };
    derivation->input_key =
        output_input_key(derivation->in->key, &source, derivation->out->arena);
    return derivation->input_key.data ? ERR_OK : audit_full(err);
}

static int64_t
newest_part_us(const struct derivation *derivation)
{
    const struct audit_parts *parts = &derivation->parts;
    int64_t newest_us = INT64_MIN;
    if (parts->e2e.data)
        newest_us = derivation->event->e2e.event_time_us;
    for (size_t i = 0; i < parts->n_logs; i++)
        if (parts->logs[i].event_time_us > newest_us)
            newest_us = parts->logs[i].event_time_us;
    return newest_us;
}

static struct output_frame
frame_of(const struct derivation *derivation)
{
    return (struct output_frame){derivation->event->trace, derivation->event->workspace,
                                 &derivation->event->origin, &derivation->provenance};
}

static enum err_kind
emit_orphan(const struct derivation *derivation,
            const struct orphan *orphan,
            struct err *err)
{
    struct arena *arena = derivation->out->arena;
    const struct output_frame frame = frame_of(derivation);
    const struct rejection none = {0};
    struct audit_row *row;
    struct slice key = output_orphan_key(derivation->input_key, arena);
    if (!key.data)
        return audit_full(err);
    if (output_orphan(&frame, key, orphan, arena, &row, err))
        return err->kind;
    int64_t timestamp_ms = output_ms(newest_part_us(derivation));
    struct warning_frame about = {row->run_key, &row->origin, &row->provenance,
                                  timestamp_ms};
    if (emits_add(derivation->out, OUTPUT_TOPIC, row->run_key, &audit_row_type, row,
                  timestamp_ms, err))
        return err->kind;
    return warnings_add(&about, &none, &orphan->notes, derivation->out, err);
}

static enum err_kind
derive_orphan(struct derivation *derivation, struct err *err)
{
    const struct audit_parts *parts = &derivation->parts;
    struct orphan orphan;
    if (take_input_key(derivation, NULL, err) ||
        orphan_derive(parts->logs, parts->n_logs, &parts->e2e, parts->e2e.data != NULL,
                      derivation->out->arena, &orphan, err))
        return err->kind;
    if (orphan.e2e_error && parts->n_logs == 0)
        return orphan_refuse(orphan.e2e_error, err);
    return emit_orphan(derivation, &orphan, err);
}

/* A verdict about another result waits for it as an orphan; else there is none. */
static enum err_kind
settle_orphan(const struct derivation *derivation,
              const struct audit_answer *answer,
              int64_t timestamp_ms,
              struct err *err)
{
    struct orphan orphan;
    struct arena *arena = derivation->out->arena;
    if (answer->e2e_is_foreign) {
        struct derivation foreign = *derivation;
        foreign.parts.n_logs = 0;
        if (orphan_derive(NULL, 0, &foreign.parts.e2e, 1, arena, &orphan, err))
            return err->kind;
        return emit_orphan(&foreign, &orphan, err);
    }
    struct slice key = output_orphan_key(derivation->input_key, arena);
    if (!key.data)
        return audit_full(err);
    return emits_add_tombstone(derivation->out, OUTPUT_TOPIC, key, timestamp_ms, err);
}

static enum err_kind
emit_row(const struct derivation *derivation,
         const struct audit_answer *answer,
         struct err *err)
{
    const struct output_frame frame = frame_of(derivation);
    struct audit_row *row;
    if (output_row(&frame, answer, derivation->out->arena, &row, err))
        return err->kind;
    int64_t timestamp_ms = output_ms(derivation->event->origin.captured_at_us);
    struct warning_frame about = {row->run_key, &row->origin, &row->provenance,
                                  timestamp_ms};
    if (emits_add(derivation->out, OUTPUT_TOPIC, row->run_key, &audit_row_type, row,
                  timestamp_ms, err) ||
        settle_orphan(derivation, answer, timestamp_ms, err))
        return err->kind;
    return warnings_add(&about, &answer->run->rejection, &answer->run->notes,
                        derivation->out, err);
}

static enum err_kind
derive_run(struct derivation *derivation, struct err *err)
{
    struct audit_answer answer;
    if (audit_row_derive(&derivation->parts, derivation->out->arena, &answer, err))
        return err->kind;
    if (answer.dead_reason[0])
        return output_refuse(answer.dead_reason, err);
    if (take_input_key(derivation, answer.run, err))
        return err->kind;
    return emit_row(derivation, &answer, err);
}

static enum err_kind
derive_event(struct derivation *derivation,
             const struct provenance *provenance,
             struct err *err)
{
    if (take_parts(derivation, err))
        return err->kind;
    const struct audit_parts *parts = &derivation->parts;
    bool has_result = derivation->event->result.kind != PAYLOAD_NONE;
    if (!has_result && parts->n_logs == 0 && !parts->e2e.data)
        return err_set(err, ERR_RECORD, "event_without_parts",
                       "the event has neither result nor log nor verdict");
    if (take_provenance(derivation, provenance, err))
        return err->kind;
    return has_result ? derive_run(derivation, err) : derive_orphan(derivation, err);
}

enum err_kind
audit_derive(const struct tuning_event *event,
             const struct message *in,
             const struct provenance *provenance,
             struct emits *out,
             struct err *err)
{
    struct derivation derivation = {.event = event, .in = in, .out = out};
    if (derive_event(&derivation, provenance, err))
        return err_at(err, "derive");
    return ERR_OK;
}
