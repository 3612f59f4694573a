/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a trace: the stages one after the other. */
#include "cleanup.h"
#include "extract.h"
#include "plan.h"
#include "split.h"

#include <stdlib.h>

/* A split on its way. */
struct split {
    const struct split_job *job;
    struct split_answer *answer;
    struct symbols symbols;
    struct ownership first; /* over all roots, when a transient was looked for */
    struct ownership own;   /* over the roots behind the trim */
    struct idmap root_threads;
    struct roots all_roots;
};

static void
split_done(struct split *split)
{
    symbols_done(&split->symbols);
    ownership_done(&split->first);
    ownership_done(&split->own);
    idmap_done(&split->root_threads);
}

static void
refuse(struct split *split, const char *code, const char *reason)
{
    refusal_set(&split->answer->refusal.reading, code, "%s", reason ? reason : "");
}

/* --- reading ----------------------------------------------------------------------- */

static void
check_params(struct split *split)
{
    struct split_answer *answer = split->answer;
    struct split_complaint complaint =
        split_params_check(&split->job->params, &answer->plan);
    if (!complaint.parameter)
        return;
    refuse(split, "bad_parameter", complaint.reason);
    answer->refusal.parameter = complaint.parameter;
}

/* Every chunk has all metadata: the second pass must come by. */
static enum err_kind
add_event(void *state, const struct scan_event *event, struct err *err)
{
    struct split_answer *answer = state;
    const struct event_counts *counts = events_counts(answer->events);
    uint64_t metadata = counts->metadata;
    enum err_kind kind = events_add(answer->events, event, err);
    if (counts->metadata != metadata)
        answer->marks.items[answer->marks.n - 1].is_wanted = true;
    return kind;
}

static enum err_kind
start_anew(void *state, struct err *err)
{
    struct split_answer *answer = state;
    return events_reset(answer->events, err);
}

static enum err_kind
read_trace(struct split *split, struct err *err)
{
    struct split_answer *answer = split->answer;
    struct events *events = answer->events;
    const struct scan_listener listener = {
        .state = answer,
        .marks = &answer->marks,
        .event = add_event,
        .restart = start_anew,
    };
    enum err_kind kind = scan_run(&split->job->feed, &listener, &split->job->limits,
                                  answer->plan.salvage, &answer->reading, err);
    const char *limit = events_limit(events);
    if (kind == ERR_RECORD && limit) {
        refusal_set(&answer->refusal.reading, "trace_too_large", "more than %s", limit);
        answer->refusal.reading.limit = limit;
        answer->refusal.reading.option = limit;
        return ERR_OK;
    }
    if (kind)
        return kind;
    answer->refusal.reading = answer->reading.refusal;
    if (!split_is_refused(answer) && events_counts(events)->event_objects == 0)
        refuse(split, "not_a_trace", "no event object");
    return events_close(events, err);
}

static void
measure_time(struct split *split)
{
    const struct events *events = split->answer->events;
    struct time_sums sums = {.symbols = &split->symbols};
    uint64_t n = events_gpu_count(events);
    for (uint64_t i = 0; i < n; i++)
        time_sums_add(&sums, events_gpu(events, i));
    split->answer->time = time_sums_take(&sums);
}

static enum err_kind
measure(struct split *split, struct err *err)
{
    struct split_answer *answer = split->answer;
    answer->n_gpu_events = events_gpu_count(answer->events);
    answer->gpu_busy_ns = events_gpu_busy_ns(answer->events);
    answer->stage = SPLIT_READ;
    if (events_cpu_count(answer->events) > CALLS_MAX_EVENTS ||
        answer->n_gpu_events > CALLS_MAX_EVENTS) {
        refuse(split, "trace_too_large", "more than 4294967294 CPU or GPU events");
        answer->refusal.reading.limit = "max_bytes";
        answer->refusal.reading.option = "max_bytes";
        return ERR_OK;
    }
    if (answer->gpu_busy_ns <= 0) {
        refuse(split, "no_gpu_work", NULL);
        answer->refusal.gpu_events = refusal_number(answer->n_gpu_events);
        return ERR_OK;
    }
    measure_time(split);
    if (overlap_find(answer->events, &answer->overlap, err))
        return err->kind;
    answer->stage = SPLIT_MEASURED;
    return ERR_OK;
}

/* --- steps ------------------------------------------------------------------------- */

/* Drops the first root, and what it owns from the audit. */
static enum err_kind
trim(struct split *split, struct err *err)
{
    struct candidate *result = &split->answer->detection.result;
    struct coverage *coverage = &result->coverage;
    result->roots.first++;
    result->roots.n--;
    if (coverage_audit(split->answer->events, result->roots, &split->first, coverage,
                       err))
        return err->kind;
    result->status = grade_of(coverage->selected_ns, coverage->busy_ns);
    result->reason = result->status ? REASON_COVERAGE : NULL;
    result->iteration_ns = 0;
    result->total_ns = 0;
    split->answer->steps.first = 1;
    return ERR_OK;
}

static enum err_kind
look_for_transient(struct split *split, struct err *err)
{
    struct split_answer *answer = split->answer;
    const struct candidate *result = &answer->detection.result;
    if (result->roots.n < 2)
        return ERR_OK;
    struct root first = roots_at(result->roots, 0);
    if (result->status == GRADE_NOT_SPLITTABLE || root_is_bookend(&first) ||
        !transient_can_stall(answer->events, &split->symbols))
        return ERR_OK;
    if (ownership_make(&split->first, answer->events, result->roots, err) ||
        transient_find(&split->first, &split->symbols, &answer->transient, err))
        return err->kind;
    return answer->transient.is_trimmed ? trim(split, err) : ERR_OK;
}

static enum err_kind
note_threads(struct split *split, struct err *err)
{
    for (size_t i = 0; i < split->all_roots.n; i++)
        if (!idmap_add(&split->root_threads, roots_at(split->all_roots, i).thread + 1,
                       err))
            return err->kind;
    return ERR_OK;
}

/* Launch figures of the whole trace. */
static enum err_kind
measure_launches(struct split *split, struct err *err)
{
    CLEANUP(calls_done) struct calls calls;
    const struct events *events = split->answer->events;
    calls_init(&calls, events);
    struct cpu_view view = cpu_view_all(events);
    uint64_t n = events_gpu_count(events);
    for (uint64_t i = 0; i < n; i++)
        if (calls_want(&calls, events_gpu(events, i).correlation, err))
            return err->kind;
    calls_find(&calls, &view);
    CLEANUP(launch_sums_done)
    struct launch_sums sums;
    launch_sums_init(&sums, &calls, split->all_roots.n ? &split->root_threads : NULL);
    if (launch_sums_add_cpu(&sums, &view, &split->symbols, err))
        return err->kind;
    for (uint64_t i = 0; i < n; i++)
        launch_sums_add_gpu(&sums, events, events_gpu(events, i));
    split->answer->launch = sums.figures;
    return events_check(events, err);
}

/* Refuses what is not good enough. */
static void
judge(struct split *split)
{
    struct split_answer *answer = split->answer;
    const struct candidate *result = &answer->detection.result;
    const char *reason = result->reason ? result->reason : REASON_COVERAGE;
    if (split->all_roots.n == 0) {
        refuse(split, "no_roots", NULL);
        answer->refusal.method = result->method;
    } else if (result->status == GRADE_NOT_SPLITTABLE ||
               (result->status == GRADE_DEGRADED && !answer->plan.allow_degraded)) {
        bool degraded = result->status == GRADE_DEGRADED;
        refuse(split, degraded ? "degraded" : "not_splittable", reason);
        answer->refusal.reading.option = degraded ? "allow_degraded" : NULL;
        answer->refusal.has_coverage = true;
        answer->refusal.coverage = candidate_graded(result);
    }
}

static enum err_kind
find_steps(struct split *split, struct err *err)
{
    struct split_answer *answer = split->answer;
    if (detect_roots(answer->events, &split->symbols, &answer->arena, &answer->detection,
                     err))
        return err->kind;
    split->all_roots = answer->detection.result.roots;
    answer->n_roots = split->all_roots.n;
    if (look_for_transient(split, err) || note_threads(split, err) ||
        measure_launches(split, err))
        return err->kind;
    answer->stage = SPLIT_DETECTED;
    judge(split);
    return ERR_OK;
}

static enum err_kind
own(struct split *split, struct err *err)
{
    CLEANUP(idmap_done) struct idmap threads = {0};
    struct split_answer *answer = split->answer;
    struct roots roots = answer->detection.result.roots;
    if (ownership_make(&split->own, answer->events, roots, err))
        return err->kind;
    for (size_t i = 0; i < roots.n; i++)
        if (!idmap_add(&threads, roots_at(roots, i).thread + 1, err))
            return err->kind;
    answer->root_threads = threads.n;
    answer->n_overlapping_roots = split->own.tiles.n_overlapping;
    answer->n_gpu_events_extracted = split->own.n_owned;
    answer->gpu_events_repeated = split->own.gpu_repeated;
    answer->flows_repeated = split->own.flows_repeated;
    answer->stage = SPLIT_OWNED;
    return ERR_OK;
}

/* The steps with what their names say, their tiles and their work. */
static enum err_kind
make_steps(struct split *split, struct err *err)
{
    struct split_answer *answer = split->answer;
    struct steps *steps = &answer->steps;
    steps->n = split->all_roots.n;
    for (size_t i = 0; i < steps->n; i++) {
        struct root root = roots_at(split->all_roots, i);
        struct step step = step_of(&root);
        step.is_trimmed = i < steps->first;
        const struct ownership *own = step.is_trimmed ? &split->first : &split->own;
        size_t place = step.is_trimmed ? i : i - steps->first;
        step.tile = tiles_at(&own->tiles, place);
        step.work = ownership_work(own, place);
        answer->steps_without_gpu_events +=
            !step.is_trimmed && !step.is_bookend && step.work.n_gpu == 0;
        if (column_add(&steps->list, &step, err))
            return err->kind;
    }
    return events_check(answer->events, err);
}

/* --- chunks ------------------------------------------------------------------------ */

static enum err_kind
make_chunks(struct split *split, const struct plan *plan, struct err *err)
{
    struct split_answer *answer = split->answer;
    const struct chunk_input input = {
        .events = answer->events,
        .symbols = &split->symbols,
        .texts = &answer->texts,
        .own = &split->own,
        .steps = &answer->steps,
        .root_threads = &split->root_threads,
        .base = split->job->base,
    };
    for (size_t i = 0; i < answer->windows.n_picks; i++) {
        struct window window = plan->picks[i];
        if (!answer->windows.picks[i].is_picked)
            continue;
        struct chunk *chunk = &answer->chunks[answer->n_chunks++];
        if (chunk_make(&input, answer->windows.picks[i].kind,
                       plan->working + window.first, window.last - window.first,
                       &answer->arena, chunk, err))
            return err->kind;
    }
    return ERR_OK;
}

/* Refuses a split that has nothing to show. */
static void
judge_chunks(struct split *split)
{
    struct split_answer *answer = split->answer;
    struct answer_refusal *refusal = &answer->refusal;
    size_t with_work = 0;
    for (size_t i = 0; i < answer->n_chunks; i++)
        with_work += answer->chunks[i].num_gpu_events > 0;
    if (answer->n_chunks == 0) {
        refuse(split, "chunk_kind_absent",
               answer->phases_unknown ? "phases_unknown" : "no_such_run");
        refusal->wanted = split_mode_name(answer->windows.picks[0].kind);
    } else if (with_work == 0) {
        refuse(split, "chunks_without_gpu_work", NULL);
        for (size_t i = 0; i < answer->n_chunks; i++)
            refusal->kinds[refusal->n_kinds++] = split_mode_name(answer->chunks[i].kind);
    }
}

static enum err_kind
cut(struct split *split, struct err *err)
{
    struct split_answer *answer = split->answer;
    struct plan plan = {0};
    if (own(split, err) || plan_working(answer, &split->own, &plan, err))
        return err->kind;
    if (split_is_refused(answer))
        return ERR_OK;
    if (make_steps(split, err) || plan_windows(answer, &split->own, &plan, err))
        return err->kind;
    answer->stage = SPLIT_PLANNED;
    if (make_chunks(split, &plan, err))
        return err->kind;
    judge_chunks(split);
    return ERR_OK;
}

/* --- the whole --------------------------------------------------------------------- */

static enum err_kind
run(struct split *split, struct err *err)
{
    struct split_answer *answer = split->answer;
    check_params(split);
    if (split_is_refused(answer))
        return ERR_OK;
    if (read_trace(split, err))
        return err->kind;
    if (split_is_refused(answer))
        return ERR_OK;
    if (symbols_init(&split->symbols, answer->events, err) ||
        launch_texts_init(&answer->texts, answer->events, err) || measure(split, err))
        return err->kind;
    if (split_is_refused(answer))
        return ERR_OK;
    if (find_steps(split, err))
        return err->kind;
    if (!split_is_refused(answer) && cut(split, err))
        return err->kind;
    bool wants_pass = split->job->sink || split->job->lists_metadata;
    if (!split_is_refused(answer) && wants_pass)
        return extract_chunks(split->job, answer, err);
    return ERR_OK;
}

enum err_kind
split_derive(const struct split_job *job,
             struct split_answer *ret_answer,
             struct err *err)
{
    CLEANUP(split_done) struct split split = {.job = job, .answer = ret_answer};
    *ret_answer = (struct split_answer){0};
    arena_init(&ret_answer->arena, SIZE_MAX);
    ret_answer->events = events_new(&job->limits, job->spill);
    if (!ret_answer->events)
        return err_no_memory(err, "the index of a trace");
    column_init(&ret_answer->steps.list, events_side_pool(ret_answer->events),
                sizeof(struct step), ORDER_NONE);
    return run(&split, err);
}

void
split_answer_refuse(struct split_answer *ret_answer,
                    const struct split_params *params,
                    const char *code,
                    const char *reason)
{
    *ret_answer = (struct split_answer){0};
    arena_init(&ret_answer->arena, SIZE_MAX);
    const struct split_job job = {.params = *params};
    struct split split = {.job = &job, .answer = ret_answer};
    check_params(&split);
    if (!split_is_refused(ret_answer))
        refuse(&split, code, reason);
}

void
split_answer_done(struct split_answer *answer)
{
    for (size_t i = 0; i < answer->n_chunks; i++)
        chunk_done(&answer->chunks[i]);
    index_set_done(&answer->metadata);
    column_done(&answer->steps.list);
    detection_done(&answer->detection);
    scan_marks_done(&answer->marks);
    launch_texts_done(&answer->texts);
    if (answer->events)
        events_free(answer->events);
    arena_done(&answer->arena);
}
