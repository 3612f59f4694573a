/* SPDX-License-Identifier: Apache-2.0 */
/* What repeats among the children of one node of the call tree (splitting.md 5.5). */
#pragma once

#include "arena.h"
#include "calltree.h"
#include "candidate.h"
#include "idmap.h"

/* What a search keeps between nodes. Zeroed but for the tree. */
struct pattern_search {
    struct calltree *tree;
    struct texts *normalised; /* names without addresses and lines */
    struct idmap known;       /* name + 1 -> its normalised text */
};

/* Borrows `tree`. pattern_search_done() also after a failure. */
enum err_kind pattern_search_init(struct pattern_search *search,
                                  struct calltree *tree,
                                  struct err *err);
void pattern_search_done(struct pattern_search *search);

/* A candidate, and the nodes around its roots. */
struct pattern {
    bool is_found;
    struct candidate candidate;
    struct calltree_nodes before;
    struct calltree_nodes after;
};

/*
 * Searches `nodes` (children, in node order). Roots of a period are called `name`, or
 * like their own events when it is null. All that is found lies in `arena`.
 */
enum err_kind pattern_find(struct pattern_search *search,
                           struct calltree_nodes nodes,
                           struct slice name,
                           const char *tier,
                           struct arena *arena,
                           struct pattern *ret_pattern,
                           struct err *err);

/* Appends the name without addresses, lines and the spellings of one launch. */
void pattern_add_normalised(struct buf *out, struct slice name);
