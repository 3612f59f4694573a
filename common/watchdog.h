/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals and deadlines of a worker's process, in a thread of their own, so that they
 * hold even while the record path hangs in a library call or on a dead mount.
 *
 * The first SIGTERM or SIGINT asks for a drain and starts its deadline; the second leaves
 * at once. An overrun deadline logs one line and leaves with its exit status by _exit(),
 * without unwinding: the supervisor starts a fresh process.
 */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * First of all: a signal to stop waits for watchdog_start() from here on, instead of
 * ending a process that is about to start.
 */
void watchdog_hold_signals(void);
/* For a process that goes on without a watchdog: the signals end it again. */
void watchdog_let_signals_go(void);
/*
 * Once, in main() before any other thread is made: blocks the two signals for all of
 * them, ignores SIGPIPE, starts the thread. A drain may take `drain_ms`.
 */
enum err_kind watchdog_start(int64_t drain_ms, struct err *err);

/* Whether the process was asked to stop. */
bool watchdog_stopping(void);
/* Asks for the same drain as the first signal does. */
void watchdog_stop(void);
/* Deadlines that may run at the same time, beside that of the drain. */
enum watch { WATCH_CALL, WATCH_REVOKE, WATCH_CLOSE, N_WATCHES };
/*
 * Leaves with `status` unless watchdog_disarm() of the same watch comes within
 * `timeout_ms`. `what` is a static text for the log line.
 */
void watchdog_arm(enum watch watch, int64_t timeout_ms, int status, const char *what);
void watchdog_disarm(enum watch watch);
/*
 * When the deadline of WATCH_CALL is over, `excuse` is asked from the watchdog's thread:
 * true starts the deadline anew. Arming and disarming wait meanwhile. NULL: no more;
 * returns once no call is running.
 */
void watchdog_excuse(bool (*excuse)(void *state), void *state);
/*
 * Calls `look` from the watchdog's thread every 50 ms or so, from now on; it returns the
 * status to leave with, or EXIT_OK. NULL: no more; returns once no call is running.
 */
void watchdog_look(int (*look)(void *state), void *state);
/* Waits up to `timeout_ms`, less when the process is asked to stop. */
void watchdog_wait(int64_t timeout_ms);
