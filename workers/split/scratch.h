/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A temporary file without a name: what a trace needs on disk while it is split, its
 * bytes where they come once only, its index beyond memory (splitting.md 2.5, 12.2).
 */
#pragma once

#include "source.h"

struct scratch {
    const char *dir; /* borrowed; NULL: the system's */
    int fd;          /* -1: not open */
};

/*
 * Opens one in `dir`; NULL: in $TMPDIR, else /var/tmp. ERR_RETRY "scratch_failed" names
 * the folder and why.
 */
enum err_kind scratch_open(struct scratch *scratch, const char *dir, struct err *err);
void scratch_close(struct scratch *scratch);
/* ERR_RETRY "scratch_failed", of a full disk for instance. */
enum err_kind scratch_write(const struct scratch *scratch,
                            uint64_t offset,
                            const void *data,
                            size_t len,
                            struct err *err);
/* All of `len` bytes; fewer are ERR_RETRY "scratch_failed". */
enum err_kind scratch_read(const struct scratch *scratch,
                           uint64_t offset,
                           void *data,
                           size_t len,
                           struct err *err);
/*
 * The file as the room of an index; opened, in scratch->dir, when it is first written to.
 * `scratch` is borrowed.
 */
struct split_spill scratch_spill(struct scratch *scratch);
