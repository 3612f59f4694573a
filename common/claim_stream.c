/* SPDX-License-Identifier: Apache-2.0 */
/* Claims that are read as often as needed. */
#include "claim_stream.h"

#include "claim_inside.h"
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 * 1024 };

struct claim_stream {
    struct fetch fetch;
    int fd;
    bool is_spool; /* verified when it was filled, and nobody else's */
    uint64_t at;   /* where the pass is */
    pthread_mutex_t lock;
    /* Under the lock: the digest of all bytes up to `hashed`; NULL: it has ended. */
    struct digest *digest;
    uint64_t hashed;
    struct claim_found found;
    struct stat seen; /* when the pass began */
    bool has_changed; /* since the first pass began */
};

struct claim_stream *
claim_stream_new(const struct claim_limits *limits,
                 const struct claim *claim,
                 const char *part)
{
    struct claim_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    fetch_init(&stream->fetch, limits, claim, part);
    stream->fd = -1;
    pthread_mutex_init(&stream->lock, NULL);
    return stream;
}

void
claim_stream_free(struct claim_stream *stream)
{
    if (!stream)
        return;
    disk_closep(&stream->fd);
    digest_free(stream->digest);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

const struct claim_found *
claim_stream_found(const struct claim_stream *stream)
{
    return &stream->found;
}

/* --- opening ----------------------------------------------------------------------- */

static int
take(void *state, struct slice piece)
{
    const int *fd = state;
    return disk_write(*fd, piece) ? 0 : errno;
}

/* A disk without room is noticed before the transfer, where the file system can tell. */
static enum err_kind
open_spool(struct claim_stream *stream, struct err *err)
{
    const struct fetch *fetch = &stream->fetch;
    int64_t size = fetch->claim->size;
    stream->is_spool = true;
    stream->fd = disk_scratch(fetch->limits->tmp_dir);
    if (stream->fd >= 0 && (size == 0 || fallocate(stream->fd, 0, 0, size) == 0 ||
                            errno == EOPNOTSUPP || errno == ENOSYS))
        return ERR_OK;
    return err_set(err, ERR_RETRY, "claim_unavailable",
                   "the %s, %s: no room for its %lld bytes in tmp_dir: %s", fetch->part,
                   fetch->shown, (long long)size, strerror(errno));
}

static enum err_kind
fill_spool(struct claim_stream *stream, enum claim_scheme scheme, struct err *err)
{
    const struct fetch *fetch = &stream->fetch;
    int64_t ceiling = fetch->limits->max_spool_bytes;
    if (fetch->claim->size > ceiling)
        return err_set(err, ERR_RECORD, "trace_too_large",
                       "the %s, %s, has %lld bytes; max_spool_bytes is %lld", fetch->part,
                       fetch->shown, (long long)fetch->claim->size, (long long)ceiling);
    if (open_spool(stream, err))
        return err->kind;
    return claim_remote_get(fetch, scheme, ceiling, take, &stream->fd, &stream->found,
                            err);
}

static enum err_kind
open_stream(struct claim_stream *stream, struct err *err)
{
    enum claim_scheme scheme;
    if (fetch_scheme(&stream->fetch, &scheme, err))
        return err->kind;
    if (scheme != CLAIM_FILE)
        return fill_spool(stream, scheme, err);
    stream->digest = digest_new();
    if (!stream->digest)
        return err_no_memory(err, "the digest of a trace");
    return claim_file_open(&stream->fetch, &stream->fd, &stream->seen, &stream->found,
                           err);
}

/* Every error of this file is one of gathering, and passing ones end as unavailable. */
static enum err_kind
staged(enum err_kind kind, struct err *err)
{
    if (kind == ERR_RETRY && err && !err->final_code)
        err->final_code = "claim_unavailable";
    return kind && err ? err_at(err, "gather") : kind;
}

enum err_kind
claim_stream_open(struct claim_stream *stream, struct err *err)
{
    return staged(open_stream(stream, err), err);
}

/* --- a pass ------------------------------------------------------------------------ */

static bool
is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static enum err_kind
changed(const struct claim_stream *stream, struct err *err)
{
    return err_set(err, ERR_RETRY, "trace_changed",
                   "the %s, %s, changed while it was read", stream->fetch.part,
                   stream->fetch.shown);
}

/* Another file than the one that was verified: its digest is taken again. */
static enum err_kind
begin_again(struct claim_stream *stream, const struct stat *now, struct err *err)
{
    digest_free(stream->digest);
    stream->digest = digest_new();
    stream->hashed = 0;
    stream->found = (struct claim_found){0};
    stream->seen = *now;
    stream->has_changed = true;
    return stream->digest ? ERR_OK : err_no_memory(err, "the digest of a trace");
}

enum err_kind
claim_stream_rewind(void *state, struct err *err)
{
    struct claim_stream *stream = state;
    struct stat now;
    stream->at = 0;
    if (stream->is_spool)
        return ERR_OK;
    if (fstat(stream->fd, &now) != 0)
        return staged(fetch_by_errno(&stream->fetch, errno, err), err);
    pthread_mutex_lock(&stream->lock);
    enum err_kind kind =
        is_same(&stream->seen, &now) ? ERR_OK : begin_again(stream, &now, err);
    pthread_mutex_unlock(&stream->lock);
    return kind;
}

/* Bytes that were read at `at`: those behind the ones that are in the digest go there. */
static void
add_to_digest(struct claim_stream *stream, uint64_t at, struct slice bytes)
{
    uint64_t known = stream->hashed - at;
    if (!stream->digest || at > stream->hashed || known >= bytes.len)
        return;
    digest_add(stream->digest,
               (struct slice){bytes.data + known, bytes.len - (size_t)known});
    stream->hashed = at + bytes.len;
}

static ssize_t
read_at(const struct claim_stream *stream, char *buf, size_t cap, uint64_t at)
{
    ssize_t n;
    do {
        n = pread(stream->fd, buf, cap, (off_t)at);
    } while (n < 0 && errno == EINTR);
    return n;
}

enum err_kind
claim_stream_read(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    struct claim_stream *stream = state;
    ssize_t n = read_at(stream, buf, cap, stream->at);
    if (n < 0)
        return staged(fetch_by_errno(&stream->fetch, errno, err), err);
    if (!stream->is_spool) {
        pthread_mutex_lock(&stream->lock);
        add_to_digest(stream, stream->at, (struct slice){buf, (size_t)n});
        pthread_mutex_unlock(&stream->lock);
    }
    stream->at += (uint64_t)n;
    *ret_len = (size_t)n;
    return ERR_OK;
}

/* --- afterwards -------------------------------------------------------------------- */

/* Reads what no pass has read, and ends the digest. */
static enum err_kind
end_digest(struct claim_stream *stream, struct err *err)
{
    char piece[PIECE_BYTES];
    ssize_t n;
    while (stream->digest &&
           (n = read_at(stream, piece, sizeof piece, stream->hashed)) != 0) {
        if (n < 0)
            return fetch_by_errno(&stream->fetch, errno, err);
        if (fetch_is_cancelled(&stream->fetch))
            return fetch_by_errno(&stream->fetch, ECANCELED, err);
        add_to_digest(stream, stream->hashed, (struct slice){piece, (size_t)n});
    }
    if (!stream->digest)
        return ERR_OK;
    stream->found.has_size = true;
    stream->found.size = (int64_t)stream->hashed;
    digest_end(stream->digest, stream->found.sha256);
    digest_free(stream->digest);
    stream->digest = NULL;
    return ERR_OK;
}

/* The caller holds the lock. */
static enum err_kind
compare(struct claim_stream *stream, struct err *err)
{
    if (end_digest(stream, err))
        return err->kind;
    if (fetch_is_claimed(&stream->fetch, &stream->found))
        return ERR_OK;
    return stream->has_changed ? changed(stream, err)
                               : fetch_mismatch(&stream->fetch, &stream->found, err);
}

enum err_kind
claim_stream_verify(struct claim_stream *stream, struct err *err)
{
    if (stream->is_spool)
        return ERR_OK;
    pthread_mutex_lock(&stream->lock);
    enum err_kind kind = compare(stream, err);
    pthread_mutex_unlock(&stream->lock);
    return staged(kind, err);
}

static enum err_kind
check(struct claim_stream *stream, struct err *err)
{
    struct stat now;
    if (compare(stream, err))
        return err->kind;
    if (fstat(stream->fd, &now) != 0)
        return fetch_by_errno(&stream->fetch, errno, err);
    return is_same(&stream->seen, &now) ? ERR_OK : changed(stream, err);
}

enum err_kind
claim_stream_check(struct claim_stream *stream, struct err *err)
{
    if (stream->is_spool)
        return ERR_OK;
    pthread_mutex_lock(&stream->lock);
    enum err_kind kind = check(stream, err);
    pthread_mutex_unlock(&stream->lock);
    return staged(kind, err);
}
