/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INI text: sections, keys, comments.
 *
 *   # a comment, as is one that starts with ;
 *   [section]
 *   key = value          spaces around key and value are dropped
 *
 * A value goes to the end of its line: # and ; are part of it, so that a password may
 * hold them. Nothing is ever cut: a line that can't be read is an error. (libinih, which
 * would be the library for this, cuts section names at 49 bytes, ends values at " ;",
 * refuses lines above 200 bytes as Debian builds it, and tells its handler no line.)
 */
#pragma once

#include "err.h"
#include "slice.h"

/* Longest line and longest section or key. */
enum { INI_LINE_BYTES = 65536, INI_NAME_BYTES = 128 };

/* One key. The texts are terminated and valid during the call. */
typedef enum err_kind ini_key_fn(void *state,
                                 int line,
                                 const char *section,
                                 const char *name,
                                 const char *value,
                                 struct err *err);

/*
 * Calls `on_key` for each key of `text` until it fails. ERR_FATAL EXIT_CONFIG
 * "config_syntax" with `file` and line, or what `on_key` returned.
 */
enum err_kind ini_parse(const char *file,
                        struct slice text,
                        ini_key_fn *on_key,
                        void *state,
                        struct err *err);
