/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of a trace: the request and the splitter's parameters of its event
 * (events.md 6), from the file beside it or from flags. Pure.
 */
#pragma once

#include "arena.h"
#include "err.h"
#include "trace_event.h"

/* Bytes of the file beside a trace. */
enum { TRACE_ASK_BYTES = 64 * 1024 };

struct trace_ask {
    struct request request; /* without ids; attempt 1 */
    struct split_request_parameters split;
};

/*
 * Reads a JSON object: the members `framework`, `framework_kind`, `requested_mode`,
 * `target_platform`, `model_name`, `campaign_framework`, `baseline` {`conc`, `osl`,
 * `random_range_ratio`, numbers or texts} and `split`, the parameters by their names.
 * Null is as good as not there. Texts in the arena, or borrowed from `text`. ERR_RECORD
 * "request_invalid" naming the member, ERR_FATAL "out_of_memory".
 */
enum err_kind trace_ask_parse(struct slice text,
                              struct arena *arena,
                              struct trace_ask *ret_ask,
                              struct err *err);
/*
 * What `ask.request` leaves open is taken from `other`, borrowed; what is open then is
 * null, and the framework empty.
 */
void trace_ask_fill(struct trace_ask *ask, const struct trace_ask *other);
