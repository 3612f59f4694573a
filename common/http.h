/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP request with a deadline and a ceiling on the answer: the only face of libcurl.
 * A client keeps its connection between requests and belongs to one thread.
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "slice.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct http;

/* Borrowed by http_new, copied. Texts may be NULL. */
struct http_settings {
    const char *username; /* basic authentication, with `password` */
    const char *password;
    const char *ca_file;   /* PEM; NULL: the system's */
    const char *cert_file; /* PEM client certificate, with `key_file` */
    const char *key_file;
    int64_t connect_timeout_ms;   /* 0: 5 s */
    int64_t timeout_ms;           /* of the whole request; 0: 30 s; HTTP_NO_TIMEOUT */
    int64_t stall_timeout_ms;     /* without a byte in either direction; 0: none */
    size_t max_bytes;             /* of the answer's body; 0: 4 MiB */
    const atomic_bool *cancelled; /* once set, a request ends within a second or so; NULL:
                                     never */
    /* Signs requests as Amazon does (version 4), "aws:amz:REGION:SERVICE", with username
     * and password as the keys; NULL: not. Such requests follow no redirect, and their
     * path goes as it is. */
    const char *signature;
};

enum { HTTP_NO_TIMEOUT = -1 };

/* The first `bytes` of a file as the body of a request. */
struct http_upload {
    int fd;
    int64_t bytes;
};

/* Takes the body of a 200, piece by piece; false ends the transfer. */
struct http_sink {
    void *state;
    bool (*take)(void *state, struct slice piece);
};

struct http_request {
    const char *method; /* GET, HEAD, POST, PUT, DELETE */
    const char *url;
    const char *content_type;         /* of the body; NULL: none */
    const char *accept;               /* NULL: anything */
    struct slice body;                /* data NULL: none */
    const struct http_upload *upload; /* with PUT, instead of `body`; NULL: none */
    const char *const
        *headers; /* further ones, "Name: value"; NULL-terminated, or NULL */
    const struct http_sink *sink; /* NULL: the body goes to the response; else only that
                                     of another status does, cut at the ceiling */
};

struct http_response {
    long status;     /* as the server answered; 0 when it did not */
    struct buf body; /* owned; http_response_done */
};

/*
 * Redirects are followed three times, to http and https only and never from https to
 * http. ERR_FATAL "out_of_memory".
 */
struct http *http_new(const struct http_settings *settings, struct err *err);
void http_free(struct http *http);
void http_response_done(struct http_response *response);

/*
 * ERR_OK for every answer, whatever its status. ERR_RETRY "http_unreachable" (refused,
 * unknown host, reset) or "http_timeout"; ERR_RETRY "http_answer_too_large" above the
 * ceiling, "http_ended" when the sink wanted no more or it was cancelled; ERR_FATAL
 * EXIT_CONFIG "http_tls" when the server's certificate or ours is refused, "http_bad_url"
 * for an unusable address. Messages show the address as uri_show() does.
 */
enum err_kind http_call(struct http *http,
                        const struct http_request *request,
                        struct http_response *ret_response,
                        struct err *err);

/* Appends `text` percent-encoded as one segment of a path. */
void http_add_escaped(struct buf *out, struct slice text);
