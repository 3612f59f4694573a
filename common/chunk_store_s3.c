/* SPDX-License-Identifier: Apache-2.0 */
/* Chunk stores behind s3://. */
#include "chunk_store_inside.h"

#include "cleanup.h"
#include "digest.h"
#include "disk.h"
#include "http.h"
#include "s3.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 64 * 1024,
    STATUS_OK = 200,
    STATUS_NOT_FOUND = 404,
    STATUS_IS_THERE = 412, /* If-None-Match does not hold */
    STATUS_UNKNOWN = 501,  /* the server does not know If-None-Match */
};

CLEANUP_DEFINE(struct http, http_free);

/* A draft on its way. */
struct putting {
    const struct chunk_draft *draft;
    struct http *http;
    const char *url;
    struct http_upload upload;
    char sha256[DIGEST_HEX]; /* of the bytes as they go */
};

enum err_kind
chunk_s3_open(struct chunk_draft *draft, struct err *err)
{
    draft->fd = disk_scratch(draft->store->tmp_dir);
    return draft->fd >= 0 ? ERR_OK : chunk_draft_away(draft, strerror(errno), err);
}

/* --- requests ---------------------------------------------------------------------- */

static struct http *
make_client(const struct chunk_store *store, struct err *err)
{
    const struct remote_settings *remote = store->remote;
    const struct http_settings settings = {
        .ca_file = remote->ca_file,
        .cert_file = remote->cert_file,
        .key_file = remote->key_file,
        .connect_timeout_ms = remote->connect_timeout_ms,
        .timeout_ms = HTTP_NO_TIMEOUT,
        .stall_timeout_ms = remote->stall_timeout_ms,
    };
    return s3_client(&remote->s3, &settings, err);
}

/* One request with the status of its answer; what the server says is in `why`. */
static enum err_kind
ask(const struct putting *putting,
    const char *method,
    const char *condition,
    long *ret_status,
    struct buf *why,
    struct err *err)
{
    const struct chunk_draft *draft = putting->draft;
    bool is_put = strcmp(method, "PUT") == 0;
    struct http_response response = {0};
    struct err reason = {0};
    char nothing[DIGEST_HEX];
    digest_hex(SLICE(""), nothing);
    CLEANUP(s3_headers_done) struct s3_headers headers;
    if (!s3_headers_init(&headers, &draft->store->remote->s3,
                         is_put ? putting->sha256 : nothing, condition))
        return chunk_draft_no_memory(err);
    const struct http_request request = {
        .method = method,
        .url = putting->url,
        .headers = headers.lines,
        .upload = is_put ? &putting->upload : NULL,
    };
    if (http_call(putting->http, &request, &response, &reason))
        return chunk_draft_away(draft, reason.msg, err);
    buf_reset(why);
    s3_add_status(&response, why);
    *ret_status = response.status;
    http_response_done(&response);
    return ERR_OK;
}

/* For a server that can't be told to keep what is there. */
static enum err_kind
put_unless_there(const struct putting *putting,
                 long *ret_status,
                 struct buf *why,
                 struct err *err)
{
    if (ask(putting, "HEAD", NULL, ret_status, why, err))
        return err->kind;
    if (*ret_status != STATUS_NOT_FOUND)
        return ERR_OK;
    return ask(putting, "PUT", NULL, ret_status, why, err);
}

static enum err_kind
put_object(const struct putting *putting, struct err *err)
{
    CLEANUP(buf_done) struct buf why = BUF_INIT;
    long status = 0;
    if (ask(putting, "PUT", "If-None-Match: *", &status, &why, err))
        return err->kind;
    if (status == STATUS_UNKNOWN && put_unless_there(putting, &status, &why, err))
        return err->kind;
    if (status == STATUS_OK || status == STATUS_IS_THERE)
        return ERR_OK;
    return chunk_draft_away(putting->draft, buf_text(&why), err);
}

/* --- the draft's bytes ------------------------------------------------------------- */

/* What is signed is what the server checks the bytes with. */
static enum err_kind
take_digest(struct putting *putting, struct err *err)
{
    char piece[PIECE_BYTES];
    ssize_t n;
    struct digest *digest = digest_new();
    if (!digest)
        return chunk_draft_no_memory(err);
    putting->upload.bytes = 0;
    while ((n = pread(putting->upload.fd, piece, sizeof piece, putting->upload.bytes)) >
           0) {
        digest_add(digest, (struct slice){piece, (size_t)n});
        putting->upload.bytes += n;
    }
    const char *why = strerror(errno);
    if (n == 0)
        digest_end(digest, putting->sha256);
    digest_free(digest);
    return n == 0 ? ERR_OK : chunk_draft_away(putting->draft, why, err);
}

enum err_kind
chunk_s3_put(struct chunk_draft *draft, const char *name, struct err *err)
{
    const struct chunk_store *store = draft->store;
    CLEANUP(buf_done) struct buf key = BUF_INIT;
    CLEANUP(buf_done) struct buf url = BUF_INIT;
    struct putting putting = {.draft = draft, .upload = {.fd = draft->fd}};
    if (take_digest(&putting, err))
        return err->kind;
    buf_addf(&key, "%s%s%s/%s", store->prefix, *store->prefix ? "/" : "",
             chunk_draft_place(draft), name);
    s3_add_url(&store->remote->s3, store->bucket, buf_slice(&key), &url);
    if (key.failed || url.failed)
        return chunk_draft_no_memory(err);
    CLEANUP(http_freep) struct http *http = make_client(store, err);
    if (!http)
        return err->kind;
    putting.http = http;
    putting.url = buf_text(&url);
    return put_object(&putting, err);
}
