/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bar on standard error while a person looks at it; nothing on a pipe. Colour only
 * without NO_COLOR, width as the terminal has it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    const char *what; /* "runs" */
    size_t total;     /* 0: unknown, only counts are shown */
    bool shown;       /* standard error is a terminal */
    bool colour;
    bool drawn; /* a bar is on the line */
    int64_t next_ms;
};

/* `what` is borrowed. */
void progress_start(struct progress *progress, const char *what, size_t total);
/* Draws at most every PROGRESS_EVERY_MS. */
void progress_show(struct progress *progress, size_t done);
/* Takes the bar off the line, so that a message can be written; the next show redraws. */
void progress_clear(struct progress *progress);
/* Whether a bar would be seen at all. */
bool progress_wanted(void);

enum { PROGRESS_EVERY_MS = 100 };
