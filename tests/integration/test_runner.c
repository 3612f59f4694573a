/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner as real processes over the embedded broker: what goes in comes out, what
 * can't be worked on becomes a dead letter with its bytes, and no way of ending loses a
 * record.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker.h"
#include "deadletter.h"
#include "kafka.h"
#include "lag.h"
#include "process.h"
#include "serde.h"
#include "temp_dir.h"
#include "topics.h"
#include "tuning_event.h"
#include "warning.h"

#include "unit.h"

enum {
    TIMEOUT_MS = 60000,
    TEXT_BYTES = 1024,
    BODY_BYTES = 1 << 16,
    PAGE_BYTES = 1 << 18,
    MAX_SUBJECTS = 20000,
};

static struct broker broker;
static struct temp_dir home;
static struct serde *events;
static struct serde *warnings;

/* --- the broker of a test
 * --------------------------------------------------------------- */

static int
start_broker(void **state)
{
    (void)state;
    if (!temp_dir_make(&home))
        return -1;
    if (broker_start(&broker, 0, NULL))
        return 0;
    temp_dir_done(&home);
    return -1;
}

static int
stop_broker(void **state)
{
    (void)state;
    broker_stop(&broker);
    temp_dir_done(&home);
    return 0;
}

static struct kafka_settings
to_broker(void)
{
    static const struct option_property properties[] = {
        {"compression.codec", "none", ORIGIN_FLAG, "test"},
        {"fetch.wait.max.ms", "20", ORIGIN_FLAG, "test"},
    };
    return (struct kafka_settings){broker.bootstrap, properties, 2, "test", NULL, NULL};
}

/* --- sending
 * ---------------------------------------------------------------------------- */

static struct producer *
open_producer(void)
{
    struct kafka_settings settings = to_broker();
    struct err err;
    struct producer *producer = producer_new(&settings, NULL, NULL, &err);
    assert_non_null(producer);
    return producer;
}

static void
encode_event(const char *workspace, struct buf *out)
{
    struct err err;
    struct tuning_event event = {
        .origin = {SLICE("id"), SLICE("node"), SLICE("session"), 5000, SLICE("test")},
        .workspace = slice_of(workspace),
        .result = {PAYLOAD_INLINE, SLICE("{}"), {{0}, 0, {0}}},
    };
    buf_reset(out);
    assert_int_equal(serde_encode(events, &event, out, &err), ERR_OK);
}

static void
send_record(struct producer *producer, const char *key, struct slice value)
{
    struct err err;
    const struct header headers[] = {{SLICE("traceparent"), SLICE("00-1")}};
    struct outgoing record = {.topic = TOPIC_TUNINGS,
                              .key = slice_of(key),
                              .value = value,
                              .timestamp_ms = 123456,
                              .headers = headers,
                              .n_headers = 1};
    assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
}

static void
send_event(struct producer *producer, const char *workspace)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    encode_event(workspace, &value);
    send_record(producer, workspace, buf_slice(&value));
}

static void
close_producer(struct producer *producer)
{
    struct err err;
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
    producer_free(producer);
}

static void
send_numbered(int from, int n)
{
    struct producer *producer = open_producer();
    for (int i = from; i < from + n; i++) {
        char workspace[32];
        snprintf(workspace, sizeof workspace, "w%06d", i);
        send_event(producer, workspace);
    }
    close_producer(producer);
}

/* --- the worker
 * ------------------------------------------------------------------------- */

static const char *
state_home(void)
{
    static char text[512];
    snprintf(text, sizeof text, "XDG_STATE_HOME=%s", home.path);
    return text;
}

/* `more`: further flags, NULL-terminated. */
static void
start_worker(struct process *worker, const char *const *more)
{
    const char *argv[48] = {
        BIN_DIR "/heddle-testworker",
        "--brokers",
        broker.bootstrap,
        "--delivery",
        "at-least-once",
        "--batch-time",
        "200ms",
        "--retry-first",
        "50ms",
        "--retry-max",
        "200ms",
        "--retry-attempts",
        "4",
        "-X",
        "session.timeout.ms=6000",
        "-X",
        "fetch.wait.max.ms=20",
        "-X",
        "compression.codec=none",
    };
    size_t n = 19;
    for (size_t i = 0; more && more[i]; i++)
        argv[n++] = more[i];
    const char *environment[] = {state_home(), NULL};
    assert_true(process_start(worker, argv, environment));
}

static void
wait_for(struct process *worker, const char *text)
{
    char line[TEXT_BYTES];
    if (!process_wait_line(worker, text, line, sizeof line, TIMEOUT_MS)) {
        fputs(worker->text, stderr); /* longer than cmocka's messages */
        fail_msg("the worker did not say \"%s\", status %d", text,
                 process_wait(worker, 0));
    }
}

static void
stop_worker(struct process *worker, int expected)
{
    process_signal(worker, SIGTERM);
    int status = process_wait(worker, TIMEOUT_MS);
    if (status != expected)
        fail_msg("status %d, not %d:\n%s", status, expected, worker->text);
    process_close(worker);
}

/* --- what came out
 * ---------------------------------------------------------------------- */

static struct topic_reader *
open_reader(const char *topic)
{
    struct kafka_settings settings = to_broker();
    struct err err;
    struct topic_reader *reader =
        topic_reader_new(&settings, topic, TOPIC_FROM_START, TIMEOUT_MS, &err);
    if (!reader)
        fail_msg("%s", err.msg);
    return reader;
}

/* Records of `topic` until `n` were seen or the time is over; `take` sees each. */
static int
read_records(const char *topic,
             int n,
             void (*take)(void *, const struct message *),
             void *to)
{
    struct topic_reader *reader = open_reader(topic);
    long long deadline = process_now_ms() + TIMEOUT_MS;
    int seen = 0;
    while (seen < n && process_now_ms() < deadline) {
        bool done = false;
        struct err err;
        const struct message *in = topic_reader_next(reader, 100, &done, &err);
        assert_int_equal(err.kind, ERR_OK);
        if (!in)
            continue;
        seen++;
        if (take)
            take(to, in);
    }
    topic_reader_free(reader);
    return seen;
}

/* How often each numbered workspace came out. */
struct seen {
    int times[MAX_SUBJECTS];
    int distinct;
};

static void
note_subject(void *state, const struct message *in)
{
    struct seen *seen = state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct warning warning;
    struct err err;
    assert_int_equal(serde_decode(warnings, in->value, &arena, &warning, &err), ERR_OK);
    assert_true(slice_equal(in->key, warning.subject));
    assert_int_equal(in->timestamp_ms, 77);
    int i = atoi(warning.subject.data + 1);
    assert_in_range(i, 0, MAX_SUBJECTS - 1);
    seen->distinct += seen->times[i]++ == 0;
}

/* Reads until `n` different workspaces came out; how many records that were. */
static int
read_until_distinct(struct seen *seen, int n)
{
    struct topic_reader *reader = open_reader(TOPIC_WARNINGS);
    long long deadline = process_now_ms() + TIMEOUT_MS;
    int records = 0;
    while (seen->distinct < n && process_now_ms() < deadline) {
        bool done = false;
        struct err err;
        const struct message *in = topic_reader_next(reader, 100, &done, &err);
        if (in) {
            note_subject(seen, in);
            records++;
        }
    }
    topic_reader_free(reader);
    return records;
}

static int64_t
group_lag(void)
{
    struct kafka_settings settings = to_broker();
    return lag_of_group(&settings, "heddle-test", TOPIC_TUNINGS, TIMEOUT_MS);
}

/* All is committed: a worker that reads records again gives nothing new to wait for. */
static void
wait_for_no_lag(void)
{
    struct kafka_settings settings = to_broker();
    lag_wait_none(&settings, "heddle-test", TOPIC_TUNINGS, TIMEOUT_MS);
}

/* --- the admin port
 * --------------------------------------------------------------------- */

static int
admin_port_of(struct process *worker)
{
    char line[TEXT_BYTES];
    int port = 0;
    if (!process_wait_line(worker, "admin_port=", line, sizeof line, TIMEOUT_MS))
        fail_msg("no admin port:\n%s", worker->text);
    assert_int_equal(sscanf(strstr(line, "admin_port="), "admin_port=%d", &port), 1);
    return port;
}

/* The answer of `GET path`, headers included; its status, 0 when nobody answers. */
static int
http_get(int port, const char *path, char page[static PAGE_BYTES])
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((in_port_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[128];
    int status = 0;
    size_t len = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    page[0] = '\0';
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) {
        int n = snprintf(request, sizeof request,
                         "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
        assert_int_equal(write(fd, request, (size_t)n), n);
        for (ssize_t got; len < PAGE_BYTES - 1 &&
                          (got = read(fd, page + len, PAGE_BYTES - 1 - len)) > 0;)
            len += (size_t)got;
        page[len] = '\0';
        sscanf(page, "HTTP/%*d.%*d %d", &status);
    }
    close(fd);
    return status;
}

static void
wait_for_page(int port, const char *path, const char *text)
{
    static char page[PAGE_BYTES];
    long long deadline = process_now_ms() + TIMEOUT_MS;
    while (process_now_ms() < deadline) {
        http_get(port, path, page);
        if (strstr(page, text))
            return;
        usleep(20000); /* between two looks, not for luck */
    }
    fail_msg("%s does not say %s:\n%s", path, text, page);
}

/* --- tests
 * ------------------------------------------------------------------------------ */

static void
turns_every_record_into_its_result(void **state)
{
    (void)state;
    static struct seen seen;
    struct process worker;
    start_worker(&worker, NULL);

    send_numbered(0, 3000);

    assert_int_equal(read_until_distinct(&seen, 3000), 3000);
    stop_worker(&worker, 0);
    assert_int_equal(group_lag(), 0);
}

struct letters {
    struct {
        char code[48];
        char stage[16];
        char value[256];
        size_t len;
        bool null;
        bool traced;
        char key[64];
        int64_t timestamp_ms;
    } items[32];
    int n;
};

static void
note_letter(void *state, const struct message *in)
{
    struct letters *letters = state;
    assert_true(letters->n < 32);
    int i = letters->n++;
    const char *prefix = DEAD_HEADER_PREFIX;
    char name[64];
    snprintf(name, sizeof name, "%scode", prefix);
    struct slice code = header_last(in->headers, in->n_headers, name);
    snprintf(name, sizeof name, "%sstage", prefix);
    struct slice stage = header_last(in->headers, in->n_headers, name);
    struct slice trace = header_last(in->headers, in->n_headers, "traceparent");
    snprintf(letters->items[i].code, 48, "%.*s", SLICE_ARG(code));
    snprintf(letters->items[i].stage, 16, "%.*s", SLICE_ARG(stage));
    snprintf(letters->items[i].key, 64, "%.*s", SLICE_ARG(in->key));
    letters->items[i].null = !in->value.data;
    letters->items[i].len = in->value.len;
    letters->items[i].traced = slice_is(trace, "00-1");
    letters->items[i].timestamp_ms = in->timestamp_ms;
    if (in->value.data)
        memcpy(letters->items[i].value, in->value.data,
               in->value.len < 256 ? in->value.len : 256);
}

static void
assert_letter(const struct letters *letters,
              const char *key,
              const char *code,
              const char *stage,
              struct slice value)
{
    for (int i = 0; i < letters->n; i++) {
        if (strcmp(letters->items[i].key, key) != 0)
            continue;
        assert_string_equal(letters->items[i].code, code);
        assert_string_equal(letters->items[i].stage, stage);
        assert_int_equal(letters->items[i].null, !value.data);
        assert_int_equal(letters->items[i].len, value.len);
        if (value.len)
            assert_memory_equal(letters->items[i].value, value.data,
                                value.len < 256 ? value.len : 256);
        assert_true(letters->items[i].traced);
        assert_int_equal(letters->items[i].timestamp_ms, 123456);
        return;
    }
    fail_msg("no dead letter of %s", key);
}

static void
gives_each_bad_record_its_own_dead_letter(void **state)
{
    (void)state;
    static struct letters letters;
    struct process worker;
    CLEANUP(buf_done) struct buf good = BUF_INIT;
    encode_event("w000001", &good);
    struct slice whole = buf_slice(&good);
    struct slice cut = {whole.data, whole.len - 3};
    CLEANUP(buf_done) struct buf trailing = BUF_INIT;
    buf_add_slice(&trailing, whole);
    buf_add_byte(&trailing, 'x');
    CLEANUP(buf_done) struct buf unknown = BUF_INIT;
    buf_add_slice(&unknown, whole);
    assert_non_null(unknown.data);
    unknown.data[4] ^= 1;
    struct producer *producer = open_producer();
    send_record(producer, "empty", SLICE(""));
    send_record(producer, "null", (struct slice){0});
    send_record(producer, "magic", SLICE("\x07zz"));
    send_record(producer, "guid", SLICE("\x01 0123456789abcdef"));
    send_record(producer, "unknown", buf_slice(&unknown));
    send_record(producer, "cut", cut);
    send_record(producer, "trailing", buf_slice(&trailing));
    send_record(producer, "good", whole);
    close_producer(producer);

    start_worker(&worker, NULL);

    assert_int_equal(read_records(TOPIC_DEAD, 7, note_letter, &letters), 7);
    assert_letter(&letters, "empty", "value_empty", "frame", SLICE(""));
    assert_letter(&letters, "null", "value_null", "frame", (struct slice){0});
    assert_letter(&letters, "magic", "magic_unknown", "frame", SLICE("\x07zz"));
    assert_letter(&letters, "guid", "schema_guid_unsupported", "frame",
                  SLICE("\x01 0123456789abcdef"));
    assert_letter(&letters, "unknown", "schema_unknown", "frame", buf_slice(&unknown));
    assert_letter(&letters, "cut", "body_truncated", "decode", cut);
    assert_letter(&letters, "trailing", "body_trailing", "decode", buf_slice(&trailing));
    assert_int_equal(read_records(TOPIC_WARNINGS, 1, NULL, NULL), 1);
    stop_worker(&worker, 0);
    assert_int_equal(group_lag(), 0);
}

static void
never_sends_half_of_what_a_record_gives(void **state)
{
    (void)state;
    static struct letters letters;
    struct process worker;
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    encode_event("big one", &value);
    struct producer *producer = open_producer();
    send_record(producer, "big one", buf_slice(&value));
    close_producer(producer);
    send_numbered(0, 1);
    start_worker(&worker, NULL);

    assert_int_equal(read_records(TOPIC_DEAD, 1, note_letter, &letters), 1);

    assert_letter(&letters, "big one", "record_too_large", "emit", buf_slice(&value));
    stop_worker(&worker, 0);
    static struct seen seen;
    assert_int_equal(read_until_distinct(&seen, 1), 1);
    assert_int_equal(seen.times[0], 1);
}

static void
tries_again_while_other_partitions_flow(void **state)
{
    (void)state;
    static struct letters letters;
    static struct seen seen;
    struct process worker;
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    encode_event("never there", &value);
    struct producer *producer = open_producer();
    send_event(producer, "retry:2 w000000");
    send_record(producer, "never there", buf_slice(&value));
    close_producer(producer);
    send_numbered(0, 200);
    start_worker(&worker, NULL);

    assert_int_equal(read_records(TOPIC_DEAD, 1, note_letter, &letters), 1);

    assert_letter(&letters, "never there", "claim_not_found", "gather",
                  buf_slice(&value));
    wait_for(&worker, "the record went through");
    assert_int_equal(read_records(TOPIC_WARNINGS, 201, NULL, NULL), 201);
    (void)seen;
    stop_worker(&worker, 0);
    assert_int_equal(group_lag(), 0);
}

static void
loses_nothing_when_told_to_stop_midway(void **state)
{
    (void)state;
    static struct seen seen;
    struct process worker;
    send_numbered(0, 10000);
    start_worker(&worker, (const char *const[]){"--batch-records", "500", NULL});
    assert_int_equal(read_records(TOPIC_WARNINGS, 1000, NULL, NULL), 1000);

    stop_worker(&worker, 0);

    int64_t left = group_lag();
    struct process second;
    start_worker(&second, NULL);
    int records = read_until_distinct(&seen, 10000);
    assert_int_equal(seen.distinct, 10000);
    assert_int_equal(records, 10000); /* a clean stop repeats nothing */
    assert_in_range(left, 0, 9999);
    stop_worker(&second, 0);
    assert_int_equal(group_lag(), 0);
}

static void
loses_nothing_when_killed(void **state)
{
    (void)state;
    static struct seen seen;
    struct process worker;
    send_numbered(0, 10000);
    for (int kills = 0; kills < 3; kills++) {
        start_worker(&worker, (const char *const[]){"--batch-records", "300", NULL});
        wait_for(&worker, "partition assigned");
        assert_true(read_records(TOPIC_WARNINGS, 800 * (kills + 1), NULL, NULL) > 0);
        process_signal(&worker, SIGKILL);
        assert_int_equal(process_wait(&worker, TIMEOUT_MS), 128 + SIGKILL);
        process_close(&worker);
    }

    start_worker(&worker, NULL);

    read_until_distinct(&seen, 10000);
    assert_int_equal(seen.distinct, 10000);
    wait_for_no_lag();
    stop_worker(&worker, 0);
}

static void
commits_nothing_after_a_fatal_error(void **state)
{
    (void)state;
    struct process worker;
    struct producer *producer = open_producer();
    send_event(producer, "fatal end");
    close_producer(producer);

    start_worker(&worker, NULL);

    assert_int_equal(process_wait(&worker, TIMEOUT_MS), 78);
    assert_non_null(strstr(worker.text, "asked_to_end"));
    process_close(&worker);
    assert_int_equal(group_lag(), 1);
}

static void
shows_lag_counters_and_readiness(void **state)
{
    (void)state;
    static char page[PAGE_BYTES];
    struct process worker;
    send_numbered(0, 50);
    start_worker(&worker, NULL);
    int port = admin_port_of(&worker);

    assert_int_equal(http_get(port, "/healthz", page), 200);
    assert_int_equal(http_get(port, "/elsewhere", page), 404);
    wait_for_page(port, "/readyz", "\"ready\":true");
    assert_int_equal(http_get(port, "/readyz", page), 200);
    assert_non_null(strstr(page, "\"delivery\":\"at-least-once\""));
    wait_for_page(port, "/metrics", "heddle_assigned_partitions 2");
    wait_for_page(port, "/metrics", "heddle_emitted_total{topic=\"heddle.warnings\"} 50");
    wait_for_page(port, "/metrics",
                  "kafka_consumergroup_lag{consumergroup=\"heddle-test\",topic=\"heddle."
                  "tunings\",partition=\"0\"} 0");
    wait_for_page(port, "/metrics",
                  "kafka_consumergroup_lag{consumergroup=\"heddle-test\",topic=\"heddle."
                  "tunings\",partition=\"1\"} 0");
    broker_stop(&broker);
    wait_for_page(port, "/readyz", "broker_unreachable");
    assert_int_equal(http_get(port, "/readyz", page), 503);

    process_signal(&worker, SIGTERM);
    int status = process_wait(&worker, TIMEOUT_MS);

    assert_true(status == 0 || status == 81);
    process_close(&worker);
}

static void
ends_cleanly_without_any_broker(void **state)
{
    (void)state;
    static char page[PAGE_BYTES];
    struct process worker;
    start_worker(&worker, (const char *const[]){"--brokers", "127.0.0.1:1", NULL});
    int port = admin_port_of(&worker);
    wait_for(&worker, "no broker answers");
    assert_int_equal(http_get(port, "/readyz", page), 503);
    assert_non_null(strstr(page, "broker_unreachable"));

    stop_worker(&worker, 0);
}

static void
ends_cleanly_within_a_second_of_its_start(void **state)
{
    (void)state;
    struct process worker;
    for (int i = 0; i < 3; i++) {
        start_worker(&worker, NULL);
        wait_for(&worker, "started");

        stop_worker(&worker, 0);
    }
}

/* It reads its configuration from a pipe, and so is told before it takes any signal. */
static void
ends_cleanly_when_told_to_stop_before_it_has_started(void **state)
{
    (void)state;
    struct process worker;
    char *path = temp_path(&home, "slow.ini");
    assert_int_equal(mkfifo(path, 0600), 0);
    const char *argv[] = {BIN_DIR "/heddle-testworker",
                          "--config",
                          path,
                          "--brokers",
                          broker.bootstrap,
                          "--delivery",
                          "at-least-once",
                          NULL};
    const char *environment[] = {state_home(), NULL};
    assert_true(process_start(&worker, argv, environment));
    FILE *config = fopen(path, "w"); /* waits until the worker reads it */
    assert_non_null(config);

    process_signal(&worker, SIGTERM);
    fclose(config);

    assert_int_equal(process_wait(&worker, TIMEOUT_MS), 0);
    assert_non_null(strstr(worker.text, "stopped"));
    process_close(&worker);
    free(path);
}

static void
leaves_when_the_drain_takes_too_long(void **state)
{
    (void)state;
    struct process worker;
    struct producer *producer = open_producer();
    send_event(producer, "hang for ever");
    close_producer(producer);
    start_worker(&worker, (const char *const[]){"--drain-timeout", "1s", NULL});
    wait_for(&worker, "hanging");

    stop_worker(&worker, 81);

    assert_int_equal(group_lag(), 1);
}

static void
finds_its_broker_again(void **state)
{
    (void)state;
    struct process worker;
    int port = broker.port;
    start_worker(&worker, NULL);
    wait_for(&worker, "partition assigned");
    broker_stop(&broker);
    wait_for(&worker, "no broker answers");

    assert_true(broker_start(&broker, port, NULL));

    wait_for(&worker, "the broker answers again");
    process_end(worker.pid, SIGTERM, TIMEOUT_MS);
    process_close(&worker);
}

static void
refuses_what_it_can_not_promise(void **state)
{
    (void)state;
    struct process worker;
    start_worker(&worker, (const char *const[]){"--delivery", "exactly-once", NULL});

    assert_int_equal(process_wait(&worker, TIMEOUT_MS), 78);

    assert_non_null(strstr(worker.text, "exactly-once"));
    process_close(&worker);
}

static void
refuses_a_name_that_is_held(void **state)
{
    (void)state;
    struct process first;
    struct process second;
    start_worker(&first, (const char *const[]){"--instance", "one", NULL});
    wait_for(&first, "started");

    start_worker(&second, (const char *const[]){"--instance", "one", NULL});

    assert_int_equal(process_wait(&second, TIMEOUT_MS), 78);
    char holder[64];
    snprintf(holder, sizeof holder, "held by process %d", (int)first.pid);
    assert_non_null(strstr(second.text, holder));
    process_close(&second);
    stop_worker(&first, 0);
}

static void
prints_what_it_would_send(void **state)
{
    (void)state;
    struct process worker;
    assert_true(temp_write(&home, "events.jsonl",
                           "{\"origin\":{\"event_id\":\"i\",\"node\":\"n\",\"session\":"
                           "\"s\",\"captured_at_us\":"
                           "5000000,\"producer\":\"p\"},\"workspace\":\"fine\"}\n"
                           "{\"origin\":{\"event_id\":\"i\",\"node\":\"n\",\"session\":"
                           "\"s\",\"captured_at_us\":"
                           "5000000,\"producer\":\"p\"},\"workspace\":\"record bad\"}\n",
                           0));
    char *path = temp_path(&home, "events.jsonl");
    const char *argv[] = {BIN_DIR "/heddle-testworker", "--dry-run", "--input", path,
                          NULL};
    const char *environment[] = {state_home(), NULL};
    assert_true(process_start(&worker, argv, environment));

    assert_int_equal(process_wait(&worker, TIMEOUT_MS), 1);

    assert_non_null(strstr(worker.text, "{\"topic\":\"heddle.warnings\",\"key\":\"fine\","
                                        "\"timestamp\":77,\"value\":{"));
    assert_non_null(strstr(worker.text, "{\"topic\":\"heddle.dead\",\"key\":null,"
                                        "\"timestamp\":5000,\"value\":{"));
    assert_non_null(strstr(worker.text, "\"heddle.dead.code\":\"event_without_parts\""));
    process_close(&worker);
    free(path);
}

static int
open_serdes(void **state)
{
    (void)state;
    struct err err;
    events = serde_new(&tuning_event_type, NULL, &err);
    warnings = serde_new(&warning_type, NULL, &err);
    return events && warnings ? 0 : -1;
}

static int
free_serdes(void **state)
{
    (void)state;
    serde_free(events);
    serde_free(warnings);
    return 0;
}

#define WITH_BROKER(test) cmocka_unit_test_setup_teardown(test, start_broker, stop_broker)

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WITH_BROKER(turns_every_record_into_its_result),
        WITH_BROKER(gives_each_bad_record_its_own_dead_letter),
        WITH_BROKER(never_sends_half_of_what_a_record_gives),
        WITH_BROKER(tries_again_while_other_partitions_flow),
        WITH_BROKER(loses_nothing_when_told_to_stop_midway),
        WITH_BROKER(loses_nothing_when_killed),
        WITH_BROKER(commits_nothing_after_a_fatal_error),
        WITH_BROKER(shows_lag_counters_and_readiness),
        WITH_BROKER(ends_cleanly_without_any_broker),
        WITH_BROKER(ends_cleanly_within_a_second_of_its_start),
        WITH_BROKER(ends_cleanly_when_told_to_stop_before_it_has_started),
        WITH_BROKER(leaves_when_the_drain_takes_too_long),
        WITH_BROKER(finds_its_broker_again),
        WITH_BROKER(refuses_what_it_can_not_promise),
        WITH_BROKER(refuses_a_name_that_is_held),
        WITH_BROKER(prints_what_it_would_send),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_serdes, free_serdes);
}
