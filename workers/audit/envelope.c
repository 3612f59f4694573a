/* SPDX-License-Identifier: Apache-2.0 */
/* The outermost object of a result. */
#include "envelope.h"

#include "known_keys.h"
#include "notes.h"
#include "text.h"

#include <stdlib.h>

enum { FIRST_MEMBERS = 8 };

/* The names that a result is known to carry (tuning-audit.md 2). */
static const struct known_key known_names[KNOWN_SLOTS] = {
    KNOWN_KEY("argv_task_safe", 'a', 's', 'e', KEY_OTHER),
    KNOWN_KEY("artifacts", 'a', 'f', 's', KEY_OTHER),
    KNOWN_KEY("attempt_id", 'a', 'p', 'd', KEY_ATTEMPT_ID),
    KNOWN_KEY("backend", 'b', 'k', 'd', KEY_BACKEND),
    KNOWN_KEY("benchmark_script", 'b', 'k', 't', KEY_OTHER),
    KNOWN_KEY("best_speedup", 'b', 'p', 'p', KEY_BEST_SPEEDUP),
    KNOWN_KEY("capture_mode", 'c', 'e', 'e', KEY_OTHER),
    KNOWN_KEY("conc", 'c', 'n', 'c', KEY_OTHER),
    KNOWN_KEY("decision", 'd', 's', 'n', KEY_DECISION),
    KNOWN_KEY("dry_run", 'd', '_', 'n', KEY_OTHER),
    KNOWN_KEY("e2e_gain_pct", 'e', 'i', 't', KEY_OTHER),
    KNOWN_KEY("e2e_results", 'e', 'e', 's', KEY_OTHER),
    KNOWN_KEY("e2e_validated", 'e', 'l', 'd', KEY_OTHER),
    KNOWN_KEY("engine", 'e', 'i', 'e', KEY_ENGINE),
    KNOWN_KEY("error", 'e', 'r', 'r', KEY_ERROR),
    KNOWN_KEY("error_class", 'e', '_', 's', KEY_ERROR_CLASS),
    KNOWN_KEY("extra_envs", 'e', '_', 's', KEY_OTHER),
    KNOWN_KEY("extra_envs_raw", 'e', 'n', 'w', KEY_OTHER),
    KNOWN_KEY("failed_tuners", 'f', '_', 's', KEY_OTHER),
    KNOWN_KEY("fallback_backend", 'f', '_', 'd', KEY_OTHER),
    KNOWN_KEY("fallback_reason", 'f', 'k', 'n', KEY_OTHER),
    KNOWN_KEY("final_report_path", 'f', 'p', 'h', KEY_OTHER),
    KNOWN_KEY("finished_at", 'f', 'h', 't', KEY_OTHER),
    KNOWN_KEY("framework", 'f', 'e', 'k', KEY_FRAMEWORK),
    KNOWN_KEY("gpu_type", 'g', 't', 'e', KEY_GPU_TYPE),
    KNOWN_KEY("macro_cycle", 'm', '_', 'e', KEY_OTHER),
    KNOWN_KEY("micro_decision", 'm', 'e', 'n', KEY_MICRO_DECISION),
    KNOWN_KEY("model_path", 'm', '_', 'h', KEY_OTHER),
    KNOWN_KEY("moe_key_source", 'm', '_', 'e', KEY_OTHER),
    KNOWN_KEY("paired_confirmation", 'p', 'n', 'n', KEY_OTHER),
    KNOWN_KEY("precision", 'p', 'i', 'n', KEY_PRECISION),
    KNOWN_KEY("quant_type", 'q', '_', 'e', KEY_OTHER),
    KNOWN_KEY("raw_stdout_tail", 'r', 'o', 'l', KEY_OTHER),
    KNOWN_KEY("reason", 'r', 's', 'n', KEY_OTHER),
    KNOWN_KEY("recommended_env", 'r', 'n', 'v', KEY_OTHER),
    KNOWN_KEY("recommended_env_raw", 'r', 'e', 'w', KEY_OTHER),
    KNOWN_KEY("requested_backend", 'r', 'd', 'd', KEY_OTHER),
    KNOWN_KEY("requires_e2e_validation", 'r', 'e', 'n', KEY_REQUIRES_E2E_VALIDATION),
    KNOWN_KEY("returncode", 'r', 'n', 'e', KEY_RETURNCODE),
    KNOWN_KEY("run_id", 'r', '_', 'd', KEY_RUN_ID),
    KNOWN_KEY("shape_alignment", 's', 'l', 't', KEY_OTHER),
    KNOWN_KEY("shape_capture", 's', 'c', 'e', KEY_OTHER),
    KNOWN_KEY("shape_capture_workspace", 's', 'r', 'e', KEY_OTHER),
    KNOWN_KEY("shape_count", 's', '_', 't', KEY_OTHER),
    KNOWN_KEY("shapes_json", 's', 's', 'n', KEY_OTHER),
    KNOWN_KEY("skip_reason", 's', 'r', 'n', KEY_SKIP_REASON),
    KNOWN_KEY("source", 's', 'r', 'e', KEY_OTHER),
    KNOWN_KEY("source_profile_trace", 's', 'f', 'e', KEY_OTHER),
    KNOWN_KEY("source_snapshot", 's', 's', 't', KEY_OTHER),
    KNOWN_KEY("started_at", 's', 'e', 't', KEY_STARTED_AT),
    KNOWN_KEY("status", 's', 't', 's', KEY_STATUS),
    KNOWN_KEY("stderr_tail", 's', 'r', 'l', KEY_STDERR_TAIL),
    KNOWN_KEY("summary", 's', 'm', 'y', KEY_OTHER),
    KNOWN_KEY("task_file", 't', '_', 'e', KEY_OTHER),
    KNOWN_KEY("task_id", 't', 'k', 'd', KEY_OTHER),
    KNOWN_KEY("tokens", 't', 'e', 's', KEY_OTHER),
    KNOWN_KEY("total_elapsed_s", 't', 'l', 's', KEY_OTHER),
    KNOWN_KEY("tp", 't', 'p', 'p', KEY_OTHER),
    KNOWN_KEY("ts", 't', 's', 's', KEY_OTHER),
    KNOWN_KEY("tunableop_input", 't', 'o', 't', KEY_OTHER),
    KNOWN_KEY("tuned_file", 't', '_', 'e', KEY_TUNED_FILE),
    KNOWN_KEY("tuned_file_usage", 't', 'l', 'e', KEY_OTHER),
    KNOWN_KEY("tuners_run", 't', 's', 'n', KEY_TUNERS_RUN),
    KNOWN_KEY("tuners_skipped", 't', 's', 'd', KEY_OTHER),
    KNOWN_KEY("tuning_framework", 't', 'r', 'k', KEY_OTHER),
    KNOWN_KEY("workspace", 'w', 's', 'e', KEY_WORKSPACE),
};

bool
members_add(struct members *members,
            struct slice key,
            struct json_value value,
            struct arena *arena)
{
    if (members->n == members->cap) {
        size_t cap = members->cap ? members->cap * 2 : FIRST_MEMBERS;
        struct member *items = arena_alloc(arena, cap * sizeof *items);
        if (!items)
            return false;
        if (members->n)
            memcpy(items, members->items, members->n * sizeof *items);
        members->items = items;
        members->cap = cap;
    }
    members->items[members->n] =
        (struct member){.key = key, .rank = members->n, .value = value};
    members->n++;
    return true;
}

static int
compare_members(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int d = slice_compare(x->key, y->key);
    return d ? d : (x->rank > y->rank) - (x->rank < y->rank);
}

static void
sort_members(struct members *members)
{
    if (members->n < 2)
        return;
    qsort(members->items, members->n, sizeof *members->items, compare_members);
    size_t n = 1;
    for (size_t i = 1; i < members->n; i++)
        if (!slice_equal(members->items[i].key, members->items[n - 1].key))
            members->items[n++] = members->items[i];
    members->n = n;
}

enum err_kind
members_carry(struct members *members,
              int64_t entry,
              struct notes *notes,
              struct err *err)
{
    sort_members(members);
    for (size_t i = 0; i < members->n; i++) {
        struct member *member = &members->items[i];
        struct place place = {entry, member->key};
        if (carry_capped(member->value, place, notes, &member->carried, err))
            return err->kind;
    }
    return ERR_OK;
}

void
members_write(const struct members *members, struct buf *out)
{
    buf_add_byte(out, '{');
    for (size_t i = 0; i < members->n; i++) {
        if (i)
            buf_add(out, ", ", 2);
        json_write_string(out, members->items[i].key);
        buf_add(out, ": ", 2);
        carried_write(&members->items[i].carried, out);
    }
    buf_add_byte(out, '}');
}

static enum err_kind
fill(struct envelope *envelope,
     struct slice key,
     const struct json *doc,
     struct arena *arena,
     struct err *err)
{
    int known = known_key_find(known_names, key);
    if (known >= 0) {
        if (!envelope->values[known].doc)
            envelope->values[known] = json_root(doc);
        return ERR_OK;
    }
    if (!members_add(&envelope->unknown, key, json_root(doc), arena))
        return audit_full(err);
    return ERR_OK;
}

static enum err_kind
fill_default(struct envelope *envelope,
             const struct default_entry *entry,
             struct arena *arena,
             struct err *err)
{
    struct json *doc = arena_calloc(arena, 1, sizeof *doc);
    struct slice key = text_repair(arena, entry->key);
    struct err reason;
    if (!doc || !key.data)
        return audit_full(err);
    enum err_kind read = json_read(doc, entry->json, arena, &reason);
    if (read && strcmp(reason.code, "record_too_large") == 0)
        return audit_full(err);
    if (read)
        return err_set(err, ERR_RECORD, "tuning_event_malformed",
                       "the default of '%.*s' is no JSON (%s); set it as KEY=JSON, "
                       "a string with its quotes",
                       SLICE_ARG(text_cut(key, 80)), reason.msg);
    return fill(envelope, key, doc, arena, err);
}

static enum err_kind
fill_workspace(struct envelope *envelope,
               struct slice workspace,
               struct arena *arena,
               struct err *err)
{
    if (workspace.len == 0 || envelope->values[KEY_WORKSPACE].doc)
        return ERR_OK;
    struct json *doc = arena_calloc(arena, 1, sizeof *doc);
    struct slice text = text_repair(arena, workspace);
    if (!doc || !text.data)
        return audit_full(err);
    if (json_make_string(doc, text, arena, err))
        return err->kind;
    envelope->values[KEY_WORKSPACE] = json_root(doc);
    return ERR_OK;
}

enum err_kind
envelope_read(struct json_value result,
              const struct list *defaults,
              struct slice workspace,
              struct envelope *ret_envelope,
              struct err *err)
{
    struct arena *arena = result.doc->arena;
    struct envelope *envelope = ret_envelope;
    *envelope = (struct envelope){0};
    struct json_iter iter = json_iter(result);
    struct slice key;
    struct json_value value;
    while (json_next(&iter, &key, &value)) {
        int known = known_key_find(known_names, key);
        if (known >= 0)
            envelope->values[known] = value;
        else if (!members_add(&envelope->unknown, key, value, arena))
            return audit_full(err);
    }
    const struct default_entry *entries = defaults->items;
    for (size_t i = defaults->n; i-- > 0;)
        if (fill_default(envelope, &entries[i], arena, err))
            return err->kind;
    if (fill_workspace(envelope, workspace, arena, err))
        return err->kind;
    return ERR_OK;
}
