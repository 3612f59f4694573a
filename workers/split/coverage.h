/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels belong to a set of roots, and how much of the GPU time that is
 * (splitting.md 4). */
#pragma once

#include "err.h"
#include "ownership.h"
#include "root.h"

#include <stdbool.h>
#include <stdint.h>

struct coverage {
    int64_t spans_ns;    /* of the roots' own spans */
    int64_t selected_ns; /* with what lies between them */
    int64_t busy_ns;     /* of the trace, without what was dropped */
    bool by_gpu_span;    /* else by correlation */
};

/* GPU time of the kernels that belong to `roots`. */
enum err_kind coverage_busy(const struct events *events,
                            struct roots roots,
                            int64_t *ret_ns,
                            struct err *err);

/*
 * The audit of `roots`. Kernels that the first root of `without` (NULL: none) owns count
 * nowhere.
 */
enum err_kind coverage_audit(const struct events *events,
                             struct roots roots,
                             const struct ownership *without,
                             struct coverage *ret_coverage,
                             struct err *err);
