/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk of a split record from its JSON (splitting.md 11.5), as far as the table reads
 * it. Fields that are absent or of another type keep their zero.
 */
#pragma once

#include "json.h"
#include "split_record.h"

#include "arena.h"

/* Microseconds as JSON has them, as whole nanoseconds; false: none there. */
bool chunk_json_ns(struct json_value microseconds, int64_t *ret_ns);
/* One kernel row. False: no memory. */
bool
chunk_json_row(struct json_value object, struct arena *arena, struct kernel_row *row);
/* The chunk with its rows; texts are borrowed from the document. False: no memory. */
bool chunk_json_read(struct json_value object,
                     struct arena *arena,
                     struct split_chunk *ret_chunk);
