/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warnings of a record: run_rejected, then one for each of e2e_invalid,
 * kept_conflict, orphan_e2e, orphan_log and stale_log that its notes hold, in this order.
 */
#pragma once

#include "logscan.h"
#include "notes.h"
#include "record.h"
#include "warning.h"

/* What all warnings of one record share. */
struct warning_frame {
    struct slice subject; /* run_key, or the orphan record's key; valid UTF-8 */
    const struct origin *origin;
    const struct provenance *provenance;
    int64_t timestamp_ms;
};

/*
 * Adds the warnings of sorted `notes` and of `rejection` (its kind NULL: none).
 * ERR_RECORD "record_too_large", ERR_FATAL "out_of_memory".
 */
enum err_kind warnings_add(const struct warning_frame *frame,
                           const struct rejection *rejection,
                           const struct notes *notes,
                           struct emits *out,
                           struct err *err);
/*
 * Adds "join_full": `n` of an input key's `what` were the oldest and are forgotten,
 * because `max` are kept.
 */
enum err_kind warnings_add_join_full(const struct warning_frame *frame,
                                     const char *what,
                                     size_t max,
                                     size_t n,
                                     struct emits *out,
                                     struct err *err);
