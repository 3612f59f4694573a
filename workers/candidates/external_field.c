/* SPDX-License-Identifier: Apache-2.0 */
/* Known fields. */
#include "external_field.h"

static const struct known {
    const char *name;
    enum external_type type;
} known[EXTERNAL_FIELDS] = {
    [EXTERNAL_KERNEL_ID] = {"kernel_id", EXTERNAL_TYPE_STRING},
    [EXTERNAL_NAME] = {"name", EXTERNAL_TYPE_STRING},
    [EXTERNAL_DEVICE_KERNEL_NAME] = {"device_kernel_name", EXTERNAL_TYPE_STRING},
    [EXTERNAL_OPERATION] = {"operation", EXTERNAL_TYPE_STRING},
    [EXTERNAL_SOURCE_FILE] = {"source_file", EXTERNAL_TYPE_STRING},
    [EXTERNAL_SOURCE_RESOLUTION_METHOD] = {"source_resolution_method",
                                           EXTERNAL_TYPE_STRING},
    [EXTERNAL_SOURCE_TYPE] = {"source_type", EXTERNAL_TYPE_STRING},
    [EXTERNAL_LIBRARY] = {"library", EXTERNAL_TYPE_STRING},
    [EXTERNAL_KERNEL_CATEGORY] = {"kernel_category", EXTERNAL_TYPE_STRING},
    [EXTERNAL_SHAPE_PROVENANCE] = {"shape_provenance", EXTERNAL_TYPE_STRING},
    [EXTERNAL_SKIP_REASON] = {"skip_reason", EXTERNAL_TYPE_STRING},
    [EXTERNAL_GPU_PCT_BASIS] = {"gpu_pct_basis", EXTERNAL_TYPE_STRING},
    [EXTERNAL_PATCH_STRATEGY] = {"patch_strategy", EXTERNAL_TYPE_STRING},
    [EXTERNAL_CANDIDATE_SOURCE] = {"candidate_source", EXTERNAL_TYPE_STRING},
    [EXTERNAL_GPU_PCT] = {"gpu_pct", EXTERNAL_TYPE_NUMBER},
    [EXTERNAL_DURATION_US] = {"duration_us", EXTERNAL_TYPE_NUMBER},
    [EXTERNAL_CALL_COUNT] = {"call_count", EXTERNAL_TYPE_NUMBER},
    [EXTERNAL_PERCENT_OF_TOTAL] = {"percent_of_total", EXTERNAL_TYPE_NUMBER},
    [EXTERNAL_KERNEL_TIME_PCT] = {"kernel_time_pct", EXTERNAL_TYPE_NUMBER},
    [EXTERNAL_EFFICIENCY_PERCENT] = {"efficiency_percent", EXTERNAL_TYPE_NUMBER},
    [EXTERNAL_PLAYBOOK_AGGREGATE_GPU_PCT] = {"vendor_playbook_aggregate_gpu_pct",
                                             EXTERNAL_TYPE_NUMBER},
    [EXTERNAL_PLAYBOOK_MIN_GPU_PCT_FLOOR] = {"vendor_playbook_min_gpu_pct_floor",
                                             EXTERNAL_TYPE_NUMBER},
    [EXTERNAL_SHAPES] = {"shapes", EXTERNAL_TYPE_LIST},
    [EXTERNAL_INPUT_SHAPES] = {"input_shapes", EXTERNAL_TYPE_LIST},
    [EXTERNAL_INPUT_DTYPES] = {"input_dtypes", EXTERNAL_TYPE_LIST},
    [EXTERNAL_BENCHMARK_FILES] = {"benchmark_files", EXTERNAL_TYPE_LIST},
    [EXTERNAL_RECOMMENDED_BACKENDS] = {"recommended_backends", EXTERNAL_TYPE_LIST},
    [EXTERNAL_REUSABLE_NATIVE_KERNEL] = {"reusable_native_kernel", EXTERNAL_TYPE_BOOLEAN},
    [EXTERNAL_SHAPE_DISPATCHABLE] = {"shape_dispatchable", EXTERNAL_TYPE_BOOLEAN},
    [EXTERNAL_IS_MULTIGPU] = {"is_multigpu", EXTERNAL_TYPE_BOOLEAN},
    [EXTERNAL_RUNTIME_GENERATED_KERNEL] = {"runtime_generated_kernel",
                                           EXTERNAL_TYPE_BOOLEAN},
};

const char *
external_field_name(enum external_field field)
{
    return known[field].name;
}

enum external_field
external_field_of(struct slice name)
{
    for (int i = 0; i < EXTERNAL_FIELDS; i++)
        if (slice_is(name, known[i].name))
            return (enum external_field)i;
    return EXTERNAL_FIELDS;
}

enum external_type
external_field_type(enum external_field field)
{
    return known[field].type;
}
