/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tune.log says (tuning-audit.md 8): the header's values, how the inner process
 * ended, and whether the tuner's own argument parser refused its options.
 */
#pragma once

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "slice.h"

#include <stdbool.h>

/* A refusal of command line options. */
struct rejection {
    struct slice prog; /* null for a message of click */
    const char *kind;  /* static; NULL: no rejection */
    struct slice args;
};

/* The slices lie in the log or in the arena; numbers are their text, null: unknown. */
struct log_scan {
    struct rejection rejection;
    struct slice elapsed_s;
    struct slice header_exit;
    struct slice inner_exit;
    bool inner_signal; /* inner_exit is a signal, written as a negative number */
    bool timeout;
    bool masked_exit;
    bool not_finished;
};

/* Scans the bytes of a log. ERR_RECORD "record_too_large" when the arena is full. */
enum err_kind log_scan(struct slice bytes,
                       struct arena *arena,
                       struct log_scan *ret_scan,
                       struct err *err);
/* Appends the scan as a JSON object in line form. */
void log_scan_write(const struct log_scan *scan, struct buf *out);

/*
 * A refusal by the front command, in the text of a run's error or stderr tail. `text` is
 * as text.h has it inside, may be null. Same errors.
 */
enum err_kind rejection_find(struct slice text,
                             struct arena *arena,
                             struct rejection *ret_rejection,
                             struct err *err);
/* Appends {"args": …, "kind": …[, "prog": …]}. */
void rejection_write(const struct rejection *rejection, struct buf *out);
