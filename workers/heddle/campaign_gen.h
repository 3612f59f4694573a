/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo's campaign: the files that 388 tuning runs leave on their nodes, in the
 * layout of tuning-audit.md 1, whose audit gives the census published for 18 Aug 2026
 * (tuning-audit.md 11).
 *
 * Only the tallies are published; which run had which tuner, and how long it took, is
 * drawn from the seed. Any seed gives the same census. Pure: the caller writes the files.
 */
#pragma once

#include "err.h"
#include "slice.h"

#include <stddef.h>
#include <stdint.h>

/* The directory names at most: <Model>/<session>/runs/gemm_tuning/<task>. */
enum { CAMPAIGN_PATH_BYTES = 256 };

struct campaign_file {
    const char *path; /* below the campaign's root, "/" between its parts */
    struct slice content;
    int64_t mtime_us; /* event time, microseconds since 1970 */
};

/* Takes one file, borrowed for the call; an error ends the generation. */
typedef enum err_kind
campaign_file_fn(void *state, const struct campaign_file *file, struct err *err);

struct campaign_totals {
    size_t traces; /* sessions with at least one result */
    size_t results;
    size_t logs;
    size_t lost; /* workspaces with a log and no result */
};

/*
 * Gives every file of the campaign to `write`, in a fixed order: the logs of a run
 * before its result. The same seed gives the same bytes on any machine. `ret_totals`
 * may be NULL. ERR_FATAL "out_of_memory", or what `write` returns.
 */
enum err_kind campaign_generate(uint64_t seed,
                                campaign_file_fn *write,
                                void *state,
                                struct campaign_totals *ret_totals,
                                struct err *err);
