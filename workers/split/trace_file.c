/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a trace in a file, or of standard input. */
#include "trace_file.h"

#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 << 10 };

static enum err_kind
unreadable(const char *why, struct err *err)
{
    return err_set(err, ERR_RECORD, "trace_unreadable", "%s", why);
}

/* --- standard input ---------------------------------------------------------------- */

static enum err_kind
too_large(uint64_t most, struct err *err)
{
    return err_set(err, ERR_RECORD, "trace_too_large",
                   "more than %llu bytes on standard input", (unsigned long long)most);
}

static enum err_kind
fill_spool(const struct scratch *spool, uint64_t most, struct err *err)
{
    char piece[PIECE_BYTES];
    uint64_t size = 0;
    for (;;) {
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return unreadable(strerror(errno), err);
        if (n == 0)
            return ERR_OK;
        if ((uint64_t)n > most - size)
            return too_large(most, err);
        if (scratch_write(spool, size, piece, (size_t)n, err))
            return err->kind;
        size += (uint64_t)n;
    }
}

/* The file takes over what the spool holds. */
static enum err_kind
open_standard_input(struct trace_file *file,
                    const struct split_settings *settings,
                    struct err *err)
{
    struct scratch spool;
    if (scratch_open(&spool, settings->tmp_dir, err))
        return err->kind;
    file->fd = spool.fd;
    return fill_spool(&spool, (uint64_t)settings->max_spool_bytes, err);
}

/* --- the file ---------------------------------------------------------------------- */

static enum err_kind
open_file(struct trace_file *file, const char *path, struct err *err)
{
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return file->fd < 0 ? unreadable(strerror(errno), err) : ERR_OK;
}

enum err_kind
trace_file_open(struct trace_file *file,
                const char *path,
                const struct split_settings *settings,
                struct err *err)
{
    *file = (struct trace_file){.fd = -1};
    if (strcmp(path, "-") == 0 ? open_standard_input(file, settings, err)
                               : open_file(file, path, err))
        return err->kind;
    if (fstat(file->fd, &file->before) != 0)
        return unreadable(strerror(errno), err);
    if (S_ISDIR(file->before.st_mode))
        return unreadable(strerror(EISDIR), err);
    if (!S_ISREG(file->before.st_mode))
        return unreadable("not a file; give - for standard input", err);
    return ERR_OK;
}

void
trace_file_close(struct trace_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

static bool
is_unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

enum err_kind
trace_file_check(const struct trace_file *file, struct err *err)
{
    struct stat now;
    if (fstat(file->fd, &now) != 0)
        return unreadable(strerror(errno), err);
    if (!is_unchanged(&file->before, &now))
        return unreadable("trace_changed", err);
    return ERR_OK;
}

/* Each pass begins with a look at the file. */
static enum err_kind
rewind_file(void *state, struct err *err)
{
    struct trace_file *file = state;
    if (lseek(file->fd, 0, SEEK_SET) < 0)
        return unreadable(strerror(errno), err);
    return trace_file_check(file, err);
}

static enum err_kind
read_file(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    struct trace_file *file = state;
    ssize_t n;
    do {
        n = read(file->fd, buf, cap);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return unreadable(strerror(errno), err);
    *ret_len = (size_t)n;
    file->done += (uint64_t)n;
    if (file->progress)
        file->progress(file->progress_state, file->done, (uint64_t)file->before.st_size);
    return ERR_OK;
}

struct split_source
trace_file_source(struct trace_file *file)
{
    return (struct split_source){file, rewind_file, read_file};
}
