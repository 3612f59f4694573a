/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a trace in a file, or of standard input spooled to an unlinked one
 * (splitting.md 2.5). A file that changes while it is read is noticed.
 */
#pragma once

#include "source.h"
#include "split_settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Told how far the reading is; from whatever thread reads. */
typedef void trace_progress_fn(void *state, uint64_t done, uint64_t size);

struct trace_file {
    int fd;
    struct stat before;
    uint64_t done;               /* bytes read since the first rewind, both passes */
    trace_progress_fn *progress; /* NULL: nobody looks */
    void *progress_state;
};

/*
 * Opens `path`, "-" for standard input. ERR_RECORD "trace_unreadable", "trace_too_large"
 * for a spool above max_spool_bytes; ERR_RETRY "scratch_failed" for one without room.
 */
enum err_kind trace_file_open(struct trace_file *file,
                              const char *path,
                              const struct split_settings *settings,
                              struct err *err);
void trace_file_close(struct trace_file *file);
/* Its bytes as often as asked; errors are ERR_RECORD "trace_unreadable". */
struct split_source trace_file_source(struct trace_file *file);
/* ERR_RECORD "trace_unreadable" when the file is not what it was when it was opened. */
enum err_kind trace_file_check(const struct trace_file *file, struct err *err);
