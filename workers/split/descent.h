/* SPDX-License-Identifier: Apache-2.0 */
/* The node of the call tree under which steps repeat, and what stands around them
 * (splitting.md 5.6). */
#pragma once

#include "pattern.h"

/* Breadth first; the pattern with most iteration time. `best` is zeroed. */
enum err_kind
descent_find(struct pattern_search *search, struct pattern *best, struct err *err);

/*
 * `base` with roots for the work before and after it, which are added to `roots`, an
 * empty list; *ret_found false: there is none.
 */
enum err_kind descent_add_bookends(struct calltree *tree,
                                   const struct pattern *base,
                                   struct column *roots,
                                   struct candidate *ret_candidate,
                                   bool *ret_found,
                                   struct err *err);
