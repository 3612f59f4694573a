/* SPDX-License-Identifier: Apache-2.0 */
/* Other families, best first. */
#include "alternates.h"

#include "ratio.h"

#define MARGIN    0.10
#define TOLERANCE 1e-9

struct measured {
    enum gate_mode mode;
    double ratio;
};

/* Insertion before the first smaller ratio: ties stay in the order of modes. */
static void
insert(struct measured *list, size_t n, struct measured item)
{
    while (n && list[n - 1].ratio < item.ratio) {
        list[n] = list[n - 1];
        n--;
    }
    list[n] = item;
}

static size_t
measure(const struct gate_family families[MODES],
        enum gate_mode own,
        struct measured list[MODES])
{
    size_t n = 0;
    for (int i = 0; i < MODES; i++) {
        const struct gate_chunk *chunk = families[i].first;
        if (i == (int)own || !chunk || !chunk->has_numbers ||
            ratio_is_empty(&chunk->numbers))
            continue;
        struct amount ratio = ratio_of(&chunk->numbers);
        if (ratio.known)
            insert(list, n++, (struct measured){(enum gate_mode)i, ratio.value});
    }
    return n;
}

void
alternates_find(const struct gate_family families[MODES],
                enum gate_mode own,
                enum framework_kind kind,
                double threshold,
                struct alternates *ret_alternates)
{
    const struct chunk_numbers *numbers = &families[own].first->numbers;
    struct amount ratio = ratio_of(numbers);
    struct measured list[MODES];
    size_t n = kind == KIND_SCRIPTABLE ? 0 : measure(families, own, list);
    *ret_alternates = (struct alternates){
        .own_is_empty = ratio_is_empty(numbers),
        .n_measured = n,
        .best = n ? slice_of(mode_names[list[0].mode]) : (struct slice){0},
    };
    for (size_t i = 0; i < n; i++) {
        bool better = ret_alternates->own_is_empty
                          ? list[i].ratio > 0
                          : ratio.known && list[i].ratio >= threshold &&
                                list[i].ratio - ratio.value + TOLERANCE >= MARGIN;
        if (!better)
            continue;
        ret_alternates->ratios[ret_alternates->n_better] = list[i].ratio;
        ret_alternates->better[ret_alternates->n_better++] =
            slice_of(mode_names[list[i].mode]);
    }
}
