/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of a run: one for each tuner, scanned, and which entry each belongs to. */
#pragma once

#include "derive.h"
#include "tuners.h"

struct run_log {
    struct slice tuner;
    const struct audit_log *part;
    struct log_scan scan;
    bool used; /* an entry has it */
};

struct run_logs {
    struct run_log *items; /* sorted by tuner */
    size_t n;
};

/*
 * Scans the logs. Of several of one tuner the greatest (event time, SHA-256 of the bytes)
 * stands. ERR_RECORD "record_too_large".
 */
enum err_kind logs_scan(const struct audit_log *parts,
                        size_t n,
                        struct arena *arena,
                        struct run_logs *ret_logs,
                        struct err *err);
/* Gives each log to the last entry of its tuner; notes orphan_log for the others. */
enum err_kind logs_join(struct run_logs *logs,
                        struct tuners *tuners,
                        struct notes *notes,
                        struct err *err);
/* Appends the scans of the logs without an entry as a JSON object in line form. */
void logs_write_orphans(const struct run_logs *logs, struct buf *out);
