/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as JSON lines (tools/gen_tuning.py of the specification): tune_log,
 * tuning_result, e2e_result, each one event of its own. `value` is sent as the text that
 * stands in the line, byte for byte.
 */
#pragma once

#include "arena.h"
#include "err.h"
#include "slice.h"
#include "tuning_build.h"

/* A line longer than this is refused. */
#define EVENT_LINE_MAX_BYTES ((size_t)64 << 20)

/*
 * Reads one line into the parts of one event, in the arena or borrowed from `text`;
 * `log` is the storage of the one log that an event may have. Defaults and node are left
 * alone. ERR_RECORD "event_line_invalid".
 */
enum err_kind event_line_read(struct slice text,
                              struct arena *arena,
                              struct tuning_parts *ret_parts,
                              struct tuning_log *log,
                              struct err *err);
