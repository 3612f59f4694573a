/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that came without their result. */
#include "orphan.h"

#include "digest.h"

enum err_kind
orphan_derive(const struct audit_log *logs,
              size_t n_logs,
              struct slice e2e,
              struct arena *arena,
              struct orphan *ret_orphan,
              struct err *err)
{
    struct orphan orphan = {.notes = {.arena = arena}, .e2e = e2e};
    struct tuners none = {0};
    if (logs_scan(logs, n_logs, arena, &orphan.logs, err) ||
        logs_join(&orphan.logs, &none, &orphan.notes, err))
        return err->kind;
    struct json_value verdict = JSON_NONE;
    size_t notes_before = orphan.notes.n;
    if (e2e.data && verdict_read(e2e, &orphan.notes, &verdict, err))
        return err->kind;
    if (verdict.doc) {
        if (kept_join(verdict, &none, &orphan.notes, &orphan.validation, err))
            return err->kind;
    } else if (orphan.notes.n > notes_before) {
        struct slice note = arena_copy(arena, orphan.notes.items[notes_before]);
        if (!note.data)
            return audit_full(err);
        orphan.e2e_error = note.data + sizeof "e2e_invalid:" - 1;
    }
    notes_sort(&orphan.notes);
    *ret_orphan = orphan;
    return ERR_OK;
}

static void
src_write(struct slice bytes, struct buf *out)
{
    char hex[DIGEST_HEX];
    digest_hex(bytes, hex);
    buf_addf(out, "\"%.*s\"", AUDIT_SRC_DIGITS, hex);
}

static void
sources_write(const struct orphan *orphan, struct buf *out)
{
    buf_add_str(out, "\"src\": {");
    if (orphan->e2e.data) {
        buf_add_str(out, "\"e2e\": ");
        src_write(orphan->e2e, out);
    }
    for (size_t i = 0; i < orphan->logs.n; i++) {
        const char *first = orphan->e2e.data ? ", \"logs\": {" : "\"logs\": {";
        buf_add_str(out, i ? ", " : first);
        json_write_string(out, orphan->logs.items[i].tuner);
        buf_add(out, ": ", 2);
        src_write(orphan->logs.items[i].part->bytes, out);
    }
    buf_add_str(out, orphan->logs.n ? "}}" : "}");
}

void
orphan_write_x(const struct orphan *orphan, struct buf *out)
{
    buf_add_str(out, "{\"notes\": ");
    notes_write(&orphan->notes, out);
    buf_add(out, ", ", 2);
    if (orphan->validation.known) {
        buf_add_str(out, "\"orphan_e2e\": {");
        validation_write_members(&orphan->validation, out);
        buf_add_str(out, "}, ");
    }
    if (orphan->logs.n) {
        buf_add_str(out, "\"orphan_logs\": ");
        logs_write_orphans(&orphan->logs, out);
        buf_add(out, ", ", 2);
    }
    sources_write(orphan, out);
    buf_add_byte(out, '}');
}
