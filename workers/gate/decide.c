/* SPDX-License-Identifier: Apache-2.0 */
/* The decision table, row by row. */
#include "decide.h"

#include "alternates.h"
#include "health.h"
#include "ratio.h"
#include "request_check.h"

/* A decision in the making. */
struct decision {
    const struct gate_split *split;
    enum framework_kind kind;
    enum gate_mode mode; /* MODES: the name is unknown */
    struct gate_family families[MODES];
    struct slice present[MODES];
    size_t n_present;
    struct arena *arena;
    struct gate_answer *answer;
};

static enum err_kind
check_request(const struct gate_request *request, struct err *err)
{
    if (framework_kind_of_name(request->framework_kind) == KIND_UNKNOWN)
        return err_set(err, ERR_RECORD, "gate_request_malformed",
                       "framework_kind '%.*s' is neither serving nor scriptable",
                       SLICE_ARG(request->framework_kind));
    return request_check_attempt(request->attempt, request->retry_of, request->from_mode,
                                 request->source_warning_code, err);
}

static void
gather_families(struct decision *decision)
{
    for (size_t i = 0; i < decision->split->n_chunks; i++) {
        const struct gate_chunk *chunk = &decision->split->chunks[i];
        enum gate_mode mode = mode_of(chunk->kind);
        if (mode == MODES)
            continue;
        struct gate_family *family = &decision->families[mode];
        family->first = family->first ? family->first : chunk;
        family->n++;
    }
    for (int i = 0; i < MODES; i++)
        if (decision->families[i].n)
            decision->present[decision->n_present++] = slice_of(mode_names[i]);
}

/* A list that the answer keeps. */
static const struct slice *
keep(struct decision *decision, const struct slice *names, size_t n)
{
    struct slice *kept = arena_alloc(decision->arena, n * sizeof kept[0]);
    if (!kept)
        decision->answer->notes.failed = true;
    else if (n)
        memcpy(kept, names, n * sizeof kept[0]);
    return kept;
}

static void
add_present(struct decision *decision)
{
    note_names(&decision->answer->notes, "present_families",
               keep(decision, decision->present, decision->n_present),
               decision->n_present);
}

static void
refuse(struct decision *decision, const char *verdict_class)
{
    decision->answer->verdict_class = verdict_class;
}

static void
accept(struct decision *decision,
       const char *verdict_class,
       const struct gate_chunk *chunk)
{
    decision->answer->accepted = true;
    decision->answer->chunk = chunk;
    decision->answer->verdict_class = verdict_class;
}

/* Row 1. */
static void
refuse_mode(struct decision *decision)
{
    static const struct slice known[MODES] = {
        {"mixed", 5}, {"decode_only", 11}, {"prefilldecode", 13}, {"generic", 7}};
    struct note_list *notes = &decision->answer->notes;
    note_begin(
        notes, "steady_state_mode_invalid", SEVERITY_ERROR,
        SLICE("the requested mode is none of the known ones; ask for one of them"));
    note_text(notes, "requested_mode", decision->answer->mode);
    note_names(notes, "known_modes", known, MODES);
    refuse(decision, "bad_mode");
}

/* Row 2. */
static void
refuse_split(struct decision *decision)
{
    static const char *const counts[MODES] = {"mixed_count", "decode_only_count",
                                              "prefilldecode_count", "generic_count"};
    const struct gate_split *split = decision->split;
    struct note_list *notes = &decision->answer->notes;
    note_begin(notes, "trace_split_no_steady_state", SEVERITY_WARNING,
               SLICE("the splitter left no chunk to analyse; its refusal says why"));
    note_text(notes, "split_status",
              split->status == STATUS_UNKNOWN
                  ? (struct slice){0}
                  : slice_of(split_status_names[split->status]));
    note_boolean(notes, "split_failed", split->failed);
    if (split->refusal_code.len)
        note_text(notes, "refusal_code", split->refusal_code);
    for (int i = 0; i < MODES; i++)
        note_number(notes, counts[i], (double)decision->families[i].n);
    refuse(decision, "no_steady_state");
}

static struct slice
remedy(struct decision *decision, struct slice better, const char *why)
{
    struct slice text =
        better.data ? arena_printf(decision->arena,
                                   "set %s=%.*s, or ask for that mode: its chunk %s",
                                   GATE_MODE_VARIABLE, SLICE_ARG(better), why)
                    : arena_printf(
                          decision->arena,
                          "profile again, with GPU activity recorded over several steady "
                          "steps: %s",
                          why);
    if (!text.data)
        decision->answer->notes.failed = true;
    return text;
}

/* Row 3. */
static void
refuse_missing(struct decision *decision)
{
    struct note_list *notes = &decision->answer->notes;
    bool may_retry = decision->kind == KIND_SERVING;
    size_t n = may_retry ? decision->n_present : 0;
    note_begin(notes, "steady_state_chunk_missing", SEVERITY_BLOCKING,
               SLICE("the splitter found no window of the requested mode"));
    note_text(notes, "requested_mode", decision->answer->mode);
    note_text(notes, "requested_chunk_label", slice_of(mode_labels[decision->mode]));
    note_names(notes, "available_modes", keep(decision, decision->present, n), n);
    add_present(decision);
    note_text(notes, "remediation",
              remedy(decision, n ? decision->present[0] : (struct slice){0},
                     n ? "exists" : "the trace holds no window of this mode"));
    refuse(decision, "chunk_missing");
}

static void
note_unmeasured(struct decision *decision,
                const char *reason,
                struct amount events,
                const struct gate_chunk *chunk)
{
    struct note_list *notes = &decision->answer->notes;
    note_begin(notes, "quality_unmeasured", SEVERITY_WARNING,
               SLICE("nothing tells how busy the chunk is; it is taken as it stands"));
    note_text(notes, "reason", slice_of(reason));
    note_amount(notes, "num_gpu_events", events);
    note_text(notes, "selected_chunk", chunk->file);
    accept(decision, "unmeasured", chunk);
}

static void
note_duration(struct note_list *notes, const char *name, struct amount ns)
{
    note_amount(notes, name, AMOUNT_IF(amount_usable(ns), ns.value / 1000.0));
}

static void
add_alternates(struct decision *decision, const struct alternates *alternates)
{
    struct note_list *notes = &decision->answer->notes;
    size_t n = alternates->n_better;
    double *ratios = arena_alloc(decision->arena, n * sizeof ratios[0]);
    const struct slice *names = keep(decision, alternates->better, n);
    if (!ratios || !names) {
        notes->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        ratios[i] = amount_round(alternates->ratios[i], 6);
    note_names(notes, "non_empty_modes", names, n);
    note_ratios(notes, "alternate_busy_ratios", names, ratios, n);
}

/* Rows 5, 6 and 9. */
static void
refuse_quality(struct decision *decision,
               const char *verdict_class,
               const struct gate_chunk *chunk,
               const struct alternates *alternates)
{
    struct note_list *notes = &decision->answer->notes;
    const struct chunk_numbers *numbers = &chunk->numbers;
    bool empty = alternates->own_is_empty;
    decision->answer->better =
        alternates->n_better ? alternates->better[0] : (struct slice){0};
    note_begin(notes, "steady_state_chunk_low_quality", SEVERITY_BLOCKING,
               empty
                   ? SLICE("the chunk holds no GPU work; a report of it would read idle")
                   : SLICE("the chunk is hardly busy, and another one is"));
    note_text(notes, "class", slice_of(verdict_class));
    note_text(notes, "requested_mode", decision->answer->mode);
    note_text(notes, "selected_chunk", chunk->file);
    note_number(notes, "num_gpu_events", ratio_events(numbers));
    note_duration(notes, "gpu_busy_duration", numbers->gpu_busy_duration_ns);
    note_duration(notes, "gpu_duration", numbers->gpu_duration_ns);
    note_rounded(notes, "busy_ratio", decision->answer->busy_ratio, 6);
    note_number(notes, "threshold", decision->answer->threshold);
    add_alternates(decision, alternates);
    add_present(decision);
    note_text(notes, "remediation",
              remedy(decision,
                     alternates->n_better ? alternates->better[0] : (struct slice){0},
                     alternates->n_better ? "holds work"
                                          : "no chunk of this trace holds GPU work that "
                                            "could stand in"));
    refuse(decision, verdict_class);
}

/* Row 10. */
static void
accept_low_quality(struct decision *decision,
                   const struct gate_chunk *chunk,
                   const struct alternates *alternates)
{
    struct note_list *notes = &decision->answer->notes;
    note_begin(notes, "steady_state_chunk_low_quality_accepted", SEVERITY_WARNING,
               SLICE("the chunk is hardly busy, and no other one is clearly better"));
    note_rounded(notes, "busy_ratio", decision->answer->busy_ratio, 6);
    note_number(notes, "threshold", decision->answer->threshold);
    note_text(notes, "best_alternate",
              alternates->n_measured ? alternates->best : (struct slice){0});
    note_text(notes, "selected_chunk", chunk->file);
    accept(decision, "low_quality_accepted", chunk);
}

/* Rows 4 to 10: the representative of the mode's family. */
static void
judge(struct decision *decision, const struct gate_chunk *chunk)
{
    struct gate_answer *answer = decision->answer;
    struct alternates alternates;
    if (!chunk->has_numbers) {
        note_unmeasured(decision, "no_numbers", AMOUNT_UNKNOWN, chunk);
        return;
    }
    answer->busy_ratio = ratio_of(&chunk->numbers);
    alternates_find(decision->families, decision->mode, decision->kind, answer->threshold,
                    &alternates);
    if (alternates.own_is_empty)
        refuse_quality(decision, "structural_empty", chunk, &alternates);
    else if (!answer->busy_ratio.known)
        note_unmeasured(decision, "no_ratio", AMOUNT(ratio_events(&chunk->numbers)),
                        chunk);
    else if (answer->busy_ratio.value >= answer->threshold)
        accept(decision, "ok", chunk);
    else if (alternates.n_better)
        refuse_quality(decision, "low_quality", chunk, &alternates);
    else
        accept_low_quality(decision, chunk, &alternates);
}

static void
decide(struct decision *decision)
{
    const struct gate_split *split = decision->split;
    if (decision->mode == MODES)
        refuse_mode(decision);
    else if (split->failed || split->aborted || split->status == STATUS_NOT_SPLITTABLE ||
             decision->n_present == 0)
        refuse_split(decision);
    else if (decision->families[decision->mode].n == 0)
        refuse_missing(decision);
    else
        judge(decision, decision->families[decision->mode].first);
}

static void
choose_mode(struct decision *decision,
            struct slice requested,
            const struct gate_config *config)
{
    struct mode_choice choice =
        mode_choose(decision->kind, requested, config->default_mode);
    struct note_list *notes = &decision->answer->notes;
    decision->answer->mode = choice.mode;
    decision->mode = mode_of(choice.mode);
    if (!choice.overridden.data)
        return;
    note_begin(notes, "steady_state_mode_overridden", SEVERITY_INFO,
               SLICE("a scriptable framework is always judged by its generic chunk"));
    note_text(notes, "requested_mode", choice.overridden);
    note_text(notes, "effective_mode", choice.mode);
}

enum err_kind
gate_decide(const struct gate_request *request,
            const struct gate_split *split,
            const struct gate_config *config,
            struct arena *arena,
            struct gate_answer *ret_answer,
            struct err *err)
{
    if (check_request(request, err))
        return err->kind;
    struct decision decision = {
        .split = split,
        .kind = framework_kind_of_name(request->framework_kind),
        .arena = arena,
        .answer = ret_answer,
    };
    *ret_answer = (struct gate_answer){.threshold = config->min_busy_ratio};
    ret_answer->notes.arena = arena;
    choose_mode(&decision, request->requested_mode, config);
    gather_families(&decision);
    decide(&decision);
    const struct gate_chunk *accepted = ret_answer->chunk;
    ret_answer->has_measures = split->has_numbers;
    ret_answer->suppress_candidates =
        health_check(split->has_numbers ? &split->numbers : NULL,
                     accepted && accepted->has_numbers ? &accepted->numbers : NULL,
                     split->status, config, &ret_answer->notes, &ret_answer->measures);
    ret_answer->retry = retry_of_notes(!ret_answer->accepted, decision.kind,
                                       request->attempt, &ret_answer->notes);
    ret_answer->retry_exhausted = !ret_answer->accepted && request->attempt == 2;
    return ret_answer->notes.failed ? err_no_memory(err, "a verdict") : ERR_OK;
}
