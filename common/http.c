/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP by libcurl. */
#include "http.h"

#include "cleanup.h"
#include "uri.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

enum {
    CONNECT_TIMEOUT_MS = 5000,
    TIMEOUT_MS = 30000,
    MAX_REDIRECTS = 3,
    MAX_SHOWN_URL = 301,
    STATUS_OK = 200,
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
apply_times(CURL *curl, const struct http_settings *s)
{
    int64_t connect_ms = s->connect_timeout_ms;
    int64_t whole_ms = s->timeout_ms ? s->timeout_ms : TIMEOUT_MS;
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)(connect_ms ? connect_ms : CONNECT_TIMEOUT_MS));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                     whole_ms == HTTP_NO_TIMEOUT ? 0L : (long)whole_ms);
    if (s->stall_timeout_ms) {
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                         (long)((s->stall_timeout_ms + 999) / 1000));
    }
}

/* Asked about every second, and when something moves. */
static int
is_cancelled(
    void *state, curl_off_t to_get, curl_off_t got, curl_off_t to_put, curl_off_t put)
{
    const atomic_bool *cancelled = state;
    (void)to_get;
    (void)got;
    (void)to_put;
    (void)put;
    return atomic_load_explicit(cancelled, memory_order_relaxed);
}

static void
apply_cancelled(CURL *curl, const struct http_settings *s)
{
    if (!s->cancelled)
        return;
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_cancelled);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, s->cancelled);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

static void
apply(CURL *curl, const struct http_settings *s)
{
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, s->signature ? 0L : 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)MAX_REDIRECTS);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "heddle/" HEDDLE_VERSION);
    apply_times(curl, s);
    apply_cancelled(curl, s);
    if (s->signature) {
        curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, s->signature);
        curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    } else if (s->username) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
    }
    if (s->username) {
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

/* --- one request ------------------------------------------------------------------- */

/* A request on its way. */
struct exchange {
    CURL *curl;
    const struct http_request *request;
    struct buf body; /* of the answer */
    bool is_ended;   /* the sink wanted no more */
    int64_t sent;    /* of the upload */
};

static long
status_of(CURL *curl)
{
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t
on_body(char *data, size_t size, size_t n, void *state)
{
    struct exchange *exchange = state;
    const struct http_sink *sink = exchange->request->sink;
    if (sink && status_of(exchange->curl) == STATUS_OK) {
        exchange->is_ended = !sink->take(sink->state, (struct slice){data, size * n});
        return exchange->is_ended ? 0 : size * n;
    }
    size_t room = exchange->body.max - exchange->body.len;
    if (sink && size * n > room) { /* an error page: its status is what matters */
        buf_add(&exchange->body, data, room);
        return size * n;
    }
    buf_add(&exchange->body, data, size * n);
    return exchange->body.failed ? 0 : size * n;
}

static size_t
on_upload(char *data, size_t size, size_t n, void *state)
{
    struct exchange *exchange = state;
    const struct http_upload *upload = exchange->request->upload;
    int64_t left = upload->bytes - exchange->sent;
    size_t cap = size * n;
    if (left < (int64_t)cap)
        cap = (size_t)left;
    ssize_t len;
    do {
        len = pread(upload->fd, data, cap, (off_t)exchange->sent);
    } while (len < 0 && errno == EINTR);
    if (len < 0 || (len == 0 && left > 0))
        return CURL_READFUNC_ABORT;
    exchange->sent += len;
    return (size_t)len;
}

static int
on_seek(void *state, curl_off_t offset, int origin)
{
    struct exchange *exchange = state;
    if (origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    exchange->sent = offset;
    return CURL_SEEKFUNC_OK;
}

static bool
is_redirected(CURL *curl)
{
    long n = 0;
    curl_easy_getinfo(curl, CURLINFO_REDIRECT_COUNT, &n);
    return n > 0;
}

static enum err_kind
explain(const struct http *http,
        CURLcode code,
        const struct exchange *exchange,
        struct err *err)
{
    char url[MAX_SHOWN_URL];
    uri_show(slice_of(exchange->request->url), url, sizeof url);
    const char *why = http->detail[0] ? http->detail : curl_easy_strerror(code);
    if (exchange->is_ended)
        return err_set(err, ERR_RETRY, "http_ended", "%s: more than wanted", url);
    if (exchange->body.failed)
        return err_set(err, ERR_RETRY, "http_answer_too_large",
                       "%s answered with more than %zu bytes", url, http->max_bytes);
    switch ((int)code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return err_set(err, ERR_RETRY, "http_ended", "%s: cancelled", url);
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, ERR_RETRY, "http_timeout", "%s: %s", url, why);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
        return err_fatal(err, EXIT_CONFIG, "http_tls",
                         "%s: %s; check the CA and client certificate files", url, why);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        if (is_redirected(http->curl))
            return err_set(err, ERR_RETRY, "http_unreachable",
                           "%s: it points to an address that is not followed: %s", url,
                           why);
        return err_fatal(err, EXIT_CONFIG, "http_bad_url",
                         "%s: %s; an address starts with http:// or https://", url, why);
    case CURLE_OUT_OF_MEMORY:
        return err_no_memory(err, "an HTTP request");
    default:
        return err_set(err, ERR_RETRY, "http_unreachable", "%s: %s", url, why);
    }
}

/* A header line "NAME: VALUE" added to the list. */
static bool
add_header(struct curl_slist **list, const char *name, const char *value)
{
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    buf_addf(&line, "%s: %s", name, value);
    if (line.failed)
        return false;
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

static bool
add_headers(struct curl_slist **list, const struct http_request *request)
{
    if ((request->content_type &&
         !add_header(list, "Content-Type", request->content_type)) ||
        (request->accept && !add_header(list, "Accept", request->accept)))
        return false;
    for (const char *const *line = request->headers; line && *line; line++) {
        struct curl_slist *longer = curl_slist_append(*list, *line);
        if (!longer)
            return false;
        *list = longer;
    }
    return true;
}

static void
set_upload(CURL *curl, struct exchange *exchange)
{
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE,
                     (curl_off_t)exchange->request->upload->bytes);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_upload);
    curl_easy_setopt(curl, CURLOPT_READDATA, exchange);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, exchange);
}

static void
set_request(CURL *curl, struct exchange *exchange)
{
    const struct http_request *request = exchange->request;
    bool is_secure = strncasecmp(request->url, "https:", 6) == 0;
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR,
                     is_secure ? "https" : "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    if (request->body.data) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)request->body.len);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.data);
    }
    if (request->upload)
        set_upload(curl, exchange);
    curl_easy_setopt(curl, CURLOPT_NOBODY,
                     strcmp(request->method, "HEAD") == 0 ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
}

static void
exchange_done(struct exchange *exchange)
{
    buf_done(&exchange->body);
}

enum err_kind
http_call(struct http *http,
          const struct http_request *request,
          struct http_response *ret_response,
          struct err *err)
{
    CLEANUP(free_list) struct curl_slist *headers = NULL;
    CLEANUP(exchange_done)
    struct exchange exchange = {.curl = http->curl, .request = request};
    buf_init(&exchange.body, http->max_bytes);
    if (!add_headers(&headers, request))
        return err_no_memory(err, "an HTTP request");
    set_request(http->curl, &exchange);
    curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, headers);
    http->detail[0] = '\0';
    CURLcode code = curl_easy_perform(http->curl);
    curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, NULL);
    if (code != CURLE_OK)
        return explain(http, code, &exchange, err);
    *ret_response = (struct http_response){status_of(http->curl), exchange.body};
    exchange.body = BUF_INIT;
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
