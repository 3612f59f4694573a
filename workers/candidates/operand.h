/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of an op as text: (8192,1024) bf16 (kernel-table.md 4). */
#pragma once

#include "buf.h"
#include "json.h"

struct operand {
    struct slice text;  /* "(7,) i64"; null: a scalar, or dims that are no integers */
    struct slice dtype; /* its suffix, static; empty: unknown */
};

/* The short name of a type as the profiler calls it; empty for an unknown one. */
struct slice operand_dtype(struct slice type);
/* Appends the text of dims and a suffix; false, and nothing is appended, when they are no
 * operand. */
bool operand_add(struct buf *out, struct json_value dims, struct slice dtype);
/* The operand of dims and type; the text lies in `arena`. False: no memory. */
bool operand_of(struct json_value dims,
                struct json_value type,
                struct arena *arena,
                struct operand *ret_operand);
