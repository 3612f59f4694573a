/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a trace as the record tells them (splitting.md 11.3). */
#pragma once

#include "ownership.h"
#include "step_name.h"

enum phase_origin { PHASE_BY_NAME, PHASE_BY_SHAPE, PHASE_BY_DEFAULT, PHASE_BY_BOOKEND };

struct step {
    struct root root;
    enum root_phase phase;
    enum phase_origin phase_source;
    bool is_trimmed;
    bool is_bookend;
    struct interval tile;
    struct step_numbers numbers;
    struct step_work work;
};

struct steps {
    struct column list; /* struct step, by step index; in pages as the index allows */
    size_t n;
    size_t first; /* step index of the first root behind the trim: 0 or 1 */
};

static inline struct step
steps_at(const struct steps *steps, uint64_t i)
{
    struct step step;
    column_read(&steps->list, i, &step);
    return step;
}

/* What the name of the root says; tile and work are left. */
struct step step_of(const struct root *root);
