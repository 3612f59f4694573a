/* SPDX-License-Identifier: Apache-2.0 */
/* A worker between two topics on a real Kafka. */
#include "rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "deadletter.h"
#include "kafka_admin.h"
#include "lag.h"
#include "serde.h"
#include "topics.h"
#include "tuning_event.h"

#include "unit.h"

enum { ADMIN_MS = 30000, POLL_MS = 200, LINE_BYTES = 1024, LOOK_MS = 50 };

static struct real_kafka server;

int
rig_open_kafka(void **state)
{
    (void)state;
    return real_kafka_start(&server, false) ? 0 : -1;
}

int
rig_close_kafka(void **state)
{
    (void)state;
    real_kafka_stop(&server);
    return 0;
}

struct real_kafka *
rig_kafka(void)
{
    return &server;
}

struct kafka_settings
rig_settings(const struct rig *rig)
{
    return (struct kafka_settings){.brokers = rig->kafka->bootstrap, .client_id = "rig"};
}

static void
make_topic(struct kafka_admin *admin, const char *topic, int partitions)
{
    /* Timestamps are event time: a broker's own retention would delete them at once. */
    const struct topic_setting settings[] = {{"retention.ms", "-1"}};
    struct err err = {0};
    if (kafka_admin_create(admin, topic, partitions, settings, 1, &err))
        fail_msg("%s: %s", topic, err.msg);
}

void
rig_open(struct rig *rig,
         const struct real_kafka *kafka,
         const char *name,
         int partitions)
{
    struct err err = {0};
    *rig = (struct rig){.kafka = kafka};
    assert_true(temp_dir_make(&rig->home));
    snprintf(rig->input, sizeof rig->input, "%s.in", name);
    snprintf(rig->output, sizeof rig->output, "%s.out", name);
    snprintf(rig->group, sizeof rig->group, "%s", name);
    struct kafka_settings settings = rig_settings(rig);
    struct kafka_admin *admin = kafka_admin_new(&settings, ADMIN_MS, &err);
    assert_non_null(admin);
    make_topic(admin, rig->input, partitions);
    make_topic(admin, rig->output, partitions);
    make_topic(admin, TOPIC_DEAD, 1);
    kafka_admin_free(admin);
}

void
rig_done(struct rig *rig)
{
    temp_dir_done(&rig->home);
}

/* --- records in --------------------------------------------------------------------- */

static void
send_event(const struct rig *rig,
           struct producer *producer,
           struct serde *serde,
           const char *workspace)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    struct err err;
    const struct header headers[] = {{SLICE("traceparent"), slice_of(workspace)}};
    struct tuning_event event = {
        .origin = {SLICE("id"), SLICE("node"), SLICE("session"), 5000, SLICE("test")},
        .workspace = slice_of(workspace),
        .result = {PAYLOAD_INLINE, SLICE("{}"), {{0}, 0, {0}}},
    };
    assert_int_equal(serde_encode(serde, &event, &value, &err), ERR_OK);
    struct outgoing record = {.topic = rig->input,
                              .key = slice_of(workspace),
                              .value = buf_slice(&value),
                              .timestamp_ms = 123456,
                              .headers = headers,
                              .n_headers = 1};
    assert_int_equal(producer_send(producer, &record, RIG_TIMEOUT_MS, &err), ERR_OK);
}

static void
send_all(const struct rig *rig, const char *text, int from, int n)
{
    struct err err;
    struct kafka_settings settings = rig_settings(rig);
    struct producer *producer = producer_new(&settings, NULL, NULL, &err);
    struct serde *serde = serde_new(&tuning_event_type, NULL, &err);
    assert_non_null(producer);
    assert_non_null(serde);
    for (int i = from; i < from + n; i++) {
        char workspace[32];
        snprintf(workspace, sizeof workspace, "w%06d", i);
        send_event(rig, producer, serde, text ? text : workspace);
    }
    assert_int_equal(producer_flush(producer, RIG_TIMEOUT_MS, &err), ERR_OK);
    producer_free(producer);
    serde_free(serde);
}

void
rig_send(const struct rig *rig, int from, int n)
{
    send_all(rig, NULL, from, n);
}

void
rig_send_text(const struct rig *rig, const char *text)
{
    send_all(rig, text, 0, 1);
}

void
rig_send_beside(const struct rig *rig, int number)
{
    struct rig beside = *rig;
    snprintf(beside.input, sizeof beside.input, "%s", rig->output);
    rig_send(&beside, number, 1);
}

/* --- the worker --------------------------------------------------------------------- */

void
rig_start(const struct rig *rig,
          struct process *worker,
          const char *instance,
          const char *const *more)
{
    char home[512];
    char input[96];
    char output[96];
    snprintf(home, sizeof home, "XDG_STATE_HOME=%s", rig->home.path);
    snprintf(input, sizeof input, "TEST_INPUT=%s", rig->input);
    snprintf(output, sizeof output, "TEST_OUTPUT=%s", rig->output);
    const char *argv[64] = {
        BIN_DIR "/heddle-testworker",
        "--brokers",
        rig->kafka->bootstrap,
        "--group",
        rig->group,
        "--instance",
        instance,
        "--batch-time",
        "100ms",
        "--batch-records",
        "500",
        "--retry-first",
        "50ms",
        "--retry-max",
        "200ms",
        "-X",
        "session.timeout.ms=6000",
        "-X",
        "heartbeat.interval.ms=1000",
    };
    size_t n = 19;
    for (size_t i = 0; more && more[i]; i++)
        argv[n++] = more[i];
    const char *environment[] = {home, input, output, NULL};
    assert_true(process_start(worker, argv, environment));
}

void
rig_wait(struct process *worker, const char *text)
{
    char line[LINE_BYTES];
    if (process_wait_line(worker, text, line, sizeof line, RIG_TIMEOUT_MS))
        return;
    fputs(worker->text, stderr); /* longer than cmocka's messages */
    fail_msg("the worker did not say \"%s\", status %d", text, process_wait(worker, 0));
}

int
rig_lines(const struct process *worker, const char *text)
{
    int n = 0;
    for (const char *at = worker->text; (at = strstr(at, text)); n++)
        at += strcspn(at, "\n");
    return n;
}

void
rig_stop(struct process *worker, int expected)
{
    process_signal(worker, SIGTERM);
    int status = process_wait(worker, RIG_TIMEOUT_MS);
    if (status != expected) {
        fputs(worker->text, stderr);
        fail_msg("status %d, not %d", status, expected);
    }
    process_close(worker);
}

void
rig_kill(struct process *worker)
{
    process_signal(worker, SIGKILL);
    assert_int_equal(process_wait(worker, RIG_TIMEOUT_MS), 128 + SIGKILL);
    process_close(worker);
}

void
rig_end(struct process *worker)
{
    process_end(worker->pid, SIGTERM, RIG_TIMEOUT_MS);
    process_close(worker);
}

/* --- records out -------------------------------------------------------------------- */

struct rig_seen
rig_seen_new(void)
{
    struct rig_seen seen = {.times = calloc(RIG_MAX_RECORDS, 1)};
    assert_non_null(seen.times);
    return seen;
}

void
rig_seen_done(struct rig_seen *seen)
{
    free(seen->times);
}

static void
note_record(void *state, const struct message *in)
{
    struct rig_seen *seen = state;
    char key[32];
    int number = -1;
    snprintf(key, sizeof key, "%.*s", SLICE_ARG(in->key));
    const char *at = strrchr(key, 'w');
    if (!at || sscanf(at, "w%d", &number) != 1)
        return;
    assert_in_range(number, 0, RIG_MAX_RECORDS - 1);
    seen->records++;
    seen->distinct += seen->times[number] == 0;
    seen->doubled += seen->times[number] != 0;
    seen->times[number] = 1;
}

/* Every record of `topic` up to its last stable offset as it is now. */
static void
read_topic(const struct rig *rig,
           const char *topic,
           void (*note)(void *state, const struct message *in),
           void *state)
{
    struct kafka_settings settings = rig_settings(rig);
    struct err err;
    bool done = false;
    struct topic_reader *reader =
        topic_reader_new(&settings, topic, TOPIC_FROM_START, RIG_TIMEOUT_MS, &err);
    if (!reader)
        fail_msg("%s", err.msg);
    while (!done) {
        const struct message *in = topic_reader_next(reader, POLL_MS, &done, &err);
        assert_int_equal(err.kind, ERR_OK);
        if (in)
            note(state, in);
    }
    topic_reader_free(reader);
}

void
rig_read(const struct rig *rig, struct rig_seen *seen)
{
    memset(seen->times, 0, RIG_MAX_RECORDS);
    seen->records = seen->distinct = seen->doubled = 0;
    read_topic(rig, rig->output, note_record, seen);
}

void
rig_wait_distinct(const struct rig *rig, struct rig_seen *seen, int n)
{
    long long deadline = process_now_ms() + RIG_TIMEOUT_MS;
    do
        rig_read(rig, seen);
    while (seen->distinct < n && process_now_ms() < deadline);
    assert_true(seen->distinct >= n);
}

void
rig_assert_each_once(const struct rig *rig, int n)
{
    struct rig_seen seen = rig_seen_new();
    rig_wait_distinct(rig, &seen, n);
    assert_int_equal(seen.distinct, n);
    assert_int_equal(seen.doubled, 0);
    rig_seen_done(&seen);
}

struct dead_count {
    const struct rig *rig;
    const char *code;
    int n;
};

static void
note_dead(void *state, const struct message *in)
{
    struct dead_count *count = state;
    struct slice origin =
        header_last(in->headers, in->n_headers, DEAD_HEADER_PREFIX "origin.topic");
    struct slice code =
        header_last(in->headers, in->n_headers, DEAD_HEADER_PREFIX "code");
    if (slice_is(origin, count->rig->input) &&
        (!count->code || slice_is(code, count->code)))
        count->n++;
}

int
rig_dead(const struct rig *rig, const char *code)
{
    struct dead_count count = {rig, code, 0};
    read_topic(rig, TOPIC_DEAD, note_dead, &count);
    return count.n;
}

static void
note_trace(void *state, const struct message *in)
{
    int *n = state;
    /* The rig sends the workspace as context, and the worker makes it the key. */
    struct slice trace = header_last(in->headers, in->n_headers, "traceparent");
    *n += slice_equal(trace, in->key);
}

int
rig_traced(const struct rig *rig)
{
    int n = 0;
    read_topic(rig, rig->output, note_trace, &n);
    return n;
}

void
rig_compact(const struct rig *rig)
{
    const struct topic_setting settings[] = {{"cleanup.policy", "compact"}};
    struct topic_configs present = {0};
    struct kafka_settings to = rig_settings(rig);
    struct err err = {0};
    struct kafka_admin *admin = kafka_admin_new(&to, ADMIN_MS, &err);
    assert_non_null(admin);
    if (kafka_admin_configs(admin, rig->output, &present, &err) ||
        kafka_admin_alter(admin, rig->output, &present, settings, 1, &err))
        fail_msg("%s", err.msg);
    topic_configs_done(&present);
    kafka_admin_free(admin);
}

int64_t
rig_stored(const struct rig *rig)
{
    static const struct option_property uncommitted = {
        "isolation.level", "read_uncommitted", ORIGIN_FLAG, "rig"};
    struct kafka_settings settings = rig_settings(rig);
    settings.properties = &uncommitted;
    settings.n_properties = 1;
    return lag_of_group(&settings, "rig", rig->output, RIG_TIMEOUT_MS);
}

int64_t
rig_lag(const struct rig *rig)
{
    struct kafka_settings settings = rig_settings(rig);
    return lag_of_group(&settings, rig->group, rig->input, RIG_TIMEOUT_MS);
}

void
rig_wait_drained(const struct rig *rig)
{
    struct kafka_settings settings = rig_settings(rig);
    lag_wait_none(&settings, rig->group, rig->input, RIG_TIMEOUT_MS);
}

/* --- the admin port ----------------------------------------------------------------- */

int
rig_port_of(struct process *worker)
{
    long long deadline = process_now_ms() + RIG_TIMEOUT_MS;
    const char *at = NULL;
    int port = 0;
    while (!(at = strstr(worker->text, "admin_port=")) || !strchr(at, '\n')) {
        if (process_now_ms() > deadline || process_wait(worker, LOOK_MS) >= 0)
            fail_msg("no admin port:\n%s", worker->text);
    }
    assert_int_equal(sscanf(at, "admin_port=%d", &port), 1);
    return port;
}

int
rig_get(int port, const char *path, char *ret_page, size_t size)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((in_port_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[128];
    int status = 0;
    size_t len = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ret_page[0] = '\0';
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) {
        int n = snprintf(request, sizeof request,
                         "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
        assert_int_equal(write(fd, request, (size_t)n), n);
        for (ssize_t got = 1; len < size - 1 && got > 0; len += got > 0 ? (size_t)got : 0)
            got = read(fd, ret_page + len, size - 1 - len);
        ret_page[len] = '\0';
        sscanf(ret_page, "HTTP/%*d.%*d %d", &status);
    }
    close(fd);
    return status;
}

void
rig_metric(int port, const char *name, char *ret_text, size_t size)
{
    static char page[1 << 18];
    char start[128];
    snprintf(start, sizeof start, "\n%s ", name);
    rig_get(port, "/metrics", page, sizeof page);
    const char *at = strstr(page, start);
    if (!at) {
        fail_msg("no metric %s", name);
        return;
    }
    at += strlen(start);
    snprintf(ret_text, size, "%.*s", (int)strcspn(at, "\n"), at);
}

long long
rig_number(int port, const char *name)
{
    char text[64];
    rig_metric(port, name, text, sizeof text);
    return strtoll(text, NULL, 10);
}

void
rig_wait_page(int port, const char *path, const char *text)
{
    static char page[1 << 18];
    long long deadline = process_now_ms() + RIG_TIMEOUT_MS;
    while (process_now_ms() < deadline) {
        rig_get(port, path, page, sizeof page);
        if (strstr(page, text))
            return;
        usleep(LOOK_MS * 1000); /* between two looks, not for luck */
    }
    fail_msg("%s does not say %s:\n%s", path, text, page);
}
