/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace event and its parts in line form: keys sorted, ", " and ": ", ASCII only. What
 * the ids of events and requests are digests of (events.md 2, 6).
 */
#pragma once

#include "buf.h"
#include "trace_event.h"

/* `with_ids`: request_id and retry_of are among the members. */
void trace_line_request(struct buf *out, const struct request *request, bool with_ids);
void trace_line_split(struct buf *out, const struct split_request_parameters *split);
/* The event without its origin, the payload replaced by its SHA-256. */
void trace_line_event(struct buf *out,
                      const struct trace_event *event,
                      struct slice payload_sha256);
