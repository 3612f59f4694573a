/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are put in place. */
#include "disk.h"

#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void
disk_closep(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

bool
disk_write(int fd, struct slice bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.data, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return false;
        bytes = (struct slice){bytes.data + n, bytes.len - (size_t)n};
    }
    return true;
}

bool
disk_sync_folder(const char *path)
{
    CLEANUP(disk_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0;
}

int
disk_scratch(const char *folder)
{
    char path[PATH_MAX];
    if (!folder)
        folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/var/tmp";
    int len = snprintf(path, sizeof path, "%s/heddle.XXXXXX", folder);
    if (len < 0 || (size_t)len >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}
