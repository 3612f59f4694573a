/* SPDX-License-Identifier: Apache-2.0 */
/* From the bytes of one result to the row line and x. */
#include "run.h"

#include "cleanup.h"
#include "digest.h"
#include "runkey.h"
#include "text.h"

#include <stdio.h>

/* What one record may hold; beyond it no topic takes it anyway. */
enum { LINE_MAX_BYTES = 16 * 1024 * 1024, FIRST_LINE_BYTES = 2048 };

/* No value at all, or white space alone: "empty"; anything else: "unparseable". */
static enum err_kind
refuse(char dead_reason[AUDIT_REASON_BYTES], const struct err *reason, struct err *err)
{
    if (strcmp(reason->code, "record_too_large") == 0)
        return audit_full(err);
    bool empty = strcmp(reason->code, "json_empty") == 0;
    snprintf(dead_reason, AUDIT_REASON_BYTES, "%s", empty ? "empty" : "unparseable");
    return ERR_OK;
}

/* Written where it stays, unless it is longer than most. */
static enum err_kind
line_begin(struct arena *arena, struct buf *ret_line, struct err *err)
{
    char *storage = arena_alloc(arena, FIRST_LINE_BYTES);
    if (!storage)
        return audit_full(err);
    buf_init_lent(ret_line, storage, FIRST_LINE_BYTES, LINE_MAX_BYTES);
    return ERR_OK;
}

static enum err_kind
line_end(struct buf *line, struct arena *arena, struct slice *ret_text, struct err *err)
{
    buf_text(line);
    if (buf_check(line, "the audit row", err))
        return err->kind;
    struct slice text = buf_slice(line);
    *ret_text = line->data == line->lent ? text : arena_copy(arena, text);
    return ret_text->data ? ERR_OK : audit_full(err);
}

static enum err_kind
write_row(const struct run *run,
          const struct audit_parts *parts,
          struct arena *arena,
          struct audit_answer *answer,
          struct err *err)
{
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    if (line_begin(arena, &line, err))
        return err->kind;
    row_write(run, parts, &line);
    return line_end(&line, arena, &answer->row, err);
}

static enum err_kind
write_x(const struct run *run,
        struct arena *arena,
        struct audit_answer *answer,
        struct err *err)
{
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    if (line_begin(arena, &line, err))
        return err->kind;
    x_write(run, &line);
    return line_end(&line, arena, &answer->x, err);
}

static bool
has_a_year(const struct audit_parts *parts)
{
    return !parts->has_event_time || (parts->event_time_us >= AUDIT_MIN_TIME_US &&
                                      parts->event_time_us <= AUDIT_MAX_TIME_US);
}

static enum err_kind
check_time(const struct audit_parts *parts, struct err *err)
{
    if (has_a_year(parts))
        return ERR_OK;
    return err_set(err, ERR_RECORD, "tuning_event_malformed",
                   "event time %lld us is outside the years 1 to 9999; send "
                   "microseconds since 1970",
                   (long long)parts->event_time_us);
}

/* The result as an object, or why it is none. */
static enum err_kind
read_result(struct slice result,
            struct arena *arena,
            struct json_value *ret_root,
            char ret_dead_reason[AUDIT_REASON_BYTES],
            struct err *err)
{
    struct err reason;
    struct json *doc = arena_calloc(arena, 1, sizeof *doc);
    if (!doc)
        return audit_full(err);
    ret_dead_reason[0] = '\0';
    if (json_read(doc, result, arena, &reason))
        return refuse(ret_dead_reason, &reason, err);
    *ret_root = json_root(doc);
    if (json_kind(*ret_root) != JSON_OBJECT)
        snprintf(ret_dead_reason, AUDIT_REASON_BYTES, "not_an_object:%s",
                 json_kind_name(*ret_root));
    return ERR_OK;
}

/* What the row and the state know the result by. */
static enum err_kind
take_names(struct arena *arena, struct audit_identity *identity, struct err *err)
{
    struct slice start = json_string(identity->envelope->values[KEY_STARTED_AT]);
    identity->key = run_key(identity->envelope, slice_of(identity->sha256), arena);
    if (!identity->key.data)
        return audit_full(err);
    identity->run_key = text_scalar(arena, identity->key);
    if (start.len)
        identity->started_at = text_scalar(arena, start);
    if (!identity->run_key.data || (start.len && !identity->started_at.data))
        return audit_full(err);
    return ERR_OK;
}

enum err_kind
audit_identify(const struct audit_parts *parts,
               struct arena *arena,
               struct audit_identity *ret_identity,
               struct err *err)
{
    struct json_value root = JSON_NONE;
    struct envelope *envelope = arena_alloc(arena, sizeof *envelope);
    *ret_identity = (struct audit_identity){.envelope = envelope};
    if (!envelope)
        return audit_full(err);
    if (check_time(parts, err))
        return err->kind;
    digest_hex(parts->result, ret_identity->sha256);
    if (read_result(parts->result, arena, &root, ret_identity->dead_reason, err))
        return err->kind;
    if (ret_identity->dead_reason[0])
        return ERR_OK;
    if (envelope_read(root, &parts->defaults, parts->workspace, envelope, err))
        return err->kind;
    return take_names(arena, ret_identity, err);
}

enum err_kind
audit_row_derive(const struct audit_parts *parts,
                 struct arena *arena,
                 struct audit_answer *ret_answer,
                 struct err *err)
{
    struct audit_identity read;
    const struct audit_identity *identity = parts->identity ? parts->identity : &read;
    if (!parts->identity && audit_identify(parts, arena, &read, err))
        return err->kind;
    *ret_answer = (struct audit_answer){.run_key = identity->run_key};
    memcpy(ret_answer->src, identity->sha256, AUDIT_SRC_DIGITS);
    memcpy(ret_answer->dead_reason, identity->dead_reason, AUDIT_REASON_BYTES);
    if (identity->dead_reason[0])
        return ERR_OK;
    struct run *run = arena_alloc(arena, sizeof *run);
    if (!run)
        return audit_full(err);
    if (run_derive(parts, identity, arena, run, err))
        return err->kind;
    ret_answer->run = run;
    ret_answer->e2e_is_foreign = run->e2e_is_foreign;
    if (write_row(run, parts, arena, ret_answer, err))
        return err->kind;
    return write_x(run, arena, ret_answer, err);
}
