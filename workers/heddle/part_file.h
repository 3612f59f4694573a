/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file that another program may be writing. Never waits on a pipe, never takes
 * half a file for a whole one.
 */
#pragma once

#include "buf.h"
#include "digest.h"
#include "err.h"

#include <stddef.h>
#include <stdint.h>

/* A file younger than this is looked at again later (events.md 9). */
#define PART_FILE_SETTLED_NS INT64_C(1000000000)

struct part_file {
    struct buf bytes; /* empty when the file is larger than `keep` */
    bool kept;
    int64_t size;
    int64_t mtime_ns;
    uint64_t inode;
    char sha256[DIGEST_HEX];
};

void part_file_done(struct part_file *file);

/* Whether a modification time is too near to `now_ns` for the file to be trusted. */
bool part_file_is_fresh(int64_t mtime_ns, int64_t now_ns);

/*
 * The file's digest and, up to `keep` bytes, its content. `now_ns` is the wall clock; 0
 * does without the test for age. ERR_RETRY "file_unsettled": too young, gone, or its
 * size or time changed meanwhile. ERR_RECORD "file_unreadable". ERR_FATAL
 * "out_of_memory".
 */
enum err_kind part_file_read(const char *path,
                             size_t keep,
                             int64_t now_ns,
                             struct part_file *ret_file,
                             struct err *err);

/* Microseconds of a time in nanoseconds, rounded down. */
int64_t part_file_us(int64_t ns);

/* Nanoseconds since 1970 by the wall clock. */
int64_t part_file_now_ns(void);
