/* SPDX-License-Identifier: Apache-2.0 */
/* How busy a chunk is, and whether it holds work at all (gates.md 3). */
#pragma once

#include "input.h"

/* At most 1; unknown without a usable ratio or two usable durations. */
struct amount ratio_of(const struct chunk_numbers *numbers);
/* The quotient of the durations alone. */
struct amount ratio_quotient(const struct chunk_numbers *numbers);
/* GPU events, whole; 0 when unknown, not finite or negative. */
double ratio_events(const struct chunk_numbers *numbers);
/* No events, or events that take no time. Whatever the ratio says. */
bool ratio_is_empty(const struct chunk_numbers *numbers);
