/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a split as the document of splitting.md 11.5. */
#include "document.h"

#include "cleanup.h"
#include "digest.h"
#include "figure.h"
#include "json.h"

/* --- members ----------------------------------------------------------------------- */

static void
begin_value(struct buf *out)
{
    if (out->len == 0)
        return;
    char last = out->data[out->len - 1];
    if (last != '{' && last != '[' && last != ':')
        buf_add_byte(out, ',');
}

static void
add_key(struct buf *out, const char *key)
{
    begin_value(out);
    buf_add_byte(out, '"');
    buf_add_str(out, key);
    buf_add_str(out, "\":");
}

static void
add_count(struct buf *out, const char *key, uint64_t n)
{
    add_key(out, key);
    buf_add_number(out, n);
}

static void
add_int(struct buf *out, const char *key, int64_t n)
{
    add_key(out, key);
    buf_addf(out, "%lld", (long long)n);
}

static void
add_us(struct buf *out, const char *key, int64_t ns)
{
    add_key(out, key);
    figure_add_us(out, ns);
}

static void
add_double(struct buf *out, const char *key, double value)
{
    add_key(out, key);
    figure_add_double(out, value);
}

static void
add_bool(struct buf *out, const char *key, bool value)
{
    add_key(out, key);
    buf_add_str(out, value ? "true" : "false");
}

static void
add_null(struct buf *out, const char *key)
{
    add_key(out, key);
    buf_add_str(out, "null");
}

static void
add_text(struct buf *out, const char *key, struct slice text)
{
    add_key(out, key);
    if (text.data)
        json_write_string(out, text);
    else
        buf_add_str(out, "null");
}

static void
add_name(struct buf *out, const char *key, const char *name)
{
    add_text(out, key, slice_of(name));
}

static void
add_pair(struct buf *out, const char *key, uint64_t first, uint64_t last)
{
    add_key(out, key);
    buf_addf(out, "[%llu,%llu]", (unsigned long long)first, (unsigned long long)last);
}

static void
open_with(struct buf *out, const char *key, char bracket)
{
    if (key)
        add_key(out, key);
    else
        begin_value(out);
    buf_add_byte(out, bracket);
}

static void
add_flag(struct buf *out, const char *key, bool is_set)
{
    if (is_set)
        add_bool(out, key, true);
}

static void
add_some(struct buf *out, const char *key, uint64_t n)
{
    if (n)
        add_count(out, key, n);
}

static void
add_set(struct buf *out, const char *key, struct refusal_number number)
{
    if (number.is_set)
        add_count(out, key, number.value);
}

/* --- refusal ----------------------------------------------------------------------- */

static void
add_refusal(struct buf *out, const struct answer_refusal *refusal)
{
    const struct refusal *reading = &refusal->reading;
    open_with(out, "refusal", '{');
    add_name(out, "code", reading->code);
    if (reading->option)
        add_name(out, "option", reading->option);
    if (refusal->parameter)
        add_name(out, "parameter", refusal->parameter);
    if (reading->reason[0])
        add_name(out, "reason", reading->reason);
    add_set(out, "n_steps", refusal->n_steps);
    add_set(out, "bytes", reading->bytes);
    add_set(out, "offset", reading->offset);
    add_set(out, "events", reading->events);
    add_set(out, "damaged_events", reading->damaged_events);
    if (reading->limit)
        add_name(out, "limit", reading->limit);
    add_set(out, "gpu_events", refusal->gpu_events);
    if (refusal->method)
        add_name(out, "method", refusal->method);
    if (refusal->has_coverage)
        add_double(out, "coverage", refusal->coverage);
    if (refusal->wanted)
        add_name(out, "wanted", refusal->wanted);
    if (refusal->n_kinds) {
        open_with(out, "kinds", '[');
        for (size_t i = 0; i < refusal->n_kinds; i++) {
            begin_value(out);
            json_write_string(out, slice_of(refusal->kinds[i]));
        }
        buf_add_byte(out, ']');
    }
    buf_add_byte(out, '}');
}

/* --- manifest: what reading found -------------------------------------------------- */

static void
add_document_facts(struct buf *out, const struct scan_facts *facts)
{
    static const char *const repairs[SCAN_REPAIRS] = {
        "control_character", "bad_escape",   "non_finite_number",
        "trailing_comma",    "invalid_utf8", "duplicate_key",
    };
    static const char *const header_repairs[SCAN_REPAIRS] = {
        "header_control_character", "header_bad_escape",   "header_non_finite_number",
        "header_trailing_comma",    "header_invalid_utf8", "header_duplicate_key",
    };
    if (facts->is_document)
        add_name(out, "document", facts->is_array ? "array" : "object");
    add_flag(out, "bom", facts->bom);
    add_flag(out, "unclosed_array", facts->unclosed_array);
    add_some(out, "keys_before", facts->keys_before);
    add_some(out, "keys_after", facts->keys_after);
    add_some(out, "missing_commas", facts->missing_commas);
    add_some(out, "stray_commas", facts->stray_commas);
    add_some(out, "non_object_elements", facts->non_object_elements);
    add_some(out, "oversized_events", facts->oversized_events);
    add_some(out, "repaired_events", facts->repaired_events);
    for (int i = 0; i < SCAN_REPAIRS; i++)
        add_some(out, repairs[i], facts->repairs[i]);
    for (int i = 0; i < SCAN_REPAIRS; i++)
        if (1U << i != SCAN_INVALID_UTF8)
            add_some(out, header_repairs[i], facts->header_repairs[i]);
    add_some(out, "damaged_events", facts->damaged_events);
    add_some(out, "damaged_header_keys", facts->damaged_header_keys);
    add_some(out, "header_damage_offset", facts->header_damage_offset);
    add_some(out, "trailing_bytes", facts->trailing_bytes);
}

static void
add_damage_facts(struct buf *out, const struct scan_facts *facts)
{
    add_flag(out, "salvaged", facts->salvaged);
    if (facts->truncated_at.value)
        add_set(out, "truncated_at", facts->truncated_at);
    if (facts->corrupt_at.value)
        add_set(out, "corrupt_at", facts->corrupt_at);
    add_some(out, "damaged_bytes", facts->damaged_bytes);
    if (facts->damaged_bytes)
        add_some(out, "first_damage_offset", facts->first_damage_offset);
    add_set(out, "events_behind_the_end", facts->events_behind_the_end);
}

static void
add_index_facts(struct buf *out, const struct event_counts *counts, uint64_t events)
{
    add_some(out, "events", events);
    add_some(out, "non_event_objects", counts->non_event_objects);
    add_some(out, "string_number", counts->string_number);
    add_some(out, "bad_number", counts->bad_number);
    add_some(out, "without_dur", counts->without_dur);
    add_some(out, "negative_dur", counts->negative_dur);
    add_some(out, "begin_end_pairs", counts->begin_end_pairs);
    add_some(out, "unmatched_begin_end", counts->unmatched_begin_end);
    add_some(out, "gpu_events_without_correlation",
             counts->gpu_events_without_correlation);
}

static void
add_input(struct buf *out, const struct split_answer *answer)
{
    const struct feed_facts *container = &answer->reading.container;
    const struct scan_facts *facts = &answer->reading.facts;
    open_with(out, "input", '{');
    if (container->container)
        add_name(out, "container", container->container);
    add_some(out, "gzip_members", container->gzip_members);
    add_some(out, "container_trailing_bytes", container->container_trailing_bytes);
    add_some(out, "bytes", container->bytes);
    add_flag(out, "high_ratio", container->high_ratio);
    add_document_facts(out, facts);
    add_damage_facts(out, facts);
    if (facts->is_indexed)
        add_index_facts(out, events_counts(answer->events), facts->events);
    buf_add_byte(out, '}');
}

/* --- manifest: figures ------------------------------------------------------------- */

static void
add_time(struct buf *out, const struct time_figures *time)
{
    double idle;
    if (time->n)
        add_us(out, "wall_us", time->wall_ns);
    add_us(out, "busy_union_us", time->busy_union_ns);
    add_us(out, "compute_union_us", time->compute_union_ns);
    add_us(out, "comm_union_us", time->comm_union_ns);
    add_us(out, "exposed_comm_us", time->exposed_comm_ns);
    add_us(out, "copy_us", time->copy_ns);
    add_us(out, "stream_overlap_us", time->stream_overlap_ns);
    if (time_figures_idle(time, &idle))
        add_double(out, "idle_ratio", idle);
    if (time->n)
        add_us(out, "max_event_us", time->max_event_ns);
}

static void
add_launch(struct buf *out,
           const struct launch_figures *launch,
           uint64_t kernel_count,
           bool has_roots)
{
    add_count(out, "kernel_count", kernel_count);
    add_count(out, "host_launch_count", launch->host_launch_count);
    add_count(out, "graph_launch_count", launch->graph_launch_count);
    add_count(out, "graph_launches_with_kernels", launch->graph_launches_with_kernels);
    add_count(out, "graph_kernels", launch->graph_kernels);
    add_us(out, "unlinked_busy_us", launch->unlinked_busy_ns);
    if (has_roots)
        add_us(out, "off_root_thread_busy_us", launch->off_root_thread_busy_ns);
}

static void
add_overlap(struct buf *out, const struct split_answer *answer)
{
    const struct overlap *overlap = &answer->overlap;
    struct event_thread thread = events_thread(answer->events, overlap->thread);
    char scratch[EVENT_ID_DIGITS];
    add_us(out, "overlap_excess_us", overlap->excess_ns);
    add_us(out, "overlap_device_us", overlap->device_ns);
    add_us(out, "overlap_worst_us", overlap->worst_ns);
    if (overlap->has_event)
        add_text(out, "overlap_worst_event", events_text(answer->events, overlap->event));
    add_text(out, "overlap_pid", events_id_text(answer->events, thread.pid, scratch));
    add_text(out, "overlap_tid", events_id_text(answer->events, thread.tid, scratch));
}

/* --- manifest: the decision -------------------------------------------------------- */

static void
add_candidates(struct buf *out, const struct detection *detection)
{
    open_with(out, "candidates", '[');
    for (size_t i = 0; i < detection->n_tried; i++) {
        const struct tried *tried = &detection->tried[i];
        open_with(out, NULL, '{');
        add_name(out, "method", tried->method);
        add_int(out, "status", tried->status);
        add_count(out, "n_roots", tried->n_roots);
        add_double(out, "coverage", tried->coverage);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}

static void
add_tree(struct buf *out, const struct tree_facts *tree)
{
    if (!tree->tier)
        return;
    if (tree->period)
        add_count(out, "period", tree->period);
    if (tree->has_depth)
        add_int(out, "period_depth", tree->depth);
    add_name(out, "period_label_tier", tree->tier);
    add_name(out, "branch_source", tree->source);
    add_double(out, "branch_coverage", tree->coverage);
    add_some(out, "dropped_low_gpu_roots", tree->dropped_low_gpu_roots);
    if (!tree->has_bookends)
        return;
    add_bool(out, "bookend_enhancement", true);
    add_double(out, "warmup_gpu_pct", tree->warmup_percent);
    add_double(out, "wrapup_gpu_pct", tree->wrapup_percent);
}

static void
add_transient(struct buf *out, const struct transient *transient)
{
    if (!transient->is_looked_for)
        return;
    add_bool(out, "startup_transient_trimmed", transient->is_trimmed);
    if (!transient->is_trimmed)
        return;
    add_text(out, "startup_transient_kernel", transient->kernel);
    add_double(out, "startup_transient_collective_ratio", transient->collective_ratio);
    add_double(out, "startup_transient_noise_ratio", transient->noise_ratio);
    add_bool(out, "startup_transient_same_phase_only", transient->same_phase_only);
}

static void
add_coverage(struct buf *out, const struct candidate *result, uint64_t n_roots)
{
    const struct coverage *coverage = &result->coverage;
    if (n_roots)
        add_name(out, "attribution_strategy",
                 coverage->by_gpu_span ? "gpu_span" : "correlation");
    double share = grade_ratio(coverage->spans_ns, coverage->selected_ns);
    add_double(out, "coverage_selected_roots",
               grade_ratio(coverage->selected_ns, coverage->busy_ns));
    add_double(out, "coverage_root_spans_only",
               grade_ratio(coverage->spans_ns, coverage->busy_ns));
    add_double(out, "root_span_share", share < 1.0 ? share : 1.0);
    add_double(out, "graded_coverage", candidate_graded(result));
}

static void
add_detection(struct buf *out, const struct split_answer *answer)
{
    static const char *const confidences[] = {"high", "low", "unknown"};
    const struct detection *detection = &answer->detection;
    const struct candidate *result = &detection->result;
    add_int(out, "status", result->status);
    add_name(out, "method", result->method);
    add_name(out, "phase_confidence", confidences[result->confidence]);
    add_count(out, "n_roots", answer->n_roots);
    add_text(out, "root_family", detection->family);
    add_bool(out, "root_family_known", result->annotation_tier != NULL);
    add_bool(out, "suspiciously_few_roots", answer->n_roots < MIN_ROOTS);
    if (result->annotation_tier)
        add_name(out, "annotation_tier", result->annotation_tier);
    add_coverage(out, result, answer->n_roots);
    if (answer->n_roots == 0)
        add_name(out, "reason", REASON_NO_ROOTS);
    add_candidates(out, detection);
    if (detection->near_misses) {
        add_count(out, "near_miss_annotations", detection->near_misses);
        add_text(out, "near_miss_example", detection->near_miss);
    }
    add_tree(out, &result->tree);
    add_transient(out, &answer->transient);
}

static void
add_extraction(struct buf *out, const struct split_answer *answer)
{
    uint64_t extracted = answer->n_gpu_events_extracted;
    add_bool(out, "gap_fill", true);
    add_count(out, "root_threads", answer->root_threads);
    add_count(out, "n_overlapping_roots", answer->n_overlapping_roots);
    add_count(out, "n_gpu_events_extracted", extracted);
    add_count(out, "n_gpu_events_outside_iterations", answer->n_gpu_events - extracted);
    add_double(out, "gpu_event_retention",
               grade_ratio((int64_t)extracted, (int64_t)answer->n_gpu_events));
    add_count(out, "gpu_events_repeated", answer->gpu_events_repeated);
    add_count(out, "flows_repeated", answer->flows_repeated);
}

static void
add_kinds(struct buf *out, const struct split_answer *answer)
{
    const struct answer_windows *windows = &answer->windows;
    bool some = false;
    for (size_t i = 0; i < windows->n_picks; i++)
        some = some || !windows->picks[i].is_picked;
    if (some && answer->n_chunks) {
        open_with(out, "absent_kinds", '[');
        for (size_t i = 0; i < windows->n_picks; i++)
            if (!windows->picks[i].is_picked) {
                begin_value(out);
                json_write_string(out, slice_of(split_mode_name(windows->picks[i].kind)));
            }
        buf_add_byte(out, ']');
    }
    some = false;
    for (size_t i = 0; i < answer->n_chunks; i++)
        some = some || answer->chunks[i].num_gpu_events == 0;
    if (!some)
        return;
    open_with(out, "kinds_without_gpu_events", '[');
    for (size_t i = 0; i < answer->n_chunks; i++)
        if (answer->chunks[i].num_gpu_events == 0) {
            begin_value(out);
            json_write_string(out, slice_of(split_mode_name(answer->chunks[i].kind)));
        }
    buf_add_byte(out, ']');
}

static void
add_planning(struct buf *out, const struct split_answer *answer)
{
    add_bool(out, "annotated", answer->is_annotated);
    add_flag(out, "phases_unknown", answer->phases_unknown);
    if (answer->batch_threshold.is_known && answer->windows.source == WINDOWS_SHAPES)
        add_int(out, "batch_threshold", answer->batch_threshold.size);
    add_count(out, "steps_without_gpu_events", answer->steps_without_gpu_events);
    if (!split_is_refused(answer))
        add_kinds(out, answer);
    if (!answer->has_conc_mismatch)
        return;
    open_with(out, "conc_mismatch", '{');
    add_int(out, "given", answer->plan.conc);
    add_int(out, "observed", answer->windows.peak);
    buf_add_byte(out, '}');
}

static void
add_manifest(struct buf *out, const struct split_answer *answer)
{
    open_with(out, "manifest", '{');
    add_bool(out, "aborted", split_is_refused(answer));
    if (answer->stage >= SPLIT_DETECTED)
        add_detection(out, answer);
    if (answer->stage >= SPLIT_READ) {
        add_count(out, "n_gpu_events_in_trace", answer->n_gpu_events);
        add_us(out, "gpu_busy_us", answer->gpu_busy_ns);
    }
    if (answer->stage >= SPLIT_MEASURED) {
        add_time(out, &answer->time);
        add_overlap(out, answer);
    }
    if (answer->stage >= SPLIT_DETECTED)
        add_launch(out, &answer->launch, answer->time.kernel_count, answer->n_roots > 0);
    if (answer->stage >= SPLIT_OWNED)
        add_extraction(out, answer);
    if (answer->stage >= SPLIT_PLANNED)
        add_planning(out, answer);
    add_flag(out, "r_clamped", answer->plan.r_clamped);
    add_flag(out, "analytic_ratio_incomplete", answer->plan.analytic_ratio_incomplete);
    add_input(out, answer);
    buf_add_byte(out, '}');
}

/* --- steps and windows ------------------------------------------------------------- */

static void
add_step(struct buf *out, const struct step *step, uint64_t number)
{
    static const char *const sources[] = {"name", "shape", "default", "bookend"};
    const struct step_numbers *numbers = &step->numbers;
    const struct step_work *work = &step->work;
    open_with(out, NULL, '{');
    add_count(out, "step", number);
    add_count(out, "event", step->root.index);
    add_text(out, "name", step->root.name);
    add_name(out, "phase", step_phase_name(step->phase));
    add_name(out, "phase_source", sources[step->phase_source]);
    add_bool(out, "trimmed", step->is_trimmed);
    add_us(out, "ts", step->root.ts_ns);
    add_us(out, "dur", step->root.dur_ns);
    open_with(out, "tile", '[');
    figure_add_us(out, step->tile.start_ns);
    buf_add_byte(out, ',');
    figure_add_us(out, step->tile.end_ns);
    buf_add_byte(out, ']');
    add_int(out, "batch_size", numbers->batch_size);
    add_int(out, "num_requests", numbers->num_requests);
    add_int(out, "context_requests", numbers->context_requests);
    add_int(out, "context_sum", numbers->context_sum);
    add_int(out, "generation_requests", numbers->generation_requests);
    add_int(out, "generation_sum", numbers->generation_sum);
    add_count(out, "num_gpu_events", work->n_gpu);
    if (work->n_gpu) {
        add_us(out, "gpu_start", work->start_ns);
        add_us(out, "gpu_end", work->end_ns);
    } else {
        add_null(out, "gpu_start");
        add_null(out, "gpu_end");
    }
    add_us(out, "gpu_extent", ns_subtract(work->end_ns, work->start_ns));
    add_us(out, "gpu_busy", work->busy_ns);
    buf_add_byte(out, '}');
}

static void
add_steps(struct buf *out, const struct split_answer *answer)
{
    open_with(out, "steps", '[');
    if (answer->stage >= SPLIT_PLANNED)
        for (size_t i = 0; i < answer->steps.n; i++)
            add_step(out, &answer->steps.items[i], i);
    buf_add_byte(out, ']');
}

static void
add_picks(struct buf *out, const struct answer_windows *windows)
{
    open_with(out, "picks", '{');
    for (size_t i = 0; i < windows->n_picks; i++) {
        const struct answer_pick *pick = &windows->picks[i];
        const char *kind = split_mode_name(pick->kind);
        if (pick->is_picked)
            add_pair(out, kind, pick->steps.first, pick->steps.last);
        else
            add_null(out, kind);
    }
    buf_add_byte(out, '}');
}

static void
add_windows(struct buf *out, const struct split_answer *answer)
{
    static const char *const sources[] = {"annotations", "shapes", "duration", "range"};
    const struct answer_windows *windows = &answer->windows;
    open_with(out, "windows", '{');
    if (answer->stage >= SPLIT_PLANNED) {
        add_name(out, "source", sources[windows->source]);
        open_with(out, "regions", '[');
        for (size_t i = 0; i < windows->regions.n; i++)
            buf_addf(out, "%s[%zu,%zu]", i ? "," : "", windows->regions.items[i].first,
                     windows->regions.items[i].last);
        buf_add_byte(out, ']');
        if (windows->has_reference_ratio)
            add_double(out, "reference_ratio", windows->reference_ratio);
        add_count(out, "num_steps", answer->plan.num_steps);
        add_picks(out, windows);
        if (windows->has_peak)
            add_int(out, "peak", windows->peak);
        if (windows->has_duration) {
            add_double(out, "cv", windows->cv);
            add_count(out, "windows_passing", windows->windows_passing);
        }
        if (windows->has_analytic) {
            add_double(out, "analytic_ratio", windows->analytic_ratio);
            add_int(out, "analytic_steps", windows->analytic_steps);
        }
    }
    buf_add_byte(out, '}');
}

static void
add_absent(struct buf *out, const struct split_answer *answer)
{
    const struct answer_windows *windows = &answer->windows;
    open_with(out, "absent", '[');
    for (size_t i = 0; i < windows->n_picks; i++) {
        if (windows->picks[i].is_picked)
            continue;
        open_with(out, NULL, '{');
        add_name(out, "kind", split_mode_name(windows->picks[i].kind));
        add_name(out, "reason",
                 answer->phases_unknown ? "phases_unknown" : "no_such_run");
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}

/* --- chunks ------------------------------------------------------------------------ */

static void
add_launch_row(struct buf *out, const struct launch_row *row)
{
    static const char *const kinds[] = {"eager", "graph", "unlinked"};
    open_with(out, NULL, '{');
    add_name(out, "kind", kinds[row->kind]);
    add_text(out, "op", row->op);
    add_name(out, "dims_from",
             row->dims_from == DIMS_OP         ? "op"
             : row->dims_from == DIMS_ANCESTOR ? "ancestor"
                                               : NULL);
    add_text(out, "input_dims", row->input_dims);
    add_text(out, "input_type", row->input_type);
    add_count(out, "calls", row->calls);
    add_us(out, "total_us", row->total_ns);
    buf_add_byte(out, '}');
}

static void
add_launches(struct buf *out, const struct kernel_entry *row)
{
    add_count(out, "graph_launch_calls", row->graph_launch_calls);
    add_count(out, "unknown_launcher_calls", row->unknown_launcher_calls);
    add_count(out, "combinations", row->combinations);
    open_with(out, "launches", '[');
    for (size_t i = 0; i < row->n_launches; i++)
        add_launch_row(out, &row->launches[i]);
    buf_add_byte(out, ']');
    add_count(out, "omitted_launches", row->omitted_launches);
    add_count(out, "omitted_launch_calls", row->omitted_launch_calls);
    add_us(out, "omitted_launch_us", row->omitted_launch_ns);
    open_with(out, "eager_shapes", '[');
    for (size_t i = 0; i < row->n_eager_shapes; i++) {
        open_with(out, NULL, '{');
        add_text(out, "input_dims", row->eager_shapes[i].input_dims);
        add_text(out, "input_type", row->eager_shapes[i].input_type);
        add_count(out, "calls", row->eager_shapes[i].calls);
        add_us(out, "total_us", row->eager_shapes[i].total_ns);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
    add_count(out, "omitted_eager_shapes", row->omitted_eager_shapes);
}

static void
add_kernel(struct buf *out, const struct kernel_entry *row)
{
    open_with(out, NULL, '{');
    add_text(out, "name", row->name);
    add_name(out, "category",
             row->category == CATEGORY_KERNEL       ? "kernel"
             : row->category == CATEGORY_GPU_MEMCPY ? "gpu_memcpy"
                                                    : "gpu_memset");
    add_count(out, "calls", row->calls);
    add_us(out, "total_us", row->total_ns);
    add_us(out, "min_us", row->min_ns);
    add_us(out, "max_us", row->max_ns);
    add_us(out, "mean_us", row->mean_ns);
    add_double(out, "share", row->share);
    add_bool(out, "collective", row->is_collective);
    open_with(out, "streams", '[');
    for (size_t i = 0; i < row->n_streams; i++) {
        begin_value(out);
        json_write_string(out, row->streams[i]);
    }
    buf_add_byte(out, ']');
    add_launches(out, row);
    add_text(out, "launch_grid", row->launch_grid);
    add_text(out, "launch_block", row->launch_block);
    add_text(out, "frame", row->frame);
    add_count(out, "frame_calls", row->frame_calls);
    buf_add_byte(out, '}');
}

static void
add_digest(struct buf *out, const struct index_set *set)
{
    struct digest *digest = digest_new();
    if (!digest) {
        out->failed = out->no_memory = true;
        return;
    }
    char hex[DIGEST_HEX];
    char line[24];
    for (uint64_t i = 0; index_set_next(set, i, &i); i++) {
        int len = snprintf(line, sizeof line, "%llu\n", (unsigned long long)i);
        digest_add(digest, (struct slice){line, (size_t)len});
    }
    digest_end(digest, hex);
    digest_free(digest);
    add_count(out, "count", set->n);
    add_name(out, "sha256", hex);
}

static void
add_events(struct buf *out,
           const char *key,
           const struct index_set *set,
           enum document_events events)
{
    open_with(out, key, events == EVENTS_DIGEST ? '{' : '[');
    if (events == EVENTS_DIGEST)
        add_digest(out, set);
    for (uint64_t i = 0; events == EVENTS_FULL && index_set_next(set, i, &i); i++) {
        begin_value(out);
        buf_add_number(out, i);
    }
    buf_add_byte(out, events == EVENTS_DIGEST ? '}' : ']');
}

static void
add_parts(struct buf *out,
          const struct chunk *chunk,
          const struct index_set *metadata,
          enum document_events events)
{
    static const char *const parts[CHUNK_PARTS] = {"cpu", "flow", "gpu", "gpu_annotation",
                                                   "instant"};
    if (events == EVENTS_NONE)
        return;
    open_with(out, "events", '{');
    for (int part = 0; part < CHUNK_PARTS; part++)
        add_events(out, parts[part], &chunk->parts[part], events);
    add_events(out, "meta", metadata, events);
    buf_add_byte(out, '}');
}

static void
add_phases(struct buf *out, const struct chunk_phases *phases)
{
    open_with(out, "phase", '{');
    add_count(out, "num_prefill", phases->n[PHASE_PREFILL]);
    add_count(out, "num_prefilldecode", phases->n[PHASE_PREFILLDECODE]);
    add_count(out, "num_decode", phases->n[PHASE_DECODE]);
    add_count(out, "num_none", phases->n[PHASE_NONE]);
    add_int(out, "avg_bs", phases->avg_bs);
    add_int(out, "avg_conc", phases->avg_conc);
    add_count(out, "num_defaulted", phases->num_defaulted);
    buf_add_byte(out, '}');
}

static void
add_chunk_figures(struct buf *out, const struct chunk *chunk)
{
    const struct time_figures *time = &chunk->time;
    add_us(out, "gpu_duration", chunk->gpu_duration_ns);
    add_us(out, "gpu_busy_duration", time->busy_ns);
    add_double(out, "busy_ratio", grade_ratio(time->busy_ns, chunk->gpu_duration_ns));
    add_double(out, "busy_union_ratio",
               grade_ratio(time->busy_union_ns, chunk->extent_union_ns));
    add_us(out, "extent_union_us", chunk->extent_union_ns);
    add_time(out, time);
    add_launch(out, &chunk->launch, time->kernel_count, true);
}

static void
add_chunk(struct buf *out,
          const struct split_answer *answer,
          const struct chunk *chunk,
          enum document_events events,
          const struct document_file *file)
{
    open_with(out, NULL, '{');
    add_name(out, "kind", split_mode_name(chunk->kind));
    add_text(out, "file", chunk->file);
    add_pair(out, "steps", chunk->first_step, chunk->last_step);
    add_count(out, "num_steps", chunk->num_steps);
    add_count(out, "event_count", chunk->event_count);
    add_count(out, "num_gpu_events", chunk->num_gpu_events);
    add_chunk_figures(out, chunk);
    add_phases(out, &chunk->phases);
    add_count(out, "steps_without_gpu_events", chunk->steps_without_gpu_events);
    add_count(out, "gpu_events_repeated", chunk->gpu_events_repeated);
    if (chunk->has_batch_size)
        add_int(out, "batch_size_from_ops", chunk->batch_size_from_ops);
    else
        add_null(out, "batch_size_from_ops");
    add_count(out, "unknown_launcher_gpu_events",
              chunk->kernels.unknown_launcher_gpu_events);
    open_with(out, "kernels", '[');
    for (size_t i = 0; i < chunk->kernels.n; i++)
        add_kernel(out, &chunk->kernels.rows[i]);
    buf_add_byte(out, ']');
    add_parts(out, chunk, &answer->metadata, events);
    if (file && file->sha256) {
        add_count(out, "bytes", file->bytes);
        add_name(out, "sha256", file->sha256);
    }
    buf_add_byte(out, '}');
}

void
document_add(struct buf *out,
             const struct split_answer *answer,
             enum document_events events,
             const struct document_file *files)
{
    bool refused = split_is_refused(answer);
    buf_add_byte(out, '{');
    add_name(out, "result", refused ? "refused" : "split");
    if (refused)
        add_refusal(out, &answer->refusal);
    else
        add_null(out, "refusal");
    add_manifest(out, answer);
    add_steps(out, answer);
    add_windows(out, answer);
    add_absent(out, answer);
    open_with(out, "chunks", '[');
    for (size_t i = 0; !refused && i < answer->n_chunks; i++)
        add_chunk(out, answer, &answer->chunks[i], events, files ? &files[i] : NULL);
    buf_add_byte(out, ']');
    buf_add_byte(out, '}');
}
