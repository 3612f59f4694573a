/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event of a log as one line of text or JSON. Whatever the values hold, the line
 * stays one line and, as JSON, stays valid: control characters are escaped, bytes that
 * are no UTF-8 become U+FFFD, long values are cut and end with "...".
 */
#pragma once

#include "buf.h"
#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_format { LOG_TEXT, LOG_JSON };
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

/* Longest message or value in a line, before escapes. */
enum { LOG_VALUE_BYTES = 4096 };

enum log_field_type { LOG_FIELD_TEXT, LOG_FIELD_INT, LOG_FIELD_BOOL, LOG_FIELD_DOUBLE };

struct log_field {
    const char *name; /* lower snake case */
    enum log_field_type type;
    struct slice text; /* null: the field is left out */
    int64_t integer;   /* INT, BOOL */
    double real;
};

#define LOG_STR(name_, text_)                                                            \
    {                                                                                    \
        .name = (name_), .type = LOG_FIELD_TEXT, .text = slice_of(text_)                 \
    }
#define LOG_SLICE(name_, slice_)                                                         \
    {                                                                                    \
        .name = (name_), .type = LOG_FIELD_TEXT, .text = (slice_)                        \
    }
#define LOG_INTEGER(name_, value_)                                                       \
    {                                                                                    \
        .name = (name_), .type = LOG_FIELD_INT, .integer = (int64_t)(value_)             \
    }
#define LOG_BOOLEAN(name_, value_)                                                       \
    {                                                                                    \
        .name = (name_), .type = LOG_FIELD_BOOL, .integer = (value_) ? 1 : 0             \
    }
#define LOG_REAL(name_, value_)                                                          \
    {                                                                                    \
        .name = (name_), .type = LOG_FIELD_DOUBLE, .real = (value_)                      \
    }

/* Where a record lies: three fields. */
#define LOG_POSITION(topic_, partition_, offset_)                                        \
    LOG_STR("topic", (topic_)), LOG_INTEGER("partition", (partition_)),                  \
        LOG_INTEGER("offset", (offset_))

struct log_event {
    int64_t time_ms; /* since 1970 UTC */
    enum log_level level;
    const char *program; /* "heddle-audit" */
    const char *msg;
    const struct log_field *fields;
    size_t n_fields;
};

/*
 * Appends the line of `event` with its line feed:
 *   2026-11-30T18:11:07.123Z info heddle-audit: batch committed records=12
 *   {"time":"2026-11-30T18:11:07.123Z","level":"info","program":"heddle-audit",
 *    "msg":"batch committed","records":12}
 */
void log_line(enum log_format format, const struct log_event *event, struct buf *out);
