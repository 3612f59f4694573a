/* SPDX-License-Identifier: Apache-2.0 */
/* A trace of a decoding server that repeats its step, as text. */
#pragma once

#include "buf.h"

/* Initialises `out`; the same for the same numbers. Fails the test without memory. */
void serving_trace_make(struct buf *out, int steps, int launches);
