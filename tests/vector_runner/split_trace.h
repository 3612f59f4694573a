/* SPDX-License-Identifier: Apache-2.0 */
/* Whole traces through the splitter, and its answers beside those of the model. */
#pragma once

#include "arena.h"
#include "buf.h"
#include "document.h"
#include "err.h"
#include "json.h"
#include "params.h"

#include <stdbool.h>

/* The parameters of a case; what is left out has its default. */
struct split_params split_params_of(struct json_value input);

/* Appends the document of the trace `bytes` (as received). */
enum err_kind split_trace_run(struct slice bytes,
                              struct json_value params,
                              struct slice base,
                              enum document_events events,
                              struct buf *answer,
                              struct err *err);

/* Reads a plain document through the scanner. */
enum err_kind split_trace_scan(struct slice text,
                               const struct scan_listener *listener,
                               struct err *err);

/* The text of a container, as far as it reads. */
enum err_kind split_trace_unpack(struct slice bytes, struct buf *text, struct err *err);

/* Two answers by the rule of splitting.md 15.1; `where` gets the difference. */
bool split_answers_equal(struct json_value want,
                         struct json_value got,
                         struct arena *arena,
                         struct buf *where);
