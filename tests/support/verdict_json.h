/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict record as the JSON of the vectors (README-domain.md). */
#pragma once

#include "buf.h"
#include "verdict.h"

/* `root` stands for the request of attempt 1, whatever that was called. */
void verdict_json_write(struct buf *out, const struct verdict *verdict, const char *root);
/* What the warnings of the verdict advise (their field remediation), one JSON text after
 * the other. */
void verdict_json_remediations(struct buf *out, const struct verdict *verdict);
