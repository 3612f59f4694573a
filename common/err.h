/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong, what to do about it, and what a person should do next.
 *
 * Every function that can fail takes a `struct err *` as its last parameter and returns
 * the kind, 0 (ERR_OK) on success. The kind is an instruction to the runner, the code is
 * the stable name that the log line, the metric and the dead letter share, the message
 * names the object and the next step. Callers forward or handle; nobody matches on text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum err_kind {
    ERR_OK = 0,
    ERR_RECORD, /* this record can't be worked on: dead-letter it, go on */
    ERR_RETRY,  /* the same record may work later: back off, try it again */
    ERR_FATAL,  /* leave without committing */
};

enum { ERR_CODE_BYTES = 48, ERR_MSG_BYTES = 1024 };

struct err {
    enum err_kind kind;
    int exit_code;     /* for ERR_FATAL: exit status of the process, 0: EXIT_INTERNAL */
    const char *stage; /* static: frame, decode, gather, derive, emit; NULL: derive */
    /* Static, for ERR_RETRY: code of the dead letter once the retries are used up
     * (claim_not_found); NULL: retries_exhausted. Set it after err_set(). */
    const char *final_code;
    /* For ERR_RETRY: says nothing about the record, which is tried without end, whatever
     * retry_attempts is. Set it after err_set(). */
    bool endless;
    char code[ERR_CODE_BYTES]; /* lower snake case, events.md 8 */
    char msg[ERR_MSG_BYTES];   /* cut at the size, always terminated */
};

/* Exit codes of every Heddle program (events.md 9). */
enum exit_code {
    EXIT_OK = 0,
    EXIT_NEGATIVE = 1,        /* a negative finding */
    EXIT_CHANGES = 2,         /* changes are pending */
    EXIT_USAGE = 64,          /* the command line is off */
    EXIT_UNREACHABLE = 69,    /* broker or registry can't be reached */
    EXIT_INTERNAL = 70,       /* our own fault */
    EXIT_TRY_AGAIN = 75,      /* passing trouble */
    EXIT_PERMISSION = 77,     /* not allowed */
    EXIT_CONFIG = 78,         /* the configuration is off */
    EXIT_FENCED = 80,         /* a newer instance holds the transactional id */
    EXIT_DRAIN_DEADLINE = 81, /* the drain did not end in time */
    EXIT_TXN_DEADLINE = 82,   /* a transactional call did not end in time */
    EXIT_JOB_DEADLINE = 83,   /* a record's derivation did not end in time */
};

/*
 * Fills `err` and returns `kind`. `err` may be NULL (only the kind is wanted). A message
 * longer than ERR_MSG_BYTES - 1 is cut at a UTF-8 boundary.
 */
enum err_kind
err_set(struct err *err, enum err_kind kind, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* As err_set with ERR_FATAL, and the status the process should leave with. */
enum err_kind err_fatal(struct err *err,
                        enum exit_code exit_code,
                        const char *code,
                        const char *fmt,
                        ...) __attribute__((format(printf, 4, 5)));

/* Back to no error, as before each record: the texts are emptied, not wiped. */
static inline void
err_clear(struct err *err)
{
    err->kind = ERR_OK;
    err->exit_code = 0;
    err->stage = NULL;
    err->final_code = NULL;
    err->code[0] = '\0';
    err->msg[0] = '\0';
}

/* Names the stage of an error that has none yet, and returns its kind. */
enum err_kind err_at(struct err *err, const char *stage);

/* ERR_FATAL "out_of_memory"; `what` names the object that did not fit. */
enum err_kind err_no_memory(struct err *err, const char *what);

/* The exit status that `err` asks for; EXIT_INTERNAL when it names none. */
int err_exit_code(const struct err *err);

#ifdef __clang_analyzer__
/* The analyzer reads one file at a time and can't know that these never return ERR_OK. */
#define err_set(err, kind, ...)  ((void)err_set(err, kind, __VA_ARGS__), (kind))
#define err_fatal(err, ...)      ((void)err_fatal(err, __VA_ARGS__), ERR_FATAL)
#define err_no_memory(err, what) ((void)err_no_memory(err, what), ERR_FATAL)
#endif
