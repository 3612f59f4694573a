/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heddle dev: the embedded broker as a service of this user. What runs is written down in
 * the state folder: `pid` (process id, its start time, port), `broker.log`, and
 * `heddle.ini`, which workers and heddle pick up while the broker answers.
 */
#include "verb.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "config.h"
#include "kafka.h"

enum {
    PATH_BYTES = 4096,
    LINE_BYTES = 512,
    START_TIMEOUT_MS = 20000,
    STOP_TIMEOUT_MS = 10000,
    METADATA_TIMEOUT_MS = 5000,
    STEP_MS = 20,
};

#define BROKER_PROGRAM "heddle-devbroker"
/* The kernel keeps 15 bytes of a process's name. */
#define BROKER_COMM "heddle-devbroke"

static struct {
    int64_t port;
} settings;

static const struct option dev_options[] = {
    {.name = "port",
     .type = OPTION_INT,
     .offset = 0,
     .value = "19092",
     .max = 65535,
     .arg = "N",
     .traits = OPTION_CLI_ONLY,
     .help = "With up: port on 127.0.0.1; 0 for a free one."},
};

/* A running broker, as the file `pid` has it. */
struct dev_broker {
    pid_t pid;                  /* 0: none */
    unsigned long long started; /* clock ticks after boot: tells a reused pid apart */
    int port;
};

static void
free_textp(char **text)
{
    free(*text);
}

static void
close_fdp(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* --- which process ------------------------------------------------------------------ */

/* Start time of `pid` when it is one of our brokers; 0 when it is not. */
static unsigned long long
start_time_of(pid_t pid)
{
    char path[64];
    char stat[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    CLEANUP(close_fdp) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, stat, sizeof stat - 1);
    if (n <= 0)
        return 0;
    stat[n] = '\0';
    /* pid (name) state ... the 22nd field is the start time. */
    char *name = strchr(stat, '(');
    char *rest = strrchr(stat, ')');
    if (!name || !rest || strncmp(name + 1, BROKER_COMM, strlen(BROKER_COMM)) != 0)
        return 0;
    if (rest[1] && rest[2] == 'Z')
        return 0; /* ended, not reaped yet */
    int field = 2;
    for (rest++; *rest && field < 22; rest++)
        field += *rest == ' ';
    return strtoull(rest, NULL, 10);
}

static void
read_state(const char *dir, struct dev_broker *ret)
{
    char path[PATH_BYTES];
    char line[LINE_BYTES];
    *ret = (struct dev_broker){0};
    snprintf(path, sizeof path, "%s/pid", dir);
    CLEANUP(close_fdp) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (n <= 0)
        return;
    line[n] = '\0';
    char *at = line;
    long pid = strtol(at, &at, 10);
    unsigned long long started = strtoull(at, &at, 10);
    long port = strtol(at, &at, 10);
    if (pid <= 0 || !started || port <= 0 || port > 65535 ||
        start_time_of((pid_t)pid) != started)
        return;
    *ret = (struct dev_broker){(pid_t)pid, started, (int)port};
}

/* --- files -------------------------------------------------------------------------- */

/* Whole or not at all: written beside and renamed. */
static enum err_kind
write_file(const char *dir, const char *name, const struct buf *text, struct err *err)
{
    char path[PATH_BYTES];
    char beside[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    snprintf(beside, sizeof beside, "%s/.%s.new", dir, name);
    FILE *out = fopen(beside, "we");
    bool written = out && fwrite(text->data, 1, text->len, out) == text->len;
    if (out && fclose(out))
        written = false;
    if (written && rename(beside, path) == 0)
        return ERR_OK;
    return err_fatal(err, EXIT_CONFIG, "state_dir_unusable", "%s can't be written: %s",
                     path, strerror(errno));
}

static void
remove_file(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    unlink(path);
}

static void
forget(const char *dir)
{
    remove_file(dir, "heddle.ini");
    remove_file(dir, "pid");
}

static enum err_kind
remember(const char *dir, const struct dev_broker *broker, struct err *err)
{
    CLEANUP(buf_done) struct buf pid = BUF_INIT;
    CLEANUP(buf_done) struct buf ini = BUF_INIT;
    buf_addf(&pid, "%d %llu %d\n", (int)broker->pid, broker->started, broker->port);
    buf_addf(&ini,
             "# Written by heddle dev up, removed by heddle dev down.\n"
             "[heddle]\n"
             "brokers = 127.0.0.1:%d\n"
             "# The embedded broker has no transactions.\n"
             "delivery = at-least-once\n"
             "[kafka]\n"
             "session.timeout.ms = 6000\n"
             "# New data does not wake a waiting fetch.\n"
             "fetch.wait.max.ms = 20\n"
             "compression.codec = none\n"
             "[claim]\n"
             "roots = /\n",
             broker->port);
    if (buf_check(&pid, "the pid file", err) || buf_check(&ini, "heddle.ini", err))
        return err->kind;
    if (write_file(dir, "pid", &pid, err))
        return err->kind;
    return write_file(dir, "heddle.ini", &ini, err);
}

/* One `up` or `down` at a time. -1 with `err`. */
static int
lock_dir(const char *dir, struct err *err)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/lock", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0)
        return fd;
    err_fatal(err, EXIT_CONFIG, "state_dir_unusable", "%s can't be locked: %s", path,
              strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* --- up ----------------------------------------------------------------------------- */

/* heddle-devbroker lies beside this program; else PATH is searched. */
static void
broker_path(char path[static PATH_BYTES])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_BYTES - sizeof BROKER_PROGRAM - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        memcpy(slash + 1, BROKER_PROGRAM, sizeof BROKER_PROGRAM);
    if (!slash || access(path, X_OK) != 0)
        memcpy(path, BROKER_PROGRAM, sizeof BROKER_PROGRAM);
}

/* In the child: a session of its own, so that it outlives the terminal. */
static void
become_broker(const char *path, const char *dir, int ready_fd)
{
    char log[PATH_BYTES];
    char port[LINE_BYTES];
    snprintf(log, sizeof log, "%s/broker.log", dir);
    snprintf(port, sizeof port, "%" PRId64, settings.port);
    setsid();
    int nothing = open("/dev/null", O_RDONLY);
    int log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (nothing >= 0 && log_fd >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(ready_fd, STDOUT_FILENO);
        dup2(log_fd, STDERR_FILENO);
        close(nothing);
        close(log_fd);
        execlp(path, path, "--port", port, (char *)NULL);
    }
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    _exit(127);
}

/* Reads "bootstrap HOST:PORT\nready\n"; the port, or 0 when it did not come in time. */
static int
wait_until_ready(int fd)
{
    static const char bootstrap[] = "bootstrap 127.0.0.1:";
    char text[LINE_BYTES];
    size_t len = 0;
    int64_t deadline = clock_monotonic_ms() + START_TIMEOUT_MS;
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int64_t left_ms = deadline - clock_monotonic_ms();
        if (left_ms <= 0 || poll(&wait, 1, (int)left_ms) <= 0)
            return 0;
        ssize_t n = read(fd, text + len, sizeof text - 1 - len);
        if (n <= 0)
            return 0;
        len += (size_t)n;
        text[len] = '\0';
        if (strstr(text, "\nready\n") &&
            strncmp(text, bootstrap, sizeof bootstrap - 1) == 0)
            return (int)strtol(text + sizeof bootstrap - 1, NULL, 10);
    }
}

/* The last line that the broker has written to its log. */
static void
last_log_line(const char *dir, char line[static LINE_BYTES])
{
    char path[PATH_BYTES];
    char next[LINE_BYTES];
    line[0] = '\0';
    snprintf(path, sizeof path, "%s/broker.log", dir);
    FILE *log = fopen(path, "re");
    while (log && fgets(next, sizeof next, log))
        memcpy(line, next, sizeof next);
    if (log)
        fclose(log);
    line[strcspn(line, "\n")] = '\0';
}

static enum err_kind
start_broker(const char *dir, struct dev_broker *ret, struct err *err)
{
    char path[PATH_BYTES];
    int ends[2];
    broker_path(path);
    if (pipe2(ends, O_CLOEXEC))
        return err_no_memory(err, "a pipe");
    pid_t pid = fork();
    if (pid == 0)
        become_broker(path, dir, ends[1]);
    close(ends[1]);
    int port = pid > 0 ? wait_until_ready(ends[0]) : 0;
    close(ends[0]);
    if (port) {
        *ret = (struct dev_broker){pid, start_time_of(pid), port};
        return ERR_OK;
    }
    if (pid > 0)
        kill(pid, SIGKILL);
    char line[LINE_BYTES];
    last_log_line(dir, line);
    return err_fatal(err, EXIT_UNREACHABLE, "broker_unreachable",
                     "the embedded broker did not start: %s", *line ? line : path);
}

static enum err_kind
up(const char *dir, struct buf *out, struct err *err)
{
    struct dev_broker broker;
    read_state(dir, &broker);
    if (broker.pid) {
        buf_addf(out, "already running on 127.0.0.1:%d (process %d)\n", broker.port,
                 (int)broker.pid);
        return ERR_OK;
    }
    if (start_broker(dir, &broker, err))
        return err->kind;
    if (remember(dir, &broker, err)) {
        kill(broker.pid, SIGKILL);
        forget(dir);
        return err->kind;
    }
    buf_addf(out,
             "running on 127.0.0.1:%d (process %d)\n"
             "configuration: %s/heddle.ini, used while the broker answers\n"
             "end it with: heddle dev down\n",
             broker.port, (int)broker.pid, dir);
    return ERR_OK;
}

/* --- down --------------------------------------------------------------------------- */

static bool
wait_for_end(const struct dev_broker *broker, int timeout_ms)
{
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    while (start_time_of(broker->pid) == broker->started) {
        if (clock_monotonic_ms() > deadline)
            return false;
        poll(NULL, 0, STEP_MS);
    }
    return true;
}

static enum err_kind
down(const char *dir, struct buf *out, struct err *err)
{
    struct dev_broker broker;
    read_state(dir, &broker);
    if (!broker.pid) {
        forget(dir);
        buf_add_str(out, "not running\n");
        return ERR_OK;
    }
    kill(broker.pid, SIGTERM);
    if (!wait_for_end(&broker, STOP_TIMEOUT_MS)) {
        kill(broker.pid, SIGKILL);
        if (!wait_for_end(&broker, STOP_TIMEOUT_MS))
            return err_fatal(err, EXIT_INTERNAL, "broker_stays",
                             "process %d does not end", (int)broker.pid);
    }
    forget(dir);
    buf_addf(out, "ended (process %d); what was sent to it is gone\n", (int)broker.pid);
    return ERR_OK;
}

/* --- status ------------------------------------------------------------------------- */

static const char limits[] =
    "limits: loopback only; nothing is kept when it ends; no transactions, so delivery\n"
    "  is at-least-once; no admin calls, no security, no replay by time; records up to\n"
    "  2 MiB; about 4 MiB unread a partition, older records are dropped without a word\n";

static enum err_kind
status(const char *dir, struct buf *out, int *ret_status, struct err *err)
{
    struct dev_broker broker;
    read_state(dir, &broker);
    if (!broker.pid) {
        buf_add_str(out, "not running; start it with heddle dev up\n");
        *ret_status = EXIT_NEGATIVE;
        return ERR_OK;
    }
    char brokers[LINE_BYTES];
    snprintf(brokers, sizeof brokers, "127.0.0.1:%d", broker.port);
    struct kafka_settings kafka = {.brokers = brokers, .client_id = "heddle-dev"};
    struct cluster_info info;
    if (cluster_info_get(&kafka, METADATA_TIMEOUT_MS, &info, err))
        return err->kind;
    buf_addf(out, "running on %s (process %d), cluster %s, %zu topics:\n", brokers,
             (int)broker.pid, info.cluster_id, info.n_topics);
    for (size_t i = 0; i < info.n_topics; i++)
        buf_addf(out, "  %-24s %d partitions\n", info.topics[i].name,
                 (int)info.topics[i].n_partitions);
    buf_add_str(out, limits);
    cluster_info_done(&info);
    return ERR_OK;
}

/* --------------------------------------------------------------------------------------
 */

static enum err_kind
do_verb(const char *dir, size_t verb, struct buf *out, int *ret_status, struct err *err)
{
    if (verb == 2)
        return status(dir, out, ret_status, err);
    CLEANUP(close_fdp) int lock = lock_dir(dir, err);
    if (lock < 0)
        return err->kind;
    return verb == 0 ? up(dir, out, err) : down(dir, out, err);
}

static int
run(const struct program_call *call, struct err *err)
{
    static const char *const names[] = {"up", "down", "status", NULL};
    size_t verb = 0;
    int ret_status = EXIT_OK;
    if (verb_choose("dev", call->rest[0], names, &verb, err) ||
        verb_refuse_rest(call, 1, err))
        return EXIT_USAGE;
    CLEANUP(free_textp) char *dir = config_state_dir(NULL, "dev", true, err);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    if (!dir || do_verb(dir, verb, &out, &ret_status, err))
        return err_exit_code(err);
    program_print(&out, err);
    return ret_status;
}

const struct verb verb_dev = {
    .name = "dev",
    .usage = "up|down|status [--port N]",
    .summary = "Starts, ends or shows the embedded broker.",
    .details =
        "The broker is for demos and tests; `heddle dev status` prints its limits.",
    .options = dev_options,
    .n_options = sizeof dev_options / sizeof *dev_options,
    .settings = &settings,
    .no_settings = true,
    .run = run,
};
