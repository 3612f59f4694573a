/* SPDX-License-Identifier: Apache-2.0 */
/* Kind generated: traces that the generator makes again (splitting.md 15.2). */
#pragma once

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "json.h"

enum err_kind run_generated(struct json_value vector,
                            struct arena *arena,
                            struct buf *answer,
                            struct err *err);
/* The generator needs python3. */
bool generated_can_run(const char **ret_missing);
