/* SPDX-License-Identifier: Apache-2.0 */
/* A folder that a demo writes its files into. */
#pragma once

#include "err.h"
#include "slice.h"

#include <stdint.h>

/* It must be empty, or not there: files of others would be fed, too. ERR_FATAL EXIT_USAGE
 * "folder_not_empty", "demo_unwritable". */
enum err_kind demo_folder_check(const char *folder, struct err *err);
/*
 * Writes FOLDER/NAME, a new file, with the folders above it and this modification time
 * (microseconds since 1970; -1: as it comes). ERR_FATAL "demo_unwritable", EXIT_USAGE
 * "bad_value" for a name that is too long.
 */
enum err_kind demo_folder_write(const char *folder,
                                const char *name,
                                struct slice content,
                                int64_t mtime_us,
                                struct err *err);
