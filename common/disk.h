/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What whoever puts files in place needs: all bytes written, a folder synced, a scratch
 * file that nobody sees. Errors are left in errno.
 */
#pragma once

#include "slice.h"

#include <stdbool.h>

/* Writes all of `bytes` to `fd`, however often the system takes less. */
bool disk_write(int fd, struct slice bytes);
/* Makes the names in the folder `path` last. */
bool disk_sync_folder(const char *path);
/* An empty file without a name in `folder` (NULL: $TMPDIR, else /var/tmp); -1: failed. */
int disk_scratch(const char *folder);
/* For CLEANUP: closes `*fd` unless it is negative. */
void disk_closep(const int *fd);
