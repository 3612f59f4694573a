/* SPDX-License-Identifier: Apache-2.0 */
/* The trace event: identity, and whether its bytes travel inline. */
#include "trace_build.h"

#include "buf.h"
#include "cleanup.h"
#include "text.h"
#include "trace_line.h"
#include "tuning_build.h"
#include "uri.h"

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
    trace_line_request(&line, &parts->ask.request, false);
    buf_add_str(&line, ", \"split\": ");
    trace_line_split(&line, &parts->ask.split);
    buf_addf(&line, ", \"trace\": \"%s\"}", parts->sha256);
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
    struct trace_event event = {
        .trace_name = trace_name_of(parts),
        .request = parts->ask.request,
        .split = parts->ask.split,
    };
    event.request.request_id = slice_of(request_id);
    trace_line_event(&line, &event, slice_of(parts->sha256));
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
