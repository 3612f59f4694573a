/* SPDX-License-Identifier: Apache-2.0 */
/* The census as a table for people and as JSON for machines. Pure. */
#pragma once

#include "buf.h"
#include "census_fold.h"

/* The tables of tuning-audit.md 11, each line ended. */
void census_table(const struct census_counts *counts, struct buf *out);
/*
 * One JSON document, sorted by name, line feed at the end: the names and the form of the
 * published census. A tally has no rows for what did not occur.
 */
void census_json(const struct census_counts *counts, struct buf *out);
