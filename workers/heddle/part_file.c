/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file once, and only believes it when nothing moved meanwhile. */
#include "part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"

enum { PIECE_BYTES = 64 * 1024 };

CLEANUP_DEFINE(struct digest, digest_free);

static void
closep(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static int64_t
mtime_of(const struct stat *st)
{
    return st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec;
}

void
part_file_done(struct part_file *file)
{
    buf_done(&file->bytes);
}

bool
part_file_is_fresh(int64_t mtime_ns, int64_t now_ns)
{
    int64_t age = now_ns - mtime_ns;
    /* A time far ahead comes from another clock; waiting for it would be waiting for
     * ever. */
    return age < PART_FILE_SETTLED_NS && age > -PART_FILE_SETTLED_NS;
}

static enum err_kind
unsettled(const char *path, const char *why, struct err *err)
{
    return err_set(err, ERR_RETRY, "file_unsettled", "%s: %s", path, why);
}

static enum err_kind
unreadable(const char *path, int error, struct err *err)
{
    return err_set(err, ERR_RECORD, "file_unreadable", "%s: %s", path, strerror(error));
}

/* Digest of everything, and the bytes while they fit `keep`. */
static enum err_kind
read_pieces(
    int fd, const char *path, size_t keep, struct part_file *file, struct err *err)
{
    char piece[PIECE_BYTES];
    CLEANUP(digest_freep) struct digest *digest = digest_new();
    if (!digest)
        return err_no_memory(err, path);
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return unreadable(path, errno, err);
        if (n == 0)
            break;
        digest_add(digest, (struct slice){piece, (size_t)n});
        file->size += n;
        if ((uint64_t)file->size <= keep)
            buf_add(&file->bytes, piece, (size_t)n);
    }
    digest_end(digest, file->sha256);
    file->kept = (uint64_t)file->size <= keep;
    if (!file->kept)
        buf_done(&file->bytes);
    return file->bytes.failed ? err_no_memory(err, path) : ERR_OK;
}

static enum err_kind
open_file(const char *path, int *ret_fd, struct stat *ret_stat, struct err *err)
{
    /* O_NONBLOCK: a pipe in a file's place must not hold us. */
    *ret_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (*ret_fd < 0)
        return errno == ENOENT ? unsettled(path, "gone while it was looked at", err)
                               : unreadable(path, errno, err);
    if (fstat(*ret_fd, ret_stat) != 0)
        return unreadable(path, errno, err);
    if (!S_ISREG(ret_stat->st_mode))
        return err_set(err, ERR_RECORD, "file_unreadable", "%s: no regular file", path);
    return ERR_OK;
}

enum err_kind
part_file_read(const char *path,
               size_t keep,
               int64_t now_ns,
               struct part_file *ret_file,
               struct err *err)
{
    CLEANUP(closep) int fd = -1;
    CLEANUP(part_file_done) struct part_file file = {0};
    struct stat before, after;
    if (open_file(path, &fd, &before, err))
        return err->kind;
    if (now_ns && part_file_is_fresh(mtime_of(&before), now_ns))
        return unsettled(path, "written to less than a second ago", err);
    buf_init(&file.bytes, keep + 1);
    if (read_pieces(fd, path, keep, &file, err))
        return err->kind;
    if (fstat(fd, &after) != 0)
        return unreadable(path, errno, err);
    if (file.size != before.st_size || after.st_size != before.st_size ||
        mtime_of(&after) != mtime_of(&before))
        return unsettled(path, "changed while it was read", err);
    file.mtime_ns = mtime_of(&before);
    file.inode = (uint64_t)before.st_ino;
    *ret_file = file;
    file.bytes = BUF_INIT;
    return ERR_OK;
}

int64_t
part_file_us(int64_t ns)
{
    int64_t us = ns / 1000;
    return ns % 1000 < 0 ? us - 1 : us;
}

int64_t
part_file_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}
