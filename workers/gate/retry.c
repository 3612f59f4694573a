/* SPDX-License-Identifier: Apache-2.0 */
/* Which mode a refusal points to. */
#include "retry.h"

static const char *const retry_codes[] = {
    "steady_state_chunk_missing",
    "steady_state_chunk_low_quality",
};

static bool
is_retry_code(struct slice code)
{
    for (size_t i = 0; i < sizeof retry_codes / sizeof retry_codes[0]; i++)
        if (slice_is(code, retry_codes[i]))
            return true;
    return false;
}

/* What says which families hold work outranks what says which exist, also when empty. */
static struct slice
first_mode(const struct retry_warning *warning)
{
    const struct hint_modes *modes =
        warning->non_empty.present ? &warning->non_empty : &warning->available;
    if (!modes->present || !modes->is_list)
        return (struct slice){0};
    for (size_t i = 0; i < modes->n; i++) {
        struct slice mode = amount_trim(modes->modes[i]);
        if (mode.len)
            return mode;
    }
    return (struct slice){0};
}

struct retry_hint
retry_find(bool refused,
           enum framework_kind kind,
           int64_t attempt,
           const struct retry_warning *warnings,
           size_t n)
{
    if (!refused || kind != KIND_SERVING || attempt != 1)
        return (struct retry_hint){0};
    for (size_t i = 0; i < n; i++) {
        if (!is_retry_code(warnings[i].code))
            continue;
        struct slice mode = first_mode(&warnings[i]);
        if (mode.data)
            return (struct retry_hint){mode, warnings[i].code};
    }
    return (struct retry_hint){0};
}

static struct hint_modes
modes_of(const struct note *note, const char *name)
{
    for (size_t i = 0; i < note->n; i++)
        if (strcmp(note->fields[i].name, name) == 0)
            return (struct hint_modes){true, note->fields[i].kind == NOTE_LIST,
                                       note->fields[i].names, note->fields[i].n};
    return (struct hint_modes){0};
}

struct retry_hint
retry_of_notes(bool refused,
               enum framework_kind kind,
               int64_t attempt,
               const struct note_list *notes)
{
    struct retry_warning warnings[NOTES];
    if (!refused)
        return (struct retry_hint){0};
    for (size_t i = 0; i < notes->n; i++)
        warnings[i] = (struct retry_warning){
            .code = slice_of(notes->items[i].code),
            .non_empty = modes_of(&notes->items[i], "non_empty_modes"),
            .available = modes_of(&notes->items[i], "available_modes"),
        };
    return retry_find(refused, kind, attempt, warnings, notes->n);
}

bool
retry_follow(const struct gate_request *request,
             struct slice effective_mode,
             struct retry_hint hint,
             struct arena *arena,
             struct gate_request *ret_request)
{
    *ret_request = *request;
    ret_request->request_id =
        arena_printf(arena, "%.*s/2", SLICE_ARG(request->request_id));
    ret_request->requested_mode = hint.mode;
    ret_request->attempt = 2;
    ret_request->retry_of = request->request_id;
    ret_request->from_mode = effective_mode;
    ret_request->source_warning_code = hint.code;
    return ret_request->request_id.data != NULL;
}
