/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the tables of an analysis.md that name kernels and their arguments
 * (kernel-table.md 8). */
#pragma once

#include "arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts of a cell, those that say nothing left out. */
struct report_texts {
    struct slice *items;
    size_t n;
};

struct report_row {
    int64_t line; /* of the document, from 1 */
    struct report_texts kernels;
    struct report_texts args;
    struct slice operation; /* may be empty */
};

/* Zero it but for the arena. */
struct report_rows {
    struct arena *arena;
    struct report_row *items;
    size_t n, cap;
    bool no_memory; /* not all rows are there */
};

/* Texts are borrowed from `markdown`. */
void report_rows_read(struct slice markdown, struct report_rows *rows);
