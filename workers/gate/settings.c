/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of heddle-gate. */
#include "settings.h"

#include "cleanup.h"
#include "json_out.h"
#include "log.h"
#include "mode.h"

#include <stdlib.h>

struct gate_option_values gate_option_values;

#define AT(member) offsetof(struct gate_option_values, member)

const struct option gate_options[] = {
    {.section = "gate",
     .name = "min_busy_ratio",
     .type = OPTION_TEXT,
     .offset = AT(min_busy_ratio),
     .arg = "RATIO",
     .traits = OPTION_DERIVE,
     .help = "Least busy ratio of a chunk, from 0 to 1; unset: 0.05."},
    {.section = "gate",
     .name = "default_mode",
     .type = OPTION_TEXT,
     .offset = AT(default_mode),
     .arg = "MODE",
     .traits = OPTION_DERIVE,
     .help = "Mode of a serving request that names none; unset: mixed."},
    {.section = "gate",
     .name = "max_idle_pct",
     .type = OPTION_TEXT,
     .offset = AT(max_idle_pct),
     .arg = "PERCENT",
     .traits = OPTION_DERIVE,
     .help = "Idle share above which candidates are suppressed; unset: 80."},
    {.section = "gate",
     .name = "min_compute_pct",
     .type = OPTION_TEXT,
     .offset = AT(min_compute_pct),
     .arg = "PERCENT",
     .traits = OPTION_DERIVE,
     .help = "Compute share below which candidates are suppressed; unset: 10."},
    {.section = "gate",
     .name = "max_exposed_comm_pct",
     .type = OPTION_TEXT,
     .offset = AT(max_exposed_comm_pct),
     .arg = "PERCENT",
     .traits = OPTION_DERIVE,
     .help = "Share of exposed collectives that leaves a warning; unset: none does."},
    {.section = "table",
     .name = "max_rows",
     .type = OPTION_TEXT,
     .offset = AT(max_rows),
     .arg = "N",
     .traits = OPTION_DERIVE,
     .help = "Rows of a candidate table, 0 for all; unset: 100."},
    {.section = "dispatch",
     .name = "min_gpu_pct",
     .type = OPTION_TEXT,
     .offset = AT(min_gpu_pct),
     .arg = "PERCENT",
     .traits = OPTION_DERIVE,
     .help = "Share from which a kernel is dispatched, for the notes; unset: 5."},
};

const size_t gate_n_options = sizeof gate_options / sizeof gate_options[0];

static struct slice
variable_of(const void *state, const char *name)
{
    (void)state;
    return slice_of(getenv(name));
}

static enum err_kind
read_number(const char *name,
            const char *text,
            double least,
            double most,
            struct amount *ret_amount,
            struct err *err)
{
    *ret_amount = amount_of_text(slice_of(text));
    if (!text ||
        (ret_amount->known && ret_amount->value >= least && ret_amount->value <= most))
        return ERR_OK;
    return err_fatal(err, EXIT_CONFIG, "bad_value",
                     "%s is '%.100s': a number from %g to %g"
                     " is wanted",
                     name, text, least, most);
}

static enum err_kind
read_values(struct gate_settings *settings, struct err *err)
{
    const struct gate_option_values *values = &gate_option_values;
    const double any = 1e18;
    settings->default_mode = slice_of(values->default_mode);
    if (values->default_mode && mode_of(amount_trim(settings->default_mode)) == MODES)
        return err_fatal(err, EXIT_CONFIG, "bad_value",
                         "gate.default_mode is '%.100s': one of mixed, decode_only, "
                         "prefilldecode, generic is wanted",
                         values->default_mode);
    if (read_number("gate.min_busy_ratio", values->min_busy_ratio, 0, 1,
                    &settings->min_busy_ratio, err) ||
        read_number("gate.max_idle_pct", values->max_idle_pct, 0, any,
                    &settings->max_idle_pct, err) ||
        read_number("gate.min_compute_pct", values->min_compute_pct, 0, any,
                    &settings->min_compute_pct, err) ||
        read_number("gate.max_exposed_comm_pct", values->max_exposed_comm_pct, 0, any,
                    &settings->max_exposed_comm_pct, err) ||
        read_number("table.max_rows", values->max_rows, -any, any, &settings->max_rows,
                    err) ||
        read_number("dispatch.min_gpu_pct", values->min_gpu_pct, -any, any,
                    &settings->min_gpu_pct, err))
        return err->kind;
    return ERR_OK;
}

/* The settings alone, or with what the environment adds to them. */
static enum err_kind
digest_config(struct slice settings_sha256,
              const struct gate_config *config,
              char ret_sha256[DIGEST_HEX],
              struct err *err)
{
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    buf_add_slice(&lines, settings_sha256);
    buf_addf(&lines, "\ndefault_mode=%.*s\n", SLICE_ARG(config->default_mode));
    buf_addf(&lines, "max_idle_pct=%.17g\n", config->max_idle_pct);
    buf_addf(&lines, "max_rows=%lld\n", (long long)config->max_rows);
    buf_addf(&lines, "min_busy_ratio=%.17g\n", config->min_busy_ratio);
    buf_addf(&lines, "min_compute_pct=%.17g\n", config->min_compute_pct);
    buf_addf(&lines, "min_gpu_pct=%.17g\n", config->min_gpu_pct);
    if (lines.failed)
        return err_no_memory(err, "the settings");
    digest_hex(buf_slice(&lines), ret_sha256);
    return ERR_OK;
}

enum err_kind
gate_settings_read(struct slice settings_sha256,
                   struct gate_config *ret_config,
                   char ret_sha256[DIGEST_HEX],
                   struct err *err)
{
    struct gate_settings settings = {0};
    const char *ignored = NULL;
    if (read_values(&settings, err))
        return err->kind;
    gate_config_resolve(&settings, variable_of, NULL, ret_config, &ignored);
    if (ignored)
        log_event(LOG_WARNING,
                  "a variable is no number that counts; the default is taken",
                  LOG_FIELDS(LOG_STR("variable", ignored)));
    return digest_config(settings_sha256, ret_config, ret_sha256, err);
}
