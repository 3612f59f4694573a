/* SPDX-License-Identifier: Apache-2.0 */
/* The tuning event of a run: identity, key, and what travels inline. */
#include "tuning_build.h"

#include "buf.h"
#include "cleanup.h"
#include "input_key.h"
#include "json_scan.h"
#include "line_form.h"
#include "text.h"
#include "uri.h"

const struct slice tuning_producer = {"heddle-feed/" HEDDLE_VERSION,
                                      sizeof "heddle-feed/" HEDDLE_VERSION - 1};

static struct slice
trace_of(const struct tuning_parts *parts)
{
    struct workspace_parts workspace;
    return workspace_split(parts->workspace, &workspace) ? workspace.trace : parts->trace;
}

static void
add_text(struct buf *out, const char *name, struct slice text)
{
    buf_add_str(out, name);
    if (text.data)
        line_form_string(out, text);
    else
        buf_add_str(out, "null");
}

/* {"event_time_us": …, "payload": …, more: a log's tuner comes after both by its name. */
static void
add_part(struct buf *out, const struct tuning_part *part)
{
    buf_addf(out, "{\"event_time_us\": %lld, \"payload\": \"%s\"",
             (long long)part->event_time_us, part->sha256);
}

static void
add_defaults(struct buf *out, const struct tuning_parts *parts)
{
    buf_add_str(out, "{\"defaults\": {");
    for (size_t i = 0; i < parts->n_defaults; i++) {
        buf_add_str(out, i ? ", " : "");
        line_form_string(out, parts->defaults[i].key);
        add_text(out, ": ", parts->defaults[i].json);
    }
    buf_add_byte(out, '}');
}

static void
add_logs(struct buf *out, const struct tuning_parts *parts)
{
    buf_add_str(out, ", \"logs\": [");
    for (size_t i = 0; i < parts->n_logs; i++) {
        buf_add_str(out, i ? ", " : "");
        add_part(out, &parts->logs[i].part);
        add_text(out, ", \"tuner\": ", parts->logs[i].tuner);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}

enum err_kind
tuning_event_id(const struct tuning_parts *parts,
                char ret_id[DIGEST_HEX],
                struct err *err)
{
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    add_defaults(&line, parts);
    buf_add_str(&line, ", \"e2e\": ");
    if (parts->e2e.present) {
        add_part(&line, &parts->e2e);
        buf_add_byte(&line, '}');
    } else {
        buf_add_str(&line, "null");
    }
    add_logs(&line, parts);
    add_text(&line, ", \"result\": ",
             parts->result.present ? slice_of(parts->result.sha256) : (struct slice){0});
    add_text(&line, ", \"started_at\": ", parts->started_at);
    add_text(&line, ", \"trace\": ", trace_of(parts));
    add_text(&line, ", \"workspace\": ", parts->workspace);
    buf_add_byte(&line, '}');
    if (buf_check(&line, "the line form of an event", err))
        return err_no_memory(err, "the line form of an event");
    digest_hex(buf_slice(&line), ret_id);
    return ERR_OK;
}

/* --- what travels inline ----------------------------------------------------------- */

static size_t
part_count(const struct tuning_parts *parts)
{
    return 2 + parts->n_logs;
}

/* Parts in one row: the result, the logs, the verdict. */
static const struct tuning_part *
part_at(const struct tuning_parts *parts, size_t i)
{
    if (i == 0)
        return &parts->result;
    return i <= parts->n_logs ? &parts->logs[i - 1].part : &parts->e2e;
}

static struct payload *
payload_at(struct tuning_event *event, size_t i)
{
    struct log_part *logs = event->logs.items;
    if (i == 0)
        return &event->result;
    return i <= event->logs.n ? &logs[i - 1].payload : &event->e2e.payload;
}

static enum err_kind
claim_part(const struct tuning_part *part,
           struct payload *payload,
           struct arena *arena,
           struct err *err)
{
    struct slice uri = file_uri_make(part->path, arena);
    if (!uri.data)
        return err_no_memory(err, "a claim");
    *payload = (struct payload){
        .kind = PAYLOAD_CLAIM,
        .claim = {uri, part->size, slice_of(part->sha256)},
    };
    return ERR_OK;
}

/* The largest part that is inline and has a file; the later one of two equals, so the
 * result is the last to go. part_count() when there is none. */
static size_t
largest_inline(const struct tuning_parts *parts, struct tuning_event *event)
{
    size_t found = part_count(parts);
    for (size_t i = 0; i < part_count(parts); i++) {
        const struct tuning_part *part = part_at(parts, i);
        if (!part->present || !part->path.data ||
            payload_at(event, i)->kind != PAYLOAD_INLINE)
            continue;
        if (found == part_count(parts) || part->size >= part_at(parts, found)->size)
            found = i;
    }
    return found;
}

static enum err_kind
place_payloads(const struct tuning_parts *parts,
               struct arena *arena,
               struct tuning_event *event,
               struct err *err)
{
    size_t total = 0;
    for (size_t i = 0; i < part_count(parts); i++) {
        const struct tuning_part *part = part_at(parts, i);
        if (!part->present)
            continue;
        struct payload *payload = payload_at(event, i);
        *payload = (struct payload){.kind = PAYLOAD_INLINE, .bytes = part->bytes};
        if (part->bytes.data)
            total += part->bytes.len;
        else if (claim_part(part, payload, arena, err))
            return err->kind;
    }
    while (total > TUNING_INLINE_BYTES) {
        size_t i = largest_inline(parts, event);
        if (i == part_count(parts))
            return ERR_OK; /* no file to claim: the producer refuses what is too large */
        total -= part_at(parts, i)->bytes.len;
        if (claim_part(part_at(parts, i), payload_at(event, i), arena, err))
            return err->kind;
    }
    return ERR_OK;
}

/* --- the event --------------------------------------------------------------------- */

static enum err_kind
check_text(const char *what, struct slice text, struct err *err)
{
    if (!text.data || text_bad(text) == text.len)
        return ERR_OK;
    return err_set(err, ERR_RECORD, "text_invalid",
                   "the %s is not UTF-8; rename it, an event can't carry it", what);
}

static enum err_kind
check_texts(const struct tuning_parts *parts, struct err *err)
{
    if (check_text("workspace", parts->workspace, err) ||
        check_text("trace", parts->trace, err) ||
        check_text("started_at", parts->started_at, err))
        return ERR_RECORD;
    for (size_t i = 0; i < parts->n_logs; i++)
        if (check_text("name of a tuner", parts->logs[i].tuner, err))
            return ERR_RECORD;
    return ERR_OK;
}

static int64_t
captured_at(const struct tuning_parts *parts)
{
    if (parts->result.present)
        return parts->result.event_time_us;
    int64_t newest = INT64_MIN;
    for (size_t i = 0; i < part_count(parts); i++) {
        const struct tuning_part *part = part_at(parts, i);
        if (part->present && part->event_time_us > newest)
            newest = part->event_time_us;
    }
    return newest;
}

static bool
has_parts(const struct tuning_parts *parts)
{
    return parts->result.present || parts->e2e.present || parts->n_logs > 0;
}

static enum err_kind
copy_lists(const struct tuning_parts *parts,
           struct arena *arena,
           struct tuning_event *event,
           struct err *err)
{
    struct default_entry *defaults =
        arena_calloc(arena, parts->n_defaults, sizeof defaults[0]);
    struct log_part *logs = arena_calloc(arena, parts->n_logs, sizeof logs[0]);
    if (!defaults || !logs)
        return err_no_memory(err, "an event");
    for (size_t i = 0; i < parts->n_defaults; i++)
        defaults[i] = parts->defaults[i];
    for (size_t i = 0; i < parts->n_logs; i++) {
        logs[i].tuner = parts->logs[i].tuner;
        logs[i].event_time_us = parts->logs[i].part.event_time_us;
    }
    event->defaults = (struct list){defaults, parts->n_defaults};
    event->logs = (struct list){logs, parts->n_logs};
    return ERR_OK;
}

struct ids {
    struct arena *arena;
    struct slice attempt_id;
    struct slice run_id;
};

static enum err_kind
note_id(void *state,
        struct slice key,
        enum json_type type,
        struct slice value,
        struct err *err)
{
    struct ids *ids = state;
    struct slice name = json_scan_string(key, ids->arena);
    struct slice *id = slice_is(name, "attempt_id") ? &ids->attempt_id
                       : slice_is(name, "run_id")   ? &ids->run_id
                                                    : NULL;
    if (!name.data)
        return err_no_memory(err, "the ids of a result");
    if (!id)
        return ERR_OK;
    *id = (struct slice){0}; /* the last one counts, also when it is no string */
    if (type == JSON_TYPE_STRING)
        *id = json_scan_string(value, ids->arena);
    return ERR_OK;
}

static struct slice
without_bom(struct slice text)
{
    if (text.len >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0)
        return (struct slice){text.data + 3, text.len - 3};
    return text;
}

static enum err_kind
make_key(const struct tuning_parts *parts,
         struct arena *arena,
         struct slice *ret_key,
         struct err *err)
{
    struct ids ids = {.arena = arena};
    if (parts->workspace.len == 0 && parts->result.bytes.data &&
        json_scan_members(without_bom(parts->result.bytes), note_id, &ids, err) ==
            ERR_FATAL)
        return ERR_FATAL;
    size_t first = 0;
    while (!part_at(parts, first)->present)
        first++;
    struct input_key_source source = {parts->workspace, ids.attempt_id, ids.run_id,
                                      slice_of(part_at(parts, first)->sha256)};
    struct slice key = input_key_make(&source, arena);
    if (!key.data)
        return err_no_memory(err, "a key");
    *ret_key = key;
    return ERR_OK;
}

static enum err_kind
make_origin(const struct tuning_parts *parts,
            struct arena *arena,
            struct origin *origin,
            struct err *err)
{
    char id[DIGEST_HEX];
    struct workspace_parts workspace;
    if (tuning_event_id(parts, id, err))
        return err->kind;
    *origin = (struct origin){
        .event_id = arena_copy(arena, slice_of(id)),
        .node = parts->node,
        .session =
            workspace_split(parts->workspace, &workspace) ? workspace.trace : SLICE(""),
        .captured_at_us = captured_at(parts),
        .producer = tuning_producer,
    };
    return origin->event_id.data ? ERR_OK : err_no_memory(err, "an event");
}

enum err_kind
tuning_build(const struct tuning_parts *parts,
             struct arena *arena,
             struct tuning_event *ret_event,
             struct slice *ret_key,
             struct err *err)
{
    struct tuning_event event = {.workspace = parts->workspace,
                                 .trace = trace_of(parts),
                                 .started_at = parts->started_at,
                                 .has_e2e = parts->e2e.present,
                                 .e2e.event_time_us = parts->e2e.event_time_us};
    if (!has_parts(parts))
        return err_set(err, ERR_RECORD, "event_without_parts", "no part to send");
    if (check_texts(parts, err) || make_origin(parts, arena, &event.origin, err) ||
        copy_lists(parts, arena, &event, err) ||
        place_payloads(parts, arena, &event, err) || make_key(parts, arena, ret_key, err))
        return err->kind;
    *ret_event = event;
    return ERR_OK;
}

int64_t
origin_timestamp_ms(const struct origin *origin)
{
    int64_t us = origin->captured_at_us;
    int64_t ms = us / 1000;
    return us % 1000 < 0 ? ms - 1 : ms;
}
