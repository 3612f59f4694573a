/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of a few steps, event by event. */
#include "trace_gen.h"

#include "buf.h"
#include "cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    STEPS = 128,
    REQUESTS = 16, /* in flight, in every step */
    PREFILL_TOKENS = 512,
    PREFILL_EVERY = 6, /* steps, while prompts come one by one */
    BURST_BEGIN = 96,  /* then they come in every step */
    BURST_END = 100,
    LOST_STEPS = 36, /* at the start, of a capture that lost graph replays */
    LAYERS = 1,
    LABEL_BYTES = 192,
    ARGS_BYTES = 256,
    HOST_PID = 851,
    GPU_PID = 0,
    STREAM = 7,
};

/* 13 digits of microseconds, as real captures have. */
static const int64_t base_ns = 6520618853487683;

/* What is launched in each layer. */
static const struct operation {
    const char *op;
    const char *kernel;
    const char *dims;   /* of the first operand, behind the tokens */
    const char *second; /* operand, whole */
    int64_t ns;
    int64_t token_ns; /* more for each token of a prompt */
} layer[] = {
    {"aten::rms_norm",
     "void rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, float, int)", "4096",
     "[4096]", 3200, 9},
    {"aten::linear", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_MT128x128x64_MI16x16x1", "4096",
     "[6144, 4096]", 14500, 110},
    {"aten::scaled_dot_product_attention", "kernel_unified_attention_3d", "32, 128",
     "[1024, 8, 128]", 22000, 140},
    {"aten::silu", "void act_and_mul_kernel<c10::BFloat16>(c10::BFloat16*, int)", "24576",
     "[16, 12288]", 4100, 12},
};

enum { LAYER_OPERATIONS = sizeof layer / sizeof layer[0] };

enum framework { VLLM, SGLANG, DIFFUSION, FRAMEWORKS };

/* What is asked of every trace of a folder. */
static const struct {
    const char *path;
    const char *text;
} requests[FRAMEWORKS] = {
    [VLLM] = {"vllm/request.json", "{\"framework\": \"vllm\"}\n"},
    [SGLANG] = {"sglang/request.json", "{\"framework\": \"sglang\"}\n"},
    [DIFFUSION] = {"xdit/request.json", "{\"framework\": \"xdit\"}\n"},
};

struct scenario {
    const char *path;
    const char *story;
    enum framework framework;
    int lost_steps; /* without GPU events */
    bool cut;       /* ends in the middle */
};

static const struct scenario scenarios[] = {
    {"vllm/steady.pt.trace.json", "a serving run as it should be", VLLM, 0, false},
    {"vllm/lost_replays.pt.trace.json",
     "its first replays left no kernel: the mixed chunk is empty, another heals it", VLLM,
     LOST_STEPS, false},
    {"sglang/serving.pt.trace.json", "another server's names for the same", SGLANG, 0,
     false},
    {"xdit/flux.pt.trace.json", "a diffusion loop: one chunk, no phases", DIFFUSION, 0,
     false},
    {"vllm/host_only.pt.trace.json", "no GPU activity was recorded: refused for good",
     VLLM, STEPS, false},
    {"vllm/cut_short.pt.trace.json", "the profiler was killed while it wrote", VLLM, 0,
     true},
};

/* A trace in the making; times in nanoseconds. */
struct writer {
    const struct scenario *scenario;
    struct buf out;
    int64_t host_ns;
    int64_t gpu_ns; /* the stream is free from here on */
    int64_t correlation;
    size_t n_events;
};

/* --- events ------------------------------------------------------------------------- */

static void
add_us(struct buf *out, int64_t ns)
{
    buf_addf(out, "%lld.%03d", (long long)(ns / 1000), (int)(ns % 1000));
}

/* A complete event; `args` as members, or NULL. */
static void
add_event(struct writer *writer,
          const char *category,
          const char *name,
          int pid,
          int tid,
          int64_t ts_ns,
          int64_t dur_ns,
          const char *args)
{
    struct buf *out = &writer->out;
    buf_addf(out,
             "%s\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, "
             "\"tid\": %d, \"ts\": ",
             writer->n_events++ ? "," : "", category, name, pid, tid);
    add_us(out, ts_ns);
    buf_add_str(out, ", \"dur\": ");
    add_us(out, dur_ns);
    if (args)
        buf_addf(out, ", \"args\": {%s}", args);
    buf_add_byte(out, '}');
}

static void
add_process(struct writer *writer, int pid, const char *name)
{
    buf_addf(&writer->out,
             "%s\n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"tid\": 0, "
             "\"ts\": ",
             writer->n_events++ ? "," : "", pid);
    add_us(&writer->out, base_ns);
    buf_addf(&writer->out, ", \"args\": {\"name\": \"%s\"}}", name);
}

/* An op of the host, its launch, and what the GPU makes of it. */
static void
add_launch(struct writer *writer,
           const struct operation *operation,
           int tokens,
           int prompt_tokens,
           bool lost)
{
    enum { OP_NS = 9000, LAUNCH_AFTER_NS = 3000, LAUNCH_NS = 4000, NEXT_NS = 600 };
    char args[ARGS_BYTES];
    int64_t id = ++writer->correlation;
    int64_t ts = writer->host_ns;
    int64_t start = ts + LAUNCH_AFTER_NS + LAUNCH_NS / 2;
    int64_t dur = operation->ns + prompt_tokens * operation->token_ns + id % 7 * 100;
    snprintf(args, sizeof args,
             "\"External id\": %lld, \"Input Dims\": [[%d, %s], %s], \"Input type\": "
             "[\"c10::BFloat16\", \"c10::BFloat16\"]",
             (long long)id, tokens, operation->dims, operation->second);
    add_event(writer, "cpu_op", operation->op, HOST_PID, HOST_PID, ts, OP_NS, args);
    snprintf(args, sizeof args, "\"External id\": %lld, \"correlation\": %lld",
             (long long)id, (long long)id);
    add_event(writer, "cuda_runtime", "cudaLaunchKernel", HOST_PID, HOST_PID,
              ts + LAUNCH_AFTER_NS, LAUNCH_NS, args);
    writer->host_ns += OP_NS + NEXT_NS;
    if (lost)
        return;
    start = start > writer->gpu_ns ? start : writer->gpu_ns + NEXT_NS;
    snprintf(args, sizeof args,
             "\"External id\": %lld, \"correlation\": %lld, \"stream\": %d, \"grid\": "
             "[%d, 1, 1], \"block\": [256, 1, 1]",
             (long long)id, (long long)id, STREAM, tokens);
    add_event(writer, "kernel", operation->kernel, GPU_PID, STREAM, start, dur, args);
    writer->gpu_ns = start + dur;
}

/* --- steps -------------------------------------------------------------------------- */

static bool
has_prompt(int step)
{
    return (step >= BURST_BEGIN && step < BURST_END) ||
           (step < BURST_BEGIN && step % PREFILL_EVERY == 0);
}

static void
name_step(const struct scenario *scenario, bool prompt, char label[LABEL_BYTES])
{
    const int n = REQUESTS - prompt;
    const int square = PREFILL_TOKENS * PREFILL_TOKENS;
    const int sq = prompt ? PREFILL_TOKENS : 0;
    switch (scenario->framework) {
    case VLLM:
        snprintf(label, LABEL_BYTES,
                 "execute_%d_context_%d(sq%dsk%dsqsq%dsqsk%d)_generation_%d(sq%dsk%d"
                 "sqsq%dsqsk%d)",
                 sq + n, prompt, sq, sq, prompt ? square : 0, prompt ? square : 0, n, n,
                 n * 1024, n, n * 1024);
        break;
    case SGLANG:
        if (prompt)
            snprintf(label, LABEL_BYTES,
                     "step[MIXED bs=%d c=1 g=%d c_sq=%d c_sk=%d c_sqsq=%d c_sqsk=%d "
                     "g_sq=%d g_sk=%d g_sqsq=%d g_sqsk=%d]",
                     REQUESTS, n, sq, sq, square, square, n, n * 1024, n, n * 1024);
        else
            snprintf(label, LABEL_BYTES,
                     "step[DECODE bs=%d g_sq=%d g_sqsq=%d g_sqsk=%d g_sk=%d]", n, n, n,
                     n * 1024, n * 1024);
        break;
    case DIFFUSION:
    case FRAMEWORKS:
    default:
        snprintf(label, LABEL_BYTES, "execute_diffusion_1_1024x1024");
    }
}

static void
add_step(struct writer *writer, int step)
{
    enum { LEAD_NS = 15000, BETWEEN_NS = 30000 };
    const struct scenario *scenario = writer->scenario;
    bool prompt = scenario->framework != DIFFUSION && has_prompt(step);
    bool lost = step < scenario->lost_steps;
    int prompt_tokens = prompt ? PREFILL_TOKENS : 0;
    char label[LABEL_BYTES];
    int64_t begin = writer->host_ns;
    writer->host_ns += LEAD_NS;
    for (int i = 0; i < LAYERS * LAYER_OPERATIONS; i++)
        add_launch(writer, &layer[i % LAYER_OPERATIONS], REQUESTS + prompt_tokens,
                   prompt_tokens, lost);
    /* The host waits for the tokens of a step before it begins the next. */
    if (writer->host_ns < writer->gpu_ns)
        writer->host_ns = writer->gpu_ns;
    writer->host_ns += LEAD_NS;
    name_step(scenario, prompt, label);
    add_event(writer, "user_annotation", label, HOST_PID, HOST_PID, begin,
              writer->host_ns - begin, NULL);
    writer->host_ns += BETWEEN_NS;
}

static enum err_kind
write_trace(const struct scenario *scenario,
            trace_file_fn *write,
            void *state,
            struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct writer writer = {
        .scenario = scenario, .out = BUF_INIT, .host_ns = base_ns, .gpu_ns = base_ns};
    buf_add_str(&writer.out, "{\"schemaVersion\": 1, \"deviceProperties\": [], "
                             "\"record_shapes\": 1, \"traceEvents\": [");
    add_process(&writer, HOST_PID, "python");
    add_process(&writer, GPU_PID, "GPU 0");
    for (int step = 0; step < STEPS; step++)
        add_step(&writer, step);
    buf_add_str(&writer.out, "\n]}\n");
    text = writer.out;
    if (buf_check(&text, "a trace", err))
        return err->kind;
    struct trace_file file = {scenario->path, scenario->story, buf_slice(&text)};
    if (scenario->cut)
        file.content.len = file.content.len * 2 / 3;
    return write(state, &file, err);
}

enum err_kind
trace_generate(trace_file_fn *write, void *state, size_t *ret_n, struct err *err)
{
    *ret_n = 0;
    for (int i = 0; i < FRAMEWORKS; i++) {
        struct trace_file file = {requests[i].path, NULL, slice_of(requests[i].text)};
        if (write(state, &file, err))
            return err->kind;
    }
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (write_trace(&scenarios[i], write, state, err))
            return err->kind;
        ++*ret_n;
    }
    return ERR_OK;
}
