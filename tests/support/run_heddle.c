/* SPDX-License-Identifier: Apache-2.0 */
/* Starting `heddle` in a test. */
#include "run_heddle.h"

#include <signal.h>
#include <stddef.h>

enum { MAX_WORDS = 64, MAX_VARIABLES = 16, RUN_MS = 60000, END_MS = 5000 };

bool
heddle_start(struct process *process,
             const char *const *environment,
             const char *const *words)
{
    const char *argv[MAX_WORDS + 2] = {BIN_DIR "/heddle"};
    const char *variables[MAX_VARIABLES + 2] = {"HEDDLE_CONFIG=/dev/null"};
    for (size_t i = 0; words[i] && i < MAX_WORDS; i++)
        argv[i + 1] = words[i];
    for (size_t i = 0; environment && environment[i] && i < MAX_VARIABLES; i++)
        variables[i + 1] = environment[i];
    return process_start(process, argv, variables);
}

int
heddle_run(struct process *process,
           const char *const *environment,
           const char *const *words)
{
    if (!heddle_start(process, environment, words))
        return -1;
    int status = process_wait(process, RUN_MS);
    if (status < 0)
        process_end(process->pid, SIGKILL, END_MS);
    return status;
}
