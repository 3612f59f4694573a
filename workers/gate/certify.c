/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of split records. */
#include "certify.h"

#include "from_record.h"
#include "health.h"
#include "selfcert.h"

/* Refusals that left no trace to certify. */
static const char *const no_trace[] = {"trace_unreadable", "trace_empty",
                                       "trace_too_large", "not_a_trace", "no_events"};

static bool
is_code(const struct split_record *record, const char *code)
{
    return record->has_refusal && slice_is(record->refusal.code, code);
}

/* Nothing of the trace was read: there is nothing to say about it. */
static bool
is_unread(const struct split_record *record)
{
    static const char claim[] = "claim_";
    struct slice code = record->refusal.code;
    if (!record->has_refusal)
        return false;
    if (code.len >= sizeof claim - 1 && memcmp(code.data, claim, sizeof claim - 1) == 0)
        return true;
    return is_code(record, "bad_parameter") &&
           !record->manifest.has_n_gpu_events_in_trace;
}

static const struct finding_value *
finding(const struct split_record *record, const char *name)
{
    const struct split_finding *findings = record->manifest.input.items;
    for (size_t i = 0; i < record->manifest.input.n; i++)
        if (slice_is(findings[i].key, name))
            return &findings[i].value;
    return NULL;
}

static double
count_of(const struct split_record *record, const char *name)
{
    const struct finding_value *value = finding(record, name);
    return value && value->kind == FINDING_LONG && value->number > 0
               ? (double)value->number
               : 0;
}

static double
stream_errors(const struct split_record *record)
{
    double n = count_of(record, "damaged_events") +
               count_of(record, "damaged_header_keys") +
               (finding(record, "corrupt_at") != NULL) +
               (finding(record, "events_behind_the_end") != NULL);
    return n < 1 && is_code(record, "trace_corrupt") ? 1 : n;
}

static struct amount
kernel_count(const struct split_record *record)
{
    if (record->manifest.has_kernel_count)
        return AMOUNT((double)record->manifest.kernel_count);
    return AMOUNT_IF(is_code(record, "no_gpu_work"), 0);
}

static struct amount
quotient(double times, struct amount top, struct amount bottom)
{
    if (!amount_usable(top) || !amount_usable(bottom) || bottom.value <= 0)
        return AMOUNT_UNKNOWN;
    return AMOUNT(times * top.value / bottom.value);
}

#define COUNT(manifest, member)                                                          \
    AMOUNT_IF((manifest)->has_##member, (double)(manifest)->member)

static struct amount
attributed_pct(const struct split_manifest *manifest)
{
    struct amount busy = COUNT(manifest, gpu_busy_ns);
    struct amount unlinked = COUNT(manifest, unlinked_busy_ns);
    if (!amount_usable(busy) || !amount_usable(unlinked))
        return AMOUNT_UNKNOWN;
    return quotient(100, AMOUNT(busy.value - unlinked.value), busy);
}

static bool
has_no_trace(const struct split_record *record)
{
    for (size_t i = 0; i < sizeof no_trace / sizeof no_trace[0]; i++)
        if (is_code(record, no_trace[i]))
            return true;
    return false;
}

static void
gather_facts(const struct split_record *record,
             const struct trace_numbers *numbers,
             struct slice framework,
             struct selfcert_facts *ret_facts)
{
    *ret_facts = (struct selfcert_facts){
        .framework = framework,
        .has_trace = has_no_trace(record) ? BOOL_FALSE : BOOL_UNKNOWN,
        .kernel_count = kernel_count(record),
        .stream_errors = AMOUNT(stream_errors(record)),
        .truncated =
            is_code(record, "trace_truncated") || finding(record, "truncated_at"),
        .attributed_pct = attributed_pct(&record->manifest),
        .graph_under_recorded = !numbers->graph_launch_count.known     ? BOOL_UNKNOWN
                                : health_graph_under_recorded(numbers) ? BOOL_TRUE
                                                                       : BOOL_FALSE,
    };
}

#define SET(to, member, from)                                                            \
    do {                                                                                 \
        struct amount set = (from);                                                      \
        (to)->has_##member = set.known;                                                  \
        (to)->member = set.known ? set.value : 0;                                        \
    } while (0)
#define COPY(to, from, member)                                                           \
    do {                                                                                 \
        (to)->has_##member = (from)->has_##member;                                       \
        (to)->member = (from)->member;                                                   \
    } while (0)

static void
measure(const struct split_manifest *from,
        struct amount kernels,
        struct selfcert_measures *to)
{
    SET(to, attributed_pct, attributed_pct(from));
    COPY(to, from, gpu_busy_ns);
    COPY(to, from, unlinked_busy_ns);
    to->has_kernel_count = kernels.known;
    to->kernel_count = (int64_t)kernels.value;
    COPY(to, from, host_launch_count);
    SET(to, kernel_per_launch, quotient(1, kernels, COUNT(from, host_launch_count)));
    SET(to, graph_launch_coverage,
        quotient(1, COUNT(from, graph_launches_with_kernels),
                 COUNT(from, graph_launch_count)));
    COPY(to, from, graph_launch_count);
    COPY(to, from, graph_launches_with_kernels);
    SET(to, busy_fraction, quotient(1, COUNT(from, busy_union_ns), COUNT(from, wall_ns)));
    COPY(to, from, busy_union_ns);
    COPY(to, from, wall_ns);
    COPY(to, from, idle_ratio);
    SET(to, idle_pct_full_trace, AMOUNT_IF(from->has_idle_ratio, 100 * from->idle_ratio));
}

static bool
keep(struct arena *arena, const struct slice *texts, size_t n, struct list *ret_list)
{
    struct slice *kept = arena_alloc(arena, n * sizeof kept[0]);
    if (kept && n)
        memcpy(kept, texts, n * sizeof kept[0]);
    *ret_list = (struct list){kept, n};
    return kept != NULL;
}

enum err_kind
certify_record(const struct split_record *record,
               struct slice framework,
               struct slice version,
               struct arena *arena,
               bool *ret_has,
               struct selfcert *ret_selfcert,
               struct err *err)
{
    struct gate_split split;
    struct selfcert_facts facts;
    struct selfcert_answer answer;
    *ret_has = !is_unread(record);
    if (!*ret_has)
        return ERR_OK;
    if (gate_split_of_record(record, arena, &split, err))
        return err->kind;
    gather_facts(record, &split.numbers, framework, &facts);
    selfcert_certify(&facts, &answer);
    *ret_selfcert = (struct selfcert){
        .schema_version = 1,
        .probe_version = version,
        .trace_digest = record->trace.sha256,
        .framework = framework,
        .has_has_steady_state_semantics =
            answer.has_steady_state_semantics != BOOL_UNKNOWN,
        .has_steady_state_semantics = answer.has_steady_state_semantics == BOOL_TRUE,
        .decode_conclusions_valid = answer.decode_conclusions_valid,
        .silently_wrong = answer.silently_wrong,
        .severity = slice_of(answer.severity),
    };
    measure(&record->manifest, facts.kernel_count, &ret_selfcert->measures);
    if (!keep(arena, answer.blocking_reasons, answer.n_reasons,
              &ret_selfcert->blocking_reasons) ||
        !keep(arena, answer.usable_by, answer.n_routes, &ret_selfcert->usable_by) ||
        !keep(arena, answer.warnings, answer.n_warnings, &ret_selfcert->warnings))
        return err_no_memory(err, "a certificate");
    return ERR_OK;
}
