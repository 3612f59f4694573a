/* SPDX-License-Identifier: Apache-2.0 */
/* The other families of a split, and which of them would do better (gates.md 4). */
#pragma once

#include "decide.h"

struct alternates {
    bool own_is_empty;
    struct slice better[MODES]; /* worth a retry, best first */
    double ratios[MODES];       /* theirs */
    size_t n_better;
    size_t n_measured; /* those that hold work and have a ratio */
    struct slice best; /* of these; null: none */
};

/*
 * Of the representatives of all families but `own`, which has numbers. Anything beats an
 * empty chunk; a poor one is beaten by what is above the threshold and clearly better. A
 * scriptable framework has none: its mode is forced.
 */
void alternates_find(const struct gate_family families[MODES],
                     enum gate_mode own,
                     enum framework_kind kind,
                     double threshold,
                     struct alternates *ret_alternates);
