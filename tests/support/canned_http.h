/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server inside the test that answers from a table: outages, slowness, wrong
 * passwords and broken answers on request. Listens on a free port of 127.0.0.1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct canned_http;

/* The first row whose method and path fit answers; no row: 404 {"error_code":40403}. */
struct canned_answer {
    const char *method; /* NULL: any */
    const char *path;   /* with the query; NULL: any */
    unsigned status;
    const char *body;
    unsigned delay_ms;     /* before the answer */
    const char *without;   /* a header that the request must not have; NULL: none */
    const char *header[2]; /* a further one: its name and its value; NULL: none */
    size_t cut_after;      /* bytes of the body, then the connection breaks; 0: never */
};

struct canned_options {
    const char *username; /* basic authentication wanted, else 401 */
    const char *password;
    const char *cert_file; /* PEM files: TLS */
    const char *key_file;
};

/* `options` may be NULL. Fails the test when it can't start. */
struct canned_http *canned_http_start(const struct canned_options *options);
void canned_http_stop(struct canned_http *server);
/* From now on its address, another one, refuses connections. */
void canned_http_refuse(struct canned_http *server);
/* From the next request on; the rows are borrowed. */
void canned_http_answer(struct canned_http *server,
                        const struct canned_answer *answers,
                        size_t n_answers);
/* Base address, "http://127.0.0.1:PORT" (https with TLS). Borrowed. */
const char *canned_http_url(const struct canned_http *server);
/* Requests seen so far. */
unsigned canned_http_requests(const struct canned_http *server);
/* A header of the last request, "" when it had none; borrowed until the next one. */
const char *canned_http_last_header(struct canned_http *server, const char *name);
/* "PUT /path?query" of the last request; borrowed until the next one. */
const char *canned_http_last_line(struct canned_http *server);
/* Body of the last request, terminated; borrowed until the next one. */
const char *canned_http_last_body(struct canned_http *server);
