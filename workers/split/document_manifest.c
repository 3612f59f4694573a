/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest of a split in its document: what was read, measured and decided. */
#include "document_parts.h"

#include "figure.h"
#include "json.h"
#include "member.h"

/* --- what reading found --------------------------------------------------------------
 */

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
        member_name(out, "document", facts->is_array ? "array" : "object");
    member_flag(out, "bom", facts->bom);
    member_flag(out, "unclosed_array", facts->unclosed_array);
    member_some(out, "keys_before", facts->keys_before);
    member_some(out, "keys_after", facts->keys_after);
    member_some(out, "missing_commas", facts->missing_commas);
    member_some(out, "stray_commas", facts->stray_commas);
    member_some(out, "non_object_elements", facts->non_object_elements);
    member_some(out, "oversized_events", facts->oversized_events);
    member_some(out, "repaired_events", facts->repaired_events);
    for (int i = 0; i < SCAN_REPAIRS; i++)
        member_some(out, repairs[i], facts->repairs[i]);
    for (int i = 0; i < SCAN_REPAIRS; i++)
        if (1U << i != SCAN_INVALID_UTF8)
            member_some(out, header_repairs[i], facts->header_repairs[i]);
    member_some(out, "damaged_events", facts->damaged_events);
    member_some(out, "damaged_header_keys", facts->damaged_header_keys);
    member_some(out, "header_damage_offset", facts->header_damage_offset);
    member_some(out, "trailing_bytes", facts->trailing_bytes);
}

static void
add_damage_facts(struct buf *out, const struct scan_facts *facts)
{
    member_flag(out, "salvaged", facts->salvaged);
    if (facts->truncated_at.value)
        member_set(out, "truncated_at", facts->truncated_at);
    if (facts->corrupt_at.value)
        member_set(out, "corrupt_at", facts->corrupt_at);
    member_some(out, "damaged_bytes", facts->damaged_bytes);
    if (facts->damaged_bytes)
        member_some(out, "first_damage_offset", facts->first_damage_offset);
    member_set(out, "events_behind_the_end", facts->events_behind_the_end);
}

static void
add_index_facts(struct buf *out, const struct event_counts *counts, uint64_t events)
{
    member_some(out, "events", events);
    member_some(out, "non_event_objects", counts->non_event_objects);
    member_some(out, "string_number", counts->string_number);
    member_some(out, "bad_number", counts->bad_number);
    member_some(out, "without_dur", counts->without_dur);
    member_some(out, "negative_dur", counts->negative_dur);
    member_some(out, "begin_end_pairs", counts->begin_end_pairs);
    member_some(out, "unmatched_begin_end", counts->unmatched_begin_end);
    member_some(out, "gpu_events_without_correlation",
                counts->gpu_events_without_correlation);
}

static void
add_input(struct buf *out, const struct split_answer *answer)
{
    const struct feed_facts *container = &answer->reading.container;
    const struct scan_facts *facts = &answer->reading.facts;
    member_open(out, "input", '{');
    if (container->container)
        member_name(out, "container", container->container);
    member_some(out, "gzip_members", container->gzip_members);
    member_some(out, "container_trailing_bytes", container->container_trailing_bytes);
    member_some(out, "bytes", container->bytes);
    member_flag(out, "high_ratio", container->high_ratio);
    add_document_facts(out, facts);
    add_damage_facts(out, facts);
    if (facts->is_indexed)
        add_index_facts(out, events_counts(answer->events), facts->events);
    buf_add_byte(out, '}');
}

/* --- figures -------------------------------------------------------------------------
 */

void
document_add_time(struct buf *out, const struct time_figures *time)
{
    double idle;
    if (time->n)
        member_us(out, "wall_us", time->wall_ns);
    member_us(out, "busy_union_us", time->busy_union_ns);
    member_us(out, "compute_union_us", time->compute_union_ns);
    member_us(out, "comm_union_us", time->comm_union_ns);
    member_us(out, "exposed_comm_us", time->exposed_comm_ns);
    member_us(out, "copy_us", time->copy_ns);
    member_us(out, "stream_overlap_us", time->stream_overlap_ns);
    if (time_figures_idle(time, &idle))
        member_double(out, "idle_ratio", idle);
    if (time->n)
        member_us(out, "max_event_us", time->max_event_ns);
}

void
document_add_launch(struct buf *out,
                    const struct launch_figures *launch,
                    uint64_t kernel_count,
                    bool has_roots)
{
    member_count(out, "kernel_count", kernel_count);
    member_count(out, "host_launch_count", launch->host_launch_count);
    member_count(out, "graph_launch_count", launch->graph_launch_count);
    member_count(out, "graph_launches_with_kernels", launch->graph_launches_with_kernels);
    member_count(out, "graph_kernels", launch->graph_kernels);
    member_us(out, "unlinked_busy_us", launch->unlinked_busy_ns);
    if (has_roots)
        member_us(out, "off_root_thread_busy_us", launch->off_root_thread_busy_ns);
}

static void
add_overlap(struct buf *out, const struct split_answer *answer)
{
    const struct overlap *overlap = &answer->overlap;
    struct event_thread thread = events_thread(answer->events, overlap->thread);
    char scratch[EVENT_ID_DIGITS];
    member_us(out, "overlap_excess_us", overlap->excess_ns);
    member_us(out, "overlap_device_us", overlap->device_ns);
    member_us(out, "overlap_worst_us", overlap->worst_ns);
    if (overlap->has_event)
        member_text(out, "overlap_worst_event",
                    events_text(answer->events, overlap->event));
    member_text(out, "overlap_pid", events_id_text(answer->events, thread.pid, scratch));
    member_text(out, "overlap_tid", events_id_text(answer->events, thread.tid, scratch));
}

/* --- the decision --------------------------------------------------------------------
 */

static void
add_candidates(struct buf *out, const struct detection *detection)
{
    member_open(out, "candidates", '[');
    for (size_t i = 0; i < detection->n_tried; i++) {
        const struct tried *tried = &detection->tried[i];
        member_open(out, NULL, '{');
        member_name(out, "method", tried->method);
        member_int(out, "status", tried->status);
        member_count(out, "n_roots", tried->n_roots);
        member_double(out, "coverage", tried->coverage);
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
        member_count(out, "period", tree->period);
    if (tree->has_depth)
        member_int(out, "period_depth", tree->depth);
    member_name(out, "period_label_tier", tree->tier);
    member_name(out, "branch_source", tree->source);
    member_double(out, "branch_coverage", tree->coverage);
    member_some(out, "dropped_low_gpu_roots", tree->dropped_low_gpu_roots);
    if (!tree->has_bookends)
        return;
    member_bool(out, "bookend_enhancement", true);
    member_double(out, "warmup_gpu_pct", tree->warmup_percent);
    member_double(out, "wrapup_gpu_pct", tree->wrapup_percent);
}

static void
add_transient(struct buf *out, const struct transient *transient)
{
    if (!transient->is_looked_for)
        return;
    member_bool(out, "startup_transient_trimmed", transient->is_trimmed);
    if (!transient->is_trimmed)
        return;
    member_text(out, "startup_transient_kernel", transient->kernel);
    member_double(out, "startup_transient_collective_ratio", transient->collective_ratio);
    member_double(out, "startup_transient_noise_ratio", transient->noise_ratio);
    member_bool(out, "startup_transient_same_phase_only", transient->same_phase_only);
}

static void
add_coverage(struct buf *out, const struct candidate *result, uint64_t n_roots)
{
    const struct coverage *coverage = &result->coverage;
    if (n_roots)
        member_name(out, "attribution_strategy",
                    coverage->by_gpu_span ? "gpu_span" : "correlation");
    double share = grade_ratio(coverage->spans_ns, coverage->selected_ns);
    member_double(out, "coverage_selected_roots",
                  grade_ratio(coverage->selected_ns, coverage->busy_ns));
    member_double(out, "coverage_root_spans_only",
                  grade_ratio(coverage->spans_ns, coverage->busy_ns));
    member_double(out, "root_span_share", share < 1.0 ? share : 1.0);
    member_double(out, "graded_coverage", candidate_graded(result));
}

static void
add_detection(struct buf *out, const struct split_answer *answer)
{
    static const char *const confidences[] = {"high", "low", "unknown"};
    const struct detection *detection = &answer->detection;
    const struct candidate *result = &detection->result;
    member_int(out, "status", result->status);
    member_name(out, "method", result->method);
    member_name(out, "phase_confidence", confidences[result->confidence]);
    member_count(out, "n_roots", answer->n_roots);
    member_text(out, "root_family", detection->family);
    member_bool(out, "root_family_known", result->annotation_tier != NULL);
    member_bool(out, "suspiciously_few_roots", answer->n_roots < MIN_ROOTS);
    if (result->annotation_tier)
        member_name(out, "annotation_tier", result->annotation_tier);
    add_coverage(out, result, answer->n_roots);
    if (answer->n_roots == 0)
        member_name(out, "reason", REASON_NO_ROOTS);
    add_candidates(out, detection);
    if (detection->near_misses) {
        member_count(out, "near_miss_annotations", detection->near_misses);
        member_text(out, "near_miss_example", detection->near_miss);
    }
    add_tree(out, &result->tree);
    add_transient(out, &answer->transient);
}

static void
add_extraction(struct buf *out, const struct split_answer *answer)
{
    uint64_t extracted = answer->n_gpu_events_extracted;
    member_bool(out, "gap_fill", true);
    member_count(out, "root_threads", answer->root_threads);
    member_count(out, "n_overlapping_roots", answer->n_overlapping_roots);
    member_count(out, "n_gpu_events_extracted", extracted);
    member_count(out, "n_gpu_events_outside_iterations",
                 answer->n_gpu_events - extracted);
    member_double(out, "gpu_event_retention",
                  grade_ratio((int64_t)extracted, (int64_t)answer->n_gpu_events));
    member_count(out, "gpu_events_repeated", answer->gpu_events_repeated);
    member_count(out, "flows_repeated", answer->flows_repeated);
}

static void
add_kinds(struct buf *out, const struct split_answer *answer)
{
    const struct answer_windows *windows = &answer->windows;
    bool some = false;
    for (size_t i = 0; i < windows->n_picks; i++)
        some = some || !windows->picks[i].is_picked;
    if (some && answer->n_chunks) {
        member_open(out, "absent_kinds", '[');
        for (size_t i = 0; i < windows->n_picks; i++)
            if (!windows->picks[i].is_picked) {
                member_begin(out);
                json_write_string(out, slice_of(split_mode_name(windows->picks[i].kind)));
            }
        buf_add_byte(out, ']');
    }
    some = false;
    for (size_t i = 0; i < answer->n_chunks; i++)
        some = some || answer->chunks[i].num_gpu_events == 0;
    if (!some)
        return;
    member_open(out, "kinds_without_gpu_events", '[');
    for (size_t i = 0; i < answer->n_chunks; i++)
        if (answer->chunks[i].num_gpu_events == 0) {
            member_begin(out);
            json_write_string(out, slice_of(split_mode_name(answer->chunks[i].kind)));
        }
    buf_add_byte(out, ']');
}

static void
add_planning(struct buf *out, const struct split_answer *answer)
{
    member_bool(out, "annotated", answer->is_annotated);
    member_flag(out, "phases_unknown", answer->phases_unknown);
    if (answer->batch_threshold.is_known && answer->windows.source == WINDOWS_SHAPES)
        member_int(out, "batch_threshold", answer->batch_threshold.size);
    member_count(out, "steps_without_gpu_events", answer->steps_without_gpu_events);
    if (!split_is_refused(answer))
        add_kinds(out, answer);
    if (!answer->has_conc_mismatch)
        return;
    member_open(out, "conc_mismatch", '{');
    member_int(out, "given", answer->plan.conc);
    member_int(out, "observed", answer->windows.peak);
    buf_add_byte(out, '}');
}

void
document_add_manifest(struct buf *out, const struct split_answer *answer)
{
    member_open(out, "manifest", '{');
    member_bool(out, "aborted", split_is_refused(answer));
    if (answer->stage >= SPLIT_DETECTED)
        add_detection(out, answer);
    if (answer->stage >= SPLIT_READ) {
        member_count(out, "n_gpu_events_in_trace", answer->n_gpu_events);
        member_us(out, "gpu_busy_us", answer->gpu_busy_ns);
    }
    if (answer->stage >= SPLIT_MEASURED) {
        document_add_time(out, &answer->time);
        add_overlap(out, answer);
    }
    if (answer->stage >= SPLIT_DETECTED)
        document_add_launch(out, &answer->launch, answer->time.kernel_count,
                            answer->n_roots > 0);
    if (answer->stage >= SPLIT_OWNED)
        add_extraction(out, answer);
    if (answer->stage >= SPLIT_PLANNED)
        add_planning(out, answer);
    member_flag(out, "r_clamped", answer->plan.r_clamped);
    member_flag(out, "analytic_ratio_incomplete", answer->plan.analytic_ratio_incomplete);
    add_input(out, answer);
    buf_add_byte(out, '}');
}
