/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of an audit row for readers that don't parse it. */
#pragma once

#include "run.h"

/* Characters of a projected text; the row itself has all of it. */
enum { PROJECTION_CHARS = 400 };

/*
 * Fills the projections of `row` from the run, as its row shows them: null what is absent
 * or no string, or no finite number. ERR_RECORD "record_too_large".
 */
enum err_kind projection_fill(const struct run *run,
                              struct arena *arena,
                              struct audit_row *row,
                              struct err *err);
/* Valid UTF-8 of at most PROJECTION_CHARS; null stays null, and comes of a full arena. */
struct slice projection_text(struct slice text, struct arena *arena);
