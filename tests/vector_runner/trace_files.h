/* SPDX-License-Identifier: Apache-2.0 */
/* Real traces in a folder, and the documents of a folder beside them that say what must
 * come of each: `{trace, sha256, ...}` (splitting.md 15). */
#pragma once

#include "buf.h"
#include "err.h"
#include "json.h"

#include <stddef.h>

struct trace_tally {
    size_t passed;
    size_t failed;
};

/* Counts a failure and prints it; `run` (may be null) tells which of a document's. */
void trace_fail(struct trace_tally *tally,
                const char *path,
                struct slice run,
                const char *why);

/* Lays what comes of `bytes`, the trace of the document, beside it. An error is a failure
 * of the whole document. */
typedef enum err_kind trace_check_fn(struct trace_tally *tally,
                                     const char *path,
                                     struct json_value document,
                                     struct slice bytes,
                                     struct err *err);

/* Calls `check` for every document below DIR/SUB, in the order of their names; how many
 * there were. */
size_t trace_files_walk(const char *dir,
                        const char *sub,
                        trace_check_fn *check,
                        struct trace_tally *tally);
