/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a split record as JSON: exact times, doubles in their shortest form. */
#pragma once

#include "buf.h"

#include <stdint.h>

/* Nanoseconds as microseconds with exactly three decimals. */
void figure_add_us(struct buf *out, int64_t ns);
/* The shortest text that reads back as the same double. */
void figure_add_double(struct buf *out, double value);
