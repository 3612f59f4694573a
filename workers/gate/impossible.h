/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a split that can't be (gates.md 6.2): reported, never judged by. */
#pragma once

#include "err.h"
#include "input.h"

#include "arena.h"

struct impossible {
    struct slice field;  /* manifest.NAME or chunks[N].NAME */
    struct amount value; /* durations in microseconds */
};

/* Every chunk is looked at. The list lies in `arena`. ERR_FATAL "out_of_memory". */
enum err_kind impossible_find(const struct gate_split *split,
                              struct arena *arena,
                              const struct impossible **ret_found,
                              size_t *ret_n,
                              struct err *err);
