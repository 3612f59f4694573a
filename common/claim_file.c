/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of files: which may be read, and opening them. */
#include "claim_inside.h"

#include "disk.h"
#include "uri.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROC_PATH_BYTES = 64, PIECE_BYTES = 64 * 1024 };

static bool
lies_below(const char *path, const char *root)
{
    size_t len = strlen(root);
    while (len > 0 && root[len - 1] == '/')
        len--;
    return strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* `path` has no symbolic link in it any more. */
static bool
is_allowed(const struct claim_limits *limits, const char *path)
{
    for (size_t i = 0; i < limits->roots.n; i++) {
        char root[PATH_MAX];
        if (realpath(limits->roots.items[i], root) && lies_below(path, root))
            return true;
    }
    return false;
}

static bool
has_parent_step(const char *path)
{
    for (const char *at = path; (at = strstr(at, "/..")); at += 3)
        if (at[3] == '/' || at[3] == '\0')
            return true;
    return false;
}

/* A path that does not resolve is judged by its text: whoever may not read there shall
 * not learn what exists. */
static bool
may_appear(const struct claim_limits *limits, const char *path)
{
    if (has_parent_step(path))
        return false;
    for (size_t i = 0; i < limits->roots.n; i++)
        if (lies_below(path, limits->roots.items[i]))
            return true;
    return is_allowed(limits, path);
}

static enum err_kind
resolve(const struct fetch *fetch, char real[PATH_MAX], struct err *err)
{
    static const char outside[] =
        "lies outside the folders of claim.roots; add its folder there, or send the "
        "bytes in the event";
    char path[PATH_MAX];
    if (!file_uri_path(fetch->claim->uri, path))
        return fetch_malformed(fetch, "names no absolute path on this host", err);
    if (!realpath(path, real)) {
        int error = errno;
        return may_appear(fetch->limits, path) ? fetch_by_errno(fetch, error, err)
                                               : fetch_malformed(fetch, outside, err);
    }
    return is_allowed(fetch->limits, real) ? ERR_OK
                                           : fetch_malformed(fetch, outside, err);
}

/* Did a folder on the way become a link after the path was judged? */
static bool
is_still(int fd, const char *real)
{
    char link[PROC_PATH_BYTES];
    char opened[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, opened, sizeof opened - 1);
    if (len < 0)
        return false;
    opened[len] = '\0';
    return strcmp(opened, real) == 0;
}

/* The digest of a file that is not what was claimed; not known when it can't be read. */
static void
find_digest(const struct fetch *fetch, int fd, struct claim_found *found)
{
    char piece[PIECE_BYTES];
    struct digest *digest = digest_new();
    ssize_t n = -1;
    while (digest && (n = read(fd, piece, sizeof piece)) != 0) {
        if ((n < 0 && errno != EINTR) || fetch_is_cancelled(fetch))
            break;
        if (n > 0)
            digest_add(digest, (struct slice){piece, (size_t)n});
    }
    if (n == 0)
        digest_end(digest, found->sha256);
    digest_free(digest);
}

static enum err_kind
look(const struct fetch *fetch,
     int fd,
     const char *real,
     struct stat *ret_status,
     struct claim_found *ret_found,
     struct err *err)
{
    if (fstat(fd, ret_status))
        return fetch_by_errno(fetch, errno, err);
    if (!S_ISREG(ret_status->st_mode))
        return fetch_by_errno(fetch, S_ISDIR(ret_status->st_mode) ? EISDIR : EINVAL, err);
    if (!is_still(fd, real))
        return fetch_by_errno(fetch, ESTALE, err);
    if (ret_status->st_size == fetch->claim->size)
        return ERR_OK;
    *ret_found = (struct claim_found){.has_size = true, .size = ret_status->st_size};
    if (ret_status->st_size <= fetch->limits->max_bytes ||
        ret_status->st_size <= fetch->limits->max_spool_bytes)
        find_digest(fetch, fd, ret_found);
    if (fetch_is_cancelled(fetch))
        return fetch_by_errno(fetch, ECANCELED, err);
    return fetch_mismatch(fetch, ret_found, err);
}

enum err_kind
claim_file_open(const struct fetch *fetch,
                int *ret_fd,
                struct stat *ret_status,
                struct claim_found *ret_found,
                struct err *err)
{
    char real[PATH_MAX];
    *ret_fd = -1;
    if (resolve(fetch, real, err))
        return err->kind;
    int fd = open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fetch_by_errno(fetch, errno, err);
    if (look(fetch, fd, real, ret_status, ret_found, err)) {
        close(fd);
        return err->kind;
    }
    *ret_fd = fd;
    return ERR_OK;
}
