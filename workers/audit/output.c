/* SPDX-License-Identifier: Apache-2.0 */
/* The records that leave. */
#include "output.h"

#include "cleanup.h"
#include "digest.h"
#include "input_key.h"
#include "projection.h"
#include "text.h"

enum { ORPHAN_X_MAX_BYTES = 16 * 1024 * 1024 };

int64_t
output_ms(int64_t time_us)
{
    return time_us / 1000 - (time_us % 1000 < 0);
}

struct slice
output_input_key(struct slice key,
                 const struct output_key_source *source,
                 struct arena *arena)
{
    if (!key.data) {
        char sha256[DIGEST_HEX];
        digest_hex(source->first_part, sha256);
        struct input_key_source made = {
            .workspace = source->workspace,
            .sha256 = slice_of(sha256),
        };
        if (source->envelope) {
            made.attempt_id = json_string(source->envelope->values[KEY_ATTEMPT_ID]);
            made.run_id = json_string(source->envelope->values[KEY_RUN_ID]);
        }
        key = input_key_make(&made, arena);
    }
    return key.data ? text_scalar(arena, text_repair(arena, key)) : key;
}

struct slice
output_orphan_key(struct slice input_key, struct arena *arena)
{
    static const char prefix[] = "orphan:";
    size_t prefix_len = sizeof prefix - 1;
    char *text = arena_alloc(arena, prefix_len + input_key.len);
    if (!text)
        return (struct slice){NULL, 0};
    memcpy(text, prefix, prefix_len);
    if (input_key.len)
        memcpy(text + prefix_len, input_key.data, input_key.len);
    return (struct slice){text, prefix_len + input_key.len};
}

static struct audit_row *
row_new(const struct output_frame *frame, struct arena *arena)
{
    struct audit_row *row = arena_calloc(arena, 1, sizeof *row);
    if (!row)
        return NULL;
    row->trace = frame->trace;
    row->workspace = frame->workspace.len ? frame->workspace : (struct slice){NULL, 0};
    row->origin = *frame->origin;
    row->provenance = *frame->provenance;
    return row;
}

enum err_kind
output_orphan(const struct output_frame *frame,
              struct slice orphan_key,
              const struct orphan *orphan,
              struct arena *arena,
              struct audit_row **ret_row,
              struct err *err)
{
    struct audit_row *row = row_new(frame, arena);
    CLEANUP(buf_done) struct buf x;
    buf_init(&x, ORPHAN_X_MAX_BYTES);
    if (!row)
        return audit_full(err);
    orphan_write_x(orphan, &x);
    if (buf_check(&x, "the orphan record", err))
        return err->kind;
    row->run_key = orphan_key;
    row->x = arena_copy(arena, buf_slice(&x));
    *ret_row = row;
    return row->x.data ? ERR_OK : audit_full(err);
}

enum err_kind
output_row(const struct output_frame *frame,
           const struct audit_answer *answer,
           struct arena *arena,
           struct audit_row **ret_row,
           struct err *err)
{
    struct audit_row *row = row_new(frame, arena);
    if (!row)
        return audit_full(err);
    row->run_key = answer->run_key;
    row->row = answer->row;
    row->x = answer->x;
    *ret_row = row;
    return projection_fill(answer->run, arena, row, err);
}

enum err_kind
output_refuse(const char *dead_reason, struct err *err)
{
    static const char not_an_object[] = "not_an_object:";
    if (strcmp(dead_reason, "empty") == 0)
        return err_set(err, ERR_RECORD, "result_empty", "the result holds no JSON value");
    if (strcmp(dead_reason, "unparseable") == 0)
        return err_set(err, ERR_RECORD, "result_unparseable", "the result is no JSON");
    return err_set(err, ERR_RECORD, "result_not_an_object",
                   "the result is JSON, but of type %s",
                   dead_reason + sizeof not_an_object - 1);
}
