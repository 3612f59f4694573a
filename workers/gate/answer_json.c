/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts as JSON. */
#include "answer_json.h"

#include "json_out.h"

#define MEASURE(name)                                                                    \
    json_out_amount(out, #name, AMOUNT_IF(measures->has_##name, measures->name))

void
answer_json_measures(struct buf *out, bool known, const struct verdict_measures *measures)
{
    buf_add_byte(out, '{');
    if (known) {
        MEASURE(idle_pct);
        MEASURE(compute_pct);
        MEASURE(exposed_comm_pct);
        MEASURE(graph_coverage);
        MEASURE(graded_coverage);
        MEASURE(root_span_share);
        if (measures->has_startup_transient_trimmed)
            json_out_bool(out, "startup_transient_trimmed",
                          measures->startup_transient_trimmed);
        else
            json_out_text(out, "startup_transient_trimmed", (struct slice){0});
        MEASURE(off_root_share);
        MEASURE(steps_with_gpu_share);
        MEASURE(dominant_event_share);
        MEASURE(overlap_share);
    }
    buf_add_byte(out, '}');
}

static void
write_null(struct buf *out, const char *name)
{
    json_out_text(out, name, (struct slice){0});
}

static void
write_retry(struct buf *out,
            const struct gate_request *request,
            const struct gate_answer *answer)
{
    if (!answer->retry.mode.data) {
        write_null(out, "retry");
        return;
    }
    json_out_name(out, "retry");
    buf_add_byte(out, '{');
    json_out_text(out, "requested_mode", answer->retry.mode);
    json_out_count(out, "attempt", 2);
    json_out_text(out, "retry_of", request->request_id);
    json_out_text(out, "from_mode", answer->mode);
    json_out_text(out, "source_warning_code", answer->retry.code);
    buf_add_byte(out, '}');
}

static void
write_auto_retry(struct buf *out,
                 const struct gate_request *request,
                 const struct gate_answer *answer)
{
    if (request->attempt != 2) {
        write_null(out, "auto_retry");
        return;
    }
    json_out_name(out, "auto_retry");
    buf_add_byte(out, '{');
    json_out_bool(out, "applied", true);
    json_out_text(out, "from_mode", request->from_mode);
    json_out_text(out, "to_mode", answer->mode);
    json_out_text(out, "source_warning_code", request->source_warning_code);
    buf_add_byte(out, '}');
}

/* What the remediation of a poor chunk names: the variable, and the better mode. */
static void
write_mentions(struct buf *out, const struct gate_answer *answer)
{
    struct slice names[2] = {SLICE(GATE_MODE_VARIABLE), answer->better};
    json_out_texts(out, "remediation_mentions", names, answer->better.data ? 2 : 0);
}

void
answer_json_verdict(struct buf *out,
                    const struct gate_request *request,
                    const struct gate_answer *answer)
{
    struct amount ratio = answer->busy_ratio;
    if (ratio.known)
        ratio.value = amount_round(ratio.value, 6);
    buf_add_byte(out, '{');
    json_out_text(out, "verdict",
                  answer->accepted ? SLICE("accepted") : SLICE("refused"));
    json_out_text(out, "class", slice_of(answer->verdict_class));
    json_out_text(out, "requested_mode", answer->mode);
    json_out_text(out, "accepted_chunk",
                  answer->chunk ? answer->chunk->file : (struct slice){0});
    json_out_amount(out, "busy_ratio", ratio);
    json_out_amount(out, "threshold", AMOUNT(answer->threshold));
    json_out_name(out, "warnings");
    note_write_list(out, &answer->notes, true);
    json_out_name(out, "measures");
    answer_json_measures(out, answer->has_measures, &answer->measures);
    json_out_bool(out, "suppress_candidates", answer->suppress_candidates);
    write_retry(out, request, answer);
    json_out_bool(out, "retry_exhausted", answer->retry_exhausted);
    write_auto_retry(out, request, answer);
    write_mentions(out, answer);
    buf_add_byte(out, '}');
}
