/* SPDX-License-Identifier: Apache-2.0 */
/* The second pass: reads the trace again and cuts all chunks at once (splitting.md 2.5,
 * 11.2). */
#pragma once

#include "split.h"

/*
 * Writes the chunks of `answer` into the job's sink, when it has one, and lists the
 * metadata. ERR_RETRY "trace_changed" when the trace reads otherwise than in pass 1.
 */
enum err_kind
extract_chunks(const struct split_job *job, struct split_answer *answer, struct err *err);
