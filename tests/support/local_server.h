/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that a script of ops/ runs, for one test program: in a temporary folder, on
 * free ports, and never left behind. Java is a child of nobody here, so a guard process
 * of its own waits for the end of the test, however that comes, and ends what is left.
 */
#pragma once

#include "process.h"
#include "temp_dir.h"

#include <stdbool.h>
#include <stddef.h>

enum { LOCAL_SERVER_START_MS = 180000, LOCAL_SERVER_CALL_MS = 60000 };

struct local_server {
    const char *script; /* "kafka-local" */
    struct temp_dir dir;
    int guard; /* its end tells the guard that the test is over */
};

/*
 * Can the server be had on this machine? Fetches it when needed. If not, a line
 * `SKIPPED name: ...` is printed and `*ret_status` is what main() returns: 0, or 1 with
 * CI=true.
 */
bool local_server_here(const char *script, const char *name, int *ret_status);
/* Makes the folder and its guard; starts nothing yet. */
bool local_server_open(struct local_server *server, const char *script);
/*
 * Runs the script's `verb` on the server (one more argument, may be NULL); its output is
 * in `ret_text`, cut at `size`. False, with the output on stderr, when it fails.
 */
bool local_server_call(const struct local_server *server,
                       const char *verb,
                       const char *more,
                       int timeout_ms,
                       char *ret_text,
                       size_t size);
/* As local_server_call(), and does not wait for the script, which is `ret_process`. */
bool local_server_begin(const struct local_server *server,
                        const char *verb,
                        struct process *ret_process);
/* Ends the server at once and removes the folder. Safe to call twice. */
void local_server_close(struct local_server *server);
