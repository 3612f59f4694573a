/* SPDX-License-Identifier: Apache-2.0 */
/* What a request means for splitter and gate: framework, mode, hints (gates.md 2). */
#pragma once

#include "err.h"
#include "gate_config.h"
#include "mode.h"
#include "note.h"

/* The hints of a place; null or blank: none there. */
struct split_hints {
    struct slice conc, osl, r;
};

struct split_ask {
    struct slice framework;         /* nullable */
    struct slice steady_state_mode; /* nullable */
    bool has_num_steps;
    int64_t num_steps;
    struct split_hints request;
    struct split_hints baseline;
    struct slice campaign_framework; /* nullable */
};

/* Hints of the environment, read once at start-up: the first variable that says
 * something. */
void split_hints_of_variables(gate_variable_fn *variable,
                              const void *state,
                              struct split_hints *ret_hints);

struct split_request_answer {
    struct slice framework; /* trimmed, lower case; may be empty */
    enum framework_kind kind;
    struct slice mode; /* the gate's effective mode; it never reaches the splitter */
    bool mode_is_known;
    bool llm_inference;
    int64_t num_steps;
    struct split_hints hints; /* trimmed texts or null */
    struct note_list notes;
};

/*
 * `default_mode` is that of the configuration (config.h). Texts of the answer are
 * borrowed from the ask, or lie in `arena`. ERR_FATAL "out_of_memory".
 */
enum err_kind split_request(const struct split_ask *ask,
                            struct slice default_mode,
                            const struct split_hints *environment,
                            struct arena *arena,
                            struct split_request_answer *ret_answer,
                            struct err *err);
