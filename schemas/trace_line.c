/* SPDX-License-Identifier: Apache-2.0 */
/* Trace events as lines. */
#include "trace_line.h"

#include "line_form.h"

/* A member, of which `name` has the separator in front. */
static void
add_text(struct buf *out, const char *name, struct slice text)
{
    buf_add_str(out, name);
    if (text.data)
        line_form_string(out, text);
    else
        buf_add_str(out, "null");
}

static void
add_whole(struct buf *out, const char *name, bool has, int64_t value)
{
    buf_add_str(out, name);
    if (has)
        buf_addf(out, "%lld", (long long)value);
    else
        buf_add_str(out, "null");
}

static void
add_double(struct buf *out, const char *name, bool has, double value)
{
    buf_add_str(out, name);
    if (has)
        line_form_double(out, value);
    else
        buf_add_str(out, "null");
}

static void
add_boolean(struct buf *out, const char *name, bool has, bool value)
{
    buf_addf(out, "%s%s", name, has ? value ? "true" : "false" : "null");
}

static void
add_baseline(struct buf *out, const struct request *request)
{
    if (!request->has_baseline) {
        buf_add_str(out, ", \"baseline\": null");
        return;
    }
    add_text(out, ", \"baseline\": {\"conc\": ", request->baseline.conc);
    add_text(out, ", \"osl\": ", request->baseline.osl);
    add_text(out, ", \"random_range_ratio\": ", request->baseline.random_range_ratio);
    buf_add_byte(out, '}');
}

void
trace_line_request(struct buf *out, const struct request *request, bool with_ids)
{
    buf_addf(out, "{\"attempt\": %d", (int)request->attempt);
    add_baseline(out, request);
    add_text(out, ", \"campaign_framework\": ", request->campaign_framework);
    add_text(out, ", \"framework\": ", request->framework);
    add_text(out, ", \"framework_kind\": ", request->framework_kind);
    add_text(out, ", \"from_mode\": ", request->from_mode);
    add_text(out, ", \"model_name\": ", request->model_name);
    if (with_ids)
        add_text(out, ", \"request_id\": ", request->request_id);
    add_text(out, ", \"requested_mode\": ", request->requested_mode);
    if (with_ids)
        add_text(out, ", \"retry_of\": ", request->retry_of);
    add_text(out, ", \"source_warning_code\": ", request->source_warning_code);
    add_text(out, ", \"target_platform\": ", request->target_platform);
    buf_add_byte(out, '}');
}

void
trace_line_split(struct buf *out, const struct split_request_parameters *split)
{
    add_boolean(out, "{\"allow_degraded\": ", split->has_allow_degraded,
                split->allow_degraded);
    add_whole(out, ", \"conc\": ", split->has_conc, split->conc);
    add_text(out, ", \"iterations\": ", split->iterations);
    add_boolean(out, ", \"llm_inference\": ", split->has_llm_inference,
                split->llm_inference);
    add_whole(out, ", \"max_num_seq\": ", split->has_max_num_seq, split->max_num_seq);
    add_text(out, ", \"mode\": ", split->mode);
    add_whole(out, ", \"num_steps\": ", split->has_num_steps, split->num_steps);
    add_double(out, ", \"osl\": ", split->has_osl, split->osl);
    add_double(out, ", \"r\": ", split->has_r, split->r);
    add_boolean(out, ", \"salvage\": ", split->has_salvage, split->salvage);
    buf_add_byte(out, '}');
}

void
trace_line_event(struct buf *out,
                 const struct trace_event *event,
                 struct slice payload_sha256)
{
    add_text(out, "{\"payload\": ", payload_sha256);
    buf_add_str(out, ", \"request\": ");
    trace_line_request(out, &event->request, true);
    buf_add_str(out, ", \"split\": ");
    trace_line_split(out, &event->split);
    add_text(out, ", \"trace_name\": ", event->trace_name);
    buf_add_byte(out, '}');
}
