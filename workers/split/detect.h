/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the steps of a trace: the cascade of splitting.md 5.2. */
#pragma once

#include "arena.h"
#include "candidate.h"
#include "pattern.h"
#include "symbol.h"

enum { MAX_TRIED = 5 };

/* What a candidate was, for the manifest. */
struct tried {
    const char *method;
    enum grade status;
    uint64_t n_roots;
    double coverage;
};

struct detection {
    struct candidate result; /* method "none" without roots when nothing repeats */
    struct tried tried[MAX_TRIED];
    size_t n_tried;
    uint64_t near_misses;
    struct slice near_miss; /* the first one */
    struct slice family;    /* distinct skeletons of the roots, joined */
    /* What the roots of the candidates lie in; it stays where it is. */
    struct column annotations;
    struct column families;
    struct pattern branch;
    struct pattern siblings;
    struct column bookends;
};

void detection_done(struct detection *detection);

/* Texts lie in `arena` or in the index. detection_done() also after a failure. */
enum err_kind detect_roots(const struct events *events,
                           struct symbols *symbols,
                           struct arena *arena,
                           struct detection *ret_detection,
                           struct err *err);
