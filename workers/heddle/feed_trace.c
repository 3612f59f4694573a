/* SPDX-License-Identifier: Apache-2.0 */
/* Compare with the memory, read, send: one trace. */
#include "feed_trace.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "part_file.h"
#include "trace_build.h"

/* A trace on its way out. */
struct work {
    const struct feed_target *target;
    const struct campaign_trace *trace;
    struct arena arena; /* of what is asked */
    struct part_file ask;
    struct part_file bytes;
    struct trace_parts parts;
};

static void
work_done(struct work *work)
{
    part_file_done(&work->ask);
    part_file_done(&work->bytes);
    arena_done(&work->arena);
}

/* --- what is asked ----------------------------------------------------------------- */

static enum err_kind
wrong_ask(const char *path, const char *what, struct err *err)
{
    return err_set(err, ERR_RECORD, "request_invalid", "%s: %s", path, what);
}

static enum err_kind
read_ask(struct work *work, struct err *err)
{
    const char *path = work->trace->ask.path;
    struct err wrong = {0};
    if (!path)
        return ERR_OK;
    if (part_file_read(path, TRACE_ASK_BYTES, part_file_now_ns(), &work->ask, err))
        return err->kind;
    if (!work->ask.kept)
        return wrong_ask(path, "too large for what is asked of a trace", err);
    enum err_kind kind = trace_ask_parse(buf_slice(&work->ask.bytes), &work->arena,
                                         &work->parts.ask, &wrong);
    if (kind == ERR_RECORD)
        return wrong_ask(path, wrong.msg, err);
    if (kind)
        *err = wrong;
    return kind;
}

static enum err_kind
take_ask(struct work *work, struct err *err)
{
    work->parts = (struct trace_parts){
        .path = slice_of(work->trace->file.path),
        .node = work->target->node,
        .event_time_us = part_file_us(work->trace->file.mtime_ns),
        .ask.request.attempt = 1,
    };
    if (read_ask(work, err))
        return err->kind;
    trace_ask_fill(&work->parts.ask, work->target->ask);
    return ERR_OK;
}

/* --- the trace --------------------------------------------------------------------- */

/* The file is the one that was sent, and so is what is asked of it. */
static enum err_kind
is_known(struct work *work, bool *ret_known, struct err *err)
{
    const struct campaign_file *file = &work->trace->file;
    struct sent *sent = work->target->sent;
    struct sent_file known;
    char id[DIGEST_HEX];
    char known_id[DIGEST_HEX];
    bool found;
    *ret_known = false;
    if (work->target->again)
        return ERR_OK;
    if (sent_get_file(sent, file->path, &known, &found, err))
        return err->kind;
    if (!found || known.size != file->size || known.mtime_ns != file->mtime_ns ||
        known.inode != file->inode)
        return ERR_OK;
    memcpy(work->parts.sha256, known.sha256, DIGEST_HEX);
    if (trace_event_id(&work->parts, id, err) ||
        sent_get_event(sent, file->path, known_id, &found, err))
        return err->kind;
    *ret_known = found && strcmp(id, known_id) == 0;
    return ERR_OK;
}

static enum err_kind
read_trace(struct work *work, struct err *err)
{
    struct part_file *bytes = &work->bytes;
    if (part_file_read(work->trace->file.path, TRACE_INLINE_BYTES, part_file_now_ns(),
                       bytes, err))
        return err->kind;
    work->parts.bytes = bytes->kept ? buf_slice(&bytes->bytes) : (struct slice){0};
    work->parts.size = bytes->size;
    work->parts.event_time_us = part_file_us(bytes->mtime_ns);
    memcpy(work->parts.sha256, bytes->sha256, DIGEST_HEX);
    return ERR_OK;
}

static enum err_kind
send_trace(const struct work *work, struct err *err)
{
    const char *path = work->trace->file.path;
    const struct part_file *bytes = &work->bytes;
    struct sent_file file = {bytes->size, bytes->mtime_ns, bytes->inode, ""};
    memcpy(file.sha256, bytes->sha256, DIGEST_HEX);
    struct delivery *delivery = delivery_new(path, work->target->sent, 1);
    if (!delivery || !delivery_add(delivery, path, &file)) {
        delivery_free(delivery);
        return err_no_memory(err, "a delivery");
    }
    return feeder_send_trace(work->target->feeder, &work->parts, delivery, err);
}

static enum err_kind
work_on(struct work *work, enum feed_outcome *ret_outcome, struct err *err)
{
    bool known;
    if (take_ask(work, err) || is_known(work, &known, err))
        return err->kind;
    *ret_outcome = known ? FEED_UNCHANGED : FEED_QUEUED;
    if (known)
        return ERR_OK;
    if (read_trace(work, err))
        return err->kind;
    return send_trace(work, err);
}

/* A message that begins with the path is told under it. */
static void
tell(const struct feed_target *target, const char *path, const char *message)
{
    size_t len = strlen(path);
    bool repeats =
        strncmp(message, path, len) == 0 && strncmp(message + len, ": ", 2) == 0;
    feed_problem(target->report, path, repeats ? message + len + 2 : message);
}

enum err_kind
feed_trace(const struct feed_target *target,
           const struct campaign_trace *trace,
           enum feed_outcome *ret_outcome,
           struct err *ret_why,
           struct err *err)
{
    CLEANUP(work_done) struct work work = {.target = target, .trace = trace};
    struct err failed = {0};
    enum err_kind kind = work_on(&work, ret_outcome, &failed);
    if (kind == ERR_RECORD) {
        tell(target, trace->file.path, failed.msg);
        *ret_outcome = FEED_SKIPPED;
        return ERR_OK;
    }
    if (kind == ERR_RETRY && strcmp(failed.code, "file_unsettled") == 0) {
        *ret_outcome = FEED_LATER;
        *ret_why = failed;
        return ERR_OK;
    }
    if (kind)
        *err = failed;
    return kind;
}
