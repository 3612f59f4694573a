/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the configuration comes from (events.md 9): finds the file, reads it and the
 * environment into options, and knows the folder that programs keep their state in.
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "options.h"

#include <stdbool.h>

/* Longest configuration file, and longest file that a value refers to. */
enum { CONFIG_FILE_BYTES = 1 << 20 };

enum config_place {
    CONFIG_NONE,     /* no file: environment, flags and defaults */
    CONFIG_FLAG,     /* --config */
    CONFIG_VARIABLE, /* $HEDDLE_CONFIG */
    CONFIG_HERE,     /* ./heddle.ini */
    CONFIG_DEV,      /* the embedded broker's, while it answers */
    CONFIG_SYSTEM,   /* /etc/heddle/heddle.ini */
};

struct config_file {
    enum config_place place;
    char *path; /* NULL with CONFIG_NONE */
};

void config_file_done(struct config_file *file);

/*
 * Finds the file: `flag` (the value of --config, may be NULL), $HEDDLE_CONFIG,
 * ./heddle.ini, the file of `heddle dev up` while one of its brokers takes a connection,
 * /etc/heddle/heddle.ini. A file that is asked for by name need not exist here:
 * config_read() reports it.
 */
enum err_kind
config_find(const char *flag, struct config_file *ret_file, struct err *err);
/*
 * Applies the file at `path` to `options`. ERR_FATAL EXIT_CONFIG "config_unreadable", or
 * "config_syntax" and what options_set_file() refuses, with file and line.
 */
enum err_kind config_read(struct options *options, const char *path, struct err *err);
/* An option_read_fn: the whole file at `path`, without one trailing line feed. */
enum err_kind
config_read_value(void *state, const char *path, struct buf *out, struct err *err);

/*
 * The folder for `sub` ("feed", "dev/topics"; NULL: the root) below `root`, or below
 * $XDG_STATE_HOME/heddle (~/.local/state/heddle) when `root` is NULL; made with its
 * parents (mode 0700) when `make`. malloc()ed, NULL on failure: ERR_FATAL EXIT_CONFIG
 * "state_dir_unusable".
 */
char *config_state_dir(const char *root, const char *sub, bool make, struct err *err);
/* Path of the configuration that `heddle dev up` writes; malloc()ed, as above. */
char *config_dev_file(struct err *err);
/* Whether one of `brokers` (host:port,...) takes a TCP connection in `timeout_ms`. */
bool config_brokers_answer(const char *brokers, int timeout_ms);
