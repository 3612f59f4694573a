/* SPDX-License-Identifier: Apache-2.0 */
/* The decision table (gates.md 4): structural tests first, comparisons last. */
#pragma once

#include "err.h"
#include "gate_config.h"
#include "input.h"
#include "note.h"
#include "retry.h"
#include "verdict.h"

/* The variable that sets the default mode, as remediations name it. */
#define GATE_MODE_VARIABLE "INFERENCE_OPTIMIZER_STEADY_STATE_MODE"

struct gate_answer {
    bool accepted;
    const char *verdict_class;      /* static */
    struct slice mode;              /* the effective one */
    const struct gate_chunk *chunk; /* the accepted one, else NULL */
    struct amount busy_ratio;       /* unrounded */
    double threshold;
    struct note_list notes; /* the verdict's warnings */
    bool has_measures;
    struct verdict_measures measures;
    bool suppress_candidates;
    struct slice better; /* the mode that the remediation of a poor chunk names; null */
    struct retry_hint retry; /* mode null: none */
    bool retry_exhausted;
};

/* What is read of a family. */
struct gate_family {
    const struct gate_chunk *first; /* its representative; NULL: no chunk */
    size_t n;
};

/*
 * The verdict on one attempt. `request->framework_kind` is one of the two; texts of the
 * answer are borrowed from the input, or lie in `arena`. ERR_RECORD
 * "gate_request_malformed" (gates.md 1.1), ERR_FATAL "out_of_memory".
 */
enum err_kind gate_decide(const struct gate_request *request,
                          const struct gate_split *split,
                          const struct gate_config *config,
                          struct arena *arena,
                          struct gate_answer *ret_answer,
                          struct err *err);
