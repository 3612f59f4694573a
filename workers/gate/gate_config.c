/* SPDX-License-Identifier: Apache-2.0 */
/* Settings, aliases of the environment, defaults. */
#include "gate_config.h"

#define ALIAS_MODE    "INFERENCE_OPTIMIZER_STEADY_STATE_MODE"
#define ALIAS_RATIO   "INFERENCE_OPTIMIZER_CHUNK_QUALITY_MIN_BUSY_RATIO"
#define ALIAS_IDLE    "HYPERLOOM_TRACELENS_IDLE_PCT_THRESHOLD"
#define ALIAS_COMPUTE "HYPERLOOM_TRACELENS_MIN_COMPUTE_PCT_THRESHOLD"
#define ALIAS_ROWS    "HYPERLOOM_KERNEL_CANDIDATES_TOP_K"
#define ALIAS_FLOOR   "HYPERLOOM_KERNEL_OPT_MIN_GPU_PCT"

/* A setting's alias, the values that count, and what stands without either. */
struct alias {
    const char *name;
    double least, most;
    double otherwise;
};

static const struct alias alias_ratio = {ALIAS_RATIO, 0, 1, 0.05};
static const struct alias alias_idle = {ALIAS_IDLE, 0, HUGE_VAL, 80};
static const struct alias alias_compute = {ALIAS_COMPUTE, 0, HUGE_VAL, 10};
static const struct alias alias_rows = {ALIAS_ROWS, -HUGE_VAL, HUGE_VAL, 100};
static const struct alias alias_floor = {ALIAS_FLOOR, -HUGE_VAL, HUGE_VAL, 5};

struct lookup {
    gate_variable_fn *variable;
    const void *state;
    const char *ignored;
};

static double
resolve(struct lookup *lookup, struct amount setting, const struct alias *alias)
{
    if (setting.known)
        return setting.value;
    struct slice text = lookup->variable(lookup->state, alias->name);
    struct amount found = amount_of_text(text);
    if (found.known && found.value >= alias->least && found.value <= alias->most)
        return found.value;
    if (text.data && !lookup->ignored)
        lookup->ignored = alias->name;
    return alias->otherwise;
}

static int64_t
whole(double x)
{
    if (x >= 1e18)
        return INT64_C(1000000000000000000);
    return x <= -1e18 ? -1 : (int64_t)x;
}

void
gate_config_resolve(const struct gate_settings *settings,
                    gate_variable_fn *variable,
                    const void *state,
                    struct gate_config *ret_config,
                    const char **ret_ignored)
{
    struct lookup lookup = {variable, state, NULL};
    struct slice mode = amount_trim(settings->default_mode);
    if (mode.len == 0)
        mode = amount_trim(variable(state, ALIAS_MODE));
    *ret_config = (struct gate_config){
        .min_busy_ratio = resolve(&lookup, settings->min_busy_ratio, &alias_ratio),
        .default_mode = mode,
        .max_idle_pct = resolve(&lookup, settings->max_idle_pct, &alias_idle),
        .min_compute_pct = resolve(&lookup, settings->min_compute_pct, &alias_compute),
        .max_exposed_comm_pct = settings->max_exposed_comm_pct,
        .max_rows = whole(resolve(&lookup, settings->max_rows, &alias_rows)),
        .min_gpu_pct = resolve(&lookup, settings->min_gpu_pct, &alias_floor),
    };
    if (ret_ignored)
        *ret_ignored = lookup.ignored;
}
