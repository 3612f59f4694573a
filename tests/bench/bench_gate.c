/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_verdicts: verdicts a second on one core in the pure function, over a mix of
 * splits. table_5000: milliseconds for the candidate table of 5,000 kernel names of 300
 * bytes on average, 4 launch groups each, without a limit of rows. Both in time of the
 * processor: other load on the machine is no part of it.
 */
#include "decide.h"
#include "table.h"

#include "cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 5, SPLITS = 64, KERNELS = 5000, GROUPS = 4, NAME_BYTES = 300 };

static const double run_seconds = 0.5;
static const double wanted_verdicts = 150000; /* a second */
static const double wanted_table_ms = 20;

static double
cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double
median(double *values)
{
    qsort(values, RUNS, sizeof *values, compare);
    return values[RUNS / 2];
}

static uint64_t
draw(uint64_t *seed, uint64_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % below;
}

/* --- verdicts ----------------------------------------------------------------------- */

struct splits {
    struct gate_chunk chunks[SPLITS][MODES];
    struct gate_split items[SPLITS];
    struct gate_request requests[SPLITS];
};

static struct chunk_numbers
make_numbers(uint64_t *seed)
{
    double wall = 1000.0 * (double)(1 + draw(seed, 4000000));
    double busy = wall * (double)draw(seed, 1000) / 1000.0;
    double events = draw(seed, 5) ? (double)draw(seed, 40000) : 0;
    return (struct chunk_numbers){
        .num_steps = AMOUNT(32),
        .num_gpu_events = AMOUNT(events),
        .gpu_duration_ns = AMOUNT(wall),
        .gpu_busy_duration_ns = AMOUNT(floor(busy)),
        .busy_ratio = AMOUNT(busy / wall),
        .wall_ns = AMOUNT(wall),
        .busy_union_ns = AMOUNT(floor(busy * 0.9)),
        .compute_union_ns = AMOUNT(floor(busy * 0.7)),
        .exposed_comm_ns = AMOUNT(floor(busy * 0.1)),
        .max_event_ns = AMOUNT(floor(busy * 0.3)),
        .steps_without_gpu_events = AMOUNT((double)draw(seed, 32)),
    };
}

static struct trace_numbers
make_trace(uint64_t *seed)
{
    return (struct trace_numbers){
        .graded_coverage = AMOUNT((double)draw(seed, 1000) / 1001.0),
        .root_span_share = AMOUNT((double)draw(seed, 1000) / 1001.0),
        .startup_transient_trimmed = BOOL_FALSE,
        .gpu_busy_ns = AMOUNT(4e9),
        .graph_launch_count = AMOUNT((double)draw(seed, 10)),
        .graph_launches_with_kernels = AMOUNT((double)draw(seed, 3)),
        .graph_kernels = AMOUNT(100),
        .off_root_thread_busy_ns = AMOUNT((double)draw(seed, 400000000)),
        .overlap_excess_ns = AMOUNT((double)draw(seed, 400000000)),
        .overlap_device_ns = AMOUNT(4e9),
        .overlap_worst_ns = AMOUNT(2e6),
    };
}

static void
make_splits(struct splits *splits)
{
    uint64_t seed = UINT64_C(88172645463325252);
    for (int i = 0; i < SPLITS; i++) {
        size_t n = 1 + draw(&seed, MODES);
        for (size_t k = 0; k < n; k++)
            splits->chunks[i][k] = (struct gate_chunk){
                .kind = slice_of(mode_names[(i + (int)k) % MODES]),
                .file = SLICE("mixed_steady_state_prefill_0_decode_32_t.json.gz"),
                .has_numbers = true,
                .numbers = make_numbers(&seed),
            };
        splits->items[i] = (struct gate_split){
            .status = draw(&seed, 8) ? STATUS_SPLITTABLE : STATUS_DEGRADED,
            .chunks = splits->chunks[i],
            .n_chunks = n,
            .has_numbers = true,
            .numbers = make_trace(&seed),
        };
        splits->requests[i] = (struct gate_request){
            .request_id = SLICE("8d4ed3a3d8a14a0d8a9d0f6c2f5a9b11"),
            .framework = SLICE("vllm"),
            .framework_kind = SLICE("serving"),
            .requested_mode = slice_of(mode_names[i % MODES]),
            .attempt = 1,
        };
    }
}

static struct slice
no_variable(const void *state, const char *name)
{
    (void)state;
    (void)name;
    return (struct slice){0};
}

/* Verdicts a second; 0 when one failed. */
static double
run_verdicts(const struct splits *splits, const struct gate_config *config)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct err err = {0};
    double begin = cpu_seconds();
    double elapsed = 0;
    size_t done = 0;
    size_t accepted = 0;
    while (elapsed < run_seconds) {
        for (int i = 0; i < SPLITS; i++) {
            struct gate_answer answer;
            arena_reset(&arena);
            if (gate_decide(&splits->requests[i], &splits->items[i], config, &arena,
                            &answer, &err))
                return 0;
            accepted += answer.accepted;
        }
        done += SPLITS;
        elapsed = cpu_seconds() - begin;
    }
    return accepted ? (double)done / elapsed : 0;
}

static int
measure_verdicts(void)
{
    static struct splits splits;
    static const struct gate_settings none;
    struct gate_config config;
    double ours[RUNS];
    make_splits(&splits);
    gate_config_resolve(&none, no_variable, NULL, &config, NULL);
    for (int i = 0; i < RUNS; i++) {
        ours[i] = run_verdicts(&splits, &config);
        fprintf(stderr, "gate_verdicts: %.0f verdicts/s\n", ours[i]);
        if (ours[i] <= 0)
            return 1;
    }
    double our = median(ours);
    printf("{\"name\": \"gate_verdicts\", \"what\": \"verdicts in the pure function, per "
           "second of CPU\", \"unit\": \"verdicts/s\", \"ours\": %.0f, \"peer\": %.0f, "
           "\"peer_name\": \"requirement\", \"ratio\": %.2f, \"goal\": 1, \"holds\": %s, "
           "\"runs\": %d}\n",
           our, wanted_verdicts, our / wanted_verdicts,
           our >= wanted_verdicts ? "true" : "false", RUNS);
    return 0;
}

/* --- the table ---------------------------------------------------------------------- */

struct kernels {
    char names[KERNELS][NAME_BYTES * 2];
    struct kernel_row rows[KERNELS];
    struct launch_group groups[KERNELS][GROUPS];
};

/* Templates of a real trace's kind, of 150 to 450 bytes. */
static struct slice
make_name(char *name, uint64_t *seed)
{
    static const char *const parts[] = {
        "at::native::vectorized_elementwise_kernel<4, ",
        "void (anonymous namespace)::",
        "ck_tile::kentry<256, 2, ",
        "std::array<char*, 3ul>, ",
        "TensorListMetadata<2>, unsigned int, ",
        "_ZN5aiter24fused_mul_kernelIN3c10",
        "BlockwisePipeline_v3_BLOCK_SIZE_M_64_",
        "at::native::BinaryFunctor<float, float, float, ",
        "Shape<Int<128>, Int<64>, Int<32>>, ",
    };
    size_t want = NAME_BYTES / 2 + draw(seed, NAME_BYTES);
    size_t n = (size_t)snprintf(name, 24, "k%llu_",
                                (unsigned long long)draw(seed, UINT64_C(1) << 40));
    while (n < want) {
        const char *part = parts[draw(seed, sizeof parts / sizeof parts[0])];
        while (*part && n < want)
            name[n++] = *part++;
    }
    return (struct slice){name, n};
}

static size_t
make_kernels(struct kernels *kernels)
{
    static const struct slice ops[] = {
        {"aten::mm", 8}, {"aten::add_", 10}, {"vllm::unified_attention", 23}};
    uint64_t seed = UINT64_C(88172645463325252);
    size_t bytes = 0;
    for (int i = 0; i < KERNELS; i++) {
        for (int k = 0; k < GROUPS; k++)
            kernels->groups[i][k] = (struct launch_group){
                .kind = LAUNCH_KIND_EAGER,
                .op = ops[draw(&seed, 8) ? 0 : draw(&seed, 3)],
                .has_dims_from = true,
                .dims_from = DIMS_FROM_OP,
                .input_dims = k % 2 ? SLICE("[[8192,7168],[7168,1536],[]]")
                                    : SLICE("[[4096,7168],[7168,1536],[]]"),
                .input_type = SLICE("[\"c10::BFloat16\",\"c10::BFloat16\",\"Scalar\"]"),
                .calls = (int64_t)draw(&seed, 100),
                .total_ns = (int64_t)draw(&seed, 1000000),
            };
        kernels->rows[i] = (struct kernel_row){
            .name = make_name(kernels->names[i], &seed),
            .calls = 400,
            .total_ns = (int64_t)draw(&seed, 100000000),
            .launches = {kernels->groups[i], GROUPS},
            .frame = SLICE("vllm/model_executor/layers/linear.py(412): forward"),
            .frame_calls = 9,
        };
        bytes += kernels->rows[i].name.len;
    }
    return bytes / KERNELS;
}

/* Milliseconds of one table, its matcher made anew; the memory is that of the run before,
 * as a worker's is. Below 0 when it failed. */
static double
run_table(const struct split_chunk *chunk, struct arena *arena)
{
    static struct categories categories;
    struct err err = {0};
    struct table_limits limits = {0, 5};
    struct kernel_table table;
    double begin = cpu_seconds();
    arena_reset(arena);
    categories_init(&categories);
    if (table_build(chunk, &categories, &limits, arena, &table, &err) ||
        table.hot_kernels.n != KERNELS)
        return -1;
    return 1000 * (cpu_seconds() - begin);
}

static int
measure_table(void)
{
    static struct kernels kernels;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    double ours[RUNS];
    size_t mean = make_kernels(&kernels);
    struct split_chunk chunk = {
        .file = SLICE("chunk"),
        .has_wall_ns = true,
        .wall_ns = INT64_C(1000000000000),
        .kernels = {kernels.rows, KERNELS},
    };
    for (int i = 0; i < RUNS; i++) {
        ours[i] = run_table(&chunk, &arena);
        fprintf(stderr, "table_5000: %.2f ms, names of %zu bytes\n", ours[i], mean);
        if (ours[i] < 0)
            return 1;
    }
    double our = median(ours);
    printf("{\"name\": \"table_5000\", \"what\": \"candidate table of %d names of %zu "
           "bytes, %d launch groups each\", \"unit\": \"ms\", \"ours\": %.2f, \"peer\": "
           "%.0f, \"peer_name\": \"requirement\", \"ratio\": %.2f, \"goal\": 1, "
           "\"holds\": %s, \"runs\": %d}\n",
           KERNELS, mean, GROUPS, our, wanted_table_ms, wanted_table_ms / our,
           our <= wanted_table_ms ? "true" : "false", RUNS);
    return 0;
}

int
main(int argc, char **argv)
{
    const char *only = argc == 3 && strcmp(argv[1], "--only") == 0 ? argv[2] : NULL;
    int status = 0;
    if (!only || strcmp(only, "gate_verdicts") == 0)
        status |= measure_verdicts();
    if (!only || strcmp(only, "table_5000") == 0)
        status |= measure_table();
    return status;
}
