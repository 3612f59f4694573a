/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines to standard error. */
#include "log.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"

/* Set before threads start, read by all of them. */
static struct {
    const char *program;
    enum log_format format;
    enum log_level level;
} config = {"heddle", LOG_TEXT, LOG_INFO};

static atomic_ulong lost;

void
log_setup(const char *program, enum log_format format, enum log_level level)
{
    config.program = program;
    config.format = format;
    config.level = level;
}

bool
log_wants(enum log_level level)
{
    return level >= config.level;
}

unsigned long
log_lost(void)
{
    return atomic_load(&lost);
}

/* One write(2) a line keeps lines of threads and processes apart. */
static bool
write_line(struct slice line)
{
    while (line.len) {
        ssize_t n = write(STDERR_FILENO, line.data, line.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        line.data += n;
        line.len -= (size_t)n;
    }
    return true;
}

void
log_event(enum log_level level,
          const char *msg,
          const struct log_field *fields,
          size_t n_fields)
{
    if (!log_wants(level))
        return;
    int saved = errno;
    struct log_event event = {clock_now_ms(), level,   config.program, msg,
                              fields,         n_fields};
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    log_line(config.format, &event, &line);
    if (line.failed || !write_line(buf_slice(&line)))
        atomic_fetch_add(&lost, 1);
    errno = saved;
}

void
log_say(enum log_level level, const char *msg)
{
    log_event(level, msg, NULL, 0);
}

void
log_err(enum log_level level, const struct err *err)
{
    log_event(level, err->msg,
              LOG_FIELDS(LOG_STR("code", err->code), LOG_STR("stage", err->stage)));
}
