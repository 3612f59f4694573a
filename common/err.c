/* SPDX-License-Identifier: Apache-2.0 */
/* Error values: kind, code, message. */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef __clang_analyzer__
#undef err_set
#undef err_fatal
#undef err_no_memory
#endif

/* A cut in the middle of a UTF-8 sequence would make the log line and header invalid. */
static void
trim_partial_character(char *msg)
{
    size_t len = strlen(msg);
    size_t start = len;
    while (start > 0 && ((unsigned char)msg[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0 || (unsigned char)msg[start - 1] < 0xC0)
        return;
    unsigned char lead = (unsigned char)msg[start - 1];
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (len - (start - 1) < want)
        msg[start - 1] = '\0';
}

__attribute__((format(printf, 5, 0))) static void
fill(struct err *err,
     enum err_kind kind,
     int exit_code,
     const char *code,
     const char *fmt,
     va_list args)
{
    err->kind = kind;
    err->exit_code = exit_code;
    err->stage = NULL;
    err->final_code = NULL;
    err->endless = false;
    snprintf(err->code, sizeof err->code, "%s", code);
    int n = vsnprintf(err->msg, sizeof err->msg, fmt, args);
    if (n >= (int)sizeof err->msg)
        trim_partial_character(err->msg);
}

enum err_kind
err_set(struct err *err, enum err_kind kind, const char *code, const char *fmt, ...)
{
    if (!err)
        return kind;
    va_list args;
    va_start(args, fmt);
    fill(err, kind, 0, code, fmt, args);
    va_end(args);
    return kind;
}

enum err_kind
err_fatal(
    struct err *err, enum exit_code exit_code, const char *code, const char *fmt, ...)
{
    if (!err)
        return ERR_FATAL;
    va_list args;
    va_start(args, fmt);
    fill(err, ERR_FATAL, (int)exit_code, code, fmt, args);
    va_end(args);
    return ERR_FATAL;
}

enum err_kind
err_at(struct err *err, const char *stage)
{
    if (!err->stage)
        err->stage = stage;
    return err->kind;
}

enum err_kind
err_no_memory(struct err *err, const char *what)
{
    return err_fatal(err, EXIT_INTERNAL, "out_of_memory",
                     "no memory for %s; give the process more or lower its limits", what);
}

int
err_exit_code(const struct err *err)
{
    return err->exit_code ? err->exit_code : EXIT_INTERNAL;
}
