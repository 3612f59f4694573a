/* SPDX-License-Identifier: Apache-2.0 */
/* The claim check for file:// claims. */
#include "claim.h"

#include "cleanup.h"
#include "digest.h"
#include "disk.h"
#include "file_uri.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN_URI_BYTES = 300, PROC_PATH_BYTES = 64 };

/* A claim on its way in. */
struct fetch {
    const struct claim_limits *limits;
    const struct claim *claim;
    const char *part;
    struct err *err;
};

#define SHOWN_URI(fetch)                                                                 \
    (int)((fetch)->claim->uri.len < SHOWN_URI_BYTES ? (fetch)->claim->uri.len            \
                                                    : SHOWN_URI_BYTES),                  \
        (fetch)->claim->uri.data ? (fetch)->claim->uri.data : ""

static enum err_kind
malformed(const struct fetch *fetch, const char *what)
{
    return err_set(fetch->err, ERR_RECORD, fetch->limits->malformed,
                   "the claim of the %s, %.*s, %s", fetch->part, SHOWN_URI(fetch), what);
}

static enum err_kind
again(const struct fetch *fetch, const char *code, int error)
{
    err_set(fetch->err, ERR_RETRY, code, "the %s, %.*s: %s", fetch->part,
            SHOWN_URI(fetch), strerror(error));
    if (fetch->err)
        fetch->err->final_code = code;
    return ERR_RETRY;
}

static enum err_kind
by_errno(const struct fetch *fetch, int error)
{
    if (error == ENOENT || error == ENOTDIR)
        return again(fetch, "claim_not_found", error);
    if (error == EACCES || error == EPERM)
        return err_set(fetch->err, ERR_RECORD, "claim_denied",
                       "the %s, %.*s: %s; let the worker's user read it", fetch->part,
                       SHOWN_URI(fetch), strerror(error));
    return again(fetch, "claim_unavailable", error);
}

static enum err_kind
mismatch(const struct fetch *fetch, int64_t size, const char *sha256)
{
    return err_set(fetch->err, ERR_RECORD, "claim_mismatch",
                   "the %s, %.*s: %lld bytes and SHA-256 %s, claimed are %lld and %.*s",
                   fetch->part, SHOWN_URI(fetch), (long long)size, sha256,
                   (long long)fetch->claim->size, SLICE_ARG(fetch->claim->sha256));
}

static enum err_kind
path_of(const struct fetch *fetch, char path[PATH_MAX])
{
    if (!uri_has_scheme(fetch->claim->uri, "file://"))
        return malformed(fetch, "has a scheme that this worker does not know");
    if (!file_uri_path(fetch->claim->uri, path))
        return malformed(fetch, "names no absolute path on this host");
    return ERR_OK;
}

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
resolve(const struct fetch *fetch, char real[PATH_MAX])
{
    static const char outside[] =
        "lies outside the folders of claim.roots; add its folder there, or send the "
        "bytes in the event";
    char path[PATH_MAX];
    if (path_of(fetch, path))
        return ERR_RECORD;
    if (!realpath(path, real)) {
        int error = errno;
        return may_appear(fetch->limits, path) ? by_errno(fetch, error)
                                               : malformed(fetch, outside);
    }
    return is_allowed(fetch->limits, real) ? ERR_OK : malformed(fetch, outside);
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

/* All of the file, of which `cap` bytes are expected: one more shows that it grew. */
static enum err_kind
read_all(const struct fetch *fetch, int fd, char *bytes, size_t cap, size_t *ret_len)
{
    size_t len = 0;
    while (len < cap) {
        ssize_t n = read(fd, bytes + len, cap - len);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return by_errno(fetch, errno);
        len += n > 0 ? (size_t)n : 0;
    }
    *ret_len = len;
    return ERR_OK;
}

static enum err_kind
open_file(const struct fetch *fetch, const char *real, int *ret_fd)
{
    struct stat status;
    *ret_fd = open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (*ret_fd < 0 || fstat(*ret_fd, &status))
        return by_errno(fetch, errno);
    if (!S_ISREG(status.st_mode))
        return again(fetch, "claim_unavailable",
                     S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
    if (!is_still(*ret_fd, real))
        return again(fetch, "claim_unavailable", ESTALE);
    if (status.st_size != fetch->claim->size)
        return mismatch(fetch, status.st_size, "not taken");
    return ERR_OK;
}

static enum err_kind
fetch_file(const struct fetch *fetch, struct arena *arena, struct slice *ret_bytes)
{
    char real[PATH_MAX];
    char sha256[DIGEST_HEX];
    CLEANUP(disk_closep) int fd = -1;
    enum err_kind kind = resolve(fetch, real);
    if (!kind)
        kind = open_file(fetch, real, &fd);
    if (kind)
        return kind;
    size_t size = (size_t)fetch->claim->size;
    char *bytes = arena_alloc(arena, size + 1);
    if (!bytes)
        return err_set(fetch->err, ERR_RECORD, "record_too_large",
                       "the parts of the event take more memory than one record may; "
                       "the %s has %zu bytes",
                       fetch->part, size);
    size_t len = 0;
    kind = read_all(fetch, fd, bytes, size + 1, &len);
    if (kind)
        return kind;
    digest_hex((struct slice){bytes, len}, sha256);
    if (len != size || !slice_is(fetch->claim->sha256, sha256))
        return mismatch(fetch, (int64_t)len, sha256);
    *ret_bytes = (struct slice){bytes, len};
    return ERR_OK;
}

enum err_kind
claim_fetch(const struct claim_limits *limits,
            const struct claim *claim,
            const char *part,
            struct arena *arena,
            struct slice *ret_bytes,
            struct err *err)
{
    struct fetch fetch = {limits, claim, part, err};
    enum err_kind kind = ERR_OK;
    if (claim->size < 0)
        kind = malformed(&fetch, "has a negative size");
    else if (claim->size > limits->max_bytes)
        kind = malformed(&fetch, "is larger than a part may be");
    else
        kind = fetch_file(&fetch, arena, ret_bytes);
    return kind && err ? err_at(err, "gather") : kind;
}
