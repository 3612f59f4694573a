/* SPDX-License-Identifier: Apache-2.0 */
/* heddle-audit: tuning events in, audit rows out. */
#include "derive.h"
#include "gather.h"

#include "cleanup.h"
#include "worker.h"

#include <stdlib.h>

CLEANUP_DEFINE(struct serde, serde_free);

static struct settings {
    int64_t max_part_bytes;
} settings;

static const struct option options[] = {
    {.section = "audit",
     .name = "max_part_bytes",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, max_part_bytes),
     .value = "64MiB",
     .min = 1,
     .max = INT64_C(1) << 30,
     .arg = "SIZE",
     .help = "Largest part of an event that is fetched by its claim."},
};

static const char *const outputs[] = {"heddle.audit.tunings", "heddle.warnings", NULL};

struct audit {
    struct serde *events;
    struct claim_limits limits;
    const struct provenance *provenance;
};

static enum err_kind
open_audit(const struct worker_context *context, void **ret_state, struct err *err)
{
    CLEANUP(serde_freep)
    struct serde *events = serde_new(&tuning_event_type, context->schemas, err);
    if (!events)
        return err->kind;
    struct audit *audit = calloc(1, sizeof *audit);
    if (!audit)
        return err_no_memory(err, "the worker");
    audit->events = events;
    audit->provenance = context->provenance;
    audit->limits = (struct claim_limits){
        .roots = context->claim_roots,
        .max_bytes = settings.max_part_bytes,
        .malformed = "tuning_event_malformed",
    };
    events = NULL;
    *ret_state = audit;
    return ERR_OK;
}

static void
close_audit(void *state)
{
    struct audit *audit = state;
    serde_free(audit->events);
    free(audit);
}

static enum err_kind
on_record(void *state, const struct message *in, struct emits *out, struct err *err)
{
    struct audit *audit = state;
    struct provenance provenance = *audit->provenance;
    struct tuning_event event;

    if (serde_decode(audit->events, in->value, out->arena, &event, err)) /* decode */
        return err->kind;
    if (audit_gather(&audit->limits, &event, out->arena, &provenance.facts, err))
        return err->kind;                                   /* gather */
    return audit_derive(&event, in, &provenance, out, err); /* derive, emit */
}

int
main(int argc, char **argv)
{
    static const struct worker worker = {
        .name = "audit",
        .summary = "Derives an audit row from each tuning event.",
        .input = "heddle.tunings",
        .input_type = &tuning_event_type,
        .outputs = outputs,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
        .settings = &settings,
        .open = open_audit,
        .on_record = on_record,
        .close = close_audit,
    };
    return worker_main(&worker, argc, argv);
}
