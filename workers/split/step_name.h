/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the name of an annotation says about a step: whether a serving framework wrote
 * it, how many requests of which phase it held (splitting.md 5.1).
 */
#pragma once

#include "buf.h"
#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

enum step_kind {
    STEP_UNMATCHED,
    STEP_VLLM_DETAILED,
    STEP_VLLM_NATIVE,
    STEP_SGLANG_DETAILED,
    STEP_SGLANG_NATIVE,
    STEP_ATOM_DETAILED,
    STEP_ATOM_NATIVE,
    STEP_DIFFUSION_NATIVE,
};

enum root_phase { PHASE_NONE, PHASE_PREFILL, PHASE_PREFILLDECODE, PHASE_DECODE };

struct step_numbers {
    int64_t batch_size;
    int64_t num_requests;
    int64_t context_requests;
    int64_t context_sum;
    int64_t generation_requests;
    int64_t generation_sum;
};

const char *step_kind_name(enum step_kind kind);
const char *step_phase_name(enum root_phase phase);
/* One of the six vLLM, SGLang and ATOM kinds. */
bool step_kind_is_serving(enum step_kind kind);

/* Whether the name matches a pattern of the tier. */
bool step_name_is_detailed(struct slice name);
bool step_name_is_native(struct slice name);
/* Begins like a step and matches no pattern of either tier. */
bool step_name_is_near_miss(struct slice name);

/* The numbers by the first row whose form matches; STEP_UNMATCHED has the default ones.
 */
enum step_kind step_name_read(struct slice name, struct step_numbers *ret_numbers);
enum root_phase step_phase_of(const struct step_numbers *step);

/* Appends the name with every run of digits as one '#'. */
void step_name_add_skeleton(struct buf *out, struct slice name);
