/* SPDX-License-Identifier: Apache-2.0 */
/* The checks H1 to H11. */
#include "health.h"

#include "ratio.h"

/* Thresholds of gates.md 6 that no setting moves. */
#define MIN_GRAPH_COVERAGE   0.5
#define MAX_OFF_ROOT_SHARE   0.05
#define MIN_STEPS_SHARE      0.5
#define MAX_DOMINANT_SHARE   0.5
#define MIN_DOMINANT_EVENTS  100
#define MIN_OVERLAP_SHARE    0.05
#define WARN_OVERLAP_SHARE   0.25
#define MIN_OVERLAP_WORST_NS 1000000.0
#define MAX_RATIO_DIFFERENCE 0.01

/* What was computed from the terms, exact. */
struct ratios {
    struct amount idle_pct, compute_pct, comm_pct;
    struct amount graph, off_root, steps, dominant, overlap;
};

/* (times * top)/bottom; unknown when a term is, or nothing is below. */
static struct amount
part(double times, struct amount top, struct amount bottom)
{
    if (!amount_usable(top) || !amount_usable(bottom) || bottom.value <= 0)
        return AMOUNT_UNKNOWN;
    return AMOUNT(times * top.value / bottom.value);
}

static struct amount
idle_of(const struct chunk_numbers *chunk)
{
    struct amount idle = part(1, chunk->busy_union_ns, chunk->wall_ns);
    if (!idle.known)
        return idle;
    double wall = chunk->wall_ns.value;
    double pct = 100.0 * (wall - chunk->busy_union_ns.value) / wall;
    return AMOUNT(pct > 0 ? pct : 0);
}

static struct amount
steps_of(const struct chunk_numbers *chunk)
{
    struct amount steps = part(1, chunk->steps_without_gpu_events, chunk->num_steps);
    if (!steps.known)
        return steps;
    double n = chunk->num_steps.value;
    return AMOUNT((n - chunk->steps_without_gpu_events.value) / n);
}

struct amount
health_graph_coverage(const struct trace_numbers *trace)
{
    return part(1, trace->graph_launches_with_kernels, trace->graph_launch_count);
}

bool
health_graph_under_recorded(const struct trace_numbers *trace)
{
    struct amount coverage = health_graph_coverage(trace);
    return coverage.known && coverage.value < MIN_GRAPH_COVERAGE &&
           trace->graph_launch_count.value >= 2 && amount_usable(trace->graph_kernels) &&
           trace->graph_kernels.value > 0;
}

static void
compute(const struct trace_numbers *trace,
        const struct chunk_numbers *chunk,
        struct ratios *ret_ratios)
{
    *ret_ratios = (struct ratios){
        .idle_pct = idle_of(chunk),
        .compute_pct = part(100, chunk->compute_union_ns, chunk->wall_ns),
        .comm_pct = part(100, chunk->exposed_comm_ns, chunk->wall_ns),
        .graph = health_graph_coverage(trace),
        .off_root = part(1, trace->off_root_thread_busy_ns, trace->gpu_busy_ns),
        .steps = steps_of(chunk),
        .dominant = part(1, chunk->max_event_ns, chunk->gpu_busy_duration_ns),
        .overlap = part(1, trace->overlap_excess_ns, trace->overlap_device_ns),
    };
}

#define MEASURE(to, field, from, digits)                                                 \
    do {                                                                                 \
        struct amount measured = (from);                                                 \
        (to)->has_##field = measured.known;                                              \
        (to)->field = measured.known ? amount_round(measured.value, (digits)) : 0;       \
    } while (0)

static struct amount
if_usable(struct amount amount)
{
    return amount_usable(amount) ? amount : AMOUNT_UNKNOWN;
}

static void
measure(const struct ratios *ratios,
        const struct trace_numbers *trace,
        struct verdict_measures *to)
{
    MEASURE(to, idle_pct, ratios->idle_pct, 2);
    MEASURE(to, compute_pct, ratios->compute_pct, 2);
    MEASURE(to, exposed_comm_pct, ratios->comm_pct, 2);
    MEASURE(to, graph_coverage, ratios->graph, 6);
    MEASURE(to, graded_coverage, if_usable(trace->graded_coverage), 6);
    MEASURE(to, root_span_share, if_usable(trace->root_span_share), 6);
    to->has_startup_transient_trimmed = trace->startup_transient_trimmed != BOOL_UNKNOWN;
    to->startup_transient_trimmed = trace->startup_transient_trimmed == BOOL_TRUE;
    MEASURE(to, off_root_share, ratios->off_root, 6);
    MEASURE(to, steps_with_gpu_share, ratios->steps, 6);
    MEASURE(to, dominant_event_share, ratios->dominant, 6);
    MEASURE(to, overlap_share, ratios->overlap, 6);
}

/* H1 to H3: the one that waives the others is told first, and sent last. */
static bool
check_idle(const struct ratios *ratios,
           const struct trace_numbers *trace,
           const struct gate_config *config,
           struct note_list *notes)
{
    bool waived = health_graph_under_recorded(trace);
    bool idle = ratios->idle_pct.known && ratios->idle_pct.value > config->max_idle_pct;
    bool low =
        ratios->compute_pct.known && ratios->compute_pct.value < config->min_compute_pct;
    if (idle && !waived) {
        note_begin(
            notes, "high_gpu_idle_pct", SEVERITY_WARNING,
            SLICE("the GPU stood idle for most of the chunk; its kernels are shown "
                  "and not dispatched"));
        note_rounded(notes, "idle_pct", ratios->idle_pct, 2);
        note_rounded(notes, "threshold_pct", AMOUNT(config->max_idle_pct), 2);
    }
    if (low && !waived) {
        note_begin(
            notes, "low_gpu_compute_pct", SEVERITY_WARNING,
            SLICE("compute took little of the chunk; its kernels are shown and not "
                  "dispatched"));
        note_rounded(notes, "compute_pct", ratios->compute_pct, 2);
        note_rounded(notes, "threshold_pct", AMOUNT(config->min_compute_pct), 2);
        if (ratios->comm_pct.known)
            note_rounded(notes, "exposed_comm_pct", ratios->comm_pct, 2);
    }
    if (waived) {
        note_begin(
            notes, "bypass_graph_under_recorded", SEVERITY_WARNING,
            SLICE("most graph replays left no kernel in the trace, so idle time says "
                  "nothing; profile with every replay recorded"));
        note_number(notes, "graph_launch_count", floor(trace->graph_launch_count.value));
        note_number(notes, "graph_launches_with_kernels",
                    floor(trace->graph_launches_with_kernels.value));
        note_rounded(notes, "idle_pct", ratios->idle_pct, 2);
    }
    return (idle || low) && !waived;
}

static void
check_comm(const struct ratios *ratios,
           const struct gate_config *config,
           struct note_list *notes)
{
    struct amount limit = config->max_exposed_comm_pct;
    if (!limit.known || !ratios->comm_pct.known ||
        !(ratios->comm_pct.value > limit.value))
        return;
    note_begin(notes, "high_exposed_comm_pct", SEVERITY_WARNING,
               SLICE("collectives that no compute hides take much of the chunk"));
    note_rounded(notes, "exposed_comm_pct", ratios->comm_pct, 2);
    note_rounded(notes, "threshold_pct", limit, 2);
}

static void
check_split(const struct trace_numbers *trace,
            enum split_status status,
            struct note_list *notes)
{
    if (status == STATUS_DEGRADED) {
        note_begin(
            notes, "split_coverage_degraded", SEVERITY_WARNING,
            SLICE("the roots cover less of the GPU time than a sound split needs"));
        note_rounded(notes, "graded_coverage", if_usable(trace->graded_coverage), 6);
        note_rounded(notes, "root_span_share", if_usable(trace->root_span_share), 6);
    }
    if (trace->startup_transient_trimmed == BOOL_TRUE) {
        note_begin(notes, "startup_transient_trimmed", SEVERITY_INFO,
                   SLICE("the first step was trimmed: a kernel took far longer there"));
        note_text(notes, "kernel", trace->startup_transient_kernel);
        note_amount(notes, "collective_ratio", trace->startup_transient_collective_ratio);
        note_amount(notes, "noise_ratio", trace->startup_transient_noise_ratio);
    }
}

static void
check_off_root(const struct ratios *ratios, struct note_list *notes)
{
    if (!ratios->off_root.known || !(ratios->off_root.value > MAX_OFF_ROOT_SHARE))
        return;
    note_begin(notes, "worker_thread_launches", SEVERITY_WARNING,
               SLICE("threads that hold no step launched part of the GPU work"));
    note_rounded(notes, "off_root_share", ratios->off_root, 6);
}

static void
check_steps(const struct ratios *ratios,
            const struct chunk_numbers *chunk,
            struct note_list *notes)
{
    if (ratios->steps.known && chunk->num_steps.value >= 2 &&
        ratios->steps.value < MIN_STEPS_SHARE) {
        note_begin(notes, "steps_without_gpu_work", SEVERITY_WARNING,
                   SLICE("most steps of the chunk hold no GPU event"));
        note_number(notes, "num_steps", floor(chunk->num_steps.value));
        note_number(notes, "steps_without_gpu_events",
                    floor(chunk->steps_without_gpu_events.value));
    }
    if (ratios->dominant.known && ratios->dominant.value > MAX_DOMINANT_SHARE &&
        ratio_events(chunk) >= MIN_DOMINANT_EVENTS) {
        note_begin(notes, "dominant_gpu_event", SEVERITY_WARNING,
                   SLICE("one event takes most of the chunk's GPU time"));
        note_rounded(notes, "dominant_event_share", ratios->dominant, 6);
    }
}

static void
check_overlap(const struct ratios *ratios,
              const struct trace_numbers *trace,
              struct note_list *notes)
{
    if (!ratios->overlap.known || !amount_usable(trace->overlap_worst_ns) ||
        trace->overlap_worst_ns.value < MIN_OVERLAP_WORST_NS ||
        ratios->overlap.value < MIN_OVERLAP_SHARE)
        return;
    bool bad = ratios->overlap.value >= WARN_OVERLAP_SHARE;
    note_begin(
        notes, "bypass_impossible_kernel_durations",
        bad ? SEVERITY_WARNING : SEVERITY_INFO,
        SLICE("events of one stream run past the start of the next, which cannot be "
              "real"));
    note_rounded(notes, "overlap_share", ratios->overlap, 6);
}

static void
check_ratio(const struct chunk_numbers *chunk, struct note_list *notes)
{
    struct amount quotient = ratio_quotient(chunk);
    if (!amount_usable(chunk->busy_ratio) || !quotient.known)
        return;
    double stated = ratio_of(chunk).value;
    if (!(fabs(stated - quotient.value) > MAX_RATIO_DIFFERENCE))
        return;
    note_begin(notes, "busy_ratio_inconsistent", SEVERITY_INFO,
               SLICE("the ratio that the splitter states is not that of its durations"));
    note_rounded(notes, "busy_ratio", AMOUNT(stated), 6);
    note_rounded(notes, "quotient", quotient, 6);
}

bool
health_check(const struct trace_numbers *trace,
             const struct chunk_numbers *accepted,
             enum split_status status,
             const struct gate_config *config,
             struct note_list *notes,
             struct verdict_measures *ret_measures)
{
    static const struct trace_numbers no_trace;
    static const struct chunk_numbers no_chunk;
    const struct trace_numbers *of_trace = trace ? trace : &no_trace;
    const struct chunk_numbers *of_chunk = accepted ? accepted : &no_chunk;
    struct ratios ratios;
    bool suppress = false;
    compute(of_trace, of_chunk, &ratios);
    measure(&ratios, of_trace, ret_measures);
    if (accepted) {
        suppress = check_idle(&ratios, of_trace, config, notes);
        check_comm(&ratios, config, notes);
        check_split(of_trace, status, notes);
    }
    check_off_root(&ratios, notes);
    if (accepted) {
        check_steps(&ratios, of_chunk, notes);
        check_overlap(&ratios, of_trace, notes);
        check_ratio(of_chunk, notes);
    }
    return suppress;
}
