/* SPDX-License-Identifier: Apache-2.0 */
/* Objects behind s3://. */
#include "s3.h"

#include "cleanup.h"
#include "uri.h"

#include <stdio.h>

enum { MAX_BUCKET_BYTES = 255, MAX_CODE_BYTES = 64 };

static bool
is_bucket_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '-' || c == '_';
}

enum err_kind
s3_check(const struct s3_settings *settings, struct err *err)
{
    const char *endpoint = settings->endpoint;
    if (endpoint && !uri_has_scheme(slice_of(endpoint), "http://") &&
        !uri_has_scheme(slice_of(endpoint), "https://"))
        return err_fatal(err, EXIT_CONFIG, "bad_value",
                         "[s3] endpoint: %.200s; write http://HOST or https://HOST",
                         endpoint);
    if (!settings->access_key != !settings->secret_key)
        return err_fatal(err, EXIT_CONFIG, "bad_value",
                         "[s3] access_key and secret_key go together; set both or none");
    return ERR_OK;
}

bool
s3_parse(struct slice uri, struct slice *ret_bucket, struct slice *ret_key)
{
    static const char scheme[] = "s3://";
    if (!uri_has_scheme(uri, scheme))
        return false;
    struct slice bucket = {uri.data + sizeof scheme - 1, 0};
    size_t left = uri.len - (sizeof scheme - 1);
    while (bucket.len < left && is_bucket_byte(bucket.data[bucket.len]))
        bucket.len++;
    bool ends = bucket.len == left || bucket.data[bucket.len] == '/';
    if (!ends || bucket.len == 0 || bucket.len > MAX_BUCKET_BYTES ||
        bucket.data[0] == '.')
        return false;
    size_t slash = bucket.len < left;
    *ret_bucket = bucket;
    *ret_key =
        (struct slice){bucket.data + bucket.len + slash, left - bucket.len - slash};
    return true;
}

/* The endpoint, with the bucket in front of its host where it is addressed so. */
static void
add_base(const struct s3_settings *settings, struct slice bucket, struct buf *out)
{
    CLEANUP(buf_done) struct buf amazon = BUF_INIT;
    const char *endpoint = settings->endpoint;
    if (!endpoint) {
        buf_addf(&amazon, "https://s3.%s.amazonaws.com", settings->region);
        endpoint = buf_text(&amazon);
    }
    struct slice base = slice_of(endpoint);
    while (base.len > 0 && base.data[base.len - 1] == '/')
        base.len--;
    const char *host = memmem(base.data, base.len, "://", 3);
    if (settings->addressing == S3_ADDRESSING_VIRTUAL && host) {
        size_t len = (size_t)(host - base.data) + 3;
        buf_addf(out, "%.*s%.*s.%.*s", (int)len, base.data, SLICE_ARG(bucket),
                 (int)(base.len - len), base.data + len);
    } else {
        buf_addf(out, "%.*s/%.*s", SLICE_ARG(base), SLICE_ARG(bucket));
    }
}

void
s3_add_url(const struct s3_settings *settings,
           struct slice bucket,
           struct slice key,
           struct buf *out)
{
    add_base(settings, bucket, out);
    while (key.data) {
        const char *slash = memchr(key.data, '/', key.len);
        size_t len = slash ? (size_t)(slash - key.data) : key.len;
        buf_add_byte(out, '/');
        http_add_escaped(out, (struct slice){key.data, len});
        key = slash ? (struct slice){slash + 1, key.len - len - 1} : (struct slice){0};
    }
}

struct http *
s3_client(const struct s3_settings *settings,
          const struct http_settings *base,
          struct err *err)
{
    CLEANUP(buf_done) struct buf signature = BUF_INIT;
    struct http_settings http = *base;
    if (settings->access_key) {
        buf_addf(&signature, "aws:amz:%s:s3", settings->region);
        if (buf_check(&signature, "the signature of a request", err))
            return NULL;
        http.signature = buf_text(&signature);
        http.username = settings->access_key;
        http.password = settings->secret_key;
    }
    return http_new(&http, err);
}

bool
s3_headers_init(struct s3_headers *headers,
                const struct s3_settings *settings,
                const char *sha256,
                const char *own)
{
    size_t n = 0;
    *headers = (struct s3_headers){.token = BUF_INIT};
    snprintf(headers->sha256, sizeof headers->sha256, "x-amz-content-sha256: %s", sha256);
    headers->lines[n++] = headers->sha256;
    if (settings->session_token) {
        buf_addf(&headers->token, "x-amz-security-token: %s", settings->session_token);
        headers->lines[n++] = buf_text(&headers->token);
    }
    if (own)
        headers->lines[n++] = own;
    return !headers->token.failed;
}

void
s3_headers_done(struct s3_headers *headers)
{
    buf_done(&headers->token);
}

void
s3_add_status(const struct http_response *response, struct buf *out)
{
    static const char begin[] = "<Code>";
    const struct buf *body = &response->body;
    buf_addf(out, "HTTP %ld", response->status);
    const char *code =
        body->len ? memmem(body->data, body->len, begin, sizeof begin - 1) : NULL;
    if (!code)
        return;
    code += sizeof begin - 1;
    size_t left = body->len - (size_t)(code - body->data);
    size_t len = 0;
    while (len < left && len < MAX_CODE_BYTES && is_bucket_byte(code[len]))
        len++;
    if (len > 0)
        buf_addf(out, " (%.*s)", (int)len, code);
}
