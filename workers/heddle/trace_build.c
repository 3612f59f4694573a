/* SPDX-License-Identifier: Apache-2.0 */
/* The trace event: identity, and whether its bytes travel inline. */
#include "trace_build.h"

#include "buf.h"
#include "cleanup.h"
#include "line_form.h"
#include "text.h"
#include "tuning_build.h"
#include "uri.h"

/* --- line form --------------------------------------------------------------------- */

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

/* With its id (NULL: without ids). */
static void
add_request(struct buf *out, const struct request *request, const char *id)
{
    buf_addf(out, "{\"attempt\": %d", (int)request->attempt);
    add_baseline(out, request);
    add_text(out, ", \"campaign_framework\": ", request->campaign_framework);
    add_text(out, ", \"framework\": ", request->framework);
    add_text(out, ", \"framework_kind\": ", request->framework_kind);
    add_text(out, ", \"from_mode\": ", request->from_mode);
    add_text(out, ", \"model_name\": ", request->model_name);
    if (id)
        add_text(out, ", \"request_id\": ", slice_of(id));
    add_text(out, ", \"requested_mode\": ", request->requested_mode);
    if (id)
        add_text(out, ", \"retry_of\": ", request->retry_of);
    add_text(out, ", \"source_warning_code\": ", request->source_warning_code);
    add_text(out, ", \"target_platform\": ", request->target_platform);
    buf_add_byte(out, '}');
}

static void
add_split(struct buf *out, const struct split_request_parameters *split)
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

/* --- identity ---------------------------------------------------------------------- */

struct slice
trace_name_of(const struct trace_parts *parts)
{
    const char *slash = memrchr(parts->path.data, '/', parts->path.len);
    size_t skipped = slash ? (size_t)(slash - parts->path.data) + 1 : 0;
    return (struct slice){parts->path.data + skipped, parts->path.len - skipped};
}

static enum err_kind
digest_line(struct buf *line, char ret_hex[DIGEST_HEX], struct err *err)
{
    if (buf_check(line, "the line form of an event", err))
        return err_no_memory(err, "the line form of an event");
    digest_hex(buf_slice(line), ret_hex);
    return ERR_OK;
}

enum err_kind
trace_request_id(const struct trace_parts *parts,
                 char ret_id[TRACE_REQUEST_ID_BYTES],
                 struct err *err)
{
    char hex[DIGEST_HEX];
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    buf_add_str(&line, "{\"request\": ");
    add_request(&line, &parts->ask.request, NULL);
    buf_add_str(&line, ", \"split\": ");
    add_split(&line, &parts->ask.split);
    add_text(&line, ", \"trace\": ", slice_of(parts->sha256));
    buf_add_byte(&line, '}');
    if (digest_line(&line, hex, err))
        return err->kind;
    memcpy(ret_id, hex, TRACE_REQUEST_ID_BYTES - 1);
    ret_id[TRACE_REQUEST_ID_BYTES - 1] = '\0';
    return ERR_OK;
}

enum err_kind
trace_event_id(const struct trace_parts *parts, char ret_id[DIGEST_HEX], struct err *err)
{
    char request_id[TRACE_REQUEST_ID_BYTES];
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    if (trace_request_id(parts, request_id, err))
        return err->kind;
    add_text(&line, "{\"payload\": ", slice_of(parts->sha256));
    buf_add_str(&line, ", \"request\": ");
    add_request(&line, &parts->ask.request, request_id);
    buf_add_str(&line, ", \"split\": ");
    add_split(&line, &parts->ask.split);
    add_text(&line, ", \"trace_name\": ", trace_name_of(parts));
    buf_add_byte(&line, '}');
    return digest_line(&line, ret_id, err);
}

/* --- the event --------------------------------------------------------------------- */

static enum err_kind
place_payload(const struct trace_parts *parts,
              struct arena *arena,
              struct payload *ret_payload,
              struct err *err)
{
    if (parts->bytes.data && parts->bytes.len <= TRACE_INLINE_BYTES) {
        *ret_payload = (struct payload){.kind = PAYLOAD_INLINE, .bytes = parts->bytes};
        return ERR_OK;
    }
    struct slice uri = file_uri_make(parts->path, arena);
    struct slice sha256 = arena_copy(arena, slice_of(parts->sha256));
    if (!uri.data || !sha256.data)
        return err_no_memory(err, "a claim");
    *ret_payload =
        (struct payload){.kind = PAYLOAD_CLAIM, .claim = {uri, parts->size, sha256}};
    return ERR_OK;
}

enum err_kind
trace_build(const struct trace_parts *parts,
            struct arena *arena,
            struct trace_event *ret_event,
            struct err *err)
{
    char request_id[TRACE_REQUEST_ID_BYTES];
    char event_id[DIGEST_HEX];
    struct slice name = trace_name_of(parts);
    if (text_bad(name) != name.len)
        return err_set(err, ERR_RECORD, "text_invalid",
                       "its name is not UTF-8; rename it, an event can't carry it");
    *ret_event = (struct trace_event){
        .trace_name = name,
        .request = parts->ask.request,
        .split = parts->ask.split,
        .origin = {.node = parts->node,
                   .session = SLICE(""),
                   .captured_at_us = parts->event_time_us,
                   .producer = tuning_producer},
    };
    if (trace_request_id(parts, request_id, err) ||
        trace_event_id(parts, event_id, err) ||
        place_payload(parts, arena, &ret_event->payload, err))
        return err->kind;
    ret_event->origin.event_id = arena_copy(arena, slice_of(event_id));
    ret_event->request.request_id = arena_copy(arena, slice_of(request_id));
    return ret_event->origin.event_id.data && ret_event->request.request_id.data
               ? ERR_OK
               : err_no_memory(err, "an event");
}
