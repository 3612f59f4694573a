/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a tuning event that were sent as claims. */
#include "gather.h"

struct gathering {
    const struct claim_limits *limits;
    struct arena *arena;
    struct fact *facts;
    size_t n;
    struct err *err;
};

static enum err_kind
gather(struct gathering *gathering, struct payload *payload, struct slice subject)
{
    struct slice bytes;
    if (payload->kind != PAYLOAD_CLAIM)
        return ERR_OK;
    if (claim_fetch(gathering->limits, &payload->claim, subject.data, gathering->arena,
                    &bytes, gathering->err))
        return gathering->err->kind;
    gathering->facts[gathering->n++] = (struct fact){
        .subject = subject,
        .outcome = SLICE("fetched"),
        .sha256 = payload->claim.sha256,
    };
    payload->kind = PAYLOAD_INLINE;
    payload->bytes = bytes;
    return ERR_OK;
}

static enum err_kind
gather_logs(struct gathering *gathering, struct tuning_event *event)
{
    struct log_part *logs = event->logs.items;
    for (size_t i = 0; i < event->logs.n; i++) {
        if (logs[i].payload.kind != PAYLOAD_CLAIM)
            continue;
        struct slice subject =
            arena_printf(gathering->arena, "log:%.*s", SLICE_ARG(logs[i].tuner));
        if (!subject.data)
            return err_no_memory(gathering->err, "the name of a log");
        if (gather(gathering, &logs[i].payload, subject))
            return gathering->err->kind;
    }
    return ERR_OK;
}

enum err_kind
audit_gather(const struct claim_limits *limits,
             struct tuning_event *event,
             struct arena *arena,
             struct list *ret_facts,
             struct err *err)
{
    struct gathering gathering = {.limits = limits, .arena = arena, .err = err};
    gathering.facts = arena_calloc(arena, event->logs.n + 2, sizeof *gathering.facts);
    if (!gathering.facts)
        return err_no_memory(err, "the facts of an event");
    if (gather(&gathering, &event->result, SLICE("result")) ||
        gather_logs(&gathering, event) ||
        (event->has_e2e && gather(&gathering, &event->e2e.payload, SLICE("e2e"))))
        return err->kind;
    *ret_facts = (struct list){gathering.facts, gathering.n};
    return ERR_OK;
}
