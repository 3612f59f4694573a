/* SPDX-License-Identifier: Apache-2.0 */
/* The second pass: reads the trace again and cuts all chunks at once. */
#include "extract.h"

#include "cleanup.h"

#include <stdlib.h>

enum { PIECE_BYTES = 64 << 10 };

/* The content of one chunk on its way into the sink. */
struct writer {
    struct buf piece;
    bool has_key;   /* something stands in the object */
    bool has_event; /* something stands in the array */
    bool is_open;   /* the array was begun */
    bool is_closed;
};

struct pass {
    const struct split_job *job;
    struct split_answer *answer;
    struct writer writers[SPLIT_MAX_CHUNKS];
};

static void
pass_done(struct pass *pass)
{
    for (size_t i = 0; i < SPLIT_MAX_CHUNKS; i++)
        buf_done(&pass->writers[i].piece);
}

static size_t
n_writers(const struct pass *pass)
{
    return pass->job->sink ? pass->answer->n_chunks : 0;
}

static enum err_kind
flush(struct pass *pass, size_t i, size_t least, struct err *err)
{
    struct buf *piece = &pass->writers[i].piece;
    const struct split_sink *sink = pass->job->sink;
    if (buf_check(piece, "a piece of a chunk", err))
        return err_set(err, ERR_FATAL, "out_of_memory", "no memory for a chunk");
    if (piece->len < least || piece->len == 0)
        return ERR_OK;
    if (sink->write(sink->state, i, buf_slice(piece), err))
        return err->kind;
    buf_reset(piece);
    return ERR_OK;
}

/* A key of the object; the array of events is one of them. */
static void
begin_key(struct writer *writer)
{
    buf_add_str(&writer->piece, writer->has_key ? ",\n" : "{");
    writer->has_key = true;
}

static void
open_array(struct writer *writer)
{
    if (writer->is_open)
        return;
    begin_key(writer);
    buf_add_str(&writer->piece, "\"traceEvents\":[\n");
    writer->is_open = true;
}

static void
close_array(struct writer *writer)
{
    open_array(writer);
    if (writer->is_closed)
        return;
    buf_add_str(&writer->piece, "\n]");
    writer->is_closed = true;
}

static enum err_kind
take_header(void *state,
            struct slice key,
            struct slice value,
            uint32_t repairs,
            bool is_after,
            struct err *err)
{
    struct pass *pass = state;
    for (size_t i = 0; i < n_writers(pass); i++) {
        struct writer *writer = &pass->writers[i];
        if (is_after)
            close_array(writer);
        begin_key(writer);
        scan_add_repaired(&writer->piece, key, repairs);
        buf_add_byte(&writer->piece, ':');
        scan_add_repaired(&writer->piece, value, repairs);
        if (flush(pass, i, PIECE_BYTES, err))
            return err->kind;
    }
    return ERR_OK;
}

/* Rule 1 of the index, and what makes an object an event at all. */
static bool
is_metadata(const struct scan_event *event)
{
    struct scan_value ph = event->field[SCAN_PH];
    bool has_ph = scan_has(event, SCAN_PH) && ph.type == SCAN_STRING;
    if (!has_ph && !(scan_has(event, SCAN_TS) && scan_has(event, SCAN_NAME)))
        return false;
    return !scan_given(event, SCAN_TS) || (has_ph && ph.len == 1 && ph.text[0] == 'M');
}

static enum err_kind
take_event(void *state, const struct scan_event *event, struct err *err)
{
    struct pass *pass = state;
    bool metadata = is_metadata(event);
    if (metadata && index_set_add(&pass->answer->metadata, event->index, err))
        return err->kind;
    for (size_t i = 0; i < n_writers(pass); i++) {
        struct writer *writer = &pass->writers[i];
        if (!metadata && !index_set_holds(&pass->answer->chunks[i].all, event->index))
            continue;
        open_array(writer);
        buf_add_str(&writer->piece, writer->has_event ? ",\n" : "");
        writer->has_event = true;
        scan_add_repaired(&writer->piece, event->raw, event->repairs);
        if (flush(pass, i, PIECE_BYTES, err))
            return err->kind;
    }
    return ERR_OK;
}

/* The first pass saw the restarts; its last decoder is the one of this pass. */
static enum err_kind
refuse_restart(void *state, struct err *err)
{
    (void)state;
    return err_set(err, ERR_RETRY, "trace_changed",
                   "the trace reads otherwise than before; split it again");
}

/* Whether both passes found the same document. */
static bool
is_same(const struct scan_answer *a, const struct scan_answer *b)
{
    return a->container.bytes == b->container.bytes &&
           a->facts.events == b->facts.events && !b->refusal.code;
}

static enum err_kind
finish(struct pass *pass, struct err *err)
{
    for (size_t i = 0; i < n_writers(pass); i++) {
        struct writer *writer = &pass->writers[i];
        close_array(writer);
        buf_add_str(&writer->piece, "}\n");
        if (flush(pass, i, 0, err))
            return err->kind;
    }
    return ERR_OK;
}

/* Marks behind which a chunk has members; those of the metadata are known. */
static void
want_members(struct pass *pass)
{
    struct scan_marks *marks = &pass->answer->marks;
    for (size_t i = 0; i < n_writers(pass); i++) {
        const struct index_set *members = &pass->answer->chunks[i].all;
        uint64_t index = 0;
        while (index_set_next(members, index, &index)) {
            size_t mark = (size_t)(index / SCAN_MARK_EVERY);
            marks->items[mark].is_wanted = true;
            index = (uint64_t)(mark + 1) * SCAN_MARK_EVERY;
        }
    }
    marks->are_used = true;
}

enum err_kind
extract_chunks(const struct split_job *job, struct split_answer *answer, struct err *err)
{
    CLEANUP(pass_done) struct pass pass = {.job = job, .answer = answer};
    const struct scan_listener listener = {
        .state = &pass,
        .marks = &answer->marks,
        .event = take_event,
        .header = take_header,
        .restart = refuse_restart,
    };
    struct scan_answer again;
    if (job->sink && job->sink->begin && job->sink->begin(job->sink->state, err))
        return err->kind;
    for (size_t i = 0; i < SPLIT_MAX_CHUNKS; i++)
        buf_init(&pass.writers[i].piece, SIZE_MAX);
    want_members(&pass);
    if (scan_run(&job->feed, &listener, &job->limits, answer->plan.salvage, &again, err))
        return err->kind;
    if (!is_same(&answer->reading, &again) ||
        answer->metadata.n != events_counts(answer->events)->metadata)
        return refuse_restart(NULL, err);
    return finish(&pass, err);
}
