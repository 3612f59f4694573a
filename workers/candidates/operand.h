/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of an op as text: (8192,1024) bf16 (kernel-table.md 4). */
#pragma once

#include "json.h"

#include <stddef.h>

struct operand {
    struct slice text;  /* "(7,) i64"; null: a scalar, or dims that are no integers */
    struct slice dtype; /* its suffix, static; empty: unknown */
};

/* The short name of a type as the profiler calls it; empty for an unknown one. */
struct slice operand_dtype(struct slice type);
/* The operand of dims and type; the text lies in `arena`. False: no memory. */
bool operand_of(struct json_value dims,
                struct json_value type,
                struct arena *arena,
                struct operand *ret_operand);

/* The operands of an op, scalars left out. */
struct signature {
    struct slice text; /* operands joined with <br> */
    const struct operand *items;
    size_t n; /* 0: no operand */
};

/* `dims` and `types` are JSON text, or null; what is no JSON counts as null. */
bool signature_of(struct slice dims,
                  struct slice types,
                  struct arena *arena,
                  struct signature *ret_signature);
