/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a split from a trace event (splitting.md 12.1). */
#pragma once

#include "arena.h"
#include "err.h"
#include "params.h"
#include "split_record.h"
#include "split_request.h"
#include "trace_event.h"

struct event_params {
    struct split_params params;     /* to split with */
    struct split_parameters record; /* the same, as the record shows them */
    /* Texts of derived hints that are no numbers, null where there is none. */
    struct slice bad_conc;
    struct slice bad_osl;
};

/*
 * What the request means to the splitter, with the event's own parameters laid over it.
 * `environment` has the hints of the process. Texts are borrowed from the event, or lie
 * in `arena`. ERR_RECORD "gate_request_malformed" (gates.md 1.1) at stage gather,
 * ERR_FATAL "out_of_memory".
 */
enum err_kind event_params_of(const struct trace_event *event,
                              const struct split_hints *environment,
                              struct arena *arena,
                              struct event_params *ret_params,
                              struct err *err);
/* The text that a refusal of `parameter` names as its reason; null: the complaint's own.
 */
struct slice event_params_reason(const struct event_params *params,
                                 struct slice parameter);
/* Key of all that follows from the event: the request_id of attempt 1. */
struct slice event_key(const struct trace_event *event);
