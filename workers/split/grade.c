/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the GPU time a set of steps explains, as a verdict. */
#include "grade.h"

#include "wide.h"

enum grade
grade_of(int64_t part_ns, int64_t whole_ns)
{
    if (whole_ns <= 0)
        return GRADE_NOT_SPLITTABLE;
    if ((int128)20 * part_ns >= (int128)19 * whole_ns)
        return GRADE_SPLITTABLE;
    return (int128)4 * part_ns >= (int128)3 * whole_ns ? GRADE_DEGRADED
                                                       : GRADE_NOT_SPLITTABLE;
}

bool
grade_share_holds(int64_t spans_ns, int64_t selected_ns)
{
    return selected_ns > 0 && (int128)2 * spans_ns >= selected_ns;
}

bool
grade_passes(int64_t spans_ns, int64_t selected_ns, int64_t whole_ns)
{
    return grade_of(selected_ns, whole_ns) == GRADE_SPLITTABLE &&
           grade_share_holds(spans_ns, selected_ns);
}

double
grade_ratio(int64_t part, int64_t whole)
{
    return whole > 0 ? wide_ratio(part, whole) : 0.0;
}
