/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes of a test: started with their stdout and stderr on one pipe, waited
 * for by what they say or by their end, never by a sleep.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PROCESS_TEXT_BYTES = 1 << 20 };

struct process {
    pid_t pid;
    int out;    /* stdout and stderr of the child */
    char *text; /* what it has said so far, terminated; cut at PROCESS_TEXT_BYTES */
    size_t len;
    size_t seen; /* what process_wait_line() has given */
};

/*
 * Starts argv (NULL-terminated). `environment`: NAME=VALUE texts set beside the test's
 * own, NULL-terminated, may be NULL. The child gets SIGKILL when the test dies.
 */
bool process_start(struct process *process,
                   const char *const *argv,
                   const char *const *environment);
/*
 * Waits for the next line that contains `needle` and copies it. False at the end of the
 * output or after `timeout_ms`.
 */
bool process_wait_line(struct process *process,
                       const char *needle,
                       char *ret_line,
                       size_t size,
                       int timeout_ms);
/* Waits for the end and keeps the output; status as a shell has it, -1: still running. */
int process_wait(struct process *process, int timeout_ms);
/* Sends `signal_number`. */
void process_signal(const struct process *process, int signal_number);
/* Closes the pipe and frees the text; the process itself goes on. */
void process_close(struct process *process);
/* Signals, waits up to `timeout_ms`, then kills. Status as a shell has it. */
int process_end(pid_t pid, int signal_number, int timeout_ms);
/* Milliseconds on a clock that only goes forward. */
long long process_now_ms(void);
