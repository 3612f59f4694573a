/* SPDX-License-Identifier: Apache-2.0 */
/* The table of topics beside a cluster's metadata. Pure. */
#pragma once

#include "buf.h"
#include "kafka.h"

#include <stdbool.h>

/*
 * A line for each change: "+" a topic is missing, "~" its partitions differ, "!" the
 * cluster reports an error for it; and one line in sum. True when there is any. On the
 * embedded broker every topic should have TOPIC_PARTITIONS_EMBEDDED partitions.
 */
bool topics_plan(const struct cluster_info *cluster, struct buf *out);
/*
 * A line for each topic of the table: partitions as they are and should be, the wanted
 * settings, and the present ones as "unknown": metadata does not hold them.
 */
void topics_describe(const struct cluster_info *cluster, struct buf *out);
