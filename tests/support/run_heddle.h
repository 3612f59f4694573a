/* SPDX-License-Identifier: Apache-2.0 */
/* `heddle` as a person starts it, without a configuration file unless one is named. */
#pragma once

#include "process.h"

/* The words of a command line: WORDS("topics", "plan"). */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Starts `heddle words...`; `environment` as process_start() takes it, may be NULL. */
bool heddle_start(struct process *process,
                  const char *const *environment,
                  const char *const *words);
/*
 * Runs it to its end; the status as a shell has it, -1 after half a minute. What it said
 * is in `process->text` until process_close().
 */
int heddle_run(struct process *process,
               const char *const *environment,
               const char *const *words);
