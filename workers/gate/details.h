/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of an older splitter, execution_details.csv or .json: rows that measure the
 * files beside it (gates.md 3). Columns by name, in any order.
 */
#pragma once

#include "arena.h"
#include "err.h"
#include "input.h"
#include "json.h"

struct details_row {
    struct slice output_path; /* as written; empty: none */
    struct chunk_numbers numbers;
};

enum { DETAILS_MAX_ROWS = 1000000, DETAILS_MAX_COLUMNS = 256 };

/*
 * Rows in their order, in `arena`. ERR_RECORD "details_malformed": no header with
 * output_path and num_gpu_events, an unended quotation, too many rows or columns.
 */
enum err_kind details_read_csv(struct slice bytes,
                               struct arena *arena,
                               struct details_row **ret_rows,
                               size_t *ret_n,
                               struct err *err);
/* The same of a JSON array; entries that are no objects are "details_malformed". */
enum err_kind details_read_json(struct json_value array,
                                struct arena *arena,
                                struct details_row **ret_rows,
                                size_t *ret_n,
                                struct err *err);
/* The chunks that the rows are about: families by file name, rows of none left out.
 * False: no memory. */
bool details_chunks(const struct details_row *rows,
                    size_t n,
                    struct arena *arena,
                    struct gate_split *ret_split);
