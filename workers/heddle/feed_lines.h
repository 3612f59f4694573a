/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a file of JSON lines (event_line.h), sent as they come. */
#pragma once

#include "feed_run.h"

#include <signal.h>

/*
 * Sends the lines of `path`, "-" for standard input. Bad ones are told by their number,
 * and the rest goes. Errors are those of feeder_send() but ERR_RECORD; ERR_RETRY
 * "interrupted" once `stop` is not 0.
 */
enum err_kind feed_lines(const struct feed_target *target,
                         const char *path,
                         const volatile sig_atomic_t *stop,
                         struct err *err);
