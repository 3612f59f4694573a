/* SPDX-License-Identifier: Apache-2.0 */
/* How far a split is, for a person who looks: bytes, rate, time that is left. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct split_progress {
    bool is_shown; /* standard error is a terminal */
    bool is_drawn;
    int passes; /* the trace is read so often */
    int64_t start_ms;
    int64_t next_ms;
};

void split_progress_start(struct split_progress *progress, int passes);
/* A trace_progress_fn of a split_progress: `done` bytes of all passes, `size` of one. */
void split_progress_show(void *state, uint64_t done, uint64_t size);
/* Takes the bar off the line. */
void split_progress_clear(struct split_progress *progress);
