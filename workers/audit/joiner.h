/* SPDX-License-Identifier: Apache-2.0 */
/* The join with its state: what a store knows of an input key goes through join.h. */
#pragma once

#include "claim.h"
#include "join.h"
#include "serde.h"
#include "store.h"

struct joiner {
    struct serde *records;             /* of audit_part_type; owned */
    struct arena scratch;              /* owned */
    const struct claim_limits *limits; /* borrowed, as the provenance */
    const struct provenance *provenance;
    int64_t expiry_ms;
    int64_t retention_ms;
};

/* Caller's storage, whose settings are filled in. */
enum err_kind
joiner_init(struct joiner *joiner, const struct schema_source *schemas, struct err *err);
void joiner_done(struct joiner *joiner);

/*
 * One event, gathered: stages its parts in `store` and fills `out`. Errors of join.h,
 * store.h, and of claim_fetch() for a part that an earlier event claimed.
 */
enum err_kind joiner_record(struct joiner *joiner,
                            struct store *store,
                            const struct tuning_event *event,
                            const struct message *in,
                            struct emits *out,
                            struct err *err);
/* As worker_state has them. */
int64_t joiner_due(struct joiner *joiner, struct slice key_suffix, struct slice value);
enum err_kind joiner_on_due(struct joiner *joiner,
                            struct store *store,
                            struct slice value,
                            struct emits *out,
                            struct err *err);
