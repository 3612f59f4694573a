/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of heddle-gate, and the older names of the environment behind them. */
#pragma once

#include "digest.h"
#include "gate_config.h"
#include "options.h"

struct gate_option_values {
    const char *min_busy_ratio;
    const char *default_mode;
    const char *max_idle_pct;
    const char *min_compute_pct;
    const char *max_exposed_comm_pct;
    const char *max_rows;
    const char *min_gpu_pct;
};

extern struct gate_option_values gate_option_values;
extern const struct option gate_options[];
extern const size_t gate_n_options;

/*
 * What the settings and the environment come to. `settings_sha256` covers the settings;
 * `ret_sha256` covers the variables that were taken, too. A variable that does not count
 * is said in the log. ERR_FATAL EXIT_CONFIG "bad_value".
 */
enum err_kind gate_settings_read(struct slice settings_sha256,
                                 struct gate_config *ret_config,
                                 char ret_sha256[DIGEST_HEX],
                                 struct err *err);
