/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of the process: one line an event on standard error, written by one write(2),
 * from any thread. Only main programs and the runner log; everything below fills a
 * `struct err`.
 *
 *   log_event(LOG_INFO, "partition assigned",
 *             LOG_FIELDS(LOG_POSITION(topic, partition, offset)));
 */
#pragma once

#include "err.h"
#include "log_line.h"

/* The fields of an event, at least one. */
#define LOG_FIELDS(...)                                                                  \
    (const struct log_field[]){__VA_ARGS__},                                             \
        sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field)

/* Before any thread is started. `program` is borrowed for good. */
void log_setup(const char *program, enum log_format format, enum log_level level);
/* Whether an event of this level would be written. */
bool log_wants(enum log_level level);
/* Writes an event with fields. */
void log_event(enum log_level level,
               const char *msg,
               const struct log_field *fields,
               size_t n_fields);
/* Writes an event without fields. */
void log_say(enum log_level level, const char *msg);
/* Writes `err`: its message, with `code` and `stage` as fields. */
void log_err(enum log_level level, const struct err *err);
/* Lines that could not be written (full disk, closed pipe), for the metrics. */
unsigned long log_lost(void);
