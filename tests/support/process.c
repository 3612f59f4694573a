/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes of a test. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_STEP_MS = 5, READ_BYTES = 4096 };

long long
process_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
run_child(const char *const *argv, const char *const *environment, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    for (size_t i = 0; environment && environment[i]; i++)
        putenv((char *)(size_t)environment[i]);
    execv(argv[0], (char *const *)(size_t)argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

bool
process_start(struct process *process,
              const char *const *argv,
              const char *const *environment)
{
    int ends[2];
    *process = (struct process){.out = -1};
    if (pipe2(ends, O_CLOEXEC))
        return false;
    process->text = calloc(1, PROCESS_TEXT_BYTES);
    pid_t pid = process->text ? fork() : -1;
    if (pid == 0)
        run_child(argv, environment, ends[1]);
    close(ends[1]);
    process->pid = pid;
    process->out = ends[0];
    if (pid > 0)
        return true;
    process_close(process);
    return false;
}

/* Takes what is there within `timeout_ms`; false at the end of the output. */
static bool
take_output(struct process *process, int timeout_ms)
{
    struct pollfd wait = {.fd = process->out, .events = POLLIN};
    if (process->out < 0)
        return false;
    if (poll(&wait, 1, timeout_ms) <= 0)
        return true;
    char bytes[READ_BYTES];
    ssize_t n = read(process->out, bytes, sizeof bytes);
    if (n <= 0)
        return false;
    size_t room = PROCESS_TEXT_BYTES - 1 - process->len;
    size_t keep = (size_t)n < room ? (size_t)n : room;
    memcpy(process->text + process->len, bytes, keep);
    process->len += keep;
    return true;
}

static bool
next_line_with(struct process *process, const char *needle, char *ret_line, size_t size)
{
    for (;;) {
        char *start = process->text + process->seen;
        char *end = memchr(start, '\n', process->len - process->seen);
        if (!end)
            return false;
        process->seen += (size_t)(end - start) + 1;
        *end = '\0';
        bool found = strstr(start, needle) != NULL;
        if (found)
            snprintf(ret_line, size, "%s", start);
        *end = '\n';
        if (found)
            return true;
    }
}

bool
process_wait_line(struct process *process,
                  const char *needle,
                  char *ret_line,
                  size_t size,
                  int timeout_ms)
{
    long long deadline = process_now_ms() + timeout_ms;
    for (;;) {
        if (next_line_with(process, needle, ret_line, size))
            return true;
        long long left = deadline - process_now_ms();
        if (left <= 0 || !take_output(process, (int)left))
            return next_line_with(process, needle, ret_line, size);
    }
}

static int
shell_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool
reap(pid_t pid, int *ret_status)
{
    int status = 0;
    pid_t done = waitpid(pid, &status, WNOHANG);
    if (done == 0)
        return false;
    *ret_status = done == pid ? shell_status(status) : -1;
    return true;
}

int
process_wait(struct process *process, int timeout_ms)
{
    long long deadline = process_now_ms() + timeout_ms;
    int status = -1;
    while (process_now_ms() < deadline) {
        bool open = take_output(process, WAIT_STEP_MS);
        if (reap(process->pid, &status)) {
            while (open && process->len < PROCESS_TEXT_BYTES - 1) {
                size_t before = process->len;
                open = take_output(process, 0);
                if (process->len == before)
                    break;
            }
            process->pid = 0;
            return status;
        }
        if (!open)
            poll(NULL, 0, WAIT_STEP_MS);
    }
    return -1;
}

void
process_signal(const struct process *process, int signal_number)
{
    if (process->pid > 0)
        kill(process->pid, signal_number);
}

void
process_close(struct process *process)
{
    if (process->out >= 0)
        close(process->out);
    free(process->text);
    process->out = -1;
    process->text = NULL;
}

int
process_end(pid_t pid, int signal_number, int timeout_ms)
{
    int status = -1;
    if (pid <= 0) /* has ended; kill(0) would be the test's own group */
        return status;
    kill(pid, signal_number);
    for (long long deadline = process_now_ms() + timeout_ms;
         process_now_ms() < deadline;) {
        if (reap(pid, &status))
            return status;
        poll(NULL, 0, WAIT_STEP_MS);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return shell_status(status);
}
