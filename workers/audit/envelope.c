/* SPDX-License-Identifier: Apache-2.0 */
/* The outermost object of a result. */
#include "envelope.h"

#include "known_keys.h"
#include "notes.h"
#include "text.h"

#include <stdlib.h>

enum { FIRST_MEMBERS = 8 };

/* The names that a result is known to carry (tuning-audit.md 2). */
static const struct known_key known_2[] = {
    {"tp", KEY_OTHER},
    {"ts", KEY_OTHER},
};

static const struct known_key known_4[] = {
    {"conc", KEY_OTHER},
};

static const struct known_key known_5[] = {
    {"error", KEY_ERROR},
};

static const struct known_key known_6[] = {
    {"engine", KEY_ENGINE}, {"reason", KEY_OTHER},  {"run_id", KEY_RUN_ID},
    {"source", KEY_OTHER},  {"status", KEY_STATUS}, {"tokens", KEY_OTHER},
};

static const struct known_key known_7[] = {
    {"backend", KEY_BACKEND},
    {"dry_run", KEY_OTHER},
    {"summary", KEY_OTHER},
    {"task_id", KEY_OTHER},
};

static const struct known_key known_8[] = {
    {"decision", KEY_DECISION},
    {"gpu_type", KEY_GPU_TYPE},
};

static const struct known_key known_9[] = {
    {"artifacts", KEY_OTHER}, {"framework", KEY_FRAMEWORK}, {"precision", KEY_PRECISION},
    {"task_file", KEY_OTHER}, {"workspace", KEY_WORKSPACE},
};

static const struct known_key known_10[] = {
    {"attempt_id", KEY_ATTEMPT_ID}, {"extra_envs", KEY_OTHER},
    {"model_path", KEY_OTHER},      {"quant_type", KEY_OTHER},
    {"returncode", KEY_RETURNCODE}, {"started_at", KEY_STARTED_AT},
    {"tuned_file", KEY_TUNED_FILE}, {"tuners_run", KEY_TUNERS_RUN},
};

static const struct known_key known_11[] = {
    {"e2e_results", KEY_OTHER},       {"error_class", KEY_ERROR_CLASS},
    {"finished_at", KEY_OTHER},       {"macro_cycle", KEY_OTHER},
    {"shape_count", KEY_OTHER},       {"shapes_json", KEY_OTHER},
    {"skip_reason", KEY_SKIP_REASON}, {"stderr_tail", KEY_STDERR_TAIL},
};

static const struct known_key known_12[] = {
    {"best_speedup", KEY_BEST_SPEEDUP},
    {"capture_mode", KEY_OTHER},
    {"e2e_gain_pct", KEY_OTHER},
};

static const struct known_key known_13[] = {
    {"e2e_validated", KEY_OTHER},
    {"failed_tuners", KEY_OTHER},
    {"shape_capture", KEY_OTHER},
};

static const struct known_key known_14[] = {
    {"argv_task_safe", KEY_OTHER},          {"extra_envs_raw", KEY_OTHER},
    {"micro_decision", KEY_MICRO_DECISION}, {"moe_key_source", KEY_OTHER},
    {"tuners_skipped", KEY_OTHER},
};

static const struct known_key known_15[] = {
    {"fallback_reason", KEY_OTHER}, {"raw_stdout_tail", KEY_OTHER},
    {"recommended_env", KEY_OTHER}, {"shape_alignment", KEY_OTHER},
    {"source_snapshot", KEY_OTHER}, {"total_elapsed_s", KEY_OTHER},
    {"tunableop_input", KEY_OTHER},
};

static const struct known_key known_16[] = {
    {"benchmark_script", KEY_OTHER},
    {"fallback_backend", KEY_OTHER},
    {"tuned_file_usage", KEY_OTHER},
    {"tuning_framework", KEY_OTHER},
};

static const struct known_key known_17[] = {
    {"final_report_path", KEY_OTHER},
    {"requested_backend", KEY_OTHER},
};

static const struct known_key known_19[] = {
    {"paired_confirmation", KEY_OTHER},
    {"recommended_env_raw", KEY_OTHER},
};

static const struct known_key known_20[] = {
    {"source_profile_trace", KEY_OTHER},
};

static const struct known_key known_23[] = {
    {"requires_e2e_validation", KEY_REQUIRES_E2E_VALIDATION},
    {"shape_capture_workspace", KEY_OTHER},
};

static const struct known_row known_rows[] = {
    [2] = KNOWN_ROW(known_2),   [4] = KNOWN_ROW(known_4),   [5] = KNOWN_ROW(known_5),
    [6] = KNOWN_ROW(known_6),   [7] = KNOWN_ROW(known_7),   [8] = KNOWN_ROW(known_8),
    [9] = KNOWN_ROW(known_9),   [10] = KNOWN_ROW(known_10), [11] = KNOWN_ROW(known_11),
    [12] = KNOWN_ROW(known_12), [13] = KNOWN_ROW(known_13), [14] = KNOWN_ROW(known_14),
    [15] = KNOWN_ROW(known_15), [16] = KNOWN_ROW(known_16), [17] = KNOWN_ROW(known_17),
    [19] = KNOWN_ROW(known_19), [20] = KNOWN_ROW(known_20), [23] = KNOWN_ROW(known_23),
};

static int
find_known(struct slice name)
{
    return known_key_find(known_rows, sizeof known_rows / sizeof known_rows[0], name);
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
    int known = find_known(key);
    if (known >= 0) {
        if (!envelope->values[known].doc)
            envelope->values[known] = json_root(doc);
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
    struct envelope *envelope = ret_envelope;
    *envelope = (struct envelope){0};
    struct json_iter iter = json_iter(result);
    struct slice key;
    struct json_value value;
    while (json_next(&iter, &key, &value)) {
        int known = find_known(key);
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
