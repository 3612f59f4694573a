/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that scripts of ops/ run, and the guard that ends them. */
#include "local_server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, FETCH_MS = 600000, MAX_ARGS = 8 };

static void
script_path(const char *script, char path[static PATH_ROOM])
{
    snprintf(path, PATH_ROOM, "%s/ops/%s", SOURCE_DIR, script);
}

/* Status of the script as a shell has it, -1 after `timeout_ms`; output in `ret_text`. */
static int
run(const char *const *argv, int timeout_ms, char *ret_text, size_t size)
{
    struct process process;
    if (!process_start(&process, argv, NULL))
        return -1;
    int status = process_wait(&process, timeout_ms);
    if (status < 0)
        process_end(process.pid, SIGKILL, LOCAL_SERVER_CALL_MS);
    if (ret_text)
        snprintf(ret_text, size, "%s", process.text);
    if (status != 0)
        fprintf(stderr, "%s", process.text);
    process_close(&process);
    return status;
}

bool
local_server_here(const char *script, const char *name, int *ret_status)
{
    enum { UNAVAILABLE = 69 };
    char path[PATH_ROOM];
    script_path(script, path);
    const char *const argv[] = {path, "fetch", NULL};
    int status = run(argv, FETCH_MS, NULL, 0);
    if (status == 0)
        return true;
    if (status == UNAVAILABLE)
        printf("SKIPPED %s: ops/%s can't be had here; get it by ops/setup kafka and a "
               "way to Maven Central\n",
               name, script);
    const char *ci = getenv("CI");
    bool required = ci && strcmp(ci, "true") == 0;
    *ret_status = status != UNAVAILABLE || required;
    return false;
}

/* Reparented to init, in a session of its own: neither a terminal's signal nor a kill of
 * the test's whole family reaches it. */
static void
run_guard(const char *dir, int end)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/tests/support/end_servers", SOURCE_DIR);
    setsid();
    if (fork() != 0)
        _exit(0);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(end, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execl(path, path, dir, (char *)NULL);
    _exit(127);
}

static int
start_guard(const char *dir)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        run_guard(dir, ends[0]);
    close(ends[0]);
    if (pid > 0 && waitpid(pid, NULL, 0) == pid)
        return ends[1];
    close(ends[1]);
    return -1;
}

bool
local_server_open(struct local_server *server, const char *script)
{
    *server = (struct local_server){.script = script, .guard = -1};
    if (!temp_dir_make(&server->dir))
        return false;
    server->guard = start_guard(server->dir.path);
    if (server->guard >= 0)
        return true;
    local_server_close(server);
    return false;
}

bool
local_server_call(const struct local_server *server,
                  const char *verb,
                  const char *more,
                  int timeout_ms,
                  char *ret_text,
                  size_t size)
{
    char path[PATH_ROOM];
    script_path(server->script, path);
    const char *const argv[MAX_ARGS] = {path, verb, "--dir", server->dir.path, more};
    return run(argv, timeout_ms, ret_text, size) == 0;
}

bool
local_server_begin(const struct local_server *server,
                   const char *verb,
                   struct process *ret_process)
{
    char path[PATH_ROOM];
    script_path(server->script, path);
    const char *const argv[MAX_ARGS] = {path, verb, "--dir", server->dir.path};
    return process_start(ret_process, argv, NULL);
}

void
local_server_close(struct local_server *server)
{
    if (server->guard >= 0) {
        close(server->guard);
        /* The guard and this call do the same; whoever comes second finds nothing. */
        char path[PATH_ROOM];
        script_path(server->script, path);
        const char *const argv[] = {path, "kill", "--dir", server->dir.path, NULL};
        struct process process;
        if (process_start(&process, argv, NULL)) {
            process_wait(&process, LOCAL_SERVER_CALL_MS);
            process_close(&process);
        }
        server->guard = -1;
    }
    if (server->dir.path)
        temp_dir_done(&server->dir);
    server->dir.path = NULL;
}
