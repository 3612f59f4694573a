/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which steps stand for the steady state (splitting.md 8): regions around the peak, and
 * in them the windows for each phase; or the window of the most even durations. All in
 * positions of the list that is given.
 */
#pragma once

#include "arena.h"
#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A half-open range of positions. */
struct window {
    size_t first;
    size_t last;
};

struct windows {
    struct window *items;
    size_t n;
};

enum steady_kind { STEADY_MIXED, STEADY_DECODE_ONLY, STEADY_PREFILLDECODE, STEADY_KINDS };

struct steady {
    struct windows regions;
    double reference_ratio;
    bool is_picked[STEADY_KINDS];
    struct window picks[STEADY_KINDS];
};

/* 8.1: the regions near the peak, in `arena`. */
enum err_kind steady_regions(const int64_t *values,
                             size_t n,
                             uint64_t num_steps,
                             size_t min_run,
                             struct arena *arena,
                             struct windows *ret_regions,
                             struct err *err);

/* What CONC, OSL and R ask for (8.2). */
struct steady_analytic {
    double ratio;
    int64_t steps; /* that show the ratio at least once; INT64_MAX: beyond counting */
};
struct steady_analytic steady_analytic_of(int64_t conc, double osl, double r);

/* 8.2: n >= 1 steps with their requests; `analytic` may be NULL. */
enum err_kind steady_annotated(const int64_t *requests,
                               const bool *is_prefill,
                               size_t n,
                               uint64_t num_steps,
                               const struct steady_analytic *analytic,
                               struct arena *arena,
                               struct steady *ret_steady,
                               struct err *err);

/* The batch size of a step; unknown ones exist. */
struct batch_size {
    bool is_known;
    int64_t size;
};

/* 8.3: n >= 1 steps with their sizes and the labels of batch_label(). */
enum err_kind steady_shapes(const struct batch_size *sizes,
                            const bool *is_prefill,
                            size_t n,
                            uint64_t num_steps,
                            struct arena *arena,
                            struct steady *ret_steady,
                            struct err *err);

struct steady_duration {
    struct window window;
    double cv; /* coefficient of variation of the window that was looked at */
    uint64_t windows_passing;
};

/* 8.4: n >= 1 durations. */
struct steady_duration
steady_by_duration(const int64_t *durs_ns, size_t n, uint64_t num_steps);
