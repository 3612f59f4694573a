/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that came without their result. */
#include "orphan.h"

#include "digest.h"

/* One verdict into `orphan->notes`; `*ret_validation` and `*ret_error` are its own. */
static enum err_kind
read_verdict(struct orphan *orphan,
             struct slice e2e,
             struct validation *ret_validation,
             const char **ret_error,
             struct err *err)
{
    struct tuners none = {0};
    struct json_value verdict = JSON_NONE;
    if (verdict_read(e2e, &orphan->notes, &verdict, ret_error, err))
        return err->kind;
    if (verdict.doc)
        return kept_join(verdict, &none, &orphan->notes, ret_validation, err);
    return ERR_OK;
}

enum err_kind
orphan_derive(const struct audit_log *logs,
              size_t n_logs,
              const struct slice *verdicts,
              size_t n_verdicts,
              struct arena *arena,
              struct orphan *ret_orphan,
              struct err *err)
{
    struct orphan orphan = {
        .notes = {.arena = arena}, .verdicts = verdicts, .n_verdicts = n_verdicts};
    struct tuners none = {0};
    if (logs_scan(logs, n_logs, arena, &orphan.logs, err) ||
        logs_join(&orphan.logs, &none, &orphan.notes, err))
        return err->kind;
    for (size_t i = 0; i < n_verdicts; i++) {
        struct validation validation = {0};
        const char *error = NULL;
        if (read_verdict(&orphan, verdicts[i], &validation, &error, err))
            return err->kind;
        if (i == 0) {
            orphan.validation = validation;
            orphan.e2e_error = error;
        }
    }
    if (notes_sort(&orphan.notes, err))
        return err->kind;
    *ret_orphan = orphan;
    return ERR_OK;
}

enum err_kind
orphan_refuse(const char *e2e_error, struct err *err)
{
    return err_set(err, ERR_RECORD, "e2e_invalid",
                   "the verdict document is no JSON object (%s), and it came alone",
                   e2e_error);
}

static void
src_write(struct slice bytes, struct buf *out)
{
    char hex[DIGEST_HEX];
    digest_hex(bytes, hex);
    buf_addf(out, "\"%.*s\"", AUDIT_SRC_DIGITS, hex);
}

static void
verdict_sources_write(const struct orphan *orphan, struct buf *out)
{
    buf_add_str(out, "\"e2e\": ");
    src_write(orphan->verdicts[0], out);
    for (size_t i = 1; i < orphan->n_verdicts; i++) {
        buf_add_str(out, i > 1 ? ", " : ", \"e2e_others\": [");
        src_write(orphan->verdicts[i], out);
    }
    if (orphan->n_verdicts > 1)
        buf_add_byte(out, ']');
}

static void
sources_write(const struct orphan *orphan, struct buf *out)
{
    buf_add_str(out, "\"src\": {");
    if (orphan->n_verdicts)
        verdict_sources_write(orphan, out);
    for (size_t i = 0; i < orphan->logs.n; i++) {
        const char *first = orphan->n_verdicts ? ", \"logs\": {" : "\"logs\": {";
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
