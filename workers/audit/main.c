/* SPDX-License-Identifier: Apache-2.0 */
/* heddle-audit: tuning events in, audit rows out. */
#include "derive.h"
#include "gather.h"
#include "joiner.h"

#include "clock.h"
#include "topics.h"
#include "worker.h"

#include <stdlib.h>

static struct settings {
    int64_t max_part_bytes;
    int64_t join_expiry_ms;
    int64_t state_retention_ms;
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
    {.section = "audit",
     .name = "join_expiry",
     .type = OPTION_DURATION,
     .offset = offsetof(struct settings, join_expiry_ms),
     .value = "24h",
     .min = 1,
     .arg = "TIME",
     .help = "How long a part waits for its result before it is sent as an orphan."},
    {.section = "audit",
     .name = "state_retention",
     .type = OPTION_DURATION,
     .offset = offsetof(struct settings, state_retention_ms),
     .value = "30d",
     .min = 1,
     .arg = "TIME",
     .help = "How long the parts of a run are kept after the last one came."},
};

static const char *const outputs[] = {TOPIC_AUDIT_TUNINGS, TOPIC_STATE_AUDIT,
                                      TOPIC_WARNINGS, NULL};

struct audit {
    struct serde *events;
    struct claim_limits limits;
    int64_t gather_ms; /* of one record */
    const struct provenance *provenance;
    struct states *states; /* NULL: each event alone */
    struct joiner joiner;
};

static enum err_kind
check_settings(struct err *err)
{
    if (settings.state_retention_ms >= settings.join_expiry_ms)
        return ERR_OK;
    return err_fatal(err, EXIT_CONFIG, "bad_value",
                     "[audit] state_retention is shorter than join_expiry: a part would "
                     "be forgotten before it is shown; raise it");
}

static void
close_audit(void *state)
{
    struct audit *audit = state;
    serde_free(audit->events);
    joiner_done(&audit->joiner);
    free(audit);
}

static enum err_kind
open_audit(const struct worker_context *context, void **ret_state, struct err *err)
{
    struct audit *audit = calloc(1, sizeof *audit);
    if (!audit)
        return err_no_memory(err, "the worker");
    audit->provenance = context->provenance;
    audit->states = context->states;
    audit->limits = (struct claim_limits){
        .roots = context->claim_roots,
        .max_bytes = settings.max_part_bytes,
        .malformed = "tuning_event_malformed",
        .remote = context->remote,
    };
    audit->gather_ms = context->gather_ms;
    audit->joiner = (struct joiner){
        .limits = &audit->limits,
        .provenance = audit->provenance,
        .expiry_ms = settings.join_expiry_ms,
        .retention_ms = settings.state_retention_ms,
    };
    audit->events = serde_new(&tuning_event_type, context->schemas, err);
    if (!audit->events || joiner_init(&audit->joiner, context->schemas, err) ||
        check_settings(err)) {
        close_audit(audit);
        return err->kind;
    }
    *ret_state = audit;
    return ERR_OK;
}

/* With the parts that came before and are known, or alone where there is no state. */
static enum err_kind
derive(struct audit *audit,
       const struct tuning_event *event,
       const struct message *in,
       const struct provenance *provenance,
       struct emits *out,
       struct err *err)
{
    if (!audit->states)
        return audit_derive(event, in, provenance, out, err);
    struct store *store = states_find(audit->states, in->partition);
    if (!store)
        return err_set(err, ERR_RETRY, "state_missing", "the partition is not ours");
    return joiner_record(&audit->joiner, store, event, in, out, err);
}

/* All claims of a record together may take a part of what the record may. */
static void
allow_time(struct audit *audit)
{
    audit->limits.deadline_ms = clock_monotonic_ms() + audit->gather_ms;
}

static enum err_kind
on_record(void *state, const struct message *in, struct emits *out, struct err *err)
{
    struct audit *audit = state;
    struct provenance provenance = *audit->provenance;
    struct tuning_event event;

    allow_time(audit);
    if (serde_decode(audit->events, in->value, out->arena, &event, err)) /* decode */
        return err->kind;
    if (audit_gather(&audit->limits, &event, out->arena, &provenance.facts, err))
        return err->kind;                                    /* gather */
    return derive(audit, &event, in, &provenance, out, err); /* derive, emit */
}

static int64_t
due(void *state, struct slice key_suffix, struct slice value)
{
    struct audit *audit = state;
    return joiner_due(&audit->joiner, key_suffix, value);
}

static enum err_kind
on_due(void *state,
       struct store *store,
       struct slice value,
       struct emits *out,
       struct err *err)
{
    struct audit *audit = state;
    allow_time(audit);
    return joiner_on_due(&audit->joiner, store, value, out, err);
}

int
main(int argc, char **argv)
{
    static const struct worker_state state = {
        .topic = TOPIC_STATE_AUDIT,
        .suffix_bytes = JOIN_SUFFIX_BYTES,
        .due = due,
        .on_due = on_due,
    };
    static const struct worker worker = {
        .name = "audit",
        .summary = "Derives an audit row from each tuning event.",
        .input = TOPIC_TUNINGS,
        .input_type = &tuning_event_type,
        .outputs = outputs,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
        .settings = &settings,
        .open = open_audit,
        .on_record = on_record,
        .state = &state,
        .close = close_audit,
    };
    return worker_main(&worker, argc, argv);
}
