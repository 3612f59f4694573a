/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file, files that values refer to, and the state folder. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "ini.h"

/* How long the embedded broker has to take a connection; it is on this machine. */
enum { DEV_PROBE_MS = 500, BROKERS_PROBED = 8, ADDRESS_BYTES = 512 };

static const char here_path[] = "./heddle.ini";
static const char system_path[] = "/etc/heddle/heddle.ini";

static void
close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static void
free_text(char **text)
{
    free(*text);
}

/* --- reading a file ---------------------------------------------------------------- */

static enum err_kind
unreadable(const char *path, const char *why, struct err *err)
{
    return err_fatal(err, EXIT_CONFIG, "config_unreadable", "%s can't be read: %s", path,
                     why);
}

static enum err_kind
read_all(int fd, const char *path, struct buf *out, struct err *err)
{
    char piece[4096];
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return unreadable(path, strerror(errno), err);
        if (n == 0)
            return ERR_OK;
        if (out->len + (size_t)n > CONFIG_FILE_BYTES)
            return unreadable(path, "it is above 1 MiB", err);
        buf_add(out, piece, (size_t)n);
        if (out->failed)
            return err_no_memory(err, path);
    }
}

static enum err_kind
read_file(const char *path, struct buf *out, struct err *err)
{
    CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return unreadable(path, strerror(errno), err);
    return read_all(fd, path, out, err);
}

enum err_kind
config_read_value(void *state, const char *path, struct buf *out, struct err *err)
{
    (void)state;
    enum err_kind kind = read_file(path, out, err);
    if (kind)
        return kind;
    if (out->len && out->data[out->len - 1] == '\n')
        out->len--;
    if (out->len && out->data[out->len - 1] == '\r')
        out->len--;
    return ERR_OK;
}

struct target {
    struct options *options;
    const char *path;
};

static enum err_kind
set_key(void *state,
        int line,
        const char *section,
        const char *name,
        const char *value,
        struct err *err)
{
    const struct target *target = state;
    return options_set_file(target->options, target->path, line, section, name, value,
                            err);
}

enum err_kind
config_read(struct options *options, const char *path, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    enum err_kind kind = read_file(path, &text, err);
    if (kind)
        return kind;
    struct target target = {options, path};
    return ini_parse(path, buf_slice(&text), set_key, &target, err);
}

/* --- the state folder --------------------------------------------------------------- */

static char *
state_unusable(const char *path, const char *why, struct err *err)
{
    err_fatal(err, EXIT_CONFIG, "state_dir_unusable",
              "state folder %s: %s; set state_dir in [heddle] or XDG_STATE_HOME", path,
              why);
    return NULL;
}

static bool
make_dirs(char *path)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        bool failed = mkdir(path, 0700) < 0 && errno != EEXIST;
        *c = '/';
        if (failed)
            return false;
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return false;
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    errno = ENOTDIR;
    return S_ISDIR(st.st_mode);
}

/* Folder without `sub`; a relative XDG_STATE_HOME is to be ignored by its standard. */
static bool
add_root(struct buf *path, const char *root)
{
    const char *xdg = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    if (root)
        buf_add_str(path, root);
    else if (xdg && xdg[0] == '/')
        buf_addf(path, "%s/heddle", xdg);
    else if (home && home[0] == '/')
        buf_addf(path, "%s/.local/state/heddle", home);
    else
        return false;
    return true;
}

char *
config_state_dir(const char *root, const char *sub, bool make, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    if (!add_root(&path, root))
        return state_unusable("", "neither XDG_STATE_HOME nor HOME is set", err);
    if (sub)
        buf_addf(&path, "/%s", sub);
    char *text = buf_take(&path, NULL);
    if (!text) {
        err_no_memory(err, "the path of the state folder");
        return NULL;
    }
    if (!make || make_dirs(text))
        return text;
    state_unusable(text, strerror(errno), err);
    free(text);
    return NULL;
}

char *
config_dev_file(struct err *err)
{
    return config_state_dir(NULL, "dev/heddle.ini", false, err);
}

/* --- does a broker answer? -----------------------------------------------------------
 */

static bool
connects(const struct addrinfo *address, int timeout_ms)
{
    CLEANUP(close_fd)
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return true;
    if (errno != EINPROGRESS)
        return false;
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int n = 0;
    do {
        int64_t left = deadline - clock_monotonic_ms();
        n = poll(&wait, 1, left > 0 ? (int)left : 0);
    } while (n < 0 && errno == EINTR);
    int error = 0;
    socklen_t size = sizeof error;
    return n == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
           error == 0;
}

/* `address` is host:port or [host]:port, cut in place. */
static bool
broker_answers(char *address, int timeout_ms)
{
    char *port = strrchr(address, ':');
    if (!port)
        return false;
    *port++ = '\0';
    size_t len = strlen(address);
    if (address[0] == '[' && len > 1 && address[len - 1] == ']') {
        address[len - 1] = '\0';
        address++;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (getaddrinfo(address, port, &hints, &found) != 0)
        return false;
    bool answers = false;
    for (struct addrinfo *a = found; a && !answers; a = a->ai_next)
        answers = connects(a, timeout_ms);
    freeaddrinfo(found);
    return answers;
}

bool
config_brokers_answer(const char *brokers, int timeout_ms)
{
    char address[ADDRESS_BYTES];
    bool answers = false;
    for (int i = 0; !answers && *brokers && i < BROKERS_PROBED; i++) {
        brokers += strspn(brokers, ", ");
        size_t len = strcspn(brokers, ", ");
        snprintf(address, sizeof address, "%.*s", (int)len, brokers);
        const char *scheme = strstr(address, "://");
        char *start = address + (scheme ? scheme + 3 - address : 0);
        answers = broker_answers(start, timeout_ms);
        brokers += len;
    }
    return answers;
}

/* --- which file ----------------------------------------------------------------------
 */

void
config_file_done(struct config_file *file)
{
    free(file->path);
    *file = (struct config_file){0};
}

static enum err_kind
found(enum config_place place,
      const char *path,
      struct config_file *ret_file,
      struct err *err)
{
    char *copy = strdup(path);
    if (!copy)
        return err_no_memory(err, "the path of the configuration");
    *ret_file = (struct config_file){place, copy};
    return ERR_OK;
}

static bool
exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Keeps `brokers` of [heddle]; everything else is for the real reading. */
static enum err_kind
take_brokers(void *state,
             int line,
             const char *section,
             const char *name,
             const char *value,
             struct err *err)
{
    (void)line;
    (void)err;
    if (strcmp(section, "heddle") == 0 && strcmp(name, "brokers") == 0)
        buf_add_str(state, value);
    return ERR_OK;
}

static bool
dev_broker_answers(const char *path)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf brokers = BUF_INIT;
    if (read_file(path, &text, NULL) ||
        ini_parse(path, buf_slice(&text), take_brokers, &brokers, NULL))
        return false;
    return config_brokers_answer(buf_text(&brokers), DEV_PROBE_MS);
}

enum err_kind
config_find(const char *flag, struct config_file *ret_file, struct err *err)
{
    const char *variable = getenv("HEDDLE_CONFIG");
    if (flag)
        return found(CONFIG_FLAG, flag, ret_file, err);
    if (variable && *variable)
        return found(CONFIG_VARIABLE, variable, ret_file, err);
    if (exists(here_path))
        return found(CONFIG_HERE, here_path, ret_file, err);
    CLEANUP(free_text) char *dev = config_dev_file(NULL);
    if (dev && exists(dev) && dev_broker_answers(dev))
        return found(CONFIG_DEV, dev, ret_file, err);
    if (exists(system_path))
        return found(CONFIG_SYSTEM, system_path, ret_file, err);
    *ret_file = (struct config_file){CONFIG_NONE, NULL};
    return ERR_OK;
}
