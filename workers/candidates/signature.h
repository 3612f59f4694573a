/* SPDX-License-Identifier: Apache-2.0 */
/* What an op was called with: its operands side by side (kernel-table.md 4). */
#pragma once

#include "operand.h"

#include <stddef.h>

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
