/* SPDX-License-Identifier: Apache-2.0 */
/* What really happened to a tuner, and to a run. */
#include "outcome.h"

#include "unicode.h"

static bool
is_word(struct json_value value, const char *word)
{
    struct slice text = json_string(value);
    return text.data && unicode_is_folded(text, word);
}

static bool
is_rejected(const struct claims *claims, const struct log_scan *log)
{
    return (log && log->rejection.kind) ||
           is_word(claims->error_class, "unsupported_argument");
}

static bool
is_timed_out(const struct claims *claims, const struct log_scan *log, bool measured)
{
    return is_word(claims->error_class, "timeout") ||
           is_word(claims->error_class, "subprocess_timeout") ||
           (log && log->timeout && !measured);
}

static bool
is_done_status(struct json_value status)
{
    static const char *const words[] = {"no_improvement", "ok",        "complete",
                                        "completed",      "succeeded", "success"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is_word(status, words[i]))
            return true;
    return false;
}

enum outcome
outcome_of(const struct claims *claims, const struct log_scan *log)
{
    double speedup = 0;
    bool measured = json_double(claims->best_micro_speedup, &speedup);
    if (!measured && is_rejected(claims, log))
        return OUTCOME_REJECTED_ARGUMENTS;
    if (is_timed_out(claims, log, measured))
        return OUTCOME_TIMED_OUT;
    if (is_word(claims->status, "failed"))
        return OUTCOME_CRASHED;
    if (is_word(claims->status, "empty_output"))
        return OUTCOME_EMPTY_OUTPUT;
    if (is_word(claims->status, "partial_output"))
        return OUTCOME_PARTIAL_OUTPUT;
    if (measured)
        return speedup > 1.0 ? OUTCOME_IMPROVED : OUTCOME_FOUND_NOTHING;
    if (json_truthy(claims->error_class) || json_truthy(claims->error))
        return OUTCOME_CRASHED;
    if (is_word(claims->status, "skipped"))
        return OUTCOME_SKIPPED;
    return is_done_status(claims->status) ? OUTCOME_NO_EVIDENCE : OUTCOME_UNKNOWN;
}

const char *
outcome_name(enum outcome outcome)
{
    static const char *const names[N_OUTCOMES] = {
        [OUTCOME_UNKNOWN] = "unknown",
        [OUTCOME_REJECTED_ARGUMENTS] = "rejected_arguments",
        [OUTCOME_TIMED_OUT] = "timed_out",
        [OUTCOME_CRASHED] = "crashed",
        [OUTCOME_EMPTY_OUTPUT] = "empty_output",
        [OUTCOME_PARTIAL_OUTPUT] = "partial_output",
        [OUTCOME_IMPROVED] = "improved",
        [OUTCOME_FOUND_NOTHING] = "found_nothing",
        [OUTCOME_SKIPPED] = "skipped",
        [OUTCOME_NO_EVIDENCE] = "no_evidence",
    };
    return names[outcome];
}

const char *
verdict_of(struct json_value status, const struct outcome_counts *counts)
{
    const size_t *of = counts->of;
    size_t bad =
        of[OUTCOME_REJECTED_ARGUMENTS] + of[OUTCOME_TIMED_OUT] + of[OUTCOME_CRASHED];
    if (counts->n == 0)
        return is_word(status, "skipped")  ? "skipped"
               : is_word(status, "failed") ? "failed"
                                           : "unknown";
    if (of[OUTCOME_IMPROVED])
        return "improved";
    if (bad == counts->n)
        return "failed";
    if (bad)
        return "partial_failure";
    if (of[OUTCOME_PARTIAL_OUTPUT])
        return "partial_output";
    if (of[OUTCOME_FOUND_NOTHING])
        return "found_nothing";
    return of[OUTCOME_SKIPPED] == counts->n ? "skipped" : "no_evidence";
}
