/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that came without their result: the orphan record (events.md 4). */
#pragma once

#include "run.h"

struct orphan {
    struct run_logs logs;
    struct validation validation;
    struct notes notes;
    struct slice e2e;      /* its bytes; data NULL: none */
    const char *e2e_error; /* NULL, or why it is no verdict: "unparseable", a type */
};

/* Reads the parts. ERR_RECORD "record_too_large". */
enum err_kind orphan_derive(const struct audit_log *logs,
                            size_t n_logs,
                            struct slice e2e,
                            struct arena *arena,
                            struct orphan *ret_orphan,
                            struct err *err);
/* Appends x of the orphan record in line form: notes, orphan_e2e, orphan_logs, src. */
void orphan_write_x(const struct orphan *orphan, struct buf *out);
