/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate of a trace. */
#include "selfcert.h"

static const char *const frameworks[] = {"sglang", "vllm", "trtllm", "tensorrt_llm"};

static bool
is_zero(struct amount amount)
{
    return amount.known && amount.value <= 0 && amount.value >= 0;
}

static enum known_bool
steady_state(struct slice framework)
{
    if (framework.len == 0)
        return BOOL_UNKNOWN;
    for (size_t i = 0; i < sizeof frameworks / sizeof frameworks[0]; i++)
        if (slice_is(framework, frameworks[i]))
            return BOOL_TRUE;
    return BOOL_FALSE;
}

static void
add_reason(struct selfcert_answer *answer, bool holds, const char *reason)
{
    if (holds)
        answer->blocking_reasons[answer->n_reasons++] = slice_of(reason);
}

static void
block(const struct selfcert_facts *facts, struct selfcert_answer *answer)
{
    if (facts->has_trace == BOOL_FALSE) {
        add_reason(answer, true, "no_usable_trace");
        return;
    }
    add_reason(answer, is_zero(facts->resolver_kernel_count),
               "resolver_picks_kernelless_file");
    add_reason(answer,
               (facts->stream_errors.known && facts->stream_errors.value > 0) ||
                   facts->truncated,
               "parse_errors");
    add_reason(answer, is_zero(facts->kernel_count), "no_gpu_kernels");
    add_reason(answer, facts->selected_capture_fragment == BOOL_TRUE,
               "capture_sidecar_selected");
}

static void
warn(const struct selfcert_facts *facts, struct selfcert_answer *answer)
{
    if (facts->resolver_opens_other_file == BOOL_TRUE &&
        !is_zero(facts->resolver_kernel_count))
        answer->warnings[answer->n_warnings++] = SLICE("resolver_would_open_other_file");
    if (facts->graph_under_recorded == BOOL_TRUE)
        answer->warnings[answer->n_warnings++] = SLICE("graph_under_recorded");
}

static const char *
severity_of(const struct selfcert_answer *answer)
{
    if (answer->n_routes == 0)
        return "blocked";
    if (answer->silently_wrong)
        return "silently_wrong";
    return answer->n_warnings || answer->n_reasons ? "warn" : "ok";
}

void
selfcert_certify(const struct selfcert_facts *facts, struct selfcert_answer *ret_answer)
{
    *ret_answer = (struct selfcert_answer){
        .has_steady_state_semantics = steady_state(facts->framework),
        .decode_conclusions_valid = facts->graph_under_recorded == BOOL_FALSE,
    };
    block(facts, ret_answer);
    bool blocked = ret_answer->n_reasons > 0;
    bool attributed = facts->attributed_pct.known && facts->attributed_pct.value > 0;
    if (!blocked) {
        ret_answer->usable_by[ret_answer->n_routes++] = SLICE("bypass");
        add_reason(ret_answer, !attributed, "no_attributed_kernels");
    }
    bool tracelens = !blocked && attributed;
    if (tracelens)
        ret_answer->usable_by[ret_answer->n_routes++] = SLICE("tracelens");
    warn(facts, ret_answer);
    ret_answer->silently_wrong = tracelens && !ret_answer->decode_conclusions_valid;
    ret_answer->severity = severity_of(ret_answer);
}
