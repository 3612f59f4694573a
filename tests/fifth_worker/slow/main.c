/* SPDX-License-Identifier: Apache-2.0 */
/* heddle-slow: audit rows in, a warning for each run that took too long out. */
#include "derive.h"

#include <stdlib.h>

#include "topics.h"
#include "worker.h"

struct slow {
    const struct provenance *provenance;
    struct serde *rows;
};

static struct slow_config config;

static const struct option options[] = {
    {
        .section = "slow",
        .name = "limit",
        .type = OPTION_DURATION,
        .offset = offsetof(struct slow_config, limit_ms),
        .value = "1h",
        .arg = "TIME",
        .help = "A run whose tuners together took longer gets the warning run_slow.",
        .traits = OPTION_DERIVE,
    },
};

static enum err_kind
on_record(void *state, const struct message *in, struct emits *out, struct err *err)
{
    struct slow *slow = state;
    struct audit_row row;
    struct provenance provenance;

    if (!in->value.data) /* a row that was taken back */
        return ERR_OK;
    if (serde_decode(slow->rows, in->value, out->arena, &row, err)) /* decode */
        return err_at(err, "decode");
    if (provenance_of(slow->provenance, in, out->arena, &provenance, err)) /* gather */
        return err_at(err, "gather");
    return slow_derive(&row, &config, &provenance, in->timestamp_ms, out,
                       err); /* derive */
}

static void
close_slow(void *state)
{
    struct slow *slow = state;
    serde_free(slow->rows);
    free(slow);
}

static enum err_kind
open_slow(const struct worker_context *context, void **ret_state, struct err *err)
{
    struct slow *slow = calloc(1, sizeof *slow);
    if (!slow)
        return err_no_memory(err, "the worker's state");
    slow->provenance = context->provenance;
    slow->rows = serde_new(&audit_row_type, context->schemas, err);
    if (!slow->rows) {
        free(slow);
        return ERR_FATAL;
    }
    *ret_state = slow;
    return ERR_OK;
}

static const char *const outputs[] = {TOPIC_WARNINGS, NULL};

static const struct worker worker = {
    .name = "slow",
    .summary = "Warns of tuning runs that took too long.",
    .input = TOPIC_AUDIT_TUNINGS,
    .input_type = &audit_row_type,
    .outputs = outputs,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings = &config,
    .open = open_slow,
    .on_record = on_record,
    .close = close_slow,
};

int
main(int argc, char **argv)
{
    return worker_main(&worker, argc, argv);
}
