/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a split as the document of splitting.md 11.5. */
#include "document.h"

#include "cleanup.h"
#include "digest.h"
#include "document_parts.h"
#include "figure.h"
#include "json.h"
#include "member.h"

/* --- refusal ----------------------------------------------------------------------- */

static void
add_refusal(struct buf *out, const struct answer_refusal *refusal)
{
    const struct refusal *reading = &refusal->reading;
    member_open(out, "refusal", '{');
    member_name(out, "code", reading->code);
    if (reading->option)
        member_name(out, "option", reading->option);
    if (refusal->parameter)
        member_name(out, "parameter", refusal->parameter);
    if (reading->reason[0])
        member_name(out, "reason", reading->reason);
    member_set(out, "n_steps", refusal->n_steps);
    member_set(out, "bytes", reading->bytes);
    member_set(out, "offset", reading->offset);
    member_set(out, "events", reading->events);
    member_set(out, "damaged_events", reading->damaged_events);
    if (reading->limit)
        member_name(out, "limit", reading->limit);
    member_set(out, "gpu_events", refusal->gpu_events);
    if (refusal->method)
        member_name(out, "method", refusal->method);
    if (refusal->has_coverage)
        member_double(out, "coverage", refusal->coverage);
    if (refusal->wanted)
        member_name(out, "wanted", refusal->wanted);
    if (refusal->n_kinds) {
        member_open(out, "kinds", '[');
        for (size_t i = 0; i < refusal->n_kinds; i++) {
            member_begin(out);
            json_write_string(out, slice_of(refusal->kinds[i]));
        }
        buf_add_byte(out, ']');
    }
    buf_add_byte(out, '}');
}

/* --- steps and windows ------------------------------------------------------------- */

static void
add_step(struct buf *out, const struct step *step, uint64_t number)
{
    static const char *const sources[] = {"name", "shape", "default", "bookend"};
    const struct step_numbers *numbers = &step->numbers;
    const struct step_work *work = &step->work;
    member_open(out, NULL, '{');
    member_count(out, "step", number);
    member_count(out, "event", step->root.index);
    member_text(out, "name", step->root.name);
    member_name(out, "phase", step_phase_name(step->phase));
    member_name(out, "phase_source", sources[step->phase_source]);
    member_bool(out, "trimmed", step->is_trimmed);
    member_us(out, "ts", step->root.ts_ns);
    member_us(out, "dur", step->root.dur_ns);
    member_open(out, "tile", '[');
    figure_add_us(out, step->tile.start_ns);
    buf_add_byte(out, ',');
    figure_add_us(out, step->tile.end_ns);
    buf_add_byte(out, ']');
    member_int(out, "batch_size", numbers->batch_size);
    member_int(out, "num_requests", numbers->num_requests);
    member_int(out, "context_requests", numbers->context_requests);
    member_int(out, "context_sum", numbers->context_sum);
    member_int(out, "generation_requests", numbers->generation_requests);
    member_int(out, "generation_sum", numbers->generation_sum);
    member_count(out, "num_gpu_events", work->n_gpu);
    if (work->n_gpu) {
        member_us(out, "gpu_start", work->start_ns);
        member_us(out, "gpu_end", work->end_ns);
    } else {
        member_null(out, "gpu_start");
        member_null(out, "gpu_end");
    }
    member_us(out, "gpu_extent", ns_subtract(work->end_ns, work->start_ns));
    member_us(out, "gpu_busy", work->busy_ns);
    buf_add_byte(out, '}');
}

static void
add_steps(struct buf *out, const struct split_answer *answer)
{
    member_open(out, "steps", '[');
    if (answer->stage >= SPLIT_PLANNED)
        for (size_t i = 0; i < answer->steps.n; i++) {
            struct step step = steps_at(&answer->steps, i);
            add_step(out, &step, i);
        }
    buf_add_byte(out, ']');
}

static void
add_picks(struct buf *out, const struct answer_windows *windows)
{
    member_open(out, "picks", '{');
    for (size_t i = 0; i < windows->n_picks; i++) {
        const struct answer_pick *pick = &windows->picks[i];
        const char *kind = split_mode_name(pick->kind);
        if (pick->is_picked)
            member_pair(out, kind, pick->steps.first, pick->steps.last);
        else
            member_null(out, kind);
    }
    buf_add_byte(out, '}');
}

static void
add_windows(struct buf *out, const struct split_answer *answer)
{
    static const char *const sources[] = {"annotations", "shapes", "duration", "range"};
    const struct answer_windows *windows = &answer->windows;
    member_open(out, "windows", '{');
    if (answer->stage >= SPLIT_PLANNED) {
        member_name(out, "source", sources[windows->source]);
        member_open(out, "regions", '[');
        for (size_t i = 0; i < windows->regions.n; i++)
            buf_addf(out, "%s[%zu,%zu]", i ? "," : "", windows->regions.items[i].first,
                     windows->regions.items[i].last);
        buf_add_byte(out, ']');
        if (windows->has_reference_ratio)
            member_double(out, "reference_ratio", windows->reference_ratio);
        member_count(out, "num_steps", answer->plan.num_steps);
        add_picks(out, windows);
        if (windows->has_peak)
            member_int(out, "peak", windows->peak);
        if (windows->has_duration) {
            member_double(out, "cv", windows->cv);
            member_count(out, "windows_passing", windows->windows_passing);
        }
        if (windows->has_analytic) {
            member_double(out, "analytic_ratio", windows->analytic_ratio);
            member_int(out, "analytic_steps", windows->analytic_steps);
        }
    }
    buf_add_byte(out, '}');
}

static void
add_absent(struct buf *out, const struct split_answer *answer)
{
    const struct answer_windows *windows = &answer->windows;
    member_open(out, "absent", '[');
    for (size_t i = 0; i < windows->n_picks; i++) {
        if (windows->picks[i].is_picked)
            continue;
        member_open(out, NULL, '{');
        member_name(out, "kind", split_mode_name(windows->picks[i].kind));
        member_name(out, "reason",
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
    member_open(out, NULL, '{');
    member_name(out, "kind", kinds[row->kind]);
    member_text(out, "op", row->op);
    member_name(out, "dims_from",
                row->dims_from == DIMS_OP         ? "op"
                : row->dims_from == DIMS_ANCESTOR ? "ancestor"
                                                  : NULL);
    member_text(out, "input_dims", row->input_dims);
    member_text(out, "input_type", row->input_type);
    member_count(out, "calls", row->calls);
    member_us(out, "total_us", row->total_ns);
    buf_add_byte(out, '}');
}

static void
add_launches(struct buf *out, const struct kernel_entry *row)
{
    member_count(out, "graph_launch_calls", row->graph_launch_calls);
    member_count(out, "unknown_launcher_calls", row->unknown_launcher_calls);
    member_count(out, "combinations", row->combinations);
    member_open(out, "launches", '[');
    for (size_t i = 0; i < row->n_launches; i++)
        add_launch_row(out, &row->launches[i]);
    buf_add_byte(out, ']');
    member_count(out, "omitted_launches", row->omitted_launches);
    member_count(out, "omitted_launch_calls", row->omitted_launch_calls);
    member_us(out, "omitted_launch_us", row->omitted_launch_ns);
    member_open(out, "eager_shapes", '[');
    for (size_t i = 0; i < row->n_eager_shapes; i++) {
        member_open(out, NULL, '{');
        member_text(out, "input_dims", row->eager_shapes[i].input_dims);
        member_text(out, "input_type", row->eager_shapes[i].input_type);
        member_count(out, "calls", row->eager_shapes[i].calls);
        member_us(out, "total_us", row->eager_shapes[i].total_ns);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
    member_count(out, "omitted_eager_shapes", row->omitted_eager_shapes);
}

static void
add_kernel(struct buf *out, const struct kernel_entry *row)
{
    member_open(out, NULL, '{');
    member_text(out, "name", row->name);
    member_name(out, "category",
                row->category == CATEGORY_KERNEL       ? "kernel"
                : row->category == CATEGORY_GPU_MEMCPY ? "gpu_memcpy"
                                                       : "gpu_memset");
    member_count(out, "calls", row->calls);
    member_us(out, "total_us", row->total_ns);
    member_us(out, "min_us", row->min_ns);
    member_us(out, "max_us", row->max_ns);
    member_us(out, "mean_us", row->mean_ns);
    member_double(out, "share", row->share);
    member_bool(out, "collective", row->is_collective);
    member_open(out, "streams", '[');
    for (size_t i = 0; i < row->n_streams; i++) {
        member_begin(out);
        json_write_string(out, row->streams[i]);
    }
    buf_add_byte(out, ']');
    add_launches(out, row);
    member_text(out, "launch_grid", row->launch_grid);
    member_text(out, "launch_block", row->launch_block);
    member_text(out, "frame", row->frame);
    member_count(out, "frame_calls", row->frame_calls);
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
    member_count(out, "count", set->n);
    member_name(out, "sha256", hex);
}

static void
add_events(struct buf *out,
           const char *key,
           const struct index_set *set,
           enum document_events events)
{
    member_open(out, key, events == EVENTS_DIGEST ? '{' : '[');
    if (events == EVENTS_DIGEST)
        add_digest(out, set);
    for (uint64_t i = 0; events == EVENTS_FULL && index_set_next(set, i, &i); i++) {
        member_begin(out);
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
    member_open(out, "events", '{');
    for (int part = 0; part < CHUNK_PARTS; part++)
        add_events(out, parts[part], &chunk->parts[part], events);
    add_events(out, "meta", metadata, events);
    buf_add_byte(out, '}');
}

static void
add_phases(struct buf *out, const struct chunk_phases *phases)
{
    member_open(out, "phase", '{');
    member_count(out, "num_prefill", phases->n[PHASE_PREFILL]);
    member_count(out, "num_prefilldecode", phases->n[PHASE_PREFILLDECODE]);
    member_count(out, "num_decode", phases->n[PHASE_DECODE]);
    member_count(out, "num_none", phases->n[PHASE_NONE]);
    member_int(out, "avg_bs", phases->avg_bs);
    member_int(out, "avg_conc", phases->avg_conc);
    member_count(out, "num_defaulted", phases->num_defaulted);
    buf_add_byte(out, '}');
}

static void
add_chunk_figures(struct buf *out, const struct chunk *chunk)
{
    const struct time_figures *time = &chunk->time;
    member_us(out, "gpu_duration", chunk->gpu_duration_ns);
    member_us(out, "gpu_busy_duration", time->busy_ns);
    member_double(out, "busy_ratio", grade_ratio(time->busy_ns, chunk->gpu_duration_ns));
    member_double(out, "busy_union_ratio",
                  grade_ratio(time->busy_union_ns, chunk->extent_union_ns));
    member_us(out, "extent_union_us", chunk->extent_union_ns);
    document_add_time(out, time);
    document_add_launch(out, &chunk->launch, time->kernel_count, true);
}

static void
add_chunk(struct buf *out,
          const struct split_answer *answer,
          const struct chunk *chunk,
          enum document_events events,
          const struct document_file *file)
{
    member_open(out, NULL, '{');
    member_name(out, "kind", split_mode_name(chunk->kind));
    member_text(out, "file", chunk->file);
    member_pair(out, "steps", chunk->first_step, chunk->last_step);
    member_count(out, "num_steps", chunk->num_steps);
    member_count(out, "event_count", chunk->event_count);
    member_count(out, "num_gpu_events", chunk->num_gpu_events);
    add_chunk_figures(out, chunk);
    add_phases(out, &chunk->phases);
    member_count(out, "steps_without_gpu_events", chunk->steps_without_gpu_events);
    member_count(out, "gpu_events_repeated", chunk->gpu_events_repeated);
    if (chunk->has_batch_size)
        member_int(out, "batch_size_from_ops", chunk->batch_size_from_ops);
    else
        member_null(out, "batch_size_from_ops");
    member_count(out, "unknown_launcher_gpu_events",
                 chunk->kernels.unknown_launcher_gpu_events);
    member_open(out, "kernels", '[');
    for (size_t i = 0; i < chunk->kernels.n; i++)
        add_kernel(out, &chunk->kernels.rows[i]);
    buf_add_byte(out, ']');
    add_parts(out, chunk, &answer->metadata, events);
    if (file && file->sha256) {
        member_count(out, "bytes", file->bytes);
        member_name(out, "sha256", file->sha256);
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
    member_name(out, "result", refused ? "refused" : "split");
    if (refused)
        add_refusal(out, &answer->refusal);
    else
        member_null(out, "refusal");
    document_add_manifest(out, answer);
    add_steps(out, answer);
    add_windows(out, answer);
    add_absent(out, answer);
    member_open(out, "chunks", '[');
    for (size_t i = 0; !refused && i < answer->n_chunks; i++)
        add_chunk(out, answer, &answer->chunks[i], events, files ? &files[i] : NULL);
    buf_add_byte(out, ']');
    buf_add_byte(out, '}');
}
