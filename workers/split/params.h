/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a split and what is wrong with them (splitting.md 12). */
#pragma once

#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

enum split_mode {
    SPLIT_AUTO,
    SPLIT_MIXED,
    SPLIT_DECODE_ONLY,
    SPLIT_PREFILLDECODE,
    SPLIT_GENERIC,
    SPLIT_RANGE,
    SPLIT_MODES,
};

/* "auto", "mixed", …: also the names of the kinds of chunk. */
const char *split_mode_name(enum split_mode mode);

/* A number as it was given; what is no number at all is refused with its name. */
struct split_number {
    enum {
        SPLIT_NUMBER_ABSENT,
        SPLIT_NUMBER_INTEGER,
        SPLIT_NUMBER_REAL,
        SPLIT_NUMBER_OTHER
    } type;
    int64_t integer;
    double real; /* set for integers, too */
};

#define SPLIT_INTEGER(n) ((struct split_number){SPLIT_NUMBER_INTEGER, (n), (double)(n)})
#define SPLIT_REAL(x)    ((struct split_number){SPLIT_NUMBER_REAL, 0, (x)})

/* The effective parameters, as given. Texts are borrowed. */
struct split_params {
    struct split_number num_steps;
    struct split_number conc;
    struct split_number osl;
    struct split_number r;
    struct split_number max_num_seq;
    struct slice mode;
    struct slice iterations;
    bool llm_inference;
    bool allow_degraded;
    bool salvage;
};

#define SPLIT_PARAMS_DEFAULT                                                             \
    ((struct split_params){.num_steps = SPLIT_INTEGER(32),                               \
                           .mode = SLICE("auto"),                                        \
                           .iterations = SLICE("all")})

/* What is worked with: checked, R clamped. */
struct split_plan {
    uint64_t num_steps;
    bool has_conc;
    int64_t conc;
    bool has_analytic; /* CONC, OSL and R are all given */
    double osl;
    bool has_r;
    double r;
    bool has_max_num_seq;
    int64_t max_num_seq;
    enum split_mode mode;
    bool has_range;
    uint64_t first; /* step indices, half open; UINT64_MAX: larger than that */
    uint64_t last;
    bool llm_inference;
    bool allow_degraded;
    bool salvage;
    bool r_clamped;
    bool analytic_ratio_incomplete;
};

/* The first parameter that is wrong; `parameter` NULL: none. Both static. */
struct split_complaint {
    const char *parameter;
    const char *reason;
};

/* `ret_plan` holds what was settled before a complaint: r_clamped among it. */
struct split_complaint split_params_check(const struct split_params *params,
                                          struct split_plan *ret_plan);
