/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of tuners_run. */
#include "tuners.h"

#include "known_keys.h"
#include "text.h"
#include "unicode.h"

#include <stdlib.h>

enum tuner_key {
    TUNER_OTHER = 0,
    TUNER_BEST_MICRO_SPEEDUP,
    TUNER_ELAPSED_S,
    TUNER_ENV_VALUE,
    TUNER_ERROR,
    TUNER_ERROR_CLASS,
    TUNER_KEPT,
    TUNER_NAME,
    TUNER_STATUS,
    TUNER_TUNER,
    TUNER_TUNER_NAME,
    N_TUNER_KEYS,
};

enum { EXIT_CODE_DIGITS = 9 };

/* The names that an entry is known to carry (tuning-audit.md 3). */
static const struct known_key known_names[KNOWN_SLOTS] = {
    KNOWN_KEY("artifact", 'a', 'f', 't', TUNER_OTHER),
    KNOWN_KEY("avg_micro_speedup", 'a', 'o', 'p', TUNER_OTHER),
    KNOWN_KEY("best_micro_speedup", 'b', 'o', 'p', TUNER_BEST_MICRO_SPEEDUP),
    KNOWN_KEY("candidate", 'c', 'i', 'e', TUNER_OTHER),
    KNOWN_KEY("dropped_inaccurate", 'd', 'n', 'e', TUNER_OTHER),
    KNOWN_KEY("elapsed_s", 'e', 's', 's', TUNER_ELAPSED_S),
    KNOWN_KEY("env_value", 'e', 'v', 'e', TUNER_ENV_VALUE),
    KNOWN_KEY("env_var", 'e', '_', 'r', TUNER_OTHER),
    KNOWN_KEY("env_vars", 'e', 'v', 's', TUNER_OTHER),
    KNOWN_KEY("error", 'e', 'r', 'r', TUNER_ERROR),
    KNOWN_KEY("error_class", 'e', '_', 's', TUNER_ERROR_CLASS),
    KNOWN_KEY("expected_shapes", 'e', 'd', 's', TUNER_OTHER),
    KNOWN_KEY("improved_shapes", 'i', 'd', 's', TUNER_OTHER),
    KNOWN_KEY("kept", 'k', 'p', 't', TUNER_KEPT),
    KNOWN_KEY("key_source", 'k', 'o', 'e', TUNER_OTHER),
    KNOWN_KEY("missing_shapes", 'm', '_', 's', TUNER_OTHER),
    KNOWN_KEY("name", 'n', 'm', 'e', TUNER_NAME),
    KNOWN_KEY("shape_results", 's', 'r', 's', TUNER_OTHER),
    KNOWN_KEY("skip_reason", 's', 'r', 'n', TUNER_OTHER),
    KNOWN_KEY("status", 's', 't', 's', TUNER_STATUS),
    KNOWN_KEY("total_shapes", 't', 's', 's', TUNER_OTHER),
    KNOWN_KEY("tuner", 't', 'n', 'r', TUNER_TUNER),
    KNOWN_KEY("tuner_name", 't', '_', 'e', TUNER_TUNER_NAME),
    KNOWN_KEY("unverified_shapes", 'u', 'e', 's', TUNER_OTHER),
};

static bool
is_word_before(struct slice text, const char *at)
{
    if (at == text.data)
        return false;
    const char *begin;
    return unicode_is_word(text_last(text.data, at, &begin));
}

static bool
is_word_at(struct slice text, const char *at)
{
    const char *end = text.data + text.len;
    return at < end && unicode_is_word(text_next(&at, end));
}

/* The code behind "exited with code ", when it ends where a word may end. */
static struct slice
code_at(struct slice text, const char *at, struct arena *arena)
{
    const char *end = text.data + text.len;
    bool negative = at < end && *at == '-';
    const char *first = at + negative;
    const char *stop = first;
    while (stop < end && *stop >= '0' && *stop <= '9')
        stop++;
    size_t n = (size_t)(stop - first);
    if (n == 0 || n > EXIT_CODE_DIGITS || is_word_at(text, stop))
        return (struct slice){NULL, 0};
    if (n == 1 || *first != '0')
        return (struct slice){at, (size_t)(stop - at)};
    while (n > 1 && *first == '0') {
        first++;
        n--;
    }
    return arena_printf(arena, "%s%.*s", negative ? "-" : "", (int)n, first);
}

static struct slice
exit_code(struct slice error, struct arena *arena)
{
    static const char phrase[] = "exited with code ";
    struct slice rest = error;
    while (rest.len >= sizeof phrase) {
        const char *at = memmem(rest.data, rest.len, phrase, sizeof phrase - 1);
        if (!at)
            break;
        const char *number = at + sizeof phrase - 1;
        if (!is_word_before(error, at)) {
            struct slice code = code_at(error, number, arena);
            if (code.data)
                return code;
        }
        rest.len -= (size_t)(number - rest.data);
        rest.data = number;
    }
    return (struct slice){NULL, 0};
}

static struct slice
first_name(const struct json_value *values)
{
    static const enum tuner_key keys[] = {TUNER_TUNER, TUNER_NAME, TUNER_TUNER_NAME};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct slice name = json_string(values[keys[i]]);
        if (name.len)
            return name;
    }
    return (struct slice){NULL, 0};
}

static enum err_kind
carry_all(struct tuner *tuner,
          const struct json_value *values,
          struct notes *notes,
          struct err *err)
{
    const struct json_value shown =
        json_truthy(values[TUNER_TUNER]) ? values[TUNER_TUNER] : values[TUNER_NAME];
    const struct {
        struct slice name;
        struct json_value value;
        struct carried *to;
    } fields[] = {
        {SLICE("tuner"), shown, &tuner->tuner},
        {SLICE("best_micro_speedup"), values[TUNER_BEST_MICRO_SPEEDUP],
         &tuner->best_micro_speedup},
        {SLICE("kept"), values[TUNER_KEPT], &tuner->kept},
        {SLICE("status"), values[TUNER_STATUS], &tuner->status},
        {SLICE("elapsed_s"), values[TUNER_ELAPSED_S], &tuner->elapsed_s},
        {SLICE("error_class"), values[TUNER_ERROR_CLASS], &tuner->error_class},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct place place = {(int64_t)tuner->index, fields[i].name};
        if (carry_field(fields[i].value, place, notes, fields[i].to, err))
            return err->kind;
    }
    return carry_error(values[TUNER_ERROR], tuner->index, notes, &tuner->error, err);
}

static enum err_kind
read_tuner(struct json_value entry,
           struct tuner *tuner,
           struct notes *notes,
           struct err *err)
{
    struct json_value values[N_TUNER_KEYS] = {0};
    struct json_iter iter = json_iter(entry);
    struct slice key;
    struct json_value value;
    while (json_next(&iter, &key, &value)) {
        int known = known_key_find(known_names, key);
        if (known >= 0)
            values[known] = value;
        else if (!members_add(&tuner->unknown, key, value, notes->arena))
            return audit_full(err);
    }
    tuner->name = first_name(values);
    tuner->env_value = values[TUNER_ENV_VALUE];
    tuner->claims = (struct claims){
        .status = values[TUNER_STATUS],
        .error_class = values[TUNER_ERROR_CLASS],
        .error = values[TUNER_ERROR],
        .best_micro_speedup = values[TUNER_BEST_MICRO_SPEEDUP],
    };
    tuner->exit_code = exit_code(json_string(values[TUNER_ERROR]), notes->arena);
    if (members_carry(&tuner->unknown, (int64_t)tuner->index, notes, err))
        return err->kind;
    return carry_all(tuner, values, notes, err);
}

static enum err_kind
read_entry(struct json_value entry,
           size_t index,
           struct notes *notes,
           struct tuners *tuners,
           struct err *err)
{
    if (json_kind(entry) != JSON_OBJECT) {
        struct misfit *misfit = &tuners->misfits[tuners->n_misfits++];
        misfit->index = index;
        misfit->type = json_kind_name(entry);
        struct place place = {(int64_t)index, {NULL, 0}};
        return carry_capped(entry, place, notes, &misfit->value, err);
    }
    struct tuner *tuner = &tuners->items[tuners->n++];
    tuner->index = index;
    if (read_tuner(entry, tuner, notes, err))
        return err->kind;
    if (tuners->first_class.form == CARRIED_NONE &&
        json_truthy(tuner->claims.error_class))
        tuners->first_class = tuner->error_class;
    return ERR_OK;
}

static int
compare_tuners(const void *a, const void *b)
{
    const struct tuner *x = *(struct tuner *const *)a;
    const struct tuner *y = *(struct tuner *const *)b;
    int d = slice_compare(x->name, y->name);
    return d ? d : (x->index > y->index) - (x->index < y->index);
}

static enum err_kind
sort_names(struct tuners *tuners, struct notes *notes, struct err *err)
{
    for (size_t i = 0; i < tuners->n; i++)
        if (tuners->items[i].name.data)
            tuners->by_name[tuners->n_named++] = &tuners->items[i];
    if (tuners->n_named > 1)
        qsort(tuners->by_name, tuners->n_named, sizeof(struct tuner *), compare_tuners);
    for (size_t i = 1; i < tuners->n_named; i++) {
        struct slice name = tuners->by_name[i]->name;
        bool first_repeat = slice_equal(name, tuners->by_name[i - 1]->name) &&
                            (i == 1 || !slice_equal(name, tuners->by_name[i - 2]->name));
        if (first_repeat && notes_add(notes, "duplicate_tuner", name, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
make_room(struct json_value entries,
          struct arena *arena,
          struct tuners *tuners,
          struct err *err)
{
    size_t n = 0;
    size_t n_objects = 0;
    struct json_iter iter = json_iter(entries);
    struct slice key;
    struct json_value entry;
    for (; json_next(&iter, &key, &entry); n++)
        n_objects += json_kind(entry) == JSON_OBJECT;
    tuners->items = arena_calloc(arena, n_objects, sizeof *tuners->items);
    tuners->by_name = arena_calloc(arena, n_objects, sizeof(struct tuner *));
    tuners->misfits = arena_calloc(arena, n - n_objects, sizeof *tuners->misfits);
    bool room = tuners->items && tuners->by_name && tuners->misfits;
    return room ? ERR_OK : audit_full(err);
}

enum err_kind
tuners_read(struct json_value tuners_run,
            struct notes *notes,
            struct tuners *ret_tuners,
            struct err *err)
{
    *ret_tuners = (struct tuners){0};
    if (!json_truthy(tuners_run))
        return ERR_OK;
    if (json_kind(tuners_run) != JSON_ARRAY) {
        if (notes_add(notes, "malformed_tuners_run", slice_of(json_kind_name(tuners_run)),
                      err))
            return err->kind;
        return carry_capped(tuners_run, PLACE("tuners_run"), notes,
                            &ret_tuners->malformed, err);
    }
    if (make_room(tuners_run, notes->arena, ret_tuners, err))
        return err->kind;
    struct json_iter iter = json_iter(tuners_run);
    struct slice key;
    struct json_value entry;
    for (size_t i = 0; json_next(&iter, &key, &entry); i++)
        if (read_entry(entry, i, notes, ret_tuners, err))
            return err->kind;
    return sort_names(ret_tuners, notes, err);
}

/* The first entry whose name is not below `name`; with `behind`, the first above it. */
static size_t
bound(const struct tuners *tuners, struct slice name, bool behind)
{
    size_t low = 0;
    size_t high = tuners->n_named;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (slice_compare(tuners->by_name[middle]->name, name) < (int)behind)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct tuner **
tuners_named(const struct tuners *tuners, struct slice name, size_t *ret_n)
{
    size_t first = bound(tuners, name, false);
    bool none =
        first == tuners->n_named || !slice_equal(tuners->by_name[first]->name, name);
    *ret_n = none ? 0 : bound(tuners, name, true) - first;
    return none ? NULL : tuners->by_name + first;
}

bool
tuner_shows_name(const struct tuner *tuner)
{
    struct slice shown = carried_string(&tuner->tuner);
    if (!shown.data && tuner->tuner.form == CARRIED_VALUE)
        shown = json_number(tuner->tuner.value);
    return !tuner->name.data || (shown.data && slice_equal(shown, tuner->name));
}
