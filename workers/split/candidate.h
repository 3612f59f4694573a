/* SPDX-License-Identifier: Apache-2.0 */
/* A set of roots with the facts that grade it (splitting.md 5). */
#pragma once

#include "coverage.h"
#include "grade.h"
#include "root.h"

#include <stdbool.h>
#include <stdint.h>

enum { MIN_ROOTS = 4 };

enum confidence { CONFIDENCE_HIGH, CONFIDENCE_LOW, CONFIDENCE_UNKNOWN };

/* Why the status is not 0; static. */
#define REASON_COVERAGE   "coverage"
#define REASON_SPAN_SHARE "span_share"
#define REASON_FEW_ROOTS  "few_roots"
/* Why there is no root at all. */
#define REASON_NO_ROOTS "no splittable annotations and no repeating call pattern"

/* Of a result of the call tree. */
struct tree_facts {
    const char *tier;   /* branch_descent, sibling_roots; NULL: not of the tree */
    const char *source; /* period, frame_family */
    uint64_t period;    /* 0: none */
    bool has_depth;
    int64_t depth;
    double coverage;
    uint64_t dropped_low_gpu_roots; /* 0: none */
    bool has_bookends;
    double warmup_percent;
    double wrapup_percent;
};

struct candidate {
    const char *method; /* static */
    enum confidence confidence;
    struct roots roots;
    enum grade status;
    const char *reason;          /* NULL: none */
    const char *annotation_tier; /* detailed, native; NULL */
    bool is_audited;
    struct coverage coverage;
    int64_t iteration_ns; /* of a tree result; then total_ns > 0 */
    int64_t total_ns;
    struct tree_facts tree;
};

/* The ratio that it is ranked by (5.2.6). */
static inline void
candidate_rank(const struct candidate *candidate, int64_t *ret_part, int64_t *ret_whole)
{
    bool audited = candidate->is_audited;
    *ret_part = audited ? candidate->coverage.selected_ns : candidate->iteration_ns;
    *ret_whole = audited ? candidate->coverage.busy_ns : candidate->total_ns;
}

/* The ratio that the status was taken from. */
static inline double
candidate_graded(const struct candidate *candidate)
{
    if (candidate->total_ns)
        return grade_ratio(candidate->iteration_ns, candidate->total_ns);
    return candidate->is_audited
               ? grade_ratio(candidate->coverage.selected_ns, candidate->coverage.busy_ns)
               : 0.0;
}
