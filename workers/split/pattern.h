/* SPDX-License-Identifier: Apache-2.0 */
/* What repeats among the children of one node of the call tree (splitting.md 5.5). */
#pragma once

#include "calltree.h"
#include "candidate.h"

/* A candidate, and the nodes around its roots. Zeroed is none. */
struct pattern {
    bool is_found;
    struct candidate candidate;
    struct column roots;  /* struct root; the candidate's */
    struct column before; /* lists of nodes */
    struct column after;
};

void pattern_done(struct pattern *pattern);
/* `to`, zeroed, has what `from` had; `from` is none then. */
void pattern_move(struct pattern *to, struct pattern *from);

/* A candidate on its way: its roots and what each of them takes. */
struct pattern_draft {
    struct pattern pattern;
    struct column root_ns; /* int64_t */
};

/*
 * What a search keeps from node to node. What grows with the children of a node lies in
 * pages as the call tree does; the rest takes a few words for each distinct name.
 */
struct pattern_search {
    struct calltree *tree;
    struct texts *normalised; /* names without addresses and lines */
    struct column known;      /* uint32_t by name: its normalised text + 1; 0: not yet */
    struct column groups_of;  /* by normalised text: the group of the node at hand */
    uint32_t stamp;           /* of that node */
    /* of the node at hand */
    struct column labels;   /* uint32_t by child: its group, in the order they come up */
    struct column by_label; /* group, node: the children of each group */
    struct column groups;
    struct column live; /* children whose group has GPU time */
    struct column live_labels;
    struct column matched; /* of the live ones */
    struct pattern_draft period;
    struct pattern_draft family;
};

/* Borrows `tree`. pattern_search_done() also after a failure. */
enum err_kind pattern_search_init(struct pattern_search *search,
                                  struct calltree *tree,
                                  struct err *err);
void pattern_search_done(struct pattern_search *search);

/*
 * Searches `nodes` (children, in node order). Roots of a period are called `name`, or
 * like their own events when it is null. `pattern` is zeroed, or was found before and
 * is kept unless this one has more iteration time; `ret_is_better` says so.
 */
enum err_kind pattern_find(struct pattern_search *search,
                           const struct column *nodes,
                           struct slice name,
                           const char *tier,
                           struct pattern *pattern,
                           bool *ret_is_better,
                           struct err *err);

/* Appends the name without addresses, lines and the spellings of one launch. */
void pattern_add_normalised(struct buf *out, struct slice name);
