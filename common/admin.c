/* SPDX-License-Identifier: Apache-2.0 */
/* The admin port over libmicrohttpd. */
#include "admin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "cleanup.h"

enum { MAX_CONNECTIONS = 32, IDLE_SECONDS = 15, HOST_BYTES = 64, MAX_PORT = 65535 };

struct admin {
    struct MHD_Daemon *daemon;
    struct admin_pages pages;
    int port;
};

struct page {
    const char *path;
    const char *content_type;
    unsigned (*fill)(const struct admin_pages *pages, struct buf *out);
};

static unsigned
fill_metrics(const struct admin_pages *pages, struct buf *out)
{
    pages->metrics(pages->state, out);
    return MHD_HTTP_OK;
}

static unsigned
fill_alive(const struct admin_pages *pages, struct buf *out)
{
    bool alive = pages->alive(pages->state);
    buf_addf(out, "{\"alive\":%s}\n", alive ? "true" : "false");
    return alive ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static unsigned
fill_ready(const struct admin_pages *pages, struct buf *out)
{
    return pages->ready(pages->state, out) ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static const struct page pages_known[] = {
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", fill_metrics},
    {"/healthz", "application/json", fill_alive},
    {"/readyz", "application/json", fill_ready},
};

static enum MHD_Result
answer(struct MHD_Connection *connection,
       unsigned status,
       const char *content_type,
       struct buf *body)
{
    size_t len = body->len;
    char *text = buf_take(body, &len);
    if (!text)
        return MHD_NO;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result
on_request(void *state,
           struct MHD_Connection *connection,
           const char *path,
           const char *method,
           const char *version,
           const char *upload,
           size_t *upload_size,
           void **request)
{
    (void)version;
    (void)upload;
    (void)request;
    const struct admin *admin = state;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    if (*upload_size > 0) {
        *upload_size = 0; /* thrown away; answered below once all of it came */
        return MHD_YES;
    }
    bool get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (!get) {
        buf_add_str(&body, "only GET\n");
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", &body);
    }
    for (size_t i = 0; i < sizeof pages_known / sizeof pages_known[0]; i++) {
        if (strcmp(path, pages_known[i].path) != 0)
            continue;
        unsigned status = pages_known[i].fill(&admin->pages, &body);
        return answer(connection, status, pages_known[i].content_type, &body);
    }
    buf_add_str(&body, "/metrics, /healthz, /readyz\n");
    return answer(connection, MHD_HTTP_NOT_FOUND, "text/plain", &body);
}

/* "127.0.0.1:9100" or "[::1]:9100". */
static bool
parse_address(const char *text, struct sockaddr_storage *ret, socklen_t *ret_len)
{
    char host[HOST_BYTES];
    const char *colon = strrchr(text, ':');
    bool brackets = text[0] == '[';
    if (!colon || (brackets && (colon == text || colon[-1] != ']')))
        return false;
    size_t len = (size_t)(colon - text) - (brackets ? 2 : 0);
    if (len >= sizeof host)
        return false;
    memcpy(host, text + brackets, len);
    host[len] = '\0';
    char *end = NULL;
    errno = 0;
    long port = strtol(colon + 1, &end, 10);
    if (errno || end == colon + 1 || *end || port < 0 || port > MAX_PORT)
        return false;
    memset(ret, 0, sizeof *ret);
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)ret;
    if (!brackets && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((in_port_t)port);
        *ret_len = sizeof *v4;
        return true;
    }
    if (!brackets || inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
        return false;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((in_port_t)port);
    *ret_len = sizeof *v6;
    return true;
}

/* -1 with errno. */
static int
listen_on(const struct sockaddr_storage *address, socklen_t len)
{
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1;
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(fd, (const struct sockaddr *)address, len) == 0 &&
        listen(fd, MAX_CONNECTIONS) == 0)
        return fd;
    int failed = errno;
    close(fd);
    errno = failed;
    return -1;
}

static int
port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.v6 = {0}};
    socklen_t len = sizeof address;
    if (getsockname(fd, &address.any, &len))
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
                                                   : address.v4.sin_port);
}

/* Its thread leaves the process's signals to the watchdog. */
static struct MHD_Daemon *
start_daemon(struct admin *admin, int fd)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL, on_request, admin,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
        MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

struct admin *
admin_start(const char *address, const struct admin_pages *pages, struct err *err)
{
    struct sockaddr_storage where;
    socklen_t len = 0;
    if (!parse_address(address, &where, &len)) {
        err_fatal(err, EXIT_CONFIG, "admin_address",
                  "admin = %s: a numeric host and a port are wanted, 127.0.0.1:9100 or "
                  "[::1]:0, or off",
                  address);
        return NULL;
    }
    struct admin *admin = calloc(1, sizeof *admin);
    if (!admin) {
        err_no_memory(err, "the admin port");
        return NULL;
    }
    admin->pages = *pages;
    int fd = listen_on(&where, len);
    int failed = errno;
    if (fd >= 0) {
        admin->port = port_of(fd);
        admin->daemon = start_daemon(admin, fd);
        failed = errno;
    }
    if (admin->daemon)
        return admin;
    if (fd >= 0)
        close(fd);
    free(admin);
    err_fatal(err, EXIT_CONFIG, "admin_unusable",
              "the admin port %s can't be used: %s; set admin to another, or off",
              address, strerror(failed));
    return NULL;
}

void
admin_stop(struct admin *admin)
{
    if (!admin)
        return;
    MHD_stop_daemon(admin->daemon);
    free(admin);
}

int
admin_port(const struct admin *admin)
{
    return admin->port;
}
