/* SPDX-License-Identifier: Apache-2.0 */
/* What an older splitter left: a folder of files and its table (gates.md 3, 8). */
#pragma once

#include "err.h"
#include "input.h"

#include "arena.h"

/* Cells of a row of execution_details.csv that are read; null: no such column. */
struct import_row {
    struct slice num_gpu_events;
    struct slice gpu_duration;
    struct slice gpu_busy_duration;
    struct slice busy_ratio;
};

/* The numbers of a row as they are written: durations are microseconds. */
struct import_numbers {
    double num_gpu_events;
    struct amount gpu_duration_us;
    struct amount gpu_busy_duration_us;
    struct amount busy_ratio;
};

/* A ratio of at most two decimals is dropped where the durations say more. */
void import_read_row(const struct import_row *row, struct import_numbers *ret_numbers);
/* The same as numbers of a chunk. */
struct chunk_numbers import_chunk_numbers(const struct import_numbers *numbers);

struct import_family {
    struct slice selected; /* its representative; null: none */
    size_t n;
};

/*
 * The family of a file by its base name, MODES for one that is no chunk; `ret_suffix`
 * (may be NULL) is the rank of its suffix, smaller first.
 */
enum gate_mode import_family_of(struct slice path, int *ret_suffix);
/* The files of each family; paths are borrowed. */
void import_collect(const struct slice *paths,
                    size_t n,
                    struct import_family ret_families[MODES]);

enum import_outcome {
    IMPORT_SELECTED,
    IMPORT_BAD_MODE,
    IMPORT_NO_STEADY_STATE,
    IMPORT_CHUNK_MISSING,
};

extern const char *const import_outcome_names[];

/* What a requested mode gets from them. */
enum import_outcome import_select(const struct import_family families[MODES],
                                  struct slice requested,
                                  bool failed,
                                  bool aborted);
