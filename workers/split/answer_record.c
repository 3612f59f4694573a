/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a split as the record of splitting.md 11.5. */
#include "answer_record.h"

#include <stdlib.h>

/* A record on its way. Without memory the first list that finds none marks it. */
struct making {
    const struct split_answer *answer;
    struct arena *arena;
    bool failed;
};

/* The next three set a nullable field of a struct. */
#define GIVE(to, field, given)                                                           \
    do {                                                                                 \
        (to)->has_##field = true;                                                        \
        (to)->field = (given);                                                           \
    } while (0)
#define GIVE_COUNT(to, field, n) GIVE(to, field, (int64_t)(n))
#define GIVE_SOME(to, field, n)                                                          \
    do {                                                                                 \
        if (n)                                                                           \
            GIVE_COUNT(to, field, n);                                                    \
    } while (0)

static struct slice
text_or_null(const char *text)
{
    return text ? slice_of(text) : (struct slice){0};
}

/* `n` items, cleared; an empty list without memory for them. */
static struct list
new_list(struct making *making, size_t n, size_t size)
{
    void *items = arena_calloc(making->arena, n, size);
    if (!items) {
        making->failed = true;
        return (struct list){0};
    }
    return (struct list){items, n};
}

static struct list
pair_of(struct making *making, int64_t first, int64_t last)
{
    struct list list = new_list(making, 2, sizeof(int64_t));
    int64_t *items = list.items;
    if (list.n) {
        items[0] = first;
        items[1] = last;
    }
    return list;
}

static int32_t
kind_of(enum split_mode mode)
{
    static const int32_t kinds[SPLIT_MODES] = {
        [SPLIT_MIXED] = CHUNK_KIND_MIXED,
        [SPLIT_DECODE_ONLY] = CHUNK_KIND_DECODE_ONLY,
        [SPLIT_PREFILLDECODE] = CHUNK_KIND_PREFILLDECODE,
        [SPLIT_GENERIC] = CHUNK_KIND_GENERIC,
        [SPLIT_RANGE] = CHUNK_KIND_RANGE,
    };
    return kinds[mode];
}

static int32_t
kind_of_name(const char *name)
{
    enum split_mode mode = SPLIT_MIXED;
    while (mode < SPLIT_RANGE && strcmp(split_mode_name(mode), name) != 0)
        mode++;
    return kind_of(mode);
}

/* --- refusal ------------------------------------------------------------------------ */

static void
take_number(struct refusal_number number, bool *ret_has, int64_t *ret_value)
{
    *ret_has = number.is_set;
    *ret_value = (int64_t)number.value;
}

static struct list
refusal_kinds(struct making *making, const struct answer_refusal *refusal)
{
    struct list list = new_list(making, refusal->n_kinds, sizeof(int32_t));
    int32_t *kinds = list.items;
    for (size_t i = 0; i < list.n; i++)
        kinds[i] = kind_of_name(refusal->kinds[i]);
    return list;
}

static void
take_refusal(struct making *making, struct split_refusal *to)
{
    const struct answer_refusal *refusal = &making->answer->refusal;
    const struct refusal *reading = &refusal->reading;
    *to = (struct split_refusal){
        .code = slice_of(reading->code),
        .option = text_or_null(reading->option),
        .parameter = text_or_null(refusal->parameter),
        .reason = text_or_null(reading->reason[0] ? reading->reason : NULL),
        .limit = text_or_null(reading->limit),
        .method = text_or_null(refusal->method),
    };
    take_number(refusal->n_steps, &to->has_n_steps, &to->n_steps);
    take_number(reading->bytes, &to->has_bytes, &to->bytes);
    take_number(reading->offset, &to->has_offset, &to->offset);
    take_number(reading->events, &to->has_events, &to->events);
    take_number(reading->damaged_events, &to->has_damaged_events, &to->damaged_events);
    take_number(refusal->gpu_events, &to->has_gpu_events, &to->gpu_events);
    if (refusal->has_coverage)
        GIVE(to, coverage, refusal->coverage);
    if (refusal->wanted)
        GIVE(to, wanted, kind_of_name(refusal->wanted));
    if (refusal->n_kinds)
        GIVE(to, kinds, refusal_kinds(making, refusal));
}

/* --- manifest: what reading found --------------------------------------------------- */

enum { MAX_FINDINGS = 64 };

struct findings {
    struct split_finding items[MAX_FINDINGS];
    size_t n;
};

static struct finding_value *
new_finding(struct findings *findings, const char *key)
{
    struct split_finding *finding = &findings->items[findings->n++];
    *finding = (struct split_finding){.key = slice_of(key)};
    return &finding->value;
}

static void
find_flag(struct findings *findings, const char *key, bool is_set)
{
    if (is_set)
        *new_finding(findings, key) =
            (struct finding_value){.kind = FINDING_BOOLEAN, .boolean = true};
}

static void
find_count(struct findings *findings, const char *key, uint64_t n)
{
    if (n)
        *new_finding(findings, key) =
            (struct finding_value){.kind = FINDING_LONG, .number = (int64_t)n};
}

static void
find_text(struct findings *findings, const char *key, const char *text)
{
    *new_finding(findings, key) =
        (struct finding_value){.kind = FINDING_STRING, .text = slice_of(text)};
}

static void
find_container(struct findings *findings, const struct feed_facts *container)
{
    if (container->container)
        find_text(findings, "container", container->container);
    find_count(findings, "gzip_members", container->gzip_members);
    find_count(findings, "container_trailing_bytes", container->container_trailing_bytes);
    find_count(findings, "bytes", container->bytes);
    find_flag(findings, "high_ratio", container->high_ratio);
}

static void
find_repairs(struct findings *findings, const struct scan_facts *facts)
{
    static const char *const names[SCAN_REPAIRS] = {
        "control_character", "bad_escape",   "non_finite_number",
        "trailing_comma",    "invalid_utf8", "duplicate_key",
    };
    static const char *const header_names[SCAN_REPAIRS] = {
        "header_control_character",
        "header_bad_escape",
        "header_non_finite_number",
        "header_trailing_comma",
        NULL, /* repaired without a count */
        "header_duplicate_key",
    };
    for (int i = 0; i < SCAN_REPAIRS; i++)
        find_count(findings, names[i], facts->repairs[i]);
    for (int i = 0; i < SCAN_REPAIRS; i++)
        if (header_names[i])
            find_count(findings, header_names[i], facts->header_repairs[i]);
}

static void
find_document(struct findings *findings, const struct scan_facts *facts)
{
    if (facts->is_document)
        find_text(findings, "document", facts->is_array ? "array" : "object");
    find_flag(findings, "bom", facts->bom);
    find_flag(findings, "unclosed_array", facts->unclosed_array);
    find_count(findings, "keys_before", facts->keys_before);
    find_count(findings, "keys_after", facts->keys_after);
    find_count(findings, "missing_commas", facts->missing_commas);
    find_count(findings, "stray_commas", facts->stray_commas);
    find_count(findings, "non_object_elements", facts->non_object_elements);
    find_count(findings, "oversized_events", facts->oversized_events);
    find_count(findings, "repaired_events", facts->repaired_events);
    find_repairs(findings, facts);
    find_count(findings, "damaged_events", facts->damaged_events);
    find_count(findings, "damaged_header_keys", facts->damaged_header_keys);
    find_count(findings, "header_damage_offset", facts->header_damage_offset);
    find_count(findings, "trailing_bytes", facts->trailing_bytes);
}

static void
find_damage(struct findings *findings, const struct scan_facts *facts)
{
    find_flag(findings, "salvaged", facts->salvaged);
    if (facts->truncated_at.is_set)
        find_count(findings, "truncated_at", facts->truncated_at.value);
    if (facts->corrupt_at.is_set)
        find_count(findings, "corrupt_at", facts->corrupt_at.value);
    find_count(findings, "damaged_bytes", facts->damaged_bytes);
    if (facts->damaged_bytes)
        find_count(findings, "first_damage_offset", facts->first_damage_offset);
    if (facts->events_behind_the_end.is_set)
        find_count(findings, "events_behind_the_end", facts->events_behind_the_end.value);
}

static void
find_index(struct findings *findings, const struct event_counts *counts, uint64_t events)
{
    find_count(findings, "events", events);
    find_count(findings, "non_event_objects", counts->non_event_objects);
    find_count(findings, "string_number", counts->string_number);
    find_count(findings, "bad_number", counts->bad_number);
    find_count(findings, "without_dur", counts->without_dur);
    find_count(findings, "negative_dur", counts->negative_dur);
    find_count(findings, "begin_end_pairs", counts->begin_end_pairs);
    find_count(findings, "unmatched_begin_end", counts->unmatched_begin_end);
    find_count(findings, "gpu_events_without_correlation",
               counts->gpu_events_without_correlation);
}

static int
by_key(const void *a, const void *b)
{
    const struct slice *left = a;
    const struct slice *right = b;
    return slice_compare(*left, *right);
}

static struct list
take_input(struct making *making)
{
    struct findings findings = {.n = 0};
    const struct split_answer *answer = making->answer;
    const struct scan_facts *facts = &answer->reading.facts;
    find_container(&findings, &answer->reading.container);
    find_document(&findings, facts);
    find_damage(&findings, facts);
    if (facts->is_indexed)
        find_index(&findings, events_counts(answer->events), facts->events);
    struct list list = new_list(making, findings.n, sizeof findings.items[0]);
    if (list.n) {
        qsort(findings.items, findings.n, sizeof findings.items[0], by_key);
        memcpy(list.items, findings.items, list.n * sizeof findings.items[0]);
    }
    return list;
}

/* --- manifest: figures -------------------------------------------------------------- */

static void
take_time(const struct time_figures *time, struct split_manifest *to)
{
    double idle;
    if (time->n)
        GIVE(to, wall_ns, time->wall_ns);
    GIVE(to, busy_union_ns, time->busy_union_ns);
    GIVE(to, compute_union_ns, time->compute_union_ns);
    GIVE(to, comm_union_ns, time->comm_union_ns);
    GIVE(to, exposed_comm_ns, time->exposed_comm_ns);
    GIVE(to, copy_ns, time->copy_ns);
    GIVE(to, stream_overlap_ns, time->stream_overlap_ns);
    if (time_figures_idle(time, &idle))
        GIVE(to, idle_ratio, idle);
    if (time->n)
        GIVE(to, max_event_ns, time->max_event_ns);
}

static void
take_launch(const struct split_answer *answer, struct split_manifest *to)
{
    const struct launch_figures *launch = &answer->launch;
    GIVE_COUNT(to, kernel_count, answer->time.kernel_count);
    GIVE_COUNT(to, host_launch_count, launch->host_launch_count);
    GIVE_COUNT(to, graph_launch_count, launch->graph_launch_count);
    GIVE_COUNT(to, graph_launches_with_kernels, launch->graph_launches_with_kernels);
    GIVE_COUNT(to, graph_kernels, launch->graph_kernels);
    GIVE(to, unlinked_busy_ns, launch->unlinked_busy_ns);
    if (answer->n_roots)
        GIVE(to, off_root_thread_busy_ns, launch->off_root_thread_busy_ns);
}

/* A small integer has no text of its own in the index. */
static struct slice
id_text(struct making *making, event_id id)
{
    char scratch[EVENT_ID_DIGITS];
    struct slice text = events_id_text(making->answer->events, id, scratch);
    struct slice copy = arena_copy(making->arena, text);
    making->failed = making->failed || !copy.data;
    return copy;
}

static void
take_overlap(struct making *making, struct split_manifest *to)
{
    const struct split_answer *answer = making->answer;
    const struct overlap *overlap = &answer->overlap;
    struct event_thread thread = events_thread(answer->events, overlap->thread);
    GIVE(to, overlap_excess_ns, overlap->excess_ns);
    GIVE(to, overlap_device_ns, overlap->device_ns);
    GIVE(to, overlap_worst_ns, overlap->worst_ns);
    if (overlap->has_event)
        to->overlap_worst_event = events_text(answer->events, overlap->event);
    to->overlap_pid = id_text(making, thread.pid);
    to->overlap_tid = id_text(making, thread.tid);
}

/* --- manifest: the decision --------------------------------------------------------- */

static struct list
take_candidates(struct making *making)
{
    const struct detection *detection = &making->answer->detection;
    struct list list =
        new_list(making, detection->n_tried, sizeof(struct root_candidate));
    struct root_candidate *items = list.items;
    for (size_t i = 0; i < list.n; i++) {
        const struct tried *tried = &detection->tried[i];
        items[i] = (struct root_candidate){
            .method = slice_of(tried->method),
            .status = (int32_t)tried->status,
            .n_roots = (int64_t)tried->n_roots,
            .coverage = tried->coverage,
        };
    }
    return list;
}

static void
take_tree(const struct tree_facts *tree, struct split_manifest *to)
{
    if (!tree->tier)
        return;
    GIVE_SOME(to, period, tree->period);
    if (tree->has_depth)
        GIVE(to, period_depth, (int32_t)tree->depth);
    to->period_label_tier = slice_of(tree->tier);
    GIVE(to, branch_source,
         strcmp(tree->source, "period") == 0 ? BRANCH_SOURCE_PERIOD
                                             : BRANCH_SOURCE_FRAME_FAMILY);
    GIVE(to, branch_coverage, tree->coverage);
    GIVE_SOME(to, dropped_low_gpu_roots, tree->dropped_low_gpu_roots);
    if (!tree->has_bookends)
        return;
    GIVE(to, bookend_enhancement, true);
    GIVE(to, warmup_gpu_pct, tree->warmup_percent);
    GIVE(to, wrapup_gpu_pct, tree->wrapup_percent);
}

static void
take_transient(const struct transient *transient, struct split_manifest *to)
{
    if (!transient->is_looked_for)
        return;
    GIVE(to, startup_transient_trimmed, transient->is_trimmed);
    if (!transient->is_trimmed)
        return;
    to->startup_transient_kernel = transient->kernel;
    GIVE(to, startup_transient_collective_ratio, transient->collective_ratio);
    GIVE(to, startup_transient_noise_ratio, transient->noise_ratio);
    GIVE(to, startup_transient_same_phase_only, transient->same_phase_only);
}

static void
take_coverage(const struct split_answer *answer, struct split_manifest *to)
{
    const struct candidate *result = &answer->detection.result;
    const struct coverage *coverage = &result->coverage;
    double share = grade_ratio(coverage->spans_ns, coverage->selected_ns);
    if (answer->n_roots)
        GIVE(to, attribution_strategy,
             coverage->by_gpu_span ? ATTRIBUTION_STRATEGY_GPU_SPAN
                                   : ATTRIBUTION_STRATEGY_CORRELATION);
    GIVE(to, coverage_selected_roots,
         grade_ratio(coverage->selected_ns, coverage->busy_ns));
    GIVE(to, coverage_root_spans_only,
         grade_ratio(coverage->spans_ns, coverage->busy_ns));
    GIVE(to, root_span_share, share < 1.0 ? share : 1.0);
    GIVE(to, graded_coverage, candidate_graded(result));
}

static void
take_detection(struct making *making, struct split_manifest *to)
{
    static const int32_t confidences[] = {
        [CONFIDENCE_HIGH] = PHASE_CONFIDENCE_HIGH,
        [CONFIDENCE_LOW] = PHASE_CONFIDENCE_LOW,
        [CONFIDENCE_UNKNOWN] = PHASE_CONFIDENCE_UNKNOWN,
    };
    const struct split_answer *answer = making->answer;
    const struct detection *detection = &answer->detection;
    const struct candidate *result = &detection->result;
    const char *tier = result->annotation_tier;
    GIVE(to, status, (int32_t)result->status);
    to->method = slice_of(result->method);
    GIVE(to, phase_confidence, confidences[result->confidence]);
    GIVE_COUNT(to, n_roots, answer->n_roots);
    to->root_family = detection->family;
    GIVE(to, root_family_known, tier != NULL);
    GIVE(to, suspiciously_few_roots, answer->n_roots < MIN_ROOTS);
    if (tier)
        GIVE(to, annotation_tier,
             strcmp(tier, "detailed") == 0 ? ANNOTATION_TIER_DETAILED
                                           : ANNOTATION_TIER_NATIVE);
    take_coverage(answer, to);
    if (answer->n_roots == 0)
        to->reason = SLICE(REASON_NO_ROOTS);
    GIVE(to, candidates, take_candidates(making));
    if (detection->near_misses) {
        GIVE_COUNT(to, near_miss_annotations, detection->near_misses);
        to->near_miss_example = detection->near_miss;
    }
    take_tree(&result->tree, to);
    take_transient(&answer->transient, to);
}

static void
take_extraction(const struct split_answer *answer, struct split_manifest *to)
{
    uint64_t extracted = answer->n_gpu_events_extracted;
    GIVE(to, gap_fill, true);
    GIVE(to, root_threads, (int32_t)answer->root_threads);
    GIVE_COUNT(to, n_overlapping_roots, answer->n_overlapping_roots);
    GIVE_COUNT(to, n_gpu_events_extracted, extracted);
    GIVE_COUNT(to, n_gpu_events_outside_iterations, answer->n_gpu_events - extracted);
    GIVE(to, gpu_event_retention,
         grade_ratio((int64_t)extracted, (int64_t)answer->n_gpu_events));
    GIVE_COUNT(to, gpu_events_repeated, answer->gpu_events_repeated);
    GIVE_COUNT(to, flows_repeated, answer->flows_repeated);
}

/* The kinds of the picks that were not found, or of the chunks without GPU events. */
static struct list
kinds_that_lack(struct making *making, bool picks)
{
    const struct split_answer *answer = making->answer;
    const struct answer_pick *pick = answer->windows.picks;
    size_t n = picks ? answer->windows.n_picks : answer->n_chunks;
    int32_t *kinds = new_list(making, n, sizeof *kinds).items;
    size_t found = 0;
    for (size_t i = 0; kinds && i < n; i++) {
        bool lacks = picks ? !pick[i].is_picked : answer->chunks[i].num_gpu_events == 0;
        if (lacks)
            kinds[found++] = kind_of(picks ? pick[i].kind : answer->chunks[i].kind);
    }
    return (struct list){kinds, found};
}

static void
take_kinds(struct making *making, struct split_manifest *to)
{
    to->absent_kinds = kinds_that_lack(making, true);
    to->has_absent_kinds = to->absent_kinds.n > 0;
    to->kinds_without_gpu_events = kinds_that_lack(making, false);
    to->has_kinds_without_gpu_events = to->kinds_without_gpu_events.n > 0;
}

static void
take_planning(struct making *making, struct split_manifest *to)
{
    const struct split_answer *answer = making->answer;
    GIVE(to, annotated, answer->is_annotated);
    if (answer->phases_unknown)
        GIVE(to, phases_unknown, true);
    if (answer->batch_threshold.is_known && answer->windows.source == WINDOWS_SHAPES)
        GIVE(to, batch_threshold, answer->batch_threshold.size);
    GIVE_COUNT(to, steps_without_gpu_events, answer->steps_without_gpu_events);
    if (!split_is_refused(answer))
        take_kinds(making, to);
    if (answer->has_conc_mismatch)
        GIVE(to, conc_mismatch,
             ((struct conc_mismatch){answer->plan.conc, answer->windows.peak}));
}

static void
take_manifest(struct making *making, struct split_manifest *to)
{
    const struct split_answer *answer = making->answer;
    to->aborted = split_is_refused(answer);
    if (answer->stage >= SPLIT_DETECTED)
        take_detection(making, to);
    if (answer->stage >= SPLIT_READ) {
        GIVE_COUNT(to, n_gpu_events_in_trace, answer->n_gpu_events);
        GIVE(to, gpu_busy_ns, answer->gpu_busy_ns);
    }
    if (answer->stage >= SPLIT_MEASURED) {
        take_time(&answer->time, to);
        take_overlap(making, to);
    }
    if (answer->stage >= SPLIT_DETECTED)
        take_launch(answer, to);
    if (answer->stage >= SPLIT_OWNED)
        take_extraction(answer, to);
    if (answer->stage >= SPLIT_PLANNED)
        take_planning(making, to);
    if (answer->plan.r_clamped)
        GIVE(to, r_clamped, true);
    if (answer->plan.analytic_ratio_incomplete)
        GIVE(to, analytic_ratio_incomplete, true);
    to->input = take_input(making);
}

/* --- steps and windows -------------------------------------------------------------- */

static int32_t
phase_of(enum root_phase phase)
{
    static const int32_t phases[] = {
        [PHASE_NONE] = STEP_PHASE_NONE,
        [PHASE_PREFILL] = STEP_PHASE_PREFILL,
        [PHASE_PREFILLDECODE] = STEP_PHASE_PREFILLDECODE,
        [PHASE_DECODE] = STEP_PHASE_DECODE,
    };
    return phases[phase];
}

static int32_t
phase_source_of(enum phase_origin origin)
{
    static const int32_t sources[] = {
        [PHASE_BY_NAME] = PHASE_SOURCE_NAME,
        [PHASE_BY_SHAPE] = PHASE_SOURCE_SHAPE,
        [PHASE_BY_DEFAULT] = PHASE_SOURCE_DEFAULT,
        [PHASE_BY_BOOKEND] = PHASE_SOURCE_BOOKEND,
    };
    return sources[origin];
}

static void
take_step(struct making *making,
          const struct step *step,
          size_t number,
          struct split_step *to)
{
    const struct step_numbers *numbers = &step->numbers;
    const struct step_work *work = &step->work;
    *to = (struct split_step){
        .step = (int64_t)number,
        .event = (int64_t)step->root.index,
        .name = step->root.name,
        .phase = phase_of(step->phase),
        .phase_source = phase_source_of(step->phase_source),
        .trimmed = step->is_trimmed,
        .ts_ns = step->root.ts_ns,
        .dur_ns = step->root.dur_ns,
        .tile = pair_of(making, step->tile.start_ns, step->tile.end_ns),
        .batch_size = numbers->batch_size,
        .num_requests = numbers->num_requests,
        .context_requests = numbers->context_requests,
        .context_sum = numbers->context_sum,
        .generation_requests = numbers->generation_requests,
        .generation_sum = numbers->generation_sum,
        .num_gpu_events = (int64_t)work->n_gpu,
        .has_gpu_start_ns = work->n_gpu > 0,
        .gpu_start_ns = work->start_ns,
        .has_gpu_end_ns = work->n_gpu > 0,
        .gpu_end_ns = work->end_ns,
        .gpu_extent_ns = ns_subtract(work->end_ns, work->start_ns),
        .gpu_busy_ns = work->busy_ns,
    };
}

static struct list
take_steps(struct making *making)
{
    const struct steps *steps = &making->answer->steps;
    struct list list = new_list(making, steps->n, sizeof(struct split_step));
    struct split_step *items = list.items;
    for (size_t i = 0; i < list.n; i++) {
        struct step step = steps_at(steps, i);
        take_step(making, &step, i, &items[i]);
    }
    return list;
}

static struct list
take_picks(struct making *making, const struct answer_windows *windows)
{
    struct list list = new_list(making, windows->n_picks, sizeof(struct split_pick));
    struct split_pick *items = list.items;
    for (size_t i = 0; i < list.n; i++) {
        const struct answer_pick *pick = &windows->picks[i];
        items[i].kind = slice_of(split_mode_name(pick->kind));
        items[i].has_steps = pick->is_picked;
        if (pick->is_picked)
            items[i].steps =
                pair_of(making, (int64_t)pick->steps.first, (int64_t)pick->steps.last);
    }
    if (list.n)
        qsort(items, list.n, sizeof *items, by_key);
    return list;
}

static struct list
take_regions(struct making *making, const struct windows *regions)
{
    struct list list = new_list(making, regions->n, sizeof(struct list));
    struct list *items = list.items;
    for (size_t i = 0; i < list.n; i++)
        items[i] = pair_of(making, (int64_t)regions->items[i].first,
                           (int64_t)regions->items[i].last);
    return list;
}

static void
take_windows(struct making *making, struct split_windows *to)
{
    static const int32_t sources[] = {
        [WINDOWS_ANNOTATIONS] = WINDOW_SOURCE_ANNOTATIONS,
        [WINDOWS_SHAPES] = WINDOW_SOURCE_SHAPES,
        [WINDOWS_DURATION] = WINDOW_SOURCE_DURATION,
        [WINDOWS_RANGE] = WINDOW_SOURCE_RANGE,
    };
    const struct answer_windows *windows = &making->answer->windows;
    to->source = sources[windows->source];
    to->regions = take_regions(making, &windows->regions);
    if (windows->has_reference_ratio)
        GIVE(to, reference_ratio, windows->reference_ratio);
    to->num_steps = (int32_t)making->answer->plan.num_steps;
    to->picks = take_picks(making, windows);
    if (windows->has_peak)
        GIVE(to, peak, windows->peak);
    if (windows->has_duration) {
        GIVE(to, cv, windows->cv);
        GIVE_COUNT(to, windows_passing, windows->windows_passing);
    }
    if (windows->has_analytic) {
        GIVE(to, analytic_ratio, windows->analytic_ratio);
        GIVE(to, analytic_steps, windows->analytic_steps);
    }
}

static struct list
take_absent(struct making *making)
{
    const struct split_answer *answer = making->answer;
    const struct answer_windows *windows = &answer->windows;
    struct slice reason =
        slice_of(answer->phases_unknown ? "phases_unknown" : "no_such_run");
    struct absent_chunk *items = new_list(making, windows->n_picks, sizeof *items).items;
    size_t n = 0;
    for (size_t i = 0; items && i < windows->n_picks; i++)
        if (!windows->picks[i].is_picked)
            items[n++] = (struct absent_chunk){kind_of(windows->picks[i].kind), reason};
    return (struct list){items, n};
}

/* --- chunks ------------------------------------------------------------------------- */

static struct list
take_launches(struct making *making, const struct kernel_entry *from)
{
    static const int32_t kinds[] = {
        [LAUNCH_EAGER] = LAUNCH_KIND_EAGER,
        [LAUNCH_GRAPH] = LAUNCH_KIND_GRAPH,
        [LAUNCH_UNLINKED] = LAUNCH_KIND_UNLINKED,
    };
    struct list list = new_list(making, from->n_launches, sizeof(struct launch_group));
    struct launch_group *items = list.items;
    for (size_t i = 0; i < list.n; i++) {
        const struct launch_row *row = &from->launches[i];
        items[i] = (struct launch_group){
            .kind = kinds[row->kind],
            .op = row->op,
            .has_dims_from = row->dims_from != DIMS_UNKNOWN,
            .dims_from = row->dims_from == DIMS_OP ? DIMS_FROM_OP : DIMS_FROM_ANCESTOR,
            .input_dims = row->input_dims,
            .input_type = row->input_type,
            .calls = (int64_t)row->calls,
            .total_ns = row->total_ns,
        };
    }
    return list;
}

static struct list
take_eager_shapes(struct making *making, const struct kernel_entry *from)
{
    struct list list = new_list(making, from->n_eager_shapes, sizeof(struct eager_shape));
    struct eager_shape *items = list.items;
    for (size_t i = 0; i < list.n; i++) {
        const struct launch_row *row = &from->eager_shapes[i];
        items[i] = (struct eager_shape){row->input_dims, row->input_type,
                                        (int64_t)row->calls, row->total_ns};
    }
    return list;
}

static void
take_kernel(struct making *making, const struct kernel_entry *from, struct kernel_row *to)
{
    *to = (struct kernel_row){
        .name = from->name,
        .category = from->category == CATEGORY_KERNEL       ? KERNEL_CATEGORY_KERNEL
                    : from->category == CATEGORY_GPU_MEMCPY ? KERNEL_CATEGORY_GPU_MEMCPY
                                                            : KERNEL_CATEGORY_GPU_MEMSET,
        .calls = (int64_t)from->calls,
        .total_ns = from->total_ns,
        .min_ns = from->min_ns,
        .max_ns = from->max_ns,
        .mean_ns = from->mean_ns,
        .share = from->share,
        .collective = from->is_collective,
        .streams = {from->streams, from->n_streams},
        .graph_launch_calls = (int64_t)from->graph_launch_calls,
        .unknown_launcher_calls = (int64_t)from->unknown_launcher_calls,
        .combinations = (int64_t)from->combinations,
        .launches = take_launches(making, from),
        .omitted_launches = (int64_t)from->omitted_launches,
        .omitted_launch_calls = (int64_t)from->omitted_launch_calls,
        .omitted_launch_ns = from->omitted_launch_ns,
        .eager_shapes = take_eager_shapes(making, from),
        .omitted_eager_shapes = (int64_t)from->omitted_eager_shapes,
        .launch_grid = from->launch_grid,
        .launch_block = from->launch_block,
        .frame = from->frame,
        .frame_calls = (int64_t)from->frame_calls,
    };
}

static struct list
take_kernels(struct making *making, const struct kernel_table *table)
{
    struct list list = new_list(making, table->n, sizeof(struct kernel_row));
    struct kernel_row *items = list.items;
    for (size_t i = 0; i < list.n; i++)
        take_kernel(making, &table->rows[i], &items[i]);
    return list;
}

static void
take_chunk_time(const struct chunk *chunk, struct split_chunk *to)
{
    const struct time_figures *time = &chunk->time;
    double idle;
    to->gpu_duration_ns = chunk->gpu_duration_ns;
    to->gpu_busy_duration_ns = time->busy_ns;
    to->busy_ratio = grade_ratio(time->busy_ns, chunk->gpu_duration_ns);
    to->busy_union_ratio = grade_ratio(time->busy_union_ns, chunk->extent_union_ns);
    to->extent_union_ns = chunk->extent_union_ns;
    if (time->n)
        GIVE(to, wall_ns, time->wall_ns);
    to->busy_union_ns = time->busy_union_ns;
    to->compute_union_ns = time->compute_union_ns;
    to->comm_union_ns = time->comm_union_ns;
    to->exposed_comm_ns = time->exposed_comm_ns;
    to->copy_ns = time->copy_ns;
    to->stream_overlap_ns = time->stream_overlap_ns;
    if (time_figures_idle(time, &idle))
        GIVE(to, idle_ratio, idle);
    if (time->n)
        GIVE(to, max_event_ns, time->max_event_ns);
}

static void
take_chunk_launch(const struct chunk *chunk, struct split_chunk *to)
{
    const struct launch_figures *launch = &chunk->launch;
    to->kernel_count = (int64_t)chunk->time.kernel_count;
    to->host_launch_count = (int64_t)launch->host_launch_count;
    to->graph_launch_count = (int64_t)launch->graph_launch_count;
    to->graph_launches_with_kernels = (int64_t)launch->graph_launches_with_kernels;
    to->graph_kernels = (int64_t)launch->graph_kernels;
    to->unlinked_busy_ns = launch->unlinked_busy_ns;
    to->off_root_thread_busy_ns = launch->off_root_thread_busy_ns;
}

static struct phase_counts
phases_of(const struct chunk_phases *phases)
{
    return (struct phase_counts){
        .num_prefill = (int64_t)phases->n[PHASE_PREFILL],
        .num_prefilldecode = (int64_t)phases->n[PHASE_PREFILLDECODE],
        .num_decode = (int64_t)phases->n[PHASE_DECODE],
        .num_none = (int64_t)phases->n[PHASE_NONE],
        .avg_bs = phases->avg_bs,
        .avg_conc = phases->avg_conc,
        .num_defaulted = (int64_t)phases->num_defaulted,
    };
}

static void
take_chunk(struct making *making,
           const struct chunk *chunk,
           const struct chunk_object *object,
           struct split_chunk *to)
{
    *to = (struct split_chunk){
        .kind = kind_of(chunk->kind),
        .file = chunk->file,
        .steps = pair_of(making, (int64_t)chunk->first_step, (int64_t)chunk->last_step),
        .num_steps = (int64_t)chunk->num_steps,
        .event_count = (int64_t)chunk->event_count,
        .num_gpu_events = (int64_t)chunk->num_gpu_events,
        .phase = phases_of(&chunk->phases),
        .steps_without_gpu_events = (int64_t)chunk->steps_without_gpu_events,
        .gpu_events_repeated = (int64_t)chunk->gpu_events_repeated,
        .has_batch_size_from_ops = chunk->has_batch_size,
        .batch_size_from_ops = chunk->batch_size_from_ops,
        .unknown_launcher_gpu_events =
            (int64_t)chunk->kernels.unknown_launcher_gpu_events,
        .kernels = take_kernels(making, &chunk->kernels),
        .uri = object->uri,
        .has_bytes = true,
        .bytes = (int64_t)object->bytes,
        .sha256 = object->sha256,
    };
    take_chunk_time(chunk, to);
    take_chunk_launch(chunk, to);
}

static struct list
take_chunks(struct making *making, const struct chunk_object *objects)
{
    const struct split_answer *answer = making->answer;
    struct list list = new_list(making, answer->n_chunks, sizeof(struct split_chunk));
    struct split_chunk *items = list.items;
    for (size_t i = 0; i < list.n; i++)
        take_chunk(making, &answer->chunks[i], &objects[i], &items[i]);
    return list;
}

/* ------------------------------------------------------------------------------------ */

enum err_kind
answer_record_make(const struct split_answer *answer,
                   const struct chunk_object *objects,
                   struct arena *arena,
                   struct split_record *ret_record,
                   struct err *err)
{
    struct making making = {.answer = answer, .arena = arena};
    bool refused = split_is_refused(answer);
    *ret_record = (struct split_record){
        .result = refused ? SPLIT_RESULT_REFUSED : SPLIT_RESULT_SPLIT,
        .has_refusal = refused,
        .has_windows = answer->stage >= SPLIT_PLANNED,
        .absent = take_absent(&making),
    };
    if (refused)
        take_refusal(&making, &ret_record->refusal);
    take_manifest(&making, &ret_record->manifest);
    if (answer->stage >= SPLIT_PLANNED) {
        ret_record->steps = take_steps(&making);
        take_windows(&making, &ret_record->windows);
    }
    if (!refused)
        ret_record->chunks = take_chunks(&making, objects);
    return making.failed ? err_no_memory(err, "the record of a split") : ERR_OK;
}

void
answer_record_refuse(struct split_record *record, struct slice code, struct slice reason)
{
    const struct list none = {0};
    record->result = SPLIT_RESULT_REFUSED;
    record->has_refusal = true;
    record->refusal = (struct split_refusal){.code = code, .reason = reason};
    record->manifest.aborted = true;
    record->steps = none;
    record->has_windows = false;
    record->absent = none;
    record->chunks = none;
}
