/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace event (events.md 6): a GPU trace and what to do with it. Topic heddle.traces,
 * key: the request_id of attempt 1.
 */
#pragma once

#include "origin.h"
#include "request.h"

/* Parameters of the splitter as the event gives them; null: derived, or the default. */
struct split_request_parameters {
    bool has_num_steps;
    int32_t num_steps;
    bool has_conc;
    int64_t conc;
    bool has_osl;
    double osl;
    bool has_r;
    double r;
    bool has_max_num_seq;
    int64_t max_num_seq;
    struct slice mode;       /* nullable */
    struct slice iterations; /* nullable */
    bool has_llm_inference;
    bool llm_inference;
    bool has_allow_degraded;
    bool allow_degraded;
    bool has_salvage;
    bool salvage;
};

/* A GPU trace and what to do with it. Key: request_id of attempt 1. */
struct trace_event {
    struct origin origin;
    struct payload payload;
    struct slice trace_name; /* nullable */
    struct request request;
    struct split_request_parameters split;
};

extern const struct record_type trace_event_type;
