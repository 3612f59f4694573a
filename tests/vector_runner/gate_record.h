/* SPDX-License-Identifier: Apache-2.0 */
/* A split record through gate and candidate table. */
#pragma once

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "json.h"

/* Appends what becomes of the record `text` to the end of `request`, as `heddle gate
 * --json` prints it. The record lies in `arena`. */
enum err_kind gate_record_judge(struct slice text,
                                struct json_value request,
                                struct arena *arena,
                                struct buf *answer,
                                struct err *err);
