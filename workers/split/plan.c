/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps count, and which windows of them are cut. */
#include "plan.h"

#include "batch.h"
#include "cleanup.h"

/* Facts of the working steps, by position. */
struct facts {
    struct arena *arena;
    int64_t *requests;
    bool *is_prefill;
    int64_t *durs_ns;
    struct batch_size *sizes;
};

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "the windows of a trace");
}

/* Index of a step by its position among the working ones. */
static uint64_t
step_of_position(const struct split_answer *answer, const struct plan *plan, size_t i)
{
    return answer->steps.first + plan->working[i];
}

static struct step
step_at(const struct split_answer *answer, const struct plan *plan, size_t position)
{
    return steps_at(&answer->steps, step_of_position(answer, plan, position));
}

/* --- working roots ----------------------------------------------------------------- */

enum err_kind
plan_working(struct split_answer *answer,
             const struct ownership *own,
             struct plan *ret_plan,
             struct err *err)
{
    const struct split_plan *given = &answer->plan;
    struct roots roots = own->roots;
    struct refusal *refusal = &answer->refusal.reading;
    if (given->has_range && given->first >= answer->n_roots) {
        refusal_set(refusal, "bad_parameter", "starts behind the last step");
        answer->refusal.parameter = "iterations";
        answer->refusal.n_steps = refusal_number(answer->n_roots);
        return ERR_OK;
    }
    ret_plan->working = arena_calloc(&answer->arena, roots.n, sizeof(size_t));
    if (!ret_plan->working)
        return no_memory(err);
    for (size_t i = 0; i < roots.n; i++) {
        uint64_t step = answer->steps.first + i;
        bool is_asked = !given->has_range || (step >= given->first && step < given->last);
        struct root root = roots_at(roots, i);
        if (is_asked && !root_is_bookend(&root))
            ret_plan->working[ret_plan->n++] = i;
    }
    if (ret_plan->n == 0)
        refusal_set(refusal, "no_steady_state", "no working step");
    return ERR_OK;
}

/* --- shapes ------------------------------------------------------------------------ */

/* The batch size that the ops of a step agree on most. */
static enum err_kind
find_size(struct split_answer *answer,
          struct ownership *own,
          size_t place,
          struct batch_count *count,
          struct batch_size *ret_size,
          struct err *err)
{
    struct event event;
    struct step_walk walk = step_walk_begin(own, place);
    int64_t end_ns = walk.tile.end_ns;
    while (step_walk_next(&walk, &event)) {
        if (event_category(event) != CATEGORY_CPU_OP || event.ts_ns >= end_ns ||
            !event.detail || batch_is_memory_op(events_text(own->events, event.name)))
            continue;
        struct event_shape shape = events_shape(own->events, event.detail);
        uint32_t dims = 0;
        if (!shape.has_dims_key)
            continue;
        if (launch_texts_compact(&answer->texts, shape.dims, &dims, err) ||
            batch_count_dims(count, texts_text(answer->texts.compact, dims), err))
            return err->kind;
    }
    *ret_size = batch_count_take(count);
    return ERR_OK;
}

/* Sizes of all working steps; *ret_any: at least one has one. */
static enum err_kind
find_sizes(struct split_answer *answer,
           struct ownership *own,
           const struct plan *plan,
           struct facts *facts,
           bool *ret_any,
           struct err *err)
{
    struct batch_count count = {.arena = facts->arena};
    *ret_any = false;
    facts->sizes = arena_calloc(facts->arena, plan->n, sizeof *facts->sizes);
    if (!facts->sizes)
        return no_memory(err);
    for (size_t i = 0; i < plan->n; i++) {
        if (find_size(answer, own, plan->working[i], &count, &facts->sizes[i], err))
            return err->kind;
        *ret_any = *ret_any || facts->sizes[i].is_known;
    }
    return ERR_OK;
}

static enum err_kind
label_by_shape(struct split_answer *answer,
               const struct plan *plan,
               struct facts *facts,
               struct err *err)
{
    struct batch_size given = {answer->plan.has_max_num_seq, answer->plan.max_num_seq};
    if (batch_label(facts->sizes, plan->n, given, facts->arena, facts->is_prefill,
                    &answer->batch_threshold, err))
        return err->kind;
    for (size_t i = 0; i < plan->n; i++) {
        struct step step = step_at(answer, plan, i);
        step.numbers.batch_size = facts->sizes[i].is_known ? facts->sizes[i].size : 1;
        step.phase = facts->is_prefill[i] ? PHASE_PREFILLDECODE : PHASE_DECODE;
        step.phase_source = PHASE_BY_SHAPE;
        column_write(&answer->steps.list, step_of_position(answer, plan, i), &step);
    }
    return ERR_OK;
}

/* --- windows ----------------------------------------------------------------------- */

static struct window
steps_of(const struct split_answer *answer, const struct plan *plan, struct window window)
{
    size_t first = answer->steps.first;
    return (struct window){first + plan->working[window.first],
                           first + plan->working[window.last - 1] + 1};
}

static void
add_pick(struct split_answer *answer,
         struct plan *plan,
         enum split_mode kind,
         bool is_picked,
         struct window window)
{
    struct answer_windows *windows = &answer->windows;
    struct answer_pick *pick = &windows->picks[windows->n_picks];
    plan->picks[windows->n_picks++] = window;
    *pick = (struct answer_pick){.kind = kind, .is_picked = is_picked};
    if (is_picked)
        pick->steps = steps_of(answer, plan, window);
}

static bool
is_wanted(const struct split_answer *answer, enum split_mode kind)
{
    return answer->plan.mode == SPLIT_AUTO || answer->plan.mode == kind;
}

static const enum split_mode steady_modes[STEADY_KINDS] = {SPLIT_MIXED, SPLIT_DECODE_ONLY,
                                                           SPLIT_PREFILLDECODE};

static void
take_steady(struct split_answer *answer, struct plan *plan, const struct steady *steady)
{
    struct answer_windows *windows = &answer->windows;
    windows->regions = steady->regions;
    for (size_t i = 0; i < steady->regions.n; i++)
        windows->regions.items[i] = steps_of(answer, plan, steady->regions.items[i]);
    windows->has_reference_ratio = true;
    windows->reference_ratio = steady->reference_ratio;
    for (int kind = 0; kind < STEADY_KINDS; kind++)
        if (is_wanted(answer, steady_modes[kind]))
            add_pick(answer, plan, steady_modes[kind], steady->is_picked[kind],
                     steady->picks[kind]);
}

static struct window
take_duration(struct split_answer *answer, const struct plan *plan, struct facts *facts)
{
    struct answer_windows *windows = &answer->windows;
    struct steady_duration steady =
        steady_by_duration(facts->durs_ns, plan->n, answer->plan.num_steps);
    windows->source = WINDOWS_DURATION;
    windows->has_duration = true;
    windows->cv = steady.cv;
    windows->windows_passing = steady.windows_passing;
    return steady.window;
}

static enum err_kind
plan_annotated(struct split_answer *answer,
               struct plan *plan,
               struct facts *facts,
               struct err *err)
{
    const struct split_plan *given = &answer->plan;
    struct answer_windows *windows = &answer->windows;
    struct steady_analytic analytic = {0};
    struct steady steady;
    windows->source = WINDOWS_ANNOTATIONS;
    if (given->has_analytic) {
        analytic = steady_analytic_of(given->conc, given->osl, given->r);
        windows->has_analytic = true;
        windows->analytic_ratio = analytic.ratio;
        windows->analytic_steps = analytic.steps;
    }
    if (steady_annotated(facts->requests, facts->is_prefill, plan->n, given->num_steps,
                         given->has_analytic ? &analytic : NULL, facts->arena, &steady,
                         err))
        return err->kind;
    take_steady(answer, plan, &steady);
    return ERR_OK;
}

static enum err_kind
plan_shapes(struct split_answer *answer,
            struct plan *plan,
            struct facts *facts,
            struct err *err)
{
    struct steady steady;
    answer->windows.source = WINDOWS_SHAPES;
    if (label_by_shape(answer, plan, facts, err) ||
        steady_shapes(facts->sizes, facts->is_prefill, plan->n, answer->plan.num_steps,
                      facts->arena, &steady, err))
        return err->kind;
    take_steady(answer, plan, &steady);
    return ERR_OK;
}

/* Phases were asked for and nothing tells them: one window by duration. */
static void
plan_unknown(struct split_answer *answer, struct plan *plan, struct facts *facts)
{
    struct window window = take_duration(answer, plan, facts);
    answer->phases_unknown = true;
    for (int kind = 0; kind < STEADY_KINDS; kind++)
        if (is_wanted(answer, steady_modes[kind]))
            add_pick(answer, plan, steady_modes[kind], kind == STEADY_MIXED, window);
}

static enum err_kind
plan_phases(struct split_answer *answer,
            struct ownership *own,
            struct plan *plan,
            struct facts *facts,
            struct err *err)
{
    bool any_size;
    if (answer->is_annotated)
        return plan_annotated(answer, plan, facts, err);
    if (find_sizes(answer, own, plan, facts, &any_size, err))
        return err->kind;
    if (any_size)
        return plan_shapes(answer, plan, facts, err);
    plan_unknown(answer, plan, facts);
    return ERR_OK;
}

static enum err_kind
take_facts(struct split_answer *answer,
           const struct plan *plan,
           struct facts *facts,
           struct err *err)
{
    facts->requests = arena_calloc(facts->arena, plan->n, sizeof *facts->requests);
    facts->is_prefill = arena_calloc(facts->arena, plan->n, sizeof *facts->is_prefill);
    facts->durs_ns = arena_calloc(facts->arena, plan->n, sizeof *facts->durs_ns);
    if (!facts->requests || !facts->is_prefill || !facts->durs_ns)
        return no_memory(err);
    for (size_t i = 0; i < plan->n; i++) {
        struct step step = step_at(answer, plan, i);
        facts->requests[i] = step.numbers.num_requests;
        facts->is_prefill[i] = step.numbers.context_requests > 0;
        facts->durs_ns[i] = step.root.dur_ns;
    }
    return ERR_OK;
}

static void
find_peak(struct split_answer *answer, const struct plan *plan, const struct facts *facts)
{
    const struct split_plan *given = &answer->plan;
    struct answer_windows *windows = &answer->windows;
    struct step_numbers ignored;
    enum step_kind kind = step_name_read(step_at(answer, plan, 0).root.name, &ignored);
    answer->is_annotated = step_kind_is_serving(kind);
    if (!answer->is_annotated)
        return;
    windows->has_peak = true;
    windows->peak = facts->requests[0];
    for (size_t i = 1; i < plan->n; i++)
        if (facts->requests[i] > windows->peak)
            windows->peak = facts->requests[i];
    answer->has_conc_mismatch = given->has_conc && given->conc != windows->peak;
}

enum err_kind
plan_windows(struct split_answer *answer,
             struct ownership *own,
             struct plan *plan,
             struct err *err)
{
    struct facts facts = {.arena = &answer->arena};
    enum split_mode mode = answer->plan.mode;
    bool asks_phases =
        mode == SPLIT_MIXED || mode == SPLIT_DECODE_ONLY || mode == SPLIT_PREFILLDECODE;
    if (take_facts(answer, plan, &facts, err))
        return err->kind;
    find_peak(answer, plan, &facts);
    bool is_llm = answer->plan.llm_inference || asks_phases;
    if (mode == SPLIT_RANGE) {
        answer->windows.source = WINDOWS_RANGE;
        add_pick(answer, plan, SPLIT_RANGE, true, (struct window){0, plan->n});
        return ERR_OK;
    }
    if (mode == SPLIT_GENERIC || (!answer->is_annotated && !is_llm)) {
        struct window window = take_duration(answer, plan, &facts);
        add_pick(answer, plan, SPLIT_GENERIC, true, window);
        return ERR_OK;
    }
    return plan_phases(answer, own, plan, &facts, err);
}
