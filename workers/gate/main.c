/* SPDX-License-Identifier: Apache-2.0 */
/* heddle-gate: split records in; verdicts, candidate tables and one retry out. */
#include "derive.h"

#include "candidate_table.h"
#include "cleanup.h"
#include "log.h"
#include "mode.h"
#include "settings.h"
#include "worker.h"

#include <stdlib.h>

static const char *const outputs[] = {"heddle.audit.splits", "heddle.candidates",
                                      "heddle.traces", "heddle.warnings", NULL};

struct gate {
    struct serde *records;
    struct serde *tables;
    struct gate_tools tools;
    struct provenance provenance;
    char config_sha256[DIGEST_HEX];
};

static void
close_gate(void *state)
{
    struct gate *gate = state;
    serde_free(gate->records);
    serde_free(gate->tables);
    free(gate);
}
CLEANUP_DEFINE(struct gate, close_gate);

static enum err_kind
open_gate(const struct worker_context *context, void **ret_state, struct err *err)
{
    CLEANUP(close_gatep) struct gate *gate = calloc(1, sizeof *gate);
    if (!gate)
        return err_no_memory(err, "the worker");
    gate->records = serde_new(&split_record_type, context->schemas, err);
    gate->tables = gate->records ? serde_new(&candidate_table_type, NULL, err) : NULL;
    if (!gate->tables)
        return err->kind;
    gate->tools.tables = gate->tables;
    categories_init(&gate->tools.categories);
    gate->provenance = *context->provenance;
    if (gate_settings_read(context->provenance->config_sha256, &gate->tools.config,
                           gate->config_sha256, err))
        return err->kind;
    gate->provenance.config_sha256 = slice_of(gate->config_sha256);
    *ret_state = gate;
    gate = NULL;
    return ERR_OK;
}

static enum err_kind
on_record(void *state, const struct message *in, struct emits *out, struct err *err)
{
    struct gate *gate = state;
    struct split_record record;

    if (serde_decode(gate->records, in->value, out->arena, &record, err)) /* decode */
        return err->kind;
    /* Nothing to gather: all that decides lies in the record and the settings. */
    return gate_derive(&record, in, &gate->tools, &gate->provenance, out, err);
}

int
main(int argc, char **argv)
{
    const struct worker worker = {
        .name = "gate",
        .summary = "Accepts or refuses the chunks of each split; lists their kernels.",
        .input = "heddle.splits",
        .input_type = &split_record_type,
        .outputs = outputs,
        .options = gate_options,
        .n_options = gate_n_options,
        .settings = &gate_option_values,
        .open = open_gate,
        .on_record = on_record,
        .close = close_gate,
    };
    return worker_main(&worker, argc, argv);
}
