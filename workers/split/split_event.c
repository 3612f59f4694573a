/* SPDX-License-Identifier: Apache-2.0 */
/* A trace event from its bytes to what leaves. */
#include "split_event.h"

#include "base_name.h"
#include "chunk_writer.h"
#include "claim_stream.h"
#include "cleanup.h"
#include "feed_thread.h"
#include "scratch.h"
#include "split_emit.h"
#include "uri.h"

/* An event on its way. */
struct work {
    const struct splitter *splitter;
    const struct trace_event *event;
    const struct event_params *params;
    const atomic_bool *cancelled;
    struct split_frame frame;
    struct buf base;
    size_t at; /* of inline bytes: read so far */
    struct claim_limits limits;
    struct claim_stream *stream; /* NULL: they came inline */
    struct scratch scratch;
    struct split_spill spill;
    struct chunk_writer writer;
    struct split_answer answer;
    struct chunk_object objects[SPLIT_MAX_CHUNKS];
};

static void
work_done(struct work *work)
{
    split_answer_done(&work->answer);
    chunk_writer_done(&work->writer);
    scratch_close(&work->scratch);
    claim_stream_free(work->stream);
    buf_done(&work->base);
}

/* --- the event --------------------------------------------------------------------- */

enum err_kind
split_event_read(const struct splitter *splitter,
                 const struct message *in,
                 struct arena *arena,
                 struct split_task *ret_task,
                 struct err *err)
{
    struct trace_event *event = &ret_task->event;
    if (serde_decode(splitter->events, in->value, arena, event, err) ||
        event_params_of(event, &splitter->hints, arena, &ret_task->params, err))
        return err->kind;
    if (event->payload.kind != PAYLOAD_NONE)
        return ERR_OK;
    err_set(err, ERR_RECORD, "trace_event_malformed",
            "the event holds neither the bytes of a trace nor a claim");
    return err_at(err, "gather");
}

/* The last segment of an address, without the query of an http one, %XX undone. */
static struct slice
last_segment(struct slice uri, struct arena *arena)
{
    bool has_query = uri_has_scheme(uri, "http://") || uri_has_scheme(uri, "https://");
    for (size_t i = 0; has_query && i < uri.len; i++)
        if (uri.data[i] == '?' || uri.data[i] == '#')
            uri.len = i;
    const char *slash = uri.len ? memrchr(uri.data, '/', uri.len) : NULL;
    if (slash)
        uri = (struct slice){slash + 1, (size_t)(uri.data + uri.len - slash) - 1};
    char *text = arena_alloc(arena, uri.len + 1);
    return text && uri_decode(uri, text, uri.len + 1) ? slice_of(text) : uri;
}

/* What the chunks are called after. */
static enum err_kind
take_base(struct work *work, struct err *err)
{
    struct arena *arena = work->frame.out->arena;
    struct slice given = work->event->trace_name;
    struct slice name = arena_copy(
        arena, given.data ? given : last_segment(work->frame.trace.uri, arena));
    if (!name.data)
        return err_no_memory(err, "the name of a trace");
    char *text = (char *)(uintptr_t)name.data;
    for (size_t i = 0; i < name.len; i++)
        if (text[i] == '/')
            text[i] = '_';
    base_name_add(&work->base, name);
    return buf_check(&work->base, "the name of the chunks", err);
}

/* Where inline bytes lie from now on: a second attempt names them as a claim. */
static enum err_kind
keep_inline(const struct work *work, struct err *err)
{
    char name[DIGEST_HEX];
    struct slice sha256 = work->frame.trace.sha256;
    struct chunk_draft *draft = NULL;
    snprintf(name, sizeof name, "%.*s", SLICE_ARG(sha256));
    enum err_kind kind =
        chunk_draft_new(work->splitter->store, CHUNK_PLACE_TRACES, &draft, err);
    if (!kind)
        kind = chunk_draft_add(draft, work->event->payload.bytes, err);
    if (!kind)
        kind = chunk_draft_put(draft, name, err);
    chunk_draft_free(draft);
    return kind;
}

/* The trace as claimed; inline bytes as the object that they become. */
static enum err_kind
name_trace(const struct splitter *splitter,
           const struct trace_event *event,
           struct arena *arena,
           struct split_trace *ret_trace,
           struct err *err)
{
    const struct payload *payload = &event->payload;
    *ret_trace = (struct split_trace){.name = event->trace_name, .has_size = true};
    if (payload->kind == PAYLOAD_CLAIM) {
        ret_trace->uri = payload->claim.uri;
        ret_trace->size = payload->claim.size;
        ret_trace->sha256 = payload->claim.sha256;
        return ERR_OK;
    }
    char sha256[DIGEST_HEX];
    digest_hex(payload->bytes, sha256);
    ret_trace->size = (int64_t)payload->bytes.len;
    ret_trace->sha256 = arena_copy(arena, slice_of(sha256));
    ret_trace->uri =
        arena_printf(arena, "%s/traces/%s", chunk_store_root(splitter->store), sha256);
    return ret_trace->uri.data && ret_trace->sha256.data
               ? ERR_OK
               : err_no_memory(err, "the name of a trace");
}

static enum err_kind
make_frame(const struct splitter *splitter,
           const struct split_task *task,
           const struct message *in,
           struct emits *out,
           struct split_frame *ret_frame,
           struct err *err)
{
    *ret_frame = (struct split_frame){
        .event = &task->event,
        .split = &task->params.record,
        .key = event_key(&task->event),
        .timestamp_ms = in->timestamp_ms,
        .records = splitter->records,
        .own_records = splitter->own_records,
        .out = out,
    };
    if (name_trace(splitter, &task->event, out->arena, &ret_frame->trace, err))
        return err->kind;
    return provenance_of(&splitter->provenance, in, out->arena, &ret_frame->provenance,
                         err);
}

/* --- source and sink --------------------------------------------------------------- */

static enum err_kind
check_wanted(const struct work *work, struct err *err)
{
    if (!work->cancelled || !atomic_load_explicit(work->cancelled, memory_order_relaxed))
        return ERR_OK;
    return err_set(err, ERR_RETRY, "cancelled", "the trace is not ours any more");
}

static enum err_kind
rewind_trace(void *state, struct err *err)
{
    struct work *work = state;
    work->at = 0;
    return work->stream ? claim_stream_rewind(work->stream, err) : ERR_OK;
}

static enum err_kind
read_trace(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    struct work *work = state;
    if (check_wanted(work, err))
        return err->kind;
    if (work->stream)
        return claim_stream_read(work->stream, buf, cap, ret_len, err);
    struct slice bytes = work->event->payload.bytes;
    size_t n = bytes.len - work->at < cap ? bytes.len - work->at : cap;
    if (n)
        memcpy(buf, bytes.data + work->at, n);
    work->at += n;
    *ret_len = n;
    return ERR_OK;
}

/* Nothing of a trace is believed before it is the one that was claimed. */
static enum err_kind
verify(void *state, struct err *err)
{
    struct work *work = state;
    return work->stream ? claim_stream_verify(work->stream, err) : ERR_OK;
}

static enum err_kind
write_chunk(void *state, size_t chunk, struct slice piece, struct err *err)
{
    struct work *work = state;
    if (check_wanted(work, err))
        return err->kind;
    return chunk_writer_write(&work->writer, chunk, piece, err);
}

/* --- splitting --------------------------------------------------------------------- */

CLEANUP_DEFINE(struct unpack, unpack_free);
CLEANUP_DEFINE(struct feed_thread, feed_thread_free);

static enum err_kind
derive(struct work *work, struct err *err)
{
    const struct split_settings *settings = work->splitter->settings;
    struct split_limits limits = split_settings_limits(settings);
    struct split_source source = {work, rewind_trace, read_trace};
    struct split_sink sink = {.state = work, .write = write_chunk, .begin = verify};
    CLEANUP(unpack_freep)
    struct unpack *unpack = unpack_new(&source, &limits, UNPACK_ISAL);
    CLEANUP(feed_thread_freep)
    struct feed_thread *thread = unpack ? feed_thread_new(unpack) : NULL;
    if (!thread)
        return err_no_memory(err, "a trace");
    work->scratch.dir = settings->tmp_dir;
    work->spill = scratch_spill(&work->scratch);
    const struct split_job job = {
        .feed = feed_thread_feed(thread),
        .spill = &work->spill,
        .limits = limits,
        .params = work->params->params,
        .base = buf_slice(&work->base),
        .sink = &sink,
    };
    return split_derive(&job, &work->answer, err);
}

static enum err_kind
open_trace(struct work *work, struct err *err)
{
    const struct payload *payload = &work->event->payload;
    if (payload->kind == PAYLOAD_INLINE)
        return ERR_OK;
    work->stream = claim_stream_new(&work->limits, &payload->claim, "trace");
    if (!work->stream)
        return err_no_memory(err, "a trace");
    return claim_stream_open(work->stream, err);
}

/* The whole of it, up to the objects in the store. */
static enum err_kind
split(struct work *work, struct err *err)
{
    if (open_trace(work, err) || derive(work, err) || verify(work, err))
        return err->kind;
    if (split_is_refused(&work->answer))
        return ERR_OK;
    if (work->stream && claim_stream_check(work->stream, err))
        return err->kind;
    return chunk_writer_put(&work->writer, work->answer.n_chunks, &work->answer.arena,
                            work->objects, err);
}

/* --- what becomes of it ------------------------------------------------------------ */

/* Passing trouble has a last name, too. */
static enum err_kind
last_name(struct err *err)
{
    if (err->kind == ERR_RETRY && !err->final_code)
        err->final_code = "claim_unavailable";
    return err->kind;
}

static void
add_mismatch(const struct work *work, struct split_refusal *refusal)
{
    const struct claim *claim = &work->event->payload.claim;
    const struct claim_found *found = claim_stream_found(work->stream);
    refusal->has_expected_size = true;
    refusal->expected_size = claim->size;
    refusal->expected_sha256 = claim->sha256;
    refusal->has_size = found->has_size;
    refusal->size = found->size;
    if (found->sha256[0])
        refusal->sha256 = slice_of(found->sha256);
}

/* An error that is an answer, too: it goes out as a refusal. */
static enum err_kind
refuse(struct work *work, struct err *err)
{
    struct split_record record;
    struct split_refusal refusal;
    if (err->kind != ERR_RECORD || !split_refusal_of(err, &refusal))
        return last_name(err);
    if (slice_is(refusal.code, "claim_mismatch") && work->stream)
        add_mismatch(work, &refusal);
    work->frame.failed = refusal.code;
    split_record_refused(&record, &refusal);
    struct err second = {0};
    split_emit_record(&work->frame, &record, &second);
    *err = second;
    return err->kind;
}

/* Wrong parameters are refused before a byte is read. */
static bool
params_are_fine(struct work *work)
{
    struct split_plan ignored;
    const struct split_params *params = &work->params->params;
    if (!split_params_check(params, &ignored).parameter)
        return true;
    split_answer_refuse(&work->answer, params, "bad_parameter", "");
    return false;
}

static enum err_kind
emit_answer(struct work *work, struct err *err)
{
    struct split_record record;
    struct split_answer *answer = &work->answer;
    if (answer_record_make(answer, work->objects, &answer->arena, &record, err))
        return err->kind;
    struct slice text = event_params_reason(work->params, record.refusal.parameter);
    if (record.has_refusal && text.data)
        record.refusal.reason = text;
    return split_emit_record(&work->frame, &record, err);
}

static enum err_kind
run(struct work *work, struct err *err)
{
    if (take_base(work, err))
        return err->kind;
    if (work->event->payload.kind == PAYLOAD_INLINE && keep_inline(work, err))
        return last_name(err);
    if (params_are_fine(work)) {
        if (split(work, err))
            return refuse(work, err);
        work->frame.is_fetched = true;
    }
    return emit_answer(work, err);
}

enum err_kind
split_event_run(const struct splitter *splitter,
                const struct split_task *task,
                const struct message *in,
                const atomic_bool *cancelled,
                struct emits *out,
                struct err *err)
{
    CLEANUP(work_done)
    struct work work = {
        .splitter = splitter,
        .event = &task->event,
        .params = &task->params,
        .cancelled = cancelled,
        .limits = splitter->limits,
        .scratch = {.fd = -1},
        .writer = {.store = splitter->store},
    };
    work.limits.cancelled = cancelled;
    if (make_frame(splitter, task, in, out, &work.frame, err))
        return err->kind;
    return run(&work, err);
}

enum err_kind
split_event_give_up(const struct splitter *splitter,
                    const struct split_task *task,
                    const struct message *in,
                    const struct err *why,
                    struct emits *out,
                    struct err *err)
{
    struct split_frame frame;
    struct split_record record;
    struct split_refusal refusal;
    if (make_frame(splitter, task, in, out, &frame, err))
        return err->kind;
    if (!split_refusal_of(why, &refusal)) {
        *err = *why;
        return ERR_RECORD;
    }
    bool store_is_away = strcmp(why->code, "store_unavailable") == 0;
    frame.failed = refusal.code;
    split_record_refused(&record, &refusal);
    if (split_emit_record(&frame, &record, err))
        return err->kind;
    if (!store_is_away)
        return ERR_OK;
    struct slice store = slice_of(chunk_store_root(splitter->store));
    return split_emit_store_away(&frame, store, why, err);
}

enum err_kind
split_event_late(const struct splitter *splitter,
                 const struct split_task *task,
                 const struct message *in,
                 int64_t worked_ms,
                 struct emits *out,
                 struct err *err)
{
    struct split_frame frame;
    if (make_frame(splitter, task, in, out, &frame, err))
        return err->kind;
    return split_emit_late(&frame, worked_ms, err);
}
