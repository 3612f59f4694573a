/* SPDX-License-Identifier: Apache-2.0 */
/* Objects behind s3://: their address at the endpoint, signed requests, what errors say.
 */
#pragma once

#include "buf.h"
#include "http.h"
#include "remote.h"

#include <stdbool.h>

/* Longest key of an object in bytes, by the protocol. */
enum { S3_KEY_BYTES = 1024 };

/* ERR_FATAL EXIT_CONFIG "bad_value": an endpoint that is no address, half a key. */
enum err_kind s3_check(const struct s3_settings *settings, struct err *err);
/* s3://BUCKET/KEY; `key` keeps its escapes and may be empty. False: no such address. */
bool s3_parse(struct slice uri, struct slice *ret_bucket, struct slice *ret_key);
/* Appends the address of the object; `key` is plain text. */
void s3_add_url(const struct s3_settings *settings,
                struct slice bucket,
                struct slice key,
                struct buf *out);
/* A client for requests to `settings->s3`; fields of `base` that sign are replaced. */
struct http *s3_client(const struct s3_settings *settings,
                       const struct http_settings *base,
                       struct err *err);
/* What the requests of a client carry besides. */
struct s3_headers {
    char sha256[96]; /* x-amz-content-sha256 */
    struct buf token;
    const char *lines[4]; /* the first for the caller's own; NULL-terminated */
};
/* `sha256` of the body. False: no memory. */
bool s3_headers_init(struct s3_headers *headers,
                     const struct s3_settings *settings,
                     const char *sha256,
                     const char *own);
void s3_headers_done(struct s3_headers *headers);
/* "HTTP 503 (SlowDown)": the status and the code in an answer that is an error. */
void s3_add_status(const struct http_response *response, struct buf *out);
