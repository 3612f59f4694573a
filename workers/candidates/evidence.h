/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of kernels from the tables of an analysis.md (kernel-table.md 8). */
#pragma once

#include "arena.h"
#include "err.h"
#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evidence_candidate {
    struct slice kernel_id;
    struct slice device_kernel_name;
    bool has_shapes; /* then it needs no evidence */
};

struct shape_evidence {
    struct slice kernel_id;
    bool unique_args; /* all rows agree; else nothing below */
    const struct slice *shapes;
    const struct slice *input_dtypes;
    size_t n;
    struct slice operation; /* may be empty */
    int64_t table_row;      /* line of the document, from 1 */
};

/* What the report says about candidates without shapes, in their order. Texts are
 * borrowed from `markdown`, lists lie in `arena`. ERR_FATAL "out_of_memory". */
enum err_kind evidence_find(struct slice markdown,
                            const struct evidence_candidate *candidates,
                            size_t n,
                            struct arena *arena,
                            const struct shape_evidence **ret_evidence,
                            size_t *ret_n,
                            struct err *err);
/* Whether a review's shapes are what the report says: only a back-fill of the review. */
bool evidence_confirms(const struct shape_evidence *evidence,
                       size_t n,
                       struct slice kernel_id,
                       const struct slice *shapes,
                       size_t n_shapes,
                       struct slice provenance);
