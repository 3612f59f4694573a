/* SPDX-License-Identifier: Apache-2.0 */
/* The verdicts of the end-to-end validation. */
#include "kept.h"

#include <stdlib.h>

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

/* What the items are joined with. */
struct join {
    struct tuners *tuners;
    struct tuner **by_env; /* by name, then by env_value; NULL until a name repeats */
    struct notes *notes;
};

static struct slice
env_text(const struct tuner *tuner)
{
    struct slice text = json_string(tuner->env_value);
    return text.data ? text : json_number(tuner->env_value);
}

static int
compare_env(struct slice name, struct slice env_value, const struct tuner *tuner)
{
    int d = slice_compare(name, tuner->name);
    return d ? d : slice_compare(env_value, env_text(tuner));
}

static int
compare_tuners(const void *a, const void *b)
{
    const struct tuner *x = *(struct tuner *const *)a;
    const struct tuner *y = *(struct tuner *const *)b;
    int d = compare_env(x->name, env_text(x), y);
    return d ? d : (x->index > y->index) - (x->index < y->index);
}

static enum err_kind
sort_by_env(struct join *join, struct err *err)
{
    size_t n = join->tuners->n_named;
    join->by_env = arena_alloc(join->notes->arena, n * sizeof(struct tuner *));
    if (!join->by_env)
        return audit_full(err);
    memcpy(join->by_env, join->tuners->by_name, n * sizeof(struct tuner *));
    qsort(join->by_env, n, sizeof(struct tuner *), compare_tuners);
    return ERR_OK;
}

/* The entry of that name and env_value when there is exactly one. */
static struct tuner *
only_with_env(const struct join *join, struct slice name, struct slice env_value)
{
    size_t low = 0;
    size_t n = join->tuners->n_named;
    for (size_t high = n; low < high;) {
        size_t middle = (low + high) / 2;
        if (compare_env(name, env_value, join->by_env[middle]) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == n || compare_env(name, env_value, join->by_env[low]) != 0)
        return NULL;
    bool repeats =
        low + 1 < n && compare_env(name, env_value, join->by_env[low + 1]) == 0;
    return repeats ? NULL : join->by_env[low];
}

/* Of several entries with one name the only one with an equal env_value. */
static enum err_kind
mark_by_env_value(struct join *join,
                  struct tuner *first,
                  struct slice env_value,
                  enum bucket bucket,
                  struct err *err)
{
    if (!join->by_env && sort_by_env(join, err))
        return err->kind;
    struct tuner *exact =
        env_value.len ? only_with_env(join, first->name, env_value) : NULL;
    if (exact)
        mark(exact, bucket);
    else
        first->is_ambiguous = true;
    return ERR_OK;
}

static enum err_kind
join_item(struct json_value item, enum bucket bucket, struct join *join, struct err *err)
{
    struct slice name = json_string(json_get(item, "tuner"));
    size_t n = 0;
    struct tuner **hits = name.data ? tuners_named(join->tuners, name, &n) : NULL;
    if (n == 0)
        return notes_add(join->notes, "orphan_e2e", name.data ? name : SLICE("?"), err);
    if (n > 1)
        return mark_by_env_value(join, hits[0], json_string(json_get(item, "env_value")),
                                 bucket, err);
    mark(hits[0], bucket);
    return ERR_OK;
}

static enum err_kind
join_bucket(struct json_value items,
            enum bucket bucket,
            struct join *join,
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
        if (join_item(item, bucket, join, err))
            return err->kind;
    }
    return ERR_OK;
}

/* Every entry of a name that some verdict could not tell apart. */
static enum err_kind
note_ambiguous(const struct tuners *tuners, struct notes *notes, struct err *err)
{
    const struct tuner *first = NULL;
    for (size_t i = 0; i < tuners->n_named; i++) {
        const struct tuner *tuner = tuners->by_name[i];
        if (!first || !slice_equal(first->name, tuner->name))
            first = tuner;
        if (first->is_ambiguous &&
            notes_add_number(notes, "kept_ambiguous", tuner->index, err))
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
    struct join join = {.tuners = tuners, .notes = notes};
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
        if (join_bucket(json_get(body, buckets[i].name), (enum bucket)i, &join,
                        buckets[i].n, err))
            return err->kind;
    if (note_ambiguous(tuners, notes, err))
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
