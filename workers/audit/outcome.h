/* SPDX-License-Identifier: Apache-2.0 */
/* What really happened to a tuner, and to a run (tuning-audit.md 8). */
#pragma once

#include "json.h"
#include "logscan.h"

enum outcome {
    OUTCOME_UNKNOWN = 0,
    OUTCOME_REJECTED_ARGUMENTS,
    OUTCOME_TIMED_OUT,
    OUTCOME_CRASHED,
    OUTCOME_EMPTY_OUTPUT,
    OUTCOME_PARTIAL_OUTPUT,
    OUTCOME_IMPROVED,
    OUTCOME_FOUND_NOTHING,
    OUTCOME_SKIPPED,
    OUTCOME_NO_EVIDENCE,
    N_OUTCOMES,
};

/* What an entry says about itself. */
struct claims {
    struct json_value status;
    struct json_value error_class;
    struct json_value error;
    struct json_value best_micro_speedup;
};

/* `log` is the scan of the entry's log, NULL when there is none. */
enum outcome outcome_of(const struct claims *claims, const struct log_scan *log);
const char *outcome_name(enum outcome outcome);

/* How often each outcome occurs in a run. */
struct outcome_counts {
    size_t of[N_OUTCOMES];
    size_t n;
};
/* The verdict on a run with that status and these outcomes. Static text. */
const char *verdict_of(struct json_value status, const struct outcome_counts *counts);
