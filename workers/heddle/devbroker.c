/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heddle-devbroker: the embedded broker as a process of its own, which is librdkafka's
 * mock cluster on a port of our choice with the topics of topics.h in it. For demos and
 * tests: loopback only, nothing kept, no transactions (`heddle dev status` says it all).
 */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "cleanup.h"
#include "err.h"
#include "topics.h"

enum {
    DEFAULT_PORT = 19092,
    MAX_PORT = 65535,
    MAX_EXTRA_TOPICS = 32,
    MAX_PARTITIONS = 128
};

struct settings {
    long port; /* 0: a free one */
    long partitions;
    const char *extra_topics[MAX_EXTRA_TOPICS];
    size_t n_extra_topics;
    bool exit_with_parent;
};

/* The port that the next listening socket of the mock cluster takes; 0: any. */
static in_port_t wanted_port;

/*
 * The mock cluster always asks for port 0 and has no setting for another. The dynamic
 * linker resolves its call of bind() to this definition (the program is linked with its
 * symbols exported). Its own C name, for glibc declares bind() over a union.
 */
int
bind_wanted_port(int fd, const struct sockaddr *address, socklen_t len) __asm__("bind");

int
bind_wanted_port(int fd, const struct sockaddr *address, socklen_t len)
{
    struct sockaddr_in in;
    if (wanted_port && address->sa_family == AF_INET && len >= sizeof in) {
        memcpy(&in, address, sizeof in);
        int yes = 1;
        if (in.sin_port == 0 &&
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0) {
            in.sin_port = htons(wanted_port);
            return (int)syscall(SYS_bind, fd, &in, sizeof in);
        }
    }
    return (int)syscall(SYS_bind, fd, address, len);
}

/* The library aborts when its bind() fails, so find out first. */
static int
probe_port(in_port_t port)
{
    struct sockaddr_in in = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int yes = 1;
    int failed = 0;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
        syscall(SYS_bind, fd, &in, sizeof in) || listen(fd, 1))
        failed = errno;
    close(fd);
    return failed;
}

static void
print_help(void)
{
    printf("Usage: heddle-devbroker [--port N] [--partitions N] [--topic NAME]…\n"
           "An embedded Kafka broker on 127.0.0.1 for demos and tests; nothing is kept.\n"
           "\n"
           "  --port N             port to listen on, 0 for a free one (default %d)\n"
           "  --partitions N       of every topic (default %d)\n"
           "  --topic NAME         make this topic too; may be given again\n"
           "  --exit-with-parent   end when the process that started it ends\n"
           "  --version            print versions\n",
           DEFAULT_PORT, TOPIC_PARTITIONS_EMBEDDED);
}

static int
parse_number(const char *text, long max, long *ret)
{
    char *end = NULL;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < 0 || n > max) {
        fprintf(stderr, "heddle-devbroker: %s is no number from 0 to %ld\n", text, max);
        return EXIT_USAGE;
    }
    *ret = n;
    return 0;
}

static int
add_topic(struct settings *settings, const char *name)
{
    if (settings->n_extra_topics == MAX_EXTRA_TOPICS) {
        fprintf(stderr, "heddle-devbroker: at most %d --topic\n", MAX_EXTRA_TOPICS);
        return EXIT_USAGE;
    }
    settings->extra_topics[settings->n_extra_topics++] = name;
    return 0;
}

/* Returns -1 to go on, otherwise the status to leave with. */
static int
parse(int argc, char **argv, struct settings *settings)
{
    static const struct option flags[] = {
        {"port", required_argument, NULL, 'p'},
        {"partitions", required_argument, NULL, 'n'},
        {"topic", required_argument, NULL, 't'},
        {"exit-with-parent", no_argument, NULL, 'e'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    for (int c; (c = getopt_long(argc, argv, "h", flags, NULL)) != -1;) {
        int failed = 0;
        if (c == 'p')
            failed = parse_number(optarg, MAX_PORT, &settings->port);
        else if (c == 'n')
            failed = parse_number(optarg, MAX_PARTITIONS, &settings->partitions);
        else if (c == 't')
            failed = add_topic(settings, optarg);
        else if (c == 'e')
            settings->exit_with_parent = true;
        else if (c == 'h')
            return print_help(), EXIT_OK;
        else if (c == 'V')
            return printf("heddle-devbroker %s, librdkafka %s\n", HEDDLE_VERSION,
                          rd_kafka_version_str()),
                   EXIT_OK;
        else
            return EXIT_USAGE;
        if (failed)
            return failed;
    }
    if (optind < argc) {
        fprintf(stderr, "heddle-devbroker: unexpected argument %s\n", argv[optind]);
        return EXIT_USAGE;
    }
    if (settings->partitions == 0)
        settings->partitions = TOPIC_PARTITIONS_EMBEDDED;
    return -1;
}

static int
create_topics(rd_kafka_mock_cluster_t *cluster, const struct settings *settings)
{
    size_t n = 0;
    const struct topic *all = topics_all(&n);
    for (size_t i = 0; i < n + settings->n_extra_topics; i++) {
        const char *name = i < n ? all[i].name : settings->extra_topics[i - n];
        rd_kafka_resp_err_t failed =
            rd_kafka_mock_topic_create(cluster, name, (int)settings->partitions, 1);
        if (failed) {
            fprintf(stderr, "heddle-devbroker: topic %s can't be made: %s\n", name,
                    rd_kafka_err2str(failed));
            return EXIT_INTERNAL;
        }
    }
    return EXIT_OK;
}

/* The mock cluster lives inside a client; this one connects to nothing. */
static rd_kafka_t *
new_host_client(void)
{
    char text[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    /* Errors only: that it has no bootstrap server is as meant. */
    rd_kafka_conf_set(conf, "log_level", "3", text, sizeof text);
    rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    if (!client) {
        fprintf(stderr, "heddle-devbroker: %s\n", text);
        rd_kafka_conf_destroy(conf);
    }
    return client;
}

static int
serve(const struct settings *settings, const sigset_t *signals)
{
    rd_kafka_t *client = new_host_client();
    if (!client)
        return EXIT_INTERNAL;
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(client, 1);
    if (!cluster) {
        fprintf(stderr, "heddle-devbroker: the mock cluster can't be made\n");
        rd_kafka_destroy(client);
        return EXIT_INTERNAL;
    }
    int status = create_topics(cluster, settings);
    if (status == EXIT_OK) {
        printf("bootstrap %s\nready\n", rd_kafka_mock_cluster_bootstraps(cluster));
        fflush(stdout);
        int signal_number = 0;
        sigwait(signals, &signal_number);
        /* Nothing is kept, and taking the cluster apart may take seconds. */
        _exit(EXIT_OK);
    }
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(client);
    return status;
}

int
main(int argc, char **argv)
{
    struct settings settings = {.port = DEFAULT_PORT,
                                .partitions = TOPIC_PARTITIONS_EMBEDDED};
    int status = parse(argc, argv, &settings);
    if (status >= 0)
        return status;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    /* Blocked before the library starts its threads, which inherit the mask. */
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (settings.exit_with_parent)
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    wanted_port = (in_port_t)settings.port;
    int failed = wanted_port ? probe_port(wanted_port) : 0;
    if (failed) {
        fprintf(stderr,
                "heddle-devbroker: port %ld on 127.0.0.1 can't be used: %s; choose "
                "another with --port, or 0 for a free one\n",
                settings.port, strerror(failed));
        return EXIT_UNREACHABLE;
    }
    return serve(&settings, &signals);
}
