/* SPDX-License-Identifier: Apache-2.0 */
/* The median of times, twice: exact for an even number of them, too. */
#pragma once

#include "wide.h"

#include <stddef.h>
#include <stdint.h>

/* Twice the median of n >= 1 values; sorts them. */
int128 median_twice(int64_t *values, size_t n);
