/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's record path on a file. */
#include "dry_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "container.h"
#include "line_form.h"
#include "outbox.h"
#include "topics.h"

struct run {
    const struct worker *worker;
    void *worker_state;
    const struct dead_letter_source *dead;
    const char *path;
    FILE *to;
    struct outbox *outbox;
    struct serde *serde; /* of the input type */
    struct arena event;  /* the event as it was read */
    struct arena arena;  /* what is made of it */
    struct buf bytes;    /* the event on the wire */
    struct buf line;     /* being printed */
    int64_t offset;
    bool refused;
};

/* --- printing ----------------------------------------------------------------------- */

static void
add_text(struct buf *line, const char *name, struct slice text)
{
    buf_addf(line, "\"%s\":", name);
    if (text.data)
        line_form_string(line, text);
    else
        buf_add_str(line, "null");
}

static void
begin_line(struct run *run, const char *topic, struct slice key, int64_t timestamp_ms)
{
    buf_reset(&run->line);
    buf_add_byte(&run->line, '{');
    add_text(&run->line, "topic", slice_of(topic));
    buf_add_byte(&run->line, ',');
    add_text(&run->line, "key", key);
    buf_addf(&run->line, ",\"timestamp\":%" PRId64 ",\"value\":", timestamp_ms);
}

static enum err_kind
end_line(struct run *run, struct err *err)
{
    buf_add_str(&run->line, "}\n");
    if (buf_check(&run->line, "a line of output", err))
        return err->kind;
    if (fwrite(run->line.data, 1, run->line.len, run->to) == run->line.len)
        return ERR_OK;
    return err_fatal(err, EXIT_TRY_AGAIN, "output_failed",
                     "standard output can't be written: %s", strerror(errno));
}

static enum err_kind
print_emitted(struct run *run, const struct encoded *record, struct err *err)
{
    begin_line(run, record->topic, record->key, record->timestamp_ms);
    if (!record->from->type) {
        buf_add_str(&run->line, "null");
    } else {
        struct serde *serde = outbox_serde(run->outbox, record->from->type, err);
        if (!serde ||
            codec_to_json(serde_codec(serde), record->from->value, &run->line, err))
            return err->kind;
    }
    return end_line(run, err);
}

static void
add_headers(struct buf *line, const struct header *headers, size_t n)
{
    buf_add_str(line, ",\"headers\":{");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_byte(line, ',');
        line_form_string(line, headers[i].name);
        buf_add_byte(line, ':');
        if (headers[i].value.data)
            line_form_string(line, headers[i].value);
        else
            buf_add_str(line, "null");
    }
    buf_add_byte(line, '}');
}

/* `value`: the event as it was read, NULL when its bytes are all there is. */
static enum err_kind
print_dead(struct run *run,
           const struct message *in,
           const void *value,
           const struct err *why,
           struct err *err)
{
    const struct header *headers = NULL;
    size_t n = 0;
    run->refused = true;
    if (dead_letter_headers(run->dead, in, why, clock_now_ms(), &run->arena, &headers, &n,
                            err))
        return err->kind;
    begin_line(run, TOPIC_DEAD, in->key, in->timestamp_ms);
    if (value) {
        if (codec_to_json(serde_codec(run->serde), value, &run->line, err))
            return err->kind;
    } else {
        line_form_string(&run->line, in->value);
    }
    add_headers(&run->line, headers, n);
    return end_line(run, err);
}

/* --- one event ---------------------------------------------------------------------- */

/* What the broker would have said: the event's own time. */
static int64_t
event_time_ms(const struct record_type *type, const void *value)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].record == &origin_type) {
            const struct origin *origin =
                (const void *)((const char *)value + type->fields[i].offset);
            return origin->captured_at_us / 1000;
        }
    return -1;
}

/* The dead letter that a record to be tried again ends in. */
static void
last_attempt(struct err *why)
{
    if (why->kind != ERR_RETRY)
        return;
    struct err last = *why;
    const char *code = last.final_code ? last.final_code : "retries_exhausted";
    err_set(why, ERR_RECORD, code, "%s", last.msg);
    why->stage = last.stage;
}

/* What the worker gives up on is told in its own way, when it has one. */
static enum err_kind
run_job(struct run *run, const struct message *in, struct emits *out, struct err *why)
{
    const struct worker_jobs *jobs = run->worker->jobs;
    void *task = NULL;
    if (jobs->prepare(run->worker_state, in, &run->arena, &task, why))
        return why->kind;
    if (jobs->run(run->worker_state, in, task, NULL, out, why) != ERR_RETRY)
        return why->kind;
    struct err last = *why;
    out->n = 0;
    *why = (struct err){0};
    return jobs->give_up(run->worker_state, in, task, &last, out, why);
}

static enum err_kind
run_message(struct run *run, const struct message *in, const void *value, struct err *err)
{
    struct emits out = {.arena = &run->arena};
    const struct encoded *records = NULL;
    size_t n = 0;
    struct err why = {0};
    arena_reset(&run->arena);
    enum err_kind kind = run->worker->jobs
                             ? run_job(run, in, &out, &why)
                             : run->worker->on_record(run->worker_state, in, &out, &why);
    if (!kind)
        kind = outbox_encode(run->outbox, &out, &records, &n, &why);
    if (kind == ERR_FATAL) {
        *err = why;
        return kind;
    }
    if (kind) {
        last_attempt(&why);
        return print_dead(run, in, value, &why, err);
    }
    for (size_t i = 0; i < n; i++)
        if (print_emitted(run, &records[i], err))
            return err->kind;
    return ERR_OK;
}

/* --- lines -------------------------------------------------------------------------- */

static enum err_kind
unreadable(const struct run *run, const char *why, struct err *err)
{
    return err_fatal(err, EXIT_CONFIG, "input_unreadable", "%s, event %" PRId64 ": %s",
                     run->path, run->offset + 1, why);
}

static enum err_kind
run_line(struct run *run, struct slice json, struct err *err)
{
    const struct record_type *type = run->worker->input_type;
    arena_reset(&run->event);
    buf_reset(&run->bytes);
    void *value = arena_calloc(&run->event, 1, type->size);
    if (!value)
        return err_no_memory(err, "an event");
    struct err why;
    if (codec_from_json(serde_codec(run->serde), json, &run->event, value, &why) ||
        serde_encode(run->serde, value, &run->bytes, &why))
        return unreadable(run, why.msg, err);
    const struct message in = {
        .topic = run->worker->input,
        .offset = run->offset,
        .timestamp_ms = event_time_ms(type, value),
        .value = buf_slice(&run->bytes),
    };
    run->offset++;
    return run_message(run, &in, value, err);
}

static void
free_linep(char **line)
{
    free(*line);
}

static enum err_kind
run_lines(struct run *run, FILE *from, struct err *err)
{
    CLEANUP(free_linep) char *line = NULL;
    size_t cap = 0;
    ssize_t len = 0;
    while ((len = getline(&line, &cap, from)) > 0) {
        if (len > DRY_RUN_LINE_BYTES)
            return unreadable(run, "the line is longer than 64 MiB", err);
        struct slice json = {line, (size_t)len - (line[len - 1] == '\n')};
        if (json.len > 0 && run_line(run, json, err))
            return err->kind;
    }
    return ferror(from) ? unreadable(run, strerror(errno), err) : ERR_OK;
}

/* --- a container -------------------------------------------------------------------- */

/* A value of the container, in its writer's schema: framed, it goes the whole way. */
static enum err_kind
run_container_value(struct run *run,
                    const struct container *container,
                    struct slice body,
                    struct err *err)
{
    buf_reset(&run->bytes);
    arena_reset(&run->event);
    frame_write_single_object(&run->bytes, container_fingerprint(container));
    buf_add_slice(&run->bytes, body);
    void *value = arena_calloc(&run->event, 1, run->worker->input_type->size);
    if (!value || buf_check(&run->bytes, "an event", err))
        return err_no_memory(err, "an event");
    struct message in = {
        .topic = run->worker->input,
        .offset = run->offset,
        .timestamp_ms = -1,
        .value = buf_slice(&run->bytes),
    };
    bool readable =
        serde_decode(run->serde, in.value, &run->event, value, NULL) == ERR_OK;
    if (readable)
        in.timestamp_ms = event_time_ms(run->worker->input_type, value);
    run->offset++;
    return run_message(run, &in, readable ? value : NULL, err);
}

static enum err_kind
run_container(struct run *run, struct err *err)
{
    CLEANUP(container_closep)
    struct container *container = container_open(run->path, err);
    if (!container)
        return err->kind;
    if (serde_add_writer(run->serde, container_schema(container), err))
        return unreadable(run, err->msg, err);
    for (;;) {
        struct slice body = {0};
        if (container_next(container, &body, err))
            return err->kind;
        if (!body.data)
            return ERR_OK;
        if (run_container_value(run, container, body, err))
            return err->kind;
    }
}

/* ------------------------------------------------------------------------------------ */

static enum err_kind
run_file(struct run *run, const struct schema_source *schemas, struct err *err)
{
    run->outbox = outbox_new(schemas, err);
    run->serde = run->outbox ? serde_new(run->worker->input_type, schemas, err) : NULL;
    if (!run->serde)
        return err->kind;
    FILE *from = fopen(run->path, "re");
    if (!from)
        return err_fatal(err, EXIT_CONFIG, "input_unreadable", "%s: %s", run->path,
                         strerror(errno));
    char magic[4] = "";
    bool is_container = fread(magic, 1, sizeof magic, from) == sizeof magic &&
                        memcmp(magic, CONTAINER_MAGIC, sizeof magic) == 0;
    rewind(from);
    enum err_kind kind =
        is_container ? run_container(run, err) : run_lines(run, from, err);
    fclose(from);
    return kind;
}

enum err_kind
dry_run(const struct worker *worker,
        void *worker_state,
        const struct dead_letter_source *dead,
        const struct schema_source *schemas,
        const char *path,
        FILE *to,
        bool *ret_refused,
        struct err *err)
{
    struct run run = {.worker = worker,
                      .worker_state = worker_state,
                      .dead = dead,
                      .path = path,
                      .to = to};
    enum err_kind kind = run_file(&run, schemas, err);
    *ret_refused = run.refused;
    outbox_free(run.outbox);
    serde_free(run.serde);
    arena_done(&run.event);
    arena_done(&run.arena);
    buf_done(&run.bytes);
    buf_done(&run.line);
    return kind;
}
