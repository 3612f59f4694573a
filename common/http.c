/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP by libcurl. */
#include "http.h"

#include "cleanup.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    CONNECT_TIMEOUT_MS = 5000,
    TIMEOUT_MS = 30000,
    MAX_REDIRECTS = 3,
};

#define MAX_ANSWER_BYTES ((size_t)4 << 20)

struct http {
    CURL *curl;
    size_t max_bytes;
    char detail[CURL_ERROR_SIZE]; /* libcurl's own words about the last failure */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
start_library(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void
apply(CURL *curl, const struct http_settings *s)
{
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)MAX_REDIRECTS);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "heddle/" HEDDLE_VERSION);
    curl_easy_setopt(
        curl, CURLOPT_CONNECTTIMEOUT_MS,
        (long)(s->connect_timeout_ms ? s->connect_timeout_ms : CONNECT_TIMEOUT_MS));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                     (long)(s->timeout_ms ? s->timeout_ms : TIMEOUT_MS));
    if (s->username) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(curl, CURLOPT_USERNAME, s->username);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, s->password ? s->password : "");
    }
    if (s->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, s->ca_file);
    if (s->cert_file)
        curl_easy_setopt(curl, CURLOPT_SSLCERT, s->cert_file);
    if (s->key_file)
        curl_easy_setopt(curl, CURLOPT_SSLKEY, s->key_file);
}

struct http *
http_new(const struct http_settings *settings, struct err *err)
{
    pthread_once(&once, start_library);
    struct http *http = calloc(1, sizeof *http);
    if (http)
        http->curl = curl_easy_init();
    if (!http || !http->curl) {
        http_free(http);
        err_no_memory(err, "the HTTP client");
        return NULL;
    }
    http->max_bytes = settings->max_bytes ? settings->max_bytes : MAX_ANSWER_BYTES;
    curl_easy_setopt(http->curl, CURLOPT_ERRORBUFFER, http->detail);
    apply(http->curl, settings);
    return http;
}

void
http_free(struct http *http)
{
    if (!http)
        return;
    if (http->curl)
        curl_easy_cleanup(http->curl);
    free(http);
}

void
http_response_done(struct http_response *response)
{
    buf_done(&response->body);
}

static size_t
on_body(char *data, size_t size, size_t n, void *state)
{
    struct buf *body = state;
    buf_add(body, data, size * n);
    return body->failed ? 0 : size * n;
}

static enum err_kind
explain(const struct http *http,
        CURLcode code,
        const struct http_request *request,
        const struct buf *body,
        struct err *err)
{
    const char *why = http->detail[0] ? http->detail : curl_easy_strerror(code);
    if (body->failed)
        return err_set(err, ERR_RETRY, "http_answer_too_large",
                       "%s answered with more than %zu bytes", request->url,
                       http->max_bytes);
    switch ((int)code) {
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, ERR_RETRY, "http_timeout", "%s: %s", request->url, why);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
        return err_fatal(err, EXIT_CONFIG, "http_tls",
                         "%s: %s; check the CA and client certificate files",
                         request->url, why);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return err_fatal(err, EXIT_CONFIG, "http_bad_url",
                         "%s: %s; an address starts with http:// or https://",
                         request->url, why);
    case CURLE_OUT_OF_MEMORY:
        return err_no_memory(err, "an HTTP request");
    default:
        return err_set(err, ERR_RETRY, "http_unreachable", "%s: %s", request->url, why);
    }
}

/* A header line "NAME: VALUE" added to the list; the list is freed when that fails. */
static bool
add_header(struct curl_slist **list, const char *name, const char *value)
{
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    buf_addf(&line, "%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(*list, buf_text(&line));
    if (longer)
        *list = longer;
    return longer != NULL;
}

static void
free_list(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

static void
set_request(CURL *curl, const struct http_request *request, struct buf *body)
{
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    if (request->body.data) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)request->body.len);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.data);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
}

enum err_kind
http_call(struct http *http,
          const struct http_request *request,
          struct http_response *ret_response,
          struct err *err)
{
    CLEANUP(free_list) struct curl_slist *headers = NULL;
    if ((request->content_type &&
         !add_header(&headers, "Content-Type", request->content_type)) ||
        (request->accept && !add_header(&headers, "Accept", request->accept)))
        return err_no_memory(err, "an HTTP request");

    CLEANUP(buf_done) struct buf body;
    buf_init(&body, http->max_bytes);
    set_request(http->curl, request, &body);
    curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, headers);
    http->detail[0] = '\0';
    CURLcode code = curl_easy_perform(http->curl);
    curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, NULL);
    if (code != CURLE_OK)
        return explain(http, code, request, &body, err);

    long status = 0;
    curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
    *ret_response = (struct http_response){status, body};
    body = BUF_INIT;
    return ERR_OK;
}

void
http_add_escaped(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '-' || c == '.' || c == '_' || c == '~')
            buf_add_byte(out, (char)c);
        else
            buf_addf(out, "%%%02X", c);
    }
}
