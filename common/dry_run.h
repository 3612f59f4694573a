/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --dry-run: a worker's record path on a file, without a broker. Events are lines of
 * Avro's JSON encoding, or an Avro container file; each is encoded and handed to the
 * worker as if it had been consumed.
 */
#pragma once

#include "buf.h"
#include "deadletter.h"
#include "err.h"
#include "serde.h"
#include "worker.h"

#include <stdbool.h>
#include <stdio.h>

/* Longest line. */
enum { DRY_RUN_LINE_BYTES = 64 << 20 };

/*
 * Prints a line {"topic","key","timestamp","value"} on `to` for every record the worker
 * would send; a dead letter also has "headers". A record that would be tried again is
 * printed as the dead letter it ends in. `*ret_refused` when a dead letter was among
 * them. ERR_FATAL EXIT_CONFIG "input_unreadable" naming file and line.
 */
enum err_kind dry_run(const struct worker *worker,
                      void *worker_state,
                      const struct dead_letter_source *dead,
                      const struct schema_source *schemas,
                      const char *path,
                      FILE *to,
                      bool *ret_refused,
                      struct err *err);
