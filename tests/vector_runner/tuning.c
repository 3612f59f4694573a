/* SPDX-License-Identifier: Apache-2.0 */
/* Area tuning: a result with its logs and verdict to the row, x or dead letter. */
#include "base64.h"
#include "derive.h"
#include "vectors.h"

#include "cleanup.h"

static enum err_kind
take_result(struct json_value vector, struct buf *result, struct err *err)
{
    struct slice text = json_string(json_get(vector, "result_text"));
    struct slice base64 = json_string(json_get(vector, "result_b64"));
    if (text.data)
        buf_add_slice(result, text);
    if (text.data || (base64.data && base64_decode(base64, result)))
        return ERR_OK;
    return err_set(err, ERR_RECORD, "vector_invalid",
                   "the case has neither result_text nor a valid result_b64");
}

static enum err_kind
take_logs(struct json_value logs,
          struct arena *arena,
          struct audit_parts *parts,
          struct err *err)
{
    struct audit_log *taken = arena_calloc(arena, json_count(logs), sizeof *taken);
    if (!taken)
        return err_no_memory(err, "the logs of a case");
    struct json_iter iter = json_iter(logs);
    struct slice tuner;
    struct json_value text;
    while (json_next(&iter, &tuner, &text))
        taken[parts->n_logs++] = (struct audit_log){tuner, json_string(text), 0};
    parts->logs = taken;
    return ERR_OK;
}

/* A default's JSON text, as an event carries it. */
static enum err_kind
take_defaults(struct json_value defaults,
              struct arena *arena,
              struct audit_parts *parts,
              struct err *err)
{
    size_t n = json_count(defaults);
    struct default_entry *entries = arena_calloc(arena, n, sizeof *entries);
    if (!entries)
        return err_no_memory(err, "the defaults of a case");
    struct json_iter iter = json_iter(defaults);
    struct slice key;
    struct json_value value;
    for (size_t i = 0; json_next(&iter, &key, &value); i++) {
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        json_write_verbatim(&text, value);
        entries[i] = (struct default_entry){key, arena_copy(arena, buf_slice(&text))};
    }
    parts->defaults = (struct list){entries, n};
    return ERR_OK;
}

static void
write_answer(const struct audit_answer *answer, struct buf *out)
{
    if (answer->dead_reason[0]) {
        buf_addf(
            out,
            "{\"dead_letter\": {\"reason\": \"%s\", \"src\": \"%s\"}, \"row\": null, "
            "\"row_line\": null, \"x\": null}",
            answer->dead_reason, answer->src);
        return;
    }
    buf_add_str(out, "{\"dead_letter\": null, \"row\": ");
    buf_add_slice(out, answer->row);
    buf_add_str(out, ", \"row_line\": ");
    json_write_string(out, answer->row);
    buf_add_str(out, ", \"x\": ");
    buf_add_slice(out, answer->x);
    buf_add_byte(out, '}');
}

static enum err_kind
run_rows(struct json_value vector,
         struct arena *arena,
         struct buf *answer,
         struct err *err)
{
    CLEANUP(buf_done) struct buf result = BUF_INIT;
    CLEANUP(buf_done) struct buf e2e = BUF_INIT;
    struct audit_parts parts = {0};
    struct audit_answer derived;
    struct json_value verdict = json_get(vector, "e2e");
    if (take_result(vector, &result, err) ||
        take_logs(json_get(vector, "logs"), arena, &parts, err) ||
        take_defaults(json_get(vector, "defaults"), arena, &parts, err))
        return err->kind;
    parts.result = buf_slice(&result);
    parts.has_event_time =
        json_int(json_get(vector, "event_time_us"), &parts.event_time_us);
    if (json_kind(verdict) != JSON_ABSENT && json_kind(verdict) != JSON_NULL) {
        json_write_verbatim(&e2e, verdict);
        parts.e2e = buf_slice(&e2e);
    }
    if (audit_row_derive(&parts, arena, &derived, err))
        return err->kind;
    write_answer(&derived, answer);
    return buf_check(answer, "the answer", err);
}

const struct vector_kind tuning_kinds[] = {
    {"rows", "expected", run_rows},
    {0},
};
