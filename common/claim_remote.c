/* SPDX-License-Identifier: Apache-2.0 */
/* Claims behind http(s):// and s3://. */
#include "claim_inside.h"

#include "cleanup.h"
#include "clock.h"
#include "http.h"
#include "s3.h"
#include "uri.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_ERROR_BYTES = 64 * 1024 };

/* SHA-256 of nothing: the body of a GET. */
static const char empty_sha256[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

CLEANUP_DEFINE(struct http, http_free);

/* The bytes of a claim while they come. */
struct receipt {
    const struct fetch *fetch;
    int64_t ceiling;
    claim_take_fn *take;
    void *state;
    struct digest *digest;
    int64_t got;
    int error; /* of take() */
};

/* Bytes beyond the claimed ones are only looked at. */
static bool
receive(void *state, struct slice piece)
{
    struct receipt *receipt = state;
    int64_t wanted = receipt->fetch->claim->size - receipt->got;
    digest_add(receipt->digest, piece);
    receipt->got += (int64_t)piece.len;
    if (wanted > 0) {
        size_t len = (int64_t)piece.len < wanted ? piece.len : (size_t)wanted;
        receipt->error = receipt->take(receipt->state, (struct slice){piece.data, len});
    }
    return receipt->error == 0 && receipt->got <= receipt->ceiling;
}

/* --- the request ------------------------------------------------------------------- */

/* What is left until the deadline; at least a moment, in which nothing is reached. */
static int64_t
time_left_ms(const struct claim_limits *limits)
{
    if (!limits->deadline_ms)
        return HTTP_NO_TIMEOUT;
    int64_t left = limits->deadline_ms - clock_monotonic_ms();
    return left > 1 ? left : 1;
}

static struct http *
make_client(const struct fetch *fetch, enum claim_scheme scheme, struct err *err)
{
    const struct remote_settings *remote = fetch->limits->remote;
    const struct http_settings settings = {
        .ca_file = remote->ca_file,
        .cert_file = remote->cert_file,
        .key_file = remote->key_file,
        .connect_timeout_ms = remote->connect_timeout_ms,
        .timeout_ms = time_left_ms(fetch->limits),
        .stall_timeout_ms = remote->stall_timeout_ms,
        .max_bytes = MAX_ERROR_BYTES,
        .cancelled = fetch->limits->cancelled,
    };
    return scheme == CLAIM_S3 ? s3_client(&remote->s3, &settings, err)
                              : http_new(&settings, err);
}

static enum err_kind
add_url(const struct fetch *fetch,
        enum claim_scheme scheme,
        struct buf *url,
        struct err *err)
{
    struct slice bucket;
    struct slice escaped;
    char key[S3_KEY_BYTES + 1];
    struct slice uri = fetch->claim->uri;
    if (memchr(uri.data, '\0', uri.len))
        return fetch_malformed(fetch, "holds a zero byte", err);
    if (scheme == CLAIM_HTTP)
        buf_add(url, uri.data, uri.len);
    else if (s3_parse(uri, &bucket, &escaped) && uri_decode(escaped, key, sizeof key))
        s3_add_url(&fetch->limits->remote->s3, bucket, slice_of(key), url);
    else
        return fetch_malformed(fetch, "is no s3://BUCKET/KEY", err);
    return buf_check(url, "the address of a claim", err);
}

/* --- what came of it --------------------------------------------------------------- */

static enum err_kind
by_status(const struct fetch *fetch,
          const struct http_response *response,
          struct err *err)
{
    CLEANUP(buf_done) struct buf why = BUF_INIT;
    s3_add_status(response, &why);
    switch (response->status) {
    case 401:
    case 403:
        return fetch_denied(fetch, buf_text(&why), err);
    case 404:
    case 410:
        return fetch_again(fetch, "claim_not_found", buf_text(&why), err);
    default:
        return fetch_again(fetch, "claim_unavailable", buf_text(&why), err);
    }
}

static enum err_kind
judge(struct receipt *receipt, struct claim_found *ret_found, struct err *err)
{
    ret_found->has_size = true;
    ret_found->size = receipt->got;
    digest_end(receipt->digest, ret_found->sha256);
    return fetch_is_claimed(receipt->fetch, ret_found)
               ? ERR_OK
               : fetch_mismatch(receipt->fetch, ret_found, err);
}

/* A transfer that did not come to its end. */
static enum err_kind
broken(const struct receipt *receipt, const struct err *why, struct err *err)
{
    const struct fetch *fetch = receipt->fetch;
    struct claim_found unknown = {0};
    if (receipt->error)
        return fetch_again(fetch, "claim_unavailable", strerror(receipt->error), err);
    if (receipt->got > receipt->ceiling)
        return fetch_mismatch(fetch, &unknown, err);
    if (strcmp(why->code, "out_of_memory") == 0)
        return err_no_memory(err, "an HTTP request");
    if (strcmp(why->code, "http_bad_url") == 0)
        return fetch_malformed(fetch, "is no address", err);
    const char *text = strstr(why->msg, ": ");
    return fetch_again(fetch, "claim_unavailable", text ? text + 2 : why->msg, err);
}

static enum err_kind
transfer(struct receipt *receipt,
         enum claim_scheme scheme,
         struct claim_found *ret_found,
         struct err *err)
{
    const struct fetch *fetch = receipt->fetch;
    struct err why = {0};
    struct http_response response = {0};
    CLEANUP(buf_done) struct buf url = BUF_INIT;
    CLEANUP(s3_headers_done) struct s3_headers headers;
    bool has_headers =
        s3_headers_init(&headers, &fetch->limits->remote->s3, empty_sha256, NULL);
    CLEANUP(http_freep) struct http *http = make_client(fetch, scheme, err);
    if (!http)
        return err->kind;
    if (!has_headers)
        return err_no_memory(err, "an HTTP request");
    if (add_url(fetch, scheme, &url, err))
        return err->kind;
    const struct http_sink sink = {receipt, receive};
    const struct http_request request = {
        .method = "GET",
        .url = buf_text(&url),
        .headers = scheme == CLAIM_S3 ? headers.lines : NULL,
        .sink = &sink,
    };
    if (http_call(http, &request, &response, &why))
        return broken(receipt, &why, err);
    enum err_kind kind = response.status == 200 ? judge(receipt, ret_found, err)
                                                : by_status(fetch, &response, err);
    http_response_done(&response);
    return kind;
}

enum err_kind
claim_remote_get(const struct fetch *fetch,
                 enum claim_scheme scheme,
                 int64_t ceiling,
                 claim_take_fn *take,
                 void *state,
                 struct claim_found *ret_found,
                 struct err *err)
{
    struct receipt receipt = {
        .fetch = fetch,
        .ceiling = ceiling,
        .take = take,
        .state = state,
        .digest = digest_new(),
    };
    if (!receipt.digest)
        return err_no_memory(err, "the digest of a claim");
    enum err_kind kind = transfer(&receipt, scheme, ret_found, err);
    digest_free(receipt.digest);
    return kind;
}
