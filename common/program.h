/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How every Heddle program starts: options of the fleet and its own, the configuration,
 * the log; and the answers to --help, --version, --features and --check.
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "fleet_options.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>

struct program {
    const char *name;             /* "heddle-audit", "heddle feed" */
    const char *usage;            /* what follows the name: "[OPTION]... DIR..." */
    const char *summary;          /* one sentence */
    const char *details;          /* further lines of --help; may be NULL */
    const struct option *options; /* its own table */
    size_t n_options;
    void *settings;            /* that the table fills */
    const struct option *more; /* a second table, may be NULL */
    size_t n_more;
    void *more_settings; /* that it fills */
    bool worker;         /* runs over the input topic: takes the flags of that */
    bool no_settings;    /* flags only: neither the file nor the environment is read */
};

struct program_call {
    struct options *options;
    struct fleet_settings fleet;
    char **rest; /* arguments that are no flags; rest[n_rest] is NULL */
    int n_rest;
    int argc; /* as given */
    char **argv;
};

/*
 * Parses and loads everything. True: go on with `ret_call`. False: the program was asked
 * a question that is now answered, or something is wrong and was said on standard error;
 * leave with `*ret_status`. program_done() is due in both cases.
 */
bool program_start(const struct program *program,
                   int argc,
                   char **argv,
                   struct program_call *ret_call,
                   int *ret_status);
void program_done(struct program_call *call);
/* The answer to --version, with the libraries `with_features`. */
void program_version(const char *name, bool with_features, struct buf *out);
/* The answer to --check: the librdkafka properties are tried, then all is printed. */
enum err_kind program_check(const struct program_call *call, struct err *err);
/* Writes `out` to standard output, whole; ERR_FATAL EXIT_TRY_AGAIN "output_failed". */
enum err_kind program_print(const struct buf *out, struct err *err);
/* "NAME: message" on standard error; returns the exit status that `err` asks for. */
int program_fail(const char *name, const struct err *err);
