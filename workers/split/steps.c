/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a trace as the record tells them. */
#include "steps.h"

struct step
step_of(const struct root *root)
{
    struct step step = {.root = *root, .is_bookend = root_is_bookend(root)};
    if (step.is_bookend) {
        step.phase_source = PHASE_BY_BOOKEND;
        return step;
    }
    enum step_kind kind = step_name_read(root->name, &step.numbers);
    step.phase = step_phase_of(&step.numbers);
    step.phase_source = kind == STEP_UNMATCHED ? PHASE_BY_DEFAULT : PHASE_BY_NAME;
    return step;
}
