/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict as the JSON that people and vectors read. */
#pragma once

#include "buf.h"
#include "decide.h"
#include "selfcert.h"

/* `{...}`; `{}` without measures. */
void answer_json_measures(struct buf *out,
                          bool known,
                          const struct verdict_measures *measures);
/*
 * The verdict of one attempt, its free texts among the warnings; `remediation_mentions`
 * is what the remediation names.
 */
void answer_json_verdict(struct buf *out,
                         const struct gate_request *request,
                         const struct gate_answer *answer);
