/* SPDX-License-Identifier: Apache-2.0 */
/* The candidate table as the JSON that people and vectors read: microseconds with three
 * decimals. */
#pragma once

#include "buf.h"
#include "candidate_table.h"

struct shape_fields;
struct launcher;

void table_json_write(struct buf *out, const struct kernel_table *table);
void table_json_row(struct buf *out, const struct candidate_row *row);
void table_json_omitted(struct buf *out, const struct omitted_rows *omitted);
/* The fields that shapes.h makes of a row, as an object. */
void table_json_shapes(struct buf *out,
                       const struct launcher *launcher,
                       const struct shape_fields *fields);
