/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that came without their result: the orphan record (events.md 4). */
#pragma once

#include "run.h"

struct orphan {
    struct run_logs logs;
    struct validation validation;
    struct notes notes;
    const struct slice *verdicts; /* their bytes; the first is the one that is shown */
    size_t n_verdicts;
    const char *e2e_error; /* NULL, or why the shown is none: "unparseable", a type */
};

/*
 * Reads the parts. Of several verdicts (of several starts) the first is shown, the others
 * leave their notes and their src. ERR_RECORD "record_too_large".
 */
enum err_kind orphan_derive(const struct audit_log *logs,
                            size_t n_logs,
                            const struct slice *verdicts,
                            size_t n_verdicts,
                            struct arena *arena,
                            struct orphan *ret_orphan,
                            struct err *err);
/* The dead letter of a verdict that is none, and came alone. */
enum err_kind orphan_refuse(const char *e2e_error, struct err *err);
/* Appends x of the orphan record in line form: notes, orphan_e2e, orphan_logs, src. */
void orphan_write_x(const struct orphan *orphan, struct buf *out);
