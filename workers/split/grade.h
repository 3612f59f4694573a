/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the GPU time a set of steps explains, as a verdict (splitting.md 4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum grade { GRADE_SPLITTABLE, GRADE_DEGRADED, GRADE_NOT_SPLITTABLE };

/* The grade of part/whole, compared exactly. Nothing at all is not splittable. */
enum grade grade_of(int64_t part_ns, int64_t whole_ns);
/* At least half of what is covered lies in the steps' own spans. */
bool grade_share_holds(int64_t spans_ns, int64_t selected_ns);
/* The selection is splittable, and its share holds. */
bool grade_passes(int64_t spans_ns, int64_t selected_ns, int64_t whole_ns);
/* part/whole as a double; 0 where there is no whole. */
double grade_ratio(int64_t part, int64_t whole);
