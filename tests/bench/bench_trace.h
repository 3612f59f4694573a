/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated traces to measure with, made once and kept: in $HEDDLE_BENCH_DIR, else in
 * heddle-bench of $XDG_CACHE_HOME, else of ~/.cache. Another generator makes others.
 */
#pragma once

#include "measure.h"

#include <stdint.h>

/* BENCH_SIBLINGS: operators side by side, without annotations and Python frames. */
enum bench_size { BENCH_500M, BENCH_2G, BENCH_SIBLINGS, BENCH_SIZES };
enum bench_form { BENCH_PLAIN, BENCH_GZIP, BENCH_FORMS };

/* Its path; made first where it is not there, which takes a minute or two. */
const char *bench_trace(enum bench_size size, enum bench_form form);

/* What a scan saw; every field is looked at, so that none of the work can be left out. */
struct bench_seen {
    uint64_t events;
    uint64_t fields;
    uint64_t bytes;
    uint64_t largest; /* event, bytes */
};

/*
 * Scans a trace with all checks of splitting.md 2.2 on, in this process: a plain one in
 * one thread, gzip with its decoder in a second.
 */
struct usage bench_scan(const char *path, enum bench_form form, struct bench_seen *ret);
