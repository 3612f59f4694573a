/* SPDX-License-Identifier: Apache-2.0 */
/* Framework choice, mode and hints. */
#include "split_request.h"

#include <ctype.h>

enum { MIN_STEPS = 8, DEFAULT_STEPS = 32 };

static struct slice
first_text(struct slice a, struct slice b)
{
    a = amount_trim(a);
    return a.len ? a : amount_trim(b);
}

static struct slice
variable_of(gate_variable_fn *variable, const void *state, const char *a, const char *b)
{
    return first_text(variable(state, a), variable(state, b));
}

void
split_hints_of_variables(gate_variable_fn *variable,
                         const void *state,
                         struct split_hints *ret_hints)
{
    *ret_hints = (struct split_hints){
        .conc = variable_of(variable, state, "TRACELENS_SPLIT_CONC", "CONC"),
        .osl = variable_of(variable, state, "TRACELENS_SPLIT_OSL", "OSL"),
        .r = variable_of(variable, state, "TRACELENS_SPLIT_R", "RANDOM_RANGE_RATIO"),
    };
}

static struct slice
lower(struct slice text, struct arena *arena)
{
    text = amount_trim(text);
    char *copy = arena_alloc(arena, text.len + 1);
    if (!copy)
        return (struct slice){0};
    for (size_t i = 0; i < text.len; i++)
        copy[i] = (char)tolower((unsigned char)text.data[i]);
    copy[text.len] = '\0';
    return (struct slice){copy, text.len};
}

/* A campaign of scripts beats what a request says it is, unless that is one, too. */
static struct slice
choose_framework(struct slice asked, struct slice campaign, struct note_list *notes)
{
    bool beats = framework_kind_of(campaign) == KIND_SCRIPTABLE &&
                 framework_kind_of(asked) != KIND_SCRIPTABLE;
    if (!beats)
        return asked.len ? asked : campaign;
    if (asked.len) {
        note_begin(
            notes, "stale_framework_overridden", SEVERITY_WARNING,
            SLICE("the campaign's framework is taken, not the one of the request"));
        note_text(notes, "requested_framework", asked);
        note_text(notes, "effective_framework", campaign);
    }
    return campaign;
}

static void
choose_mode(struct split_request_answer *answer,
            struct slice asked,
            struct slice default_mode)
{
    static const struct slice known[MODES] = {
        {"mixed", 5}, {"decode_only", 11}, {"prefilldecode", 13}, {"generic", 7}};
    struct mode_choice choice = mode_choose(answer->kind, asked, default_mode);
    answer->mode = choice.mode;
    answer->mode_is_known = mode_of(choice.mode) != MODES;
    if (choice.overridden.data) {
        note_begin(&answer->notes, "steady_state_mode_overridden", SEVERITY_INFO,
                   SLICE("a scriptable framework is always judged by its generic chunk"));
        note_text(&answer->notes, "requested_mode", choice.overridden);
        note_text(&answer->notes, "effective_mode", choice.mode);
    }
    if (!answer->mode_is_known) {
        note_begin(&answer->notes, "steady_state_mode_invalid", SEVERITY_ERROR,
                   SLICE("the requested mode is none of the known ones"));
        note_text(&answer->notes, "requested_mode", choice.mode);
        note_names(&answer->notes, "known_modes", known, MODES);
    }
}

static struct slice
first_hint(struct slice request, struct slice baseline, struct slice environment)
{
    struct slice hint = first_text(first_text(request, baseline), environment);
    return hint.len ? hint : (struct slice){0};
}

static void
choose_hints(const struct split_ask *ask,
             const struct split_hints *environment,
             struct split_hints *hints)
{
    hints->conc = first_hint(ask->request.conc, ask->baseline.conc, environment->conc);
    hints->osl = first_hint(ask->request.osl, ask->baseline.osl, environment->osl);
    hints->r = first_hint(ask->request.r, ask->baseline.r, environment->r);
    if (!amount_of_text(hints->r).known)
        hints->r = (struct slice){0};
}

enum err_kind
split_request(const struct split_ask *ask,
              struct slice default_mode,
              const struct split_hints *environment,
              struct arena *arena,
              struct split_request_answer *ret_answer,
              struct err *err)
{
    int64_t steps = ask->has_num_steps && ask->num_steps ? ask->num_steps : DEFAULT_STEPS;
    struct slice framework = lower(ask->framework, arena);
    struct slice campaign = lower(ask->campaign_framework, arena);
    if (!framework.data || !campaign.data)
        return err_no_memory(err, "the framework of a request");
    *ret_answer = (struct split_request_answer){.notes.arena = arena};
    ret_answer->framework = choose_framework(framework, campaign, &ret_answer->notes);
    ret_answer->kind = framework_kind_of(ret_answer->framework);
    ret_answer->llm_inference = ret_answer->kind == KIND_SERVING;
    ret_answer->num_steps = steps < MIN_STEPS ? MIN_STEPS : steps;
    choose_mode(ret_answer, ask->steady_state_mode, default_mode);
    if (ret_answer->kind == KIND_SERVING)
        choose_hints(ask, environment, &ret_answer->hints);
    return ret_answer->notes.failed ? err_no_memory(err, "the notes of a request")
                                    : ERR_OK;
}
