/* SPDX-License-Identifier: Apache-2.0 */
/* A run as it was derived. */
#include "run.h"

#include "unicode.h"

/* Where the fields of the row stand in the envelope. */
static const struct {
    enum envelope_key key;
    struct slice name;
} field_sources[N_RUN_FIELDS] = {
    [RUN_BACKEND] = {KEY_BACKEND, {"backend", 7}},
    [RUN_BEST_SPEEDUP] = {KEY_BEST_SPEEDUP, {"best_speedup", 12}},
    [RUN_DECISION] = {KEY_DECISION, {"decision", 8}},
    [RUN_FRAMEWORK] = {KEY_FRAMEWORK, {"framework", 9}},
    [RUN_GPU_TYPE] = {KEY_GPU_TYPE, {"gpu_type", 8}},
    [RUN_MICRO_DECISION] = {KEY_MICRO_DECISION, {"micro_decision", 14}},
    [RUN_PRECISION] = {KEY_PRECISION, {"precision", 9}},
    [RUN_REQUIRES_E2E_VALIDATION] = {KEY_REQUIRES_E2E_VALIDATION,
                                     {"requires_e2e_validation", 23}},
    [RUN_STATUS] = {KEY_STATUS, {"status", 6}},
    [RUN_TUNED_FILE] = {KEY_TUNED_FILE, {"tuned_file", 10}},
    [RUN_WORKSPACE] = {KEY_WORKSPACE, {"workspace", 9}},
};

static enum err_kind
carry_fields(struct run *run, struct err *err)
{
    for (size_t i = 0; i < N_RUN_FIELDS; i++) {
        struct json_value value = run->envelope.values[field_sources[i].key];
        struct place place = {-1, field_sources[i].name};
        if (carry_field(value, place, &run->notes, &run->fields[i], err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
derive_engine(struct run *run, struct err *err)
{
    const struct json_value *values = run->envelope.values;
    struct json_value engine =
        json_truthy(values[KEY_ENGINE]) ? values[KEY_ENGINE] : values[KEY_BACKEND];
    run->engine = SLICE("unknown");
    if (!json_truthy(engine))
        return ERR_OK;
    struct slice text = json_string(engine);
    if (!text.data)
        return notes_add(&run->notes, "nonstring_engine",
                         slice_of(json_kind_name(engine)), err);
    struct slice lower = unicode_lower(run->notes.arena, unicode_strip(text));
    if (!lower.data)
        return audit_full(err);
    if (lower.len)
        run->engine = lower;
    return ERR_OK;
}

/* Only a failed run takes the class of a tuner. */
static enum err_kind
derive_error_class(struct run *run, struct err *err)
{
    struct json_value own = run->envelope.values[KEY_ERROR_CLASS];
    if (json_truthy(own))
        return carry_field(own, PLACE("error_class"), &run->notes, &run->error_class,
                           err);
    struct slice status = json_string(run->envelope.values[KEY_STATUS]);
    if (status.data && unicode_is_folded(status, "failed"))
        run->error_class = run->tuners.first_class;
    return ERR_OK;
}

static enum err_kind
derive_outcomes(struct run *run, struct err *err)
{
    struct outcome_counts counts = {0};
    for (size_t i = 0; i < run->tuners.n; i++) {
        struct tuner *tuner = &run->tuners.items[i];
        tuner->outcome = outcome_of(&tuner->claims, tuner->log);
        counts.of[tuner->outcome]++;
        counts.n++;
        bool stale = tuner->log && tuner->log->rejection.kind &&
                     tuner->outcome != OUTCOME_REJECTED_ARGUMENTS;
        if (stale && notes_add_number(&run->notes, "stale_log", tuner->index, err))
            return err->kind;
    }
    run->verdict = verdict_of(run->envelope.values[KEY_STATUS], &counts);
    return ERR_OK;
}

static bool
is_given(struct json_value value)
{
    enum json_kind kind = json_kind(value);
    return kind != JSON_ABSENT && kind != JSON_NULL;
}

/* The run's own failure, which the row has no place for. */
static enum err_kind
derive_failure(struct run *run, struct err *err)
{
    const struct json_value *values = run->envelope.values;
    struct notes *notes = &run->notes;
    if (carry_run_error(values[KEY_ERROR], notes, &run->error, err))
        return err->kind;
    if (is_given(values[KEY_RETURNCODE]) &&
        carry_capped(values[KEY_RETURNCODE], PLACE("returncode"), notes, &run->returncode,
                     err))
        return err->kind;
    if (is_given(values[KEY_SKIP_REASON]) &&
        carry_capped(values[KEY_SKIP_REASON], PLACE("skip_reason"), notes,
                     &run->skip_reason, err))
        return err->kind;
    if (rejection_find(json_string(values[KEY_STDERR_TAIL]), notes->arena,
                       &run->rejection, err))
        return err->kind;
    if (run->rejection.kind)
        return ERR_OK;
    return rejection_find(json_string(values[KEY_ERROR]), notes->arena, &run->rejection,
                          err);
}

/* A verdict that is no object costs a note, never the row. */
enum err_kind
verdict_read(struct slice e2e,
             struct notes *notes,
             struct json_value *ret_e2e,
             const char **ret_error,
             struct err *err)
{
    struct err reason;
    struct json *doc = arena_calloc(notes->arena, 1, sizeof *doc);
    *ret_e2e = JSON_NONE;
    *ret_error = NULL;
    if (!doc)
        return audit_full(err);
    bool read = json_read(doc, e2e, notes->arena, &reason) == ERR_OK;
    if (!read && strcmp(reason.code, "record_too_large") == 0)
        return audit_full(err);
    struct json_value root = read ? json_root(doc) : JSON_NONE;
    if (json_kind(root) == JSON_OBJECT) {
        *ret_e2e = root;
        return ERR_OK;
    }
    *ret_error = read ? json_kind_name(root) : "unparseable";
    return notes_add(notes, "e2e_invalid", slice_of(*ret_error), err);
}

static enum err_kind
derive_kept(struct run *run, const struct audit_parts *parts, struct err *err)
{
    if (!parts->e2e.data)
        return ERR_OK;
    struct slice started_at = json_string(run->envelope.values[KEY_STARTED_AT]);
    run->e2e_is_foreign =
        parts->started_at.data && !slice_equal(parts->started_at, started_at);
    if (run->e2e_is_foreign)
        return ERR_OK;
    struct json_value e2e;
    const char *error;
    if (verdict_read(parts->e2e, &run->notes, &e2e, &error, err))
        return err->kind;
    if (!e2e.doc)
        return ERR_OK;
    return kept_join(e2e, &run->tuners, &run->notes, &run->validation, err);
}

enum err_kind
run_derive(const struct audit_parts *parts,
           const struct audit_identity *identity,
           struct arena *arena,
           struct run *ret_run,
           struct err *err)
{
    struct run *run = ret_run;
    *run = (struct run){
        .envelope = *identity->envelope,
        .notes = {.arena = arena},
        .key = identity->key,
    };
    memcpy(run->src, identity->sha256, AUDIT_SRC_DIGITS);
    if (tuners_read(run->envelope.values[KEY_TUNERS_RUN], &run->notes, &run->tuners,
                    err) ||
        logs_scan(parts->logs, parts->n_logs, arena, &run->logs, err) ||
        logs_join(&run->logs, &run->tuners, &run->notes, err) ||
        derive_outcomes(run, err) || derive_kept(run, parts, err) ||
        derive_engine(run, err) || derive_error_class(run, err) ||
        carry_fields(run, err) || derive_failure(run, err) ||
        members_carry(&run->envelope.unknown, -1, &run->notes, err))
        return err->kind;
    return notes_sort(&run->notes, err);
}
