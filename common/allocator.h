/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the allocator keeps for itself. Records of many sizes, freed by other threads than
 * those that took them, leave it with pages that nobody uses and that it does not give
 * back: over a large backlog they grow to a third of what is in use.
 */
#pragma once

#include <stdint.h>

/* From now on: few pools, and what is large for a process of `limit` bytes goes back to
 * the system at once. */
void allocator_bound(int64_t limit);
/* Gives unused pages back, every other second at most; nothing without a bound. One
 * thread calls it. */
void allocator_trim(void);
