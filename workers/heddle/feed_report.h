/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What feed tells: each problem by name on standard error when it is met, and the counts
 * with the names again on standard output at the end.
 */
#pragma once

#include "buf.h"
#include "feeder.h"
#include "id_set.h"
#include "progress.h"

#include <stdbool.h>
#include <stddef.h>

/* Names kept for the summary; further ones are counted. */
enum { FEED_NAMES_MAX = 100 };

/* What came of what was found, beside the feeder's counts. */
struct feed_tally {
    size_t found;
    size_t unchanged;
    size_t skipped;
};

struct feed_report {
    const char *program; /* "heddle feed" */
    struct progress progress;
    struct id_set told;          /* the same is told once, however often it is met */
    char *names[FEED_NAMES_MAX]; /* "PATH: reason" */
    size_t n_problems;
    size_t n_notes;
    struct feed_tally tallies[FEED_KINDS];
};

void feed_report_done(struct feed_report *report);
/* Something that was skipped or should not be as it is: the exit status is 1. */
void feed_problem(struct feed_report *report, const char *name, const char *message);
/* Something left out as the rules say; no reason to fail. */
void feed_note(struct feed_report *report, const char *name, const char *message);
/* Shows how much is done with: the bar runs with the broker's answers, not with the
 * walk, which is over long before. */
void feed_show(struct feed_report *report, const struct feeder *feeder);
/* Appends the summary; `what` is "runs" or "events". A line on traces comes when there
 * are any, and stands alone when there is nothing else. */
void feed_summary(const struct feed_report *report,
                  const struct feeder *feeder,
                  const char *what,
                  double seconds,
                  struct buf *out);
