/* SPDX-License-Identifier: Apache-2.0 */
/* A server that answers from a table. */
#include "canned_http.h"

#include "unit.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_FILE_BYTES = 64 * 1024,
    MAX_BODY_BYTES = 64 * 1024,
    MAX_HEADERS = 32,
    HEADER_BYTES = 1024,
    URL_BYTES = 64,
    LINE_BYTES = 1024,
};

struct header {
    char name[64];
    char value[HEADER_BYTES];
};

struct canned_http {
    struct MHD_Daemon *daemon; /* NULL: it refuses connections */
    int held_fd;               /* of a port that is refused; -1: none */
    struct canned_options options;
    char *cert;
    char *key;
    char url[URL_BYTES];
    pthread_mutex_t lock;
    const struct canned_answer *answers;
    size_t n_answers;
    atomic_uint requests;
    char last_body[MAX_BODY_BYTES];
    char last_line[LINE_BYTES];
    struct header headers[MAX_HEADERS];
    size_t n_headers;
};

/* The body of one request while it arrives. */
struct upload {
    size_t len;
    char body[MAX_BODY_BYTES];
};

static char *
read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char *text = calloc(1, MAX_FILE_BYTES);
    assert_non_null(text);
    size_t n = fread(text, 1, MAX_FILE_BYTES - 1, file);
    assert_true(n > 0);
    fclose(file);
    return text;
}

static struct canned_answer
find(struct canned_http *server, const char *method, const char *path)
{
    struct canned_answer found = {
        .status = 404, .body = "{\"error_code\":40403,\"message\":\"not there\"}"};
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->n_answers; i++) {
        const struct canned_answer *a = &server->answers[i];
        if ((a->method && strcmp(a->method, method) != 0) ||
            (a->path && strcmp(a->path, path) != 0) ||
            (a->without && *canned_http_last_header(server, a->without)))
            continue;
        found = *a;
        break;
    }
    pthread_mutex_unlock(&server->lock);
    return found;
}

static bool
may_enter(const struct canned_http *server, struct MHD_Connection *connection)
{
    if (!server->options.username)
        return true;
    char *password = NULL;
    char *username = MHD_basic_auth_get_username_password(connection, &password);
    bool fits = username && password && strcmp(username, server->options.username) == 0 &&
                strcmp(password, server->options.password) == 0;
    MHD_free(username);
    MHD_free(password);
    return fits;
}

static ssize_t
give_part(void *state, uint64_t at, char *buf, size_t cap)
{
    const struct canned_answer *with = state;
    size_t left = with->cut_after - (size_t)at;
    if (left == 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t n = left < cap ? left : cap;
    memcpy(buf, with->body + at, n);
    return (ssize_t)n;
}

static struct MHD_Response *
response_of(const struct canned_answer *with)
{
    const char *body = with->body ? with->body : "";
    if (!with->cut_after)
        return MHD_create_response_from_buffer(strlen(body), (void *)(uintptr_t)body,
                                               MHD_RESPMEM_MUST_COPY);
    struct canned_answer *copy = malloc(sizeof *copy);
    assert_non_null(copy);
    *copy = *with;
    return MHD_create_response_from_callback(strlen(body), with->cut_after, give_part,
                                             copy, free);
}

static enum MHD_Result
answer(struct MHD_Connection *connection, const struct canned_answer *with)
{
    if (with->delay_ms) {
        struct timespec delay = {with->delay_ms / 1000,
                                 (long)(with->delay_ms % 1000) * 1000000};
        nanosleep(&delay, NULL);
    }
    struct MHD_Response *response = response_of(with);
    if (with->header[0])
        MHD_add_response_header(response, with->header[0], with->header[1]);
    enum MHD_Result result = MHD_queue_response(connection, with->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result
keep_header(void *state, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct canned_http *server = state;
    if (server->n_headers == MAX_HEADERS)
        return MHD_NO;
    struct header *header = &server->headers[server->n_headers++];
    snprintf(header->name, sizeof header->name, "%s", name);
    snprintf(header->value, sizeof header->value, "%s", value ? value : "");
    return MHD_YES;
}

static void
keep_request(struct canned_http *server,
             struct MHD_Connection *connection,
             const char *method,
             const char *path,
             const struct upload *upload)
{
    pthread_mutex_lock(&server->lock);
    memcpy(server->last_body, upload->body, upload->len + 1);
    snprintf(server->last_line, sizeof server->last_line, "%s %s", method, path);
    server->n_headers = 0;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, keep_header, server);
    pthread_mutex_unlock(&server->lock);
}

static enum MHD_Result
on_request(void *state,
           struct MHD_Connection *connection,
           const char *path,
           const char *method,
           const char *version,
           const char *data,
           size_t *data_size,
           void **request)
{
    (void)version;
    struct canned_http *server = state;
    struct upload *upload = *request;
    if (!upload) {
        *request = calloc(1, sizeof *upload);
        return *request ? MHD_YES : MHD_NO;
    }
    if (*data_size > 0) {
        size_t room = sizeof upload->body - 1 - upload->len;
        size_t n = *data_size < room ? *data_size : room;
        memcpy(upload->body + upload->len, data, n);
        upload->len += n;
        *data_size = 0;
        return MHD_YES;
    }
    atomic_fetch_add(&server->requests, 1);
    keep_request(server, connection, method, path, upload);
    struct canned_answer with = {.status = 401, .body = "{\"error_code\":40101}"};
    if (may_enter(server, connection))
        with = find(server, method, path);
    return answer(connection, &with);
}

static void
on_end(void *state,
       struct MHD_Connection *connection,
       void **request,
       enum MHD_RequestTerminationCode code)
{
    (void)state;
    (void)connection;
    (void)code;
    free(*request);
    *request = NULL;
}

static struct MHD_Daemon *
start(struct canned_http *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, server->cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, server->key},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(server->cert ? flags | MHD_USE_TLS : flags, 0, NULL, NULL,
                            on_request, server, MHD_OPTION_SOCK_ADDR, &address,
                            MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_ARRAY,
                            server->cert ? tls : none, MHD_OPTION_END);
}

struct canned_http *
canned_http_start(const struct canned_options *options)
{
    struct canned_http *server = calloc(1, sizeof *server);
    assert_non_null(server);
    server->held_fd = -1;
    pthread_mutex_init(&server->lock, NULL);
    if (options)
        server->options = *options;
    if (server->options.cert_file) {
        server->cert = read_text(server->options.cert_file);
        server->key = read_text(server->options.key_file);
    }
    server->daemon = start(server);
    assert_non_null(server->daemon);
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    assert_non_null(info);
    snprintf(server->url, sizeof server->url, "%s://127.0.0.1:%u",
             server->cert ? "https" : "http", info->port);
    return server;
}

void
canned_http_stop(struct canned_http *server)
{
    if (!server)
        return;
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    if (server->held_fd >= 0)
        close(server->held_fd);
    pthread_mutex_destroy(&server->lock);
    free(server->cert);
    free(server->key);
    free(server);
}

/* A socket that is bound and does not listen: nobody else gets its port meanwhile. */
void
canned_http_refuse(struct canned_http *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    MHD_stop_daemon(server->daemon);
    server->daemon = NULL;
    server->held_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->held_fd >= 0);
    assert_int_equal(bind(server->held_fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(server->held_fd, (struct sockaddr *)&address, &len), 0);
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%u",
             ntohs(address.sin_port));
}

void
canned_http_answer(struct canned_http *server,
                   const struct canned_answer *answers,
                   size_t n_answers)
{
    pthread_mutex_lock(&server->lock);
    server->answers = answers;
    server->n_answers = n_answers;
    pthread_mutex_unlock(&server->lock);
}

const char *
canned_http_url(const struct canned_http *server)
{
    return server->url;
}

unsigned
canned_http_requests(const struct canned_http *server)
{
    return atomic_load(&server->requests);
}

const char *
canned_http_last_body(struct canned_http *server)
{
    return server->last_body;
}

const char *
canned_http_last_line(struct canned_http *server)
{
    return server->last_line;
}

const char *
canned_http_last_header(struct canned_http *server, const char *name)
{
    for (size_t i = 0; i < server->n_headers; i++)
        if (strcasecmp(server->headers[i].name, name) == 0)
            return server->headers[i].value;
    return "";
}
