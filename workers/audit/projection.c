/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of an audit row. */
#include "projection.h"

#include "text.h"

#include <stdlib.h>

struct slice
projection_text(struct slice text, struct arena *arena)
{
    if (!text.data)
        return text;
    return text_scalar(arena, text_cut(text, PROJECTION_CHARS));
}

static bool
fill_text(const struct carried *from, struct arena *arena, struct slice *to)
{
    struct slice text = carried_string(from);
    *to = projection_text(text, arena);
    return to->data || !text.data;
}

static bool
fill_number(const struct carried *from, double *to)
{
    return from->form == CARRIED_VALUE && json_double(from->value, to);
}

static void
fill_kept(const struct carried *kept, struct tuner_entry *entry)
{
    bool reported = kept->form == CARRIED_VALUE && json_kind(kept->value) == JSON_BOOLEAN;
    entry->has_kept =
        reported || kept->form == CARRIED_TRUE || kept->form == CARRIED_FALSE;
    entry->kept = kept->form == CARRIED_TRUE || (reported && json_is_true(kept->value));
}

/* At most nine digits, so it fits. */
static void
fill_exit_code(struct slice code, struct tuner_entry *entry)
{
    entry->has_exit_code = code.data != NULL;
    int32_t number = 0;
    for (size_t i = 0; code.data && i < code.len; i++)
        if (code.data[i] != '-')
            number = number * 10 + (code.data[i] - '0');
    entry->exit_code = code.data && code.len && code.data[0] == '-' ? -number : number;
}

static enum err_kind
fill_entry(const struct tuner *tuner,
           struct arena *arena,
           struct tuner_entry *entry,
           struct err *err)
{
    if (!fill_text(&tuner->tuner, arena, &entry->tuner) ||
        !fill_text(&tuner->status, arena, &entry->status) ||
        !fill_text(&tuner->error_class, arena, &entry->error_class) ||
        !fill_text(&tuner->error, arena, &entry->error))
        return audit_full(err);
    entry->outcome = slice_of(outcome_name(tuner->outcome));
    entry->has_best_micro_speedup =
        fill_number(&tuner->best_micro_speedup, &entry->best_micro_speedup);
    entry->has_elapsed_s = fill_number(&tuner->elapsed_s, &entry->elapsed_s);
    fill_kept(&tuner->kept, entry);
    fill_exit_code(tuner->exit_code, entry);
    return ERR_OK;
}

static enum err_kind
fill_entries(const struct tuners *tuners,
             struct arena *arena,
             struct list *ret_entries,
             struct err *err)
{
    struct tuner_entry *entries = arena_calloc(arena, tuners->n, sizeof *entries);
    if (!entries)
        return audit_full(err);
    for (size_t i = 0; i < tuners->n; i++)
        if (fill_entry(&tuners->items[i], arena, &entries[i], err))
            return err->kind;
    *ret_entries = (struct list){entries, tuners->n};
    return ERR_OK;
}

enum err_kind
projection_fill(const struct run *run,
                struct arena *arena,
                struct audit_row *row,
                struct err *err)
{
    const struct carried *fields = run->fields;
    const struct {
        const struct carried *from;
        struct slice *to;
    } texts[] = {
        {&fields[RUN_BACKEND], &row->backend},
        {&fields[RUN_STATUS], &row->status},
        {&fields[RUN_DECISION], &row->decision},
        {&fields[RUN_MICRO_DECISION], &row->micro_decision},
        {&fields[RUN_PRECISION], &row->precision},
        {&fields[RUN_FRAMEWORK], &row->framework},
        {&run->error_class, &row->error_class},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!fill_text(texts[i].from, arena, texts[i].to))
            return audit_full(err);
    row->engine = projection_text(run->engine, arena);
    if (!row->engine.data)
        return audit_full(err);
    row->verdict = slice_of(run->verdict);
    row->has_best_speedup = fill_number(&fields[RUN_BEST_SPEEDUP], &row->best_speedup);
    return fill_entries(&run->tuners, arena, &row->tuners, err);
}
