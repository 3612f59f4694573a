/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of dead letters as a file. */
#include "dead_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cleanup.h"
#include "digest.h"

enum { NAME_DIGITS = 32, FILE_MODE = 0600, PIECE_BYTES = 1 << 16 };
/* A line is below 128 bytes, and MARKS_MAX of them are read. */
#define JOURNAL_BYTES ((size_t)MARKS_MAX * 128)

struct dead_journal {
    char *path;
    int fd;
    off_t len; /* of whole lines */
};

static void
free_text(char **text)
{
    free(*text);
}

static void
close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* The name says no cluster id, which may hold anything; its digest does. */
char *
dead_journal_path(const char *folder, const char *cluster_id)
{
    char *path = NULL, hex[DIGEST_HEX];
    digest_hex(slice_of(cluster_id), hex);
    if (asprintf(&path, "%s/%.*s.journal", folder, NAME_DIGITS, hex) < 0)
        return NULL;
    return path;
}

static enum err_kind
unreadable(const char *path, struct err *err)
{
    return err_fatal(
        err, errno == EACCES ? EXIT_PERMISSION : EXIT_CONFIG, "journal_unreadable",
        "%s, the journal of dead letters, can't be read: %s", path, strerror(errno));
}

static enum err_kind
unwritable(const char *path, struct err *err)
{
    return err_fatal(
        err, errno == EACCES ? EXIT_PERMISSION : EXIT_TRY_AGAIN, "journal_unwritable",
        "%s, the journal of dead letters, can't be written: %s; make room or "
        "access for it and run the command again",
        path, strerror(errno));
}

static enum err_kind
read_all(int fd, const char *path, struct buf *out, struct err *err)
{
    for (;;) {
        if (!buf_reserve(out, PIECE_BYTES))
            return buf_check(out, "the journal of dead letters", err);
        ssize_t n = read(fd, out->data + out->len, PIECE_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return unreadable(path, err);
        if (n == 0)
            return ERR_OK;
        out->len += (size_t)n;
    }
}

static enum err_kind
load(int fd,
     const char *path,
     const char *cluster_id,
     struct marks *marks,
     size_t *ret_len,
     struct err *err)
{
    CLEANUP(buf_done) struct buf text;
    buf_init(&text, JOURNAL_BYTES);
    if (read_all(fd, path, &text, err))
        return err->kind;
    if (marks_read(marks, buf_slice(&text), cluster_id, ret_len, err) == ERR_OK)
        return ERR_OK;
    fprintf(stderr, "heddle dead: the journal is %s\n", path);
    return err->kind;
}

enum err_kind
dead_journal_read(const char *folder,
                  const char *cluster_id,
                  struct marks *ret_marks,
                  struct err *err)
{
    size_t len = 0;
    CLEANUP(free_text) char *path = dead_journal_path(folder, cluster_id);
    if (!path)
        return err_no_memory(err, "the path of a journal");
    CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? ERR_OK : unreadable(path, err);
    return load(fd, path, cluster_id, ret_marks, &len, err);
}

/* A file that was just made is only there for good when its folder says so. */
static bool
sync_folder(const char *folder)
{
    CLEANUP(close_fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0;
}

static enum err_kind
begin(struct dead_journal *journal,
      const char *folder,
      const char *cluster_id,
      struct err *err)
{
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    marks_line_first(&line, cluster_id);
    if (dead_journal_append(journal, &line, err))
        return err->kind;
    return sync_folder(folder) ? ERR_OK : unwritable(journal->path, err);
}

static enum err_kind
open_locked(struct dead_journal *journal, struct err *err)
{
    journal->fd = open(journal->path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (journal->fd < 0)
        return unwritable(journal->path, err);
    if (flock(journal->fd, LOCK_EX | LOCK_NB) == 0)
        return ERR_OK;
    if (errno != EWOULDBLOCK)
        return unwritable(journal->path, err);
    return err_fatal(err, EXIT_TRY_AGAIN, "journal_busy",
                     "another `heddle dead` acts on this cluster (it holds %s); wait for "
                     "its end",
                     journal->path);
}

struct dead_journal *
dead_journal_open(const char *folder,
                  const char *cluster_id,
                  struct marks *ret_marks,
                  struct err *err)
{
    size_t len = 0;
    struct dead_journal *journal = calloc(1, sizeof *journal);
    if (journal) {
        journal->fd = -1;
        journal->path = dead_journal_path(folder, cluster_id);
    }
    if (!journal || !journal->path)
        err_no_memory(err, "the journal of dead letters");
    else if (open_locked(journal, err) == ERR_OK &&
             load(journal->fd, journal->path, cluster_id, ret_marks, &len, err) ==
                 ERR_OK) {
        journal->len = (off_t)len;
        if (ftruncate(journal->fd, journal->len) != 0)
            unwritable(journal->path, err);
        else if (len > 0 || begin(journal, folder, cluster_id, err) == ERR_OK)
            return journal;
    }
    dead_journal_close(journal);
    return NULL;
}

void
dead_journal_close(struct dead_journal *journal)
{
    if (!journal)
        return;
    close_fd(&journal->fd);
    free(journal->path);
    free(journal);
}

static bool
write_all(int fd, struct slice text, off_t at)
{
    while (text.len > 0) {
        ssize_t n = pwrite(fd, text.data, text.len, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text.data += n;
        text.len -= (size_t)n;
        at += n;
    }
    return true;
}

enum err_kind
dead_journal_append(struct dead_journal *journal, struct buf *lines, struct err *err)
{
    struct slice text = buf_slice(lines);
    if (buf_check(lines, "lines of the journal of dead letters", err))
        return err->kind;
    if (text.len == 0)
        return ERR_OK;
    if (!write_all(journal->fd, text, journal->len) || fdatasync(journal->fd) != 0) {
        unwritable(journal->path, err);
        /* Half a line is left out when it is read again; this only tidies. */
        int ignored = ftruncate(journal->fd, journal->len);
        (void)ignored;
        return err->kind;
    }
    journal->len += (off_t)text.len;
    buf_reset(lines);
    return ERR_OK;
}
