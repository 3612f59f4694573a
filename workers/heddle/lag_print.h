/* SPDX-License-Identifier: Apache-2.0 */
/* The lag of a group, laid out. Pure. */
#pragma once

#include "buf.h"
#include "kafka.h"

/* A line for each partition and one in sum. */
void lag_table(const char *group,
               const char *topic,
               const struct group_lag *lags,
               size_t n,
               struct buf *out);
/*
 * {"group", "topic", "lag", "partitions": [{"partition", "state", "committed", "start",
 * "end", "lag"}]}; state is "ok", "behind", "no_commit" (committed null), or "gone": the
 * committed offset lies below the log start, so records were never read.
 */
void lag_json(const char *group,
              const char *topic,
              const struct group_lag *lags,
              size_t n,
              struct buf *out);
