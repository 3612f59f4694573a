/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate is told once, at start-up: settings, else the older names of the
 * environment, else defaults (gates.md 2, 3, 6; kernel-table.md 2). */
#pragma once

#include "amount.h"
#include "err.h"

struct gate_config {
    double min_busy_ratio;     /* in [0, 1] */
    struct slice default_mode; /* trimmed; empty: none is configured. Borrowed */
    double max_idle_pct;
    double min_compute_pct;
    struct amount max_exposed_comm_pct; /* unknown: not looked at */
    int64_t max_rows;                   /* of the table; at most 0: no limit */
    double min_gpu_pct;                 /* dispatch floor of the table's notes */
};

/* Settings as they are given; unknown or null: not given. */
struct gate_settings {
    struct amount min_busy_ratio;
    struct slice default_mode;
    struct amount max_idle_pct;
    struct amount min_compute_pct;
    struct amount max_exposed_comm_pct;
    struct amount max_rows;
    struct amount min_gpu_pct;
};

/* The text of a variable, null when it is not set. */
typedef struct slice gate_variable_fn(const void *state, const char *name);

/*
 * Settings win over variables, variables over defaults. A variable that does not count is
 * ignored: its name is in `ret_ignored` (may be NULL; else set to NULL when there is
 * none; the first one). The default mode is borrowed.
 */
void gate_config_resolve(const struct gate_settings *settings,
                         gate_variable_fn *variable,
                         const void *state,
                         struct gate_config *ret_config,
                         const char **ret_ignored);
