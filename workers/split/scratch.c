/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary file without a name. */
#include "scratch.h"

#include "disk.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static enum err_kind
failed(const struct scratch *scratch, const char *why, struct err *err)
{
    return err_set(err, ERR_RETRY, "scratch_failed",
                   "temporary file in %.500s: %s; make room there or set tmp_dir",
                   scratch->dir ? scratch->dir : "$TMPDIR, else /var/tmp", why);
}

enum err_kind
scratch_open(struct scratch *scratch, const char *dir, struct err *err)
{
    *scratch = (struct scratch){.dir = dir, .fd = disk_scratch(dir)};
    return scratch->fd < 0 ? failed(scratch, strerror(errno), err) : ERR_OK;
}

void
scratch_close(struct scratch *scratch)
{
    if (scratch->fd >= 0)
        close(scratch->fd);
    scratch->fd = -1;
}

enum err_kind
scratch_write(const struct scratch *scratch,
              uint64_t offset,
              const void *data,
              size_t len,
              struct err *err)
{
    const char *from = data;
    while (len > 0) {
        ssize_t n = pwrite(scratch->fd, from, len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed(scratch, strerror(n < 0 ? errno : ENOSPC), err);
        from += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return ERR_OK;
}

enum err_kind
scratch_read(const struct scratch *scratch,
             uint64_t offset,
             void *data,
             size_t len,
             struct err *err)
{
    char *to = data;
    while (len > 0) {
        ssize_t n = pread(scratch->fd, to, len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed(scratch, n < 0 ? strerror(errno) : "it ends too early", err);
        to += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return ERR_OK;
}

static enum err_kind
write_spill(void *state, uint64_t offset, const void *data, size_t len, struct err *err)
{
    struct scratch *scratch = state;
    if (scratch->fd < 0 && scratch_open(scratch, scratch->dir, err))
        return ERR_RETRY;
    return scratch_write(scratch, offset, data, len, err);
}

static enum err_kind
read_spill(void *state, uint64_t offset, void *data, size_t len, struct err *err)
{
    return scratch_read(state, offset, data, len, err);
}

struct split_spill
scratch_spill(struct scratch *scratch)
{
    return (struct split_spill){scratch, write_spill, read_spill};
}
