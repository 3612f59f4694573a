/* SPDX-License-Identifier: Apache-2.0 */
/* The claim check: its errors, and claims that are taken into memory. */
#include "claim.h"

#include "claim_inside.h"
#include "cleanup.h"
#include "disk.h"
#include "uri.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- what is fetched, and its errors ----------------------------------------------- */

void
fetch_init(struct fetch *fetch,
           const struct claim_limits *limits,
           const struct claim *claim,
           const char *part)
{
    struct slice uri = claim->uri;
    *fetch = (struct fetch){.limits = limits, .claim = claim, .part = part};
    if (uri_has_scheme(uri, "http")) {
        uri_show(uri, fetch->shown, sizeof fetch->shown);
        return;
    }
    snprintf(fetch->shown, sizeof fetch->shown, "%.*s",
             (int)(uri.len < CLAIM_SHOWN_BYTES ? uri.len : CLAIM_SHOWN_BYTES),
             uri.data ? uri.data : "");
}

enum err_kind
fetch_malformed(const struct fetch *fetch, const char *what, struct err *err)
{
    return err_set(err, ERR_RECORD, fetch->limits->malformed,
                   "the claim of the %s, %s, %s", fetch->part, fetch->shown, what);
}

enum err_kind
fetch_denied(const struct fetch *fetch, const char *why, struct err *err)
{
    return err_set(err, ERR_RECORD, "claim_denied",
                   "the %s, %s: %s; let the worker read it", fetch->part, fetch->shown,
                   why);
}

enum err_kind
fetch_again(const struct fetch *fetch, const char *code, const char *why, struct err *err)
{
    err_set(err, ERR_RETRY, code, "the %s, %s: %s", fetch->part, fetch->shown, why);
    if (err)
        err->final_code = code;
    return ERR_RETRY;
}

enum err_kind
fetch_by_errno(const struct fetch *fetch, int error, struct err *err)
{
    const char *why = strerror(error);
    if (error == ENOENT || error == ENOTDIR)
        return fetch_again(fetch, "claim_not_found", why, err);
    if (error == EACCES || error == EPERM)
        return fetch_denied(fetch, why, err);
    return fetch_again(fetch, "claim_unavailable", why, err);
}

enum err_kind
fetch_mismatch(const struct fetch *fetch,
               const struct claim_found *found,
               struct err *err)
{
    char size[32] = "more";
    if (found->has_size)
        snprintf(size, sizeof size, "%lld", (long long)found->size);
    return err_set(err, ERR_RECORD, "claim_mismatch",
                   "the %s, %s: %s bytes and SHA-256 %s, claimed are %lld and %.*s",
                   fetch->part, fetch->shown, size,
                   found->sha256[0] ? found->sha256 : "not taken",
                   (long long)fetch->claim->size, SLICE_ARG(fetch->claim->sha256));
}

bool
fetch_is_cancelled(const struct fetch *fetch)
{
    const atomic_bool *cancelled = fetch->limits->cancelled;
    return cancelled && atomic_load_explicit(cancelled, memory_order_relaxed);
}

bool
fetch_is_claimed(const struct fetch *fetch, const struct claim_found *found)
{
    return found->has_size && found->size == fetch->claim->size &&
           slice_is(fetch->claim->sha256, found->sha256);
}

enum err_kind
fetch_scheme(const struct fetch *fetch, enum claim_scheme *ret_scheme, struct err *err)
{
    struct slice uri = fetch->claim->uri;
    bool is_near = uri_has_scheme(uri, "file://");
    bool is_s3 = uri_has_scheme(uri, "s3://");
    bool is_http = uri_has_scheme(uri, "http://") || uri_has_scheme(uri, "https://");
    if (fetch->claim->size < 0)
        return fetch_malformed(fetch, "has a negative size", err);
    if (!is_near && !(fetch->limits->remote && (is_http || is_s3)))
        return fetch_malformed(fetch, "has a scheme that this worker does not know", err);
    *ret_scheme = is_near ? CLAIM_FILE : is_s3 ? CLAIM_S3 : CLAIM_HTTP;
    return ERR_OK;
}

/* --- into memory ------------------------------------------------------------------- */

/* All of the file, of which `cap` bytes are expected: one more shows that it grew. */
static enum err_kind
read_all(const struct fetch *fetch,
         int fd,
         char *bytes,
         size_t cap,
         size_t *ret_len,
         struct err *err)
{
    size_t len = 0;
    while (len < cap) {
        ssize_t n = read(fd, bytes + len, cap - len);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return fetch_by_errno(fetch, errno, err);
        len += n > 0 ? (size_t)n : 0;
    }
    *ret_len = len;
    return ERR_OK;
}

static enum err_kind
fetch_file(const struct fetch *fetch, char *bytes, struct err *err)
{
    size_t len = 0;
    struct stat status;
    struct claim_found found = {0};
    CLEANUP(disk_closep) int fd = -1;
    size_t cap = (size_t)fetch->claim->size + 1;
    if (claim_file_open(fetch, &fd, &status, &found, err) ||
        read_all(fetch, fd, bytes, cap, &len, err))
        return err->kind;
    found = (struct claim_found){.has_size = true, .size = (int64_t)len};
    digest_hex((struct slice){bytes, len}, found.sha256);
    return fetch_is_claimed(fetch, &found) ? ERR_OK : fetch_mismatch(fetch, &found, err);
}

static int
take(void *state, struct slice piece)
{
    char **at = state;
    memcpy(*at, piece.data, piece.len);
    *at += piece.len;
    return 0;
}

static enum err_kind
fetch_remote(const struct fetch *fetch,
             enum claim_scheme scheme,
             char *bytes,
             struct err *err)
{
    struct claim_found found = {0};
    return claim_remote_get(fetch, scheme, fetch->limits->max_bytes, take, &bytes, &found,
                            err);
}

static enum err_kind
fetch_bytes(const struct fetch *fetch,
            struct arena *arena,
            struct slice *ret_bytes,
            struct err *err)
{
    enum claim_scheme scheme;
    if (fetch_scheme(fetch, &scheme, err))
        return err->kind;
    if (fetch->claim->size > fetch->limits->max_bytes)
        return fetch_malformed(fetch, "is larger than a part may be", err);
    size_t size = (size_t)fetch->claim->size;
    char *bytes = arena_alloc(arena, size + 1);
    if (!bytes)
        return err_set(err, ERR_RECORD, "record_too_large",
                       "the parts of the event take more memory than one record may; "
                       "the %s has %zu bytes",
                       fetch->part, size);
    enum err_kind kind = scheme == CLAIM_FILE ? fetch_file(fetch, bytes, err)
                                              : fetch_remote(fetch, scheme, bytes, err);
    if (!kind)
        *ret_bytes = (struct slice){bytes, size};
    return kind;
}

enum err_kind
claim_fetch(const struct claim_limits *limits,
            const struct claim *claim,
            const char *part,
            struct arena *arena,
            struct slice *ret_bytes,
            struct err *err)
{
    struct fetch fetch;
    fetch_init(&fetch, limits, claim, part);
    enum err_kind kind = fetch_bytes(&fetch, arena, ret_bytes, err);
    return kind && err ? err_at(err, "gather") : kind;
}
