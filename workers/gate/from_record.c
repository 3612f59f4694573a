/* SPDX-License-Identifier: Apache-2.0 */
/* Split records as the gate sees them. */
#include "from_record.h"

static const char *const kinds[] = {"mixed", "decode_only", "prefilldecode", "generic",
                                    "range"};

#define OF(record, member)        AMOUNT_IF((record)->has_##member, (double)(record)->member)
#define OF_DOUBLE(record, member) AMOUNT_IF((record)->has_##member, (record)->member)

static void
take_chunk(const struct split_chunk *chunk, struct gate_chunk *ret_chunk)
{
    *ret_chunk = (struct gate_chunk){
        .kind = slice_of(kinds[chunk->kind]),
        .file = chunk->file,
        .has_numbers = true,
        .numbers =
            {
                .num_steps = AMOUNT((double)chunk->num_steps),
                .num_gpu_events = AMOUNT((double)chunk->num_gpu_events),
                .gpu_duration_ns = AMOUNT((double)chunk->gpu_duration_ns),
                .gpu_busy_duration_ns = AMOUNT((double)chunk->gpu_busy_duration_ns),
                .busy_ratio = AMOUNT(chunk->busy_ratio),
                .wall_ns = OF(chunk, wall_ns),
                .busy_union_ns = AMOUNT((double)chunk->busy_union_ns),
                .compute_union_ns = AMOUNT((double)chunk->compute_union_ns),
                .exposed_comm_ns = AMOUNT((double)chunk->exposed_comm_ns),
                .max_event_ns = OF(chunk, max_event_ns),
                .steps_without_gpu_events =
                    AMOUNT((double)chunk->steps_without_gpu_events),
            },
    };
}

static void
take_manifest(const struct split_manifest *manifest, struct trace_numbers *ret_numbers)
{
    *ret_numbers = (struct trace_numbers){
        .graded_coverage = OF_DOUBLE(manifest, graded_coverage),
        .root_span_share = OF_DOUBLE(manifest, root_span_share),
        .startup_transient_trimmed = !manifest->has_startup_transient_trimmed
                                         ? BOOL_UNKNOWN
                                     : manifest->startup_transient_trimmed ? BOOL_TRUE
                                                                           : BOOL_FALSE,
        .startup_transient_kernel = manifest->startup_transient_kernel,
        .startup_transient_collective_ratio =
            OF_DOUBLE(manifest, startup_transient_collective_ratio),
        .startup_transient_noise_ratio =
            OF_DOUBLE(manifest, startup_transient_noise_ratio),
        .gpu_busy_ns = OF(manifest, gpu_busy_ns),
        .graph_launch_count = OF(manifest, graph_launch_count),
        .graph_launches_with_kernels = OF(manifest, graph_launches_with_kernels),
        .graph_kernels = OF(manifest, graph_kernels),
        .off_root_thread_busy_ns = OF(manifest, off_root_thread_busy_ns),
        .overlap_excess_ns = OF(manifest, overlap_excess_ns),
        .overlap_device_ns = OF(manifest, overlap_device_ns),
        .overlap_worst_ns = OF(manifest, overlap_worst_ns),
    };
}

enum err_kind
gate_split_of_record(const struct split_record *record,
                     struct arena *arena,
                     struct gate_split *ret_split,
                     struct err *err)
{
    const struct split_manifest *manifest = &record->manifest;
    const struct split_chunk *from = record->chunks.items;
    size_t n = record->chunks.n;
    struct gate_chunk *chunks = arena_alloc(arena, n * sizeof chunks[0]);
    bool known = manifest->has_status && manifest->status >= 0 &&
                 manifest->status <= STATUS_NOT_SPLITTABLE;
    if (!chunks)
        return err_no_memory(err, "the chunks of a split");
    for (size_t i = 0; i < n; i++)
        take_chunk(&from[i], &chunks[i]);
    *ret_split = (struct gate_split){
        .status = known ? (enum split_status)manifest->status : STATUS_UNKNOWN,
        .aborted = manifest->aborted,
        .refusal_code =
            record->has_refusal ? record->refusal.code : (struct slice){NULL, 0},
        .chunks = chunks,
        .n_chunks = n,
        .has_numbers = true,
    };
    take_manifest(manifest, &ret_split->numbers);
    return ERR_OK;
}

void
gate_request_of_record(const struct request *request, struct gate_request *ret_request)
{
    *ret_request = (struct gate_request){
        .request_id = request->request_id,
        .framework = request->framework,
        .framework_kind = request->framework_kind,
        .requested_mode = request->requested_mode,
        .attempt = request->attempt,
        .retry_of = request->retry_of,
        .from_mode = request->from_mode,
        .source_warning_code = request->source_warning_code,
    };
}
