/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What heddle-slow derives: a warning `run_slow` for each run whose tuners together took
 * longer than the limit. Topic in: heddle.audit.tunings; out: heddle.warnings, key
 * `run_slow`. A run without a measured time gives nothing, and so does an orphan record.
 */
#pragma once

#include "audit_row.h"
#include "err.h"
#include "record.h"

struct slow_config {
    int64_t limit_ms;
};

/*
 * Appends the warning to `out` when there is one. `provenance` names the input. Errors:
 * ERR_FATAL "out_of_memory". No row is refused.
 */
enum err_kind slow_derive(const struct audit_row *row,
                          const struct slow_config *config,
                          const struct provenance *provenance,
                          int64_t timestamp_ms,
                          struct emits *out,
                          struct err *err);
