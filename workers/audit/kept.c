/* SPDX-License-Identifier: Apache-2.0 */
/* The verdicts of the end-to-end validation. */
#include "kept.h"

enum bucket {
    BUCKET_KEPT,
    BUCKET_REVERTED,
    BUCKET_FAULTS,
};

static void
mark(struct tuner *tuner, enum bucket bucket)
{
    tuner->seen_kept |= bucket == BUCKET_KEPT;
    tuner->seen_reverted |= bucket == BUCKET_REVERTED;
}

static bool
same_env_value(const struct tuner *tuner, struct slice wanted)
{
    struct slice text = json_string(tuner->env_value);
    if (!text.data)
        text = json_number(tuner->env_value);
    return text.data && slice_equal(text, wanted);
}

/* Of several entries with one name the only one with an equal env_value. */
static enum err_kind
mark_by_env_value(struct tuner **hits,
                  size_t n,
                  struct slice env_value,
                  enum bucket bucket,
                  struct notes *notes,
                  struct err *err)
{
    struct tuner *exact = NULL;
    size_t n_exact = 0;
    for (size_t i = 0; i < n && env_value.len; i++)
        if (same_env_value(hits[i], env_value)) {
            exact = hits[i];
            n_exact++;
        }
    if (n_exact == 1) {
        mark(exact, bucket);
        return ERR_OK;
    }
    for (size_t i = 0; i < n; i++)
        if (notes_add_number(notes, "kept_ambiguous", hits[i]->index, err))
            return err->kind;
    return ERR_OK;
}

static enum err_kind
join_item(struct json_value item,
          enum bucket bucket,
          struct tuners *tuners,
          struct notes *notes,
          struct err *err)
{
    struct slice name = json_string(json_get(item, "tuner"));
    size_t n = 0;
    struct tuner **hits = name.data ? tuners_named(tuners, name, &n) : NULL;
    if (n == 0)
        return notes_add(notes, "orphan_e2e", name.data ? name : SLICE("?"), err);
    if (n > 1)
        return mark_by_env_value(hits, n, json_string(json_get(item, "env_value")),
                                 bucket, notes, err);
    mark(hits[0], bucket);
    return ERR_OK;
}

static enum err_kind
join_bucket(struct json_value items,
            enum bucket bucket,
            struct tuners *tuners,
            struct notes *notes,
            size_t *ret_n,
            struct err *err)
{
    *ret_n = 0;
    if (json_kind(items) != JSON_ARRAY)
        return ERR_OK;
    struct json_iter iter = json_iter(items);
    struct slice key;
    struct json_value item;
    while (json_next(&iter, &key, &item)) {
        if (json_kind(item) != JSON_OBJECT)
            continue;
        ++*ret_n;
        if (join_item(item, bucket, tuners, notes, err))
            return err->kind;
    }
    return ERR_OK;
}

static bool
agrees(const struct carried *kept, bool verdict)
{
    if (kept->form == CARRIED_NONE)
        return true;
    return kept->form == CARRIED_VALUE && json_kind(kept->value) == JSON_BOOLEAN &&
           json_is_true(kept->value) == verdict;
}

/* A fault is no verdict, and both buckets are none either. */
static enum err_kind
settle(struct tuner *tuner, struct notes *notes, struct err *err)
{
    if (!tuner->seen_kept && !tuner->seen_reverted)
        return ERR_OK;
    if (tuner->seen_kept && tuner->seen_reverted)
        return notes_add_number(notes, "kept_ambiguous", tuner->index, err);
    bool agreed = agrees(&tuner->kept, tuner->seen_kept);
    tuner->kept = (struct carried){
        .form = tuner->seen_kept ? CARRIED_TRUE : CARRIED_FALSE,
    };
    return agreed ? ERR_OK : notes_add_number(notes, "kept_conflict", tuner->index, err);
}

static enum err_kind
carry_summary(struct json_value e2e,
              struct notes *notes,
              struct validation *validation,
              struct err *err)
{
    const struct {
        const char *key;
        struct slice path;
        struct carried *to;
    } fields[] = {
        {"decision", SLICE("e2e.decision"), &validation->decision},
        {"e2e_gain_pct", SLICE("e2e.e2e_gain_pct"), &validation->e2e_gain_pct},
        {"e2e_validated", SLICE("e2e.e2e_validated"), &validation->e2e_validated},
        {"micro_decision", SLICE("e2e.micro_decision"), &validation->micro_decision},
        {"status", SLICE("e2e.status"), &validation->status},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct place place = {-1, fields[i].path};
        if (carry_whole(json_get(e2e, fields[i].key), place, notes, fields[i].to, err))
            return err->kind;
    }
    return ERR_OK;
}

enum err_kind
kept_join(struct json_value e2e,
          struct tuners *tuners,
          struct notes *notes,
          struct validation *ret_validation,
          struct err *err)
{
    struct validation validation = {.known = true};
    struct json_value body = json_get(e2e, "e2e_results");
    const struct {
        const char *name;
        size_t *n;
    } buckets[] = {
        [BUCKET_KEPT] = {"kept", &validation.n_kept},
        [BUCKET_REVERTED] = {"reverted", &validation.n_reverted},
        [BUCKET_FAULTS] = {"faults", &validation.n_faults},
    };
    for (size_t i = 0; i < sizeof buckets / sizeof buckets[0]; i++)
        if (join_bucket(json_get(body, buckets[i].name), (enum bucket)i, tuners, notes,
                        buckets[i].n, err))
            return err->kind;
    for (size_t i = 0; i < tuners->n; i++)
        if (settle(&tuners->items[i], notes, err))
            return err->kind;
    if (carry_summary(e2e, notes, &validation, err))
        return err->kind;
    *ret_validation = validation;
    return ERR_OK;
}

static void
add_known(struct buf *out, const char *before, const struct carried *carried)
{
    if (carried->form == CARRIED_NONE)
        return;
    buf_add_str(out, before);
    carried_write(carried, out);
    buf_add(out, ", ", 2);
}

void
validation_write_members(const struct validation *validation, struct buf *out)
{
    add_known(out, "\"decision\": ", &validation->decision);
    add_known(out, "\"e2e_gain_pct\": ", &validation->e2e_gain_pct);
    add_known(out, "\"e2e_validated\": ", &validation->e2e_validated);
    buf_addf(out, "\"faults\": %zu, \"kept\": %zu, ", validation->n_faults,
             validation->n_kept);
    add_known(out, "\"micro_decision\": ", &validation->micro_decision);
    buf_addf(out, "\"reverted\": %zu", validation->n_reverted);
    if (validation->status.form != CARRIED_NONE) {
        buf_add_str(out, ", \"status\": ");
        carried_write(&validation->status, out);
    }
}
