/* SPDX-License-Identifier: Apache-2.0 */
/* The outermost object of a result. */
#include "envelope.h"

#include "notes.h"
#include "text.h"

#include <stdlib.h>

enum { FIRST_MEMBERS = 8 };

#define KNOWN(text, key)                                                                 \
    {                                                                                    \
        {text, sizeof text - 1}, key                                                     \
    }
#define OTHER(text) KNOWN(text, KEY_OTHER)

/* Sorted; the names that a result is known to carry (tuning-audit.md 2). */
static const struct known_key {
    struct slice name;
    enum envelope_key key;
} known_keys[] = {
    OTHER("argv_task_safe"),
    OTHER("artifacts"),
    KNOWN("attempt_id", KEY_ATTEMPT_ID),
    KNOWN("backend", KEY_BACKEND),
    OTHER("benchmark_script"),
    KNOWN("best_speedup", KEY_BEST_SPEEDUP),
    OTHER("capture_mode"),
    OTHER("conc"),
    KNOWN("decision", KEY_DECISION),
    OTHER("dry_run"),
    OTHER("e2e_gain_pct"),
    OTHER("e2e_results"),
    OTHER("e2e_validated"),
    KNOWN("engine", KEY_ENGINE),
    KNOWN("error", KEY_ERROR),
    KNOWN("error_class", KEY_ERROR_CLASS),
    OTHER("extra_envs"),
    OTHER("extra_envs_raw"),
    OTHER("failed_tuners"),
    OTHER("fallback_backend"),
    OTHER("fallback_reason"),
    OTHER("final_report_path"),
    OTHER("finished_at"),
    KNOWN("framework", KEY_FRAMEWORK),
    KNOWN("gpu_type", KEY_GPU_TYPE),
    OTHER("macro_cycle"),
    KNOWN("micro_decision", KEY_MICRO_DECISION),
    OTHER("model_path"),
    OTHER("moe_key_source"),
    OTHER("paired_confirmation"),
    KNOWN("precision", KEY_PRECISION),
    OTHER("quant_type"),
    OTHER("raw_stdout_tail"),
    OTHER("reason"),
    OTHER("recommended_env"),
    OTHER("recommended_env_raw"),
    OTHER("requested_backend"),
    KNOWN("requires_e2e_validation", KEY_REQUIRES_E2E_VALIDATION),
    KNOWN("returncode", KEY_RETURNCODE),
    KNOWN("run_id", KEY_RUN_ID),
    OTHER("shape_alignment"),
    OTHER("shape_capture"),
    OTHER("shape_capture_workspace"),
    OTHER("shape_count"),
    OTHER("shapes_json"),
    KNOWN("skip_reason", KEY_SKIP_REASON),
    OTHER("source"),
    OTHER("source_profile_trace"),
    OTHER("source_snapshot"),
    KNOWN("started_at", KEY_STARTED_AT),
    KNOWN("status", KEY_STATUS),
    KNOWN("stderr_tail", KEY_STDERR_TAIL),
    OTHER("summary"),
    OTHER("task_file"),
    OTHER("task_id"),
    OTHER("tokens"),
    OTHER("total_elapsed_s"),
    OTHER("tp"),
    OTHER("ts"),
    KNOWN("tuned_file", KEY_TUNED_FILE),
    OTHER("tuned_file_usage"),
    OTHER("tunableop_input"),
    KNOWN("tuners_run", KEY_TUNERS_RUN),
    OTHER("tuners_skipped"),
    OTHER("tuning_framework"),
    KNOWN("workspace", KEY_WORKSPACE),
};

static int
compare_name(const void *name, const void *known)
{
    return slice_compare(*(const struct slice *)name,
                         ((const struct known_key *)known)->name);
}

static const struct known_key *
find_known(struct slice name)
{
    return bsearch(&name, known_keys, sizeof known_keys / sizeof known_keys[0],
                   sizeof known_keys[0], compare_name);
}

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
    members->items[members->n++] = (struct member){.key = key, .value = value};
    return true;
}

static int
compare_members(const void *a, const void *b)
{
    return slice_compare(((const struct member *)a)->key,
                         ((const struct member *)b)->key);
}

enum err_kind
members_carry(struct members *members,
              int64_t entry,
              struct notes *notes,
              struct err *err)
{
    if (members->n > 1)
        qsort(members->items, members->n, sizeof *members->items, compare_members);
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

static bool
has_unknown(const struct envelope *envelope, struct slice key)
{
    for (size_t i = 0; i < envelope->unknown.n; i++)
        if (slice_equal(envelope->unknown.items[i].key, key))
            return true;
    return false;
}

static enum err_kind
fill(struct envelope *envelope,
     struct slice key,
     const struct json *doc,
     struct arena *arena,
     struct err *err)
{
    const struct known_key *known = find_known(key);
    if (known) {
        if (!envelope->values[known->key].doc)
            envelope->values[known->key] = json_root(doc);
        return ERR_OK;
    }
    if (!has_unknown(envelope, key) &&
        !members_add(&envelope->unknown, key, json_root(doc), arena))
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
    if (json_read(doc, entry->json, arena, &reason))
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
    struct envelope envelope = {0};
    struct json_iter iter = json_iter(result);
    struct slice key;
    struct json_value value;
    while (json_next(&iter, &key, &value)) {
        const struct known_key *known = find_known(key);
        if (known)
            envelope.values[known->key] = value;
        else if (!members_add(&envelope.unknown, key, value, arena))
            return audit_full(err);
    }
    const struct default_entry *entries = defaults->items;
    for (size_t i = defaults->n; i-- > 0;)
        if (fill_default(&envelope, &entries[i], arena, err))
            return err->kind;
    if (fill_workspace(&envelope, workspace, arena, err))
        return err->kind;
    *ret_envelope = envelope;
    return ERR_OK;
}
