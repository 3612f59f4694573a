/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline_embedded: heddle-audit over the embedded broker, beside a pass-through of the
 * same events with the same library settings that writes as many bytes. Each has a fresh
 * broker with the events in it; the clock runs from its first record to its last commit.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker.h"
#include "campaign_gen.h"
#include "cleanup.h"
#include "clock.h"
#include "kafka.h"
#include "process.h"
#include "serde.h"
#include "temp_dir.h"
#include "topics.h"
#include "tuning_event.h"

enum {
    RUNS = 3,
    PARTITIONS = 32,
    MAX_RESULTS = 512,
    BATCH_RECORDS = 10000,
    BATCH_MS = 1000,
    TIMEOUT_MS = 60000,
    LINE_BYTES = 4096,
    SEED = 1,
};

/* Of input in one partition: the embedded broker drops what is above 5 MiB. */
#define PARTITION_BYTES (3.5 * 1024 * 1024)
static const double goal = 0.8;

struct bench {
    struct slice results[MAX_RESULTS];
    size_t n_results;
    struct arena arena;
    struct serde *serde;
    struct broker broker;
    struct temp_dir home;
    int n_events;
    size_t output_bytes; /* of one event, on average */
};

static const struct option_property properties[] = {
    {"compression.codec", "none", ORIGIN_FLAG, "bench"},
    {"fetch.wait.max.ms", "20", ORIGIN_FLAG, "bench"},
    {"session.timeout.ms", "6000", ORIGIN_FLAG, "bench"},
};

static struct kafka_settings
to_broker(const struct bench *bench)
{
    return (struct kafka_settings){bench->broker.bootstrap, properties, 3, "bench", NULL};
}

/* --- the events --------------------------------------------------------------------- */

static enum err_kind
keep_result(void *state, const struct campaign_file *file, struct err *err)
{
    struct bench *bench = state;
    const char *name = strrchr(file->path, '/');
    if (!name || strcmp(name, "/result.json") != 0 || bench->n_results == MAX_RESULTS)
        return ERR_OK;
    struct slice copy = arena_copy(&bench->arena, file->content);
    if (!copy.data)
        return err_no_memory(err, "the campaign");
    bench->results[bench->n_results++] = copy;
    return ERR_OK;
}

static enum err_kind
send_event(
    struct bench *bench, struct producer *producer, int i, double *bytes, struct err *err)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    char workspace[128];
    snprintf(workspace, sizeof workspace, "/w/Model/session/runs/gemm_tuning/task%06d",
             i);
    const struct tuning_event event = {
        .origin = {SLICE("0"), SLICE("node"), SLICE("session"), 1000000, SLICE("bench")},
        .workspace = slice_of(workspace),
        .result = {.kind = PAYLOAD_INLINE,
                   .bytes = bench->results[(size_t)i % bench->n_results]},
    };
    if (serde_encode(bench->serde, &event, &value, err))
        return err->kind;
    *bytes += (double)value.len;
    const struct outgoing record = {.topic = TOPIC_TUNINGS,
                                    .key = slice_of(workspace),
                                    .value = buf_slice(&value),
                                    .timestamp_ms = 1000};
    return producer_send(producer, &record, TIMEOUT_MS, err);
}

/* As many events as keep every partition below its bound, with room for uneven keys. */
static bool
fill(struct bench *bench, struct err *err)
{
    struct kafka_settings to = to_broker(bench);
    struct producer *producer = producer_new(&to, NULL, NULL, err);
    double bytes = 0;
    int n = 0;
    while (producer && !err->kind && bytes < PARTITION_BYTES * 0.8 * PARTITIONS)
        send_event(bench, producer, n++, &bytes, err);
    bool filled = producer && !err->kind && !producer_flush(producer, TIMEOUT_MS, err);
    producer_free(producer);
    bench->n_events = n;
    return filled;
}

/* --- the pass-through, in a process of its own -------------------------------------- */

struct pass {
    struct consumer *consumer;
    struct producer *producer;
    struct topic_partition next[PARTITIONS];
    char *output;
};

static void
ignore_assigned(void *state, const struct topic_partition *parts, size_t n)
{
    (void)state;
    (void)parts;
    (void)n;
}

static void
ignore_revoked(void *state, const struct topic_partition *parts, size_t n, bool lost)
{
    (void)lost;
    ignore_assigned(state, parts, n);
}

static bool
pass_commit(struct pass *pass, struct err *err)
{
    struct topic_partition done[PARTITIONS];
    size_t n = 0;
    for (int p = 0; p < PARTITIONS; p++)
        if (pass->next[p].topic)
            done[n++] = pass->next[p];
    return !producer_flush(pass->producer, TIMEOUT_MS, err) &&
           !consumer_commit(pass->consumer, done, n, err);
}

static bool
pass_one(struct pass *pass,
         const struct bench *bench,
         const struct message *in,
         struct err *err)
{
    const struct outgoing record = {.topic = TOPIC_AUDIT_TUNINGS,
                                    .key = in->key,
                                    .value = {pass->output, bench->output_bytes},
                                    .timestamp_ms = in->timestamp_ms};
    pass->next[in->partition] =
        (struct topic_partition){TOPIC_TUNINGS, in->partition, in->offset + 1};
    return !producer_send(pass->producer, &record, TIMEOUT_MS, err);
}

/* Milliseconds from the first record to the last commit; below 0 when it failed. */
static double
pass_all(struct pass *pass, const struct bench *bench, struct err *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + TIMEOUT_MS;
    int64_t begin_ns = 0;
    int64_t batch_ms = 0;
    int in_batch = 0;
    for (int n = 0; n < bench->n_events && clock_monotonic_ms() < deadline_ms;) {
        struct consumed *consumed = consumer_poll(pass->consumer, 100, err);
        if (!consumed)
            continue;
        if (!begin_ns)
            begin_ns = clock_monotonic_ns();
        if (in_batch++ == 0)
            batch_ms = clock_monotonic_ms();
        bool sent = pass_one(pass, bench, consumed_message(consumed), err);
        consumed_free(consumed);
        n++;
        bool due = in_batch >= BATCH_RECORDS || n == bench->n_events ||
                   clock_monotonic_ms() - batch_ms >= BATCH_MS;
        if (!sent || (due && !pass_commit(pass, err)))
            return -1;
        if (due)
            in_batch = 0;
        if (n == bench->n_events)
            return (double)(clock_monotonic_ns() - begin_ns) / 1e6;
    }
    return -1;
}

static double
run_pass(const struct bench *bench)
{
    struct kafka_settings kafka = to_broker(bench);
    struct pass pass = {.output = calloc(1, bench->output_bytes + 1)};
    struct err err = {0};
    const struct consumer_settings settings = {
        .kafka = &kafka,
        .group = "bench-pass",
        .topic = TOPIC_TUNINGS,
        .start = TOPIC_FROM_START,
        .events = {ignore_assigned, ignore_revoked, NULL, NULL},
    };
    pass.producer = producer_new(&kafka, NULL, NULL, &err);
    pass.consumer = consumer_new(&settings, &err);
    double took_ms = -1;
    if (pass.output && pass.producer && pass.consumer)
        took_ms = pass_all(&pass, bench, &err);
    if (took_ms < 0)
        fprintf(stderr, "pipeline: the pass-through failed: %s\n", err.msg);
    consumer_close(pass.consumer);
    producer_free(pass.producer);
    free(pass.output);
    return took_ms;
}

/* A fork before any client exists in it, so both sides start alike. */
static double
run_pass_process(const struct bench *bench)
{
    int ends[2];
    double took_ms = -1;
    if (pipe(ends))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        took_ms = run_pass(bench);
        _exit(write(ends[1], &took_ms, sizeof took_ms) == sizeof took_ms ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &took_ms, sizeof took_ms) != sizeof took_ms)
        took_ms = -1;
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return took_ms;
}

/* --- the worker --------------------------------------------------------------------- */

/* Milliseconds since midnight of a log line's time. */
static double
time_of(const char *line)
{
    int hours = 0;
    int minutes = 0;
    double seconds = 0;
    const char *time = strchr(line, 'T');
    if (!time || sscanf(time, "T%d:%d:%lf", &hours, &minutes, &seconds) != 3)
        return -1;
    return ((hours * 60.0 + minutes) * 60 + seconds) * 1000;
}

/* By the worker's own log: its first record, and the commits until all are in. */
static double
watch_worker(struct process *worker, int n_events)
{
    char line[LINE_BYTES];
    if (!process_wait_line(worker, "first record", line, sizeof line, TIMEOUT_MS))
        return -1;
    double begin_ms = time_of(line);
    for (int committed = 0; committed < n_events;) {
        if (!process_wait_line(worker, "batch committed", line, sizeof line, TIMEOUT_MS))
            return -1;
        const char *records = strstr(line, "records=");
        committed += records ? atoi(records + 8) : 0;
    }
    double took_ms = time_of(line) - begin_ms;
    return took_ms < 0 ? took_ms + 24 * 3600 * 1000.0 : took_ms;
}

static double
run_worker(const struct bench *bench)
{
    char state_home[4096];
    snprintf(state_home, sizeof state_home, "XDG_STATE_HOME=%s", bench->home.path);
    const char *environment[] = {state_home, NULL};
    const char *argv[] = {BIN_DIR "/heddle-audit",
                          "--brokers",
                          bench->broker.bootstrap,
                          "--delivery",
                          "at-least-once",
                          "--log-level",
                          "debug",
                          "--batch-records",
                          "10000",
                          "--batch-time",
                          "1s",
                          "--batch-bytes",
                          "1GiB",
                          "-X",
                          "compression.codec=none",
                          "-X",
                          "fetch.wait.max.ms=20",
                          "-X",
                          "session.timeout.ms=6000",
                          NULL};
    struct process worker;
    if (!process_start(&worker, argv, environment))
        return -1;
    double took_ms = watch_worker(&worker, bench->n_events);
    if (took_ms < 0)
        fprintf(stderr, "pipeline: the worker failed:\n%.2000s\n", worker.text);
    process_end(worker.pid, SIGTERM, TIMEOUT_MS);
    process_close(&worker);
    return took_ms;
}

/* What the worker has written of one event, on average. */
static bool
measure_output(struct bench *bench, struct err *err)
{
    struct kafka_settings from = to_broker(bench);
    struct topic_reader *reader =
        topic_reader_new(&from, TOPIC_AUDIT_TUNINGS, TOPIC_FROM_START, TIMEOUT_MS, err);
    size_t bytes = 0;
    size_t rows = 0;
    bool done = !reader;
    while (!done && !err->kind) {
        const struct message *in = topic_reader_next(reader, TIMEOUT_MS, &done, err);
        bytes += in ? in->value.len : 0;
        rows += in && in->value.data;
    }
    topic_reader_free(reader);
    bench->output_bytes = rows ? bytes / rows : 0;
    return rows > 0;
}

/* --- the measurement ---------------------------------------------------------------- */

static bool
fresh_broker(struct bench *bench, struct err *err)
{
    return broker_start_sized(&bench->broker, 0, PARTITIONS) && fill(bench, err);
}

/* Events a second; 0 when it failed. */
static double
one_run(struct bench *bench, bool ours, struct err *err)
{
    double took_ms = -1;
    if (fresh_broker(bench, err))
        took_ms = ours ? run_worker(bench) : run_pass_process(bench);
    bool measured = took_ms > 0;
    if (measured && ours && !bench->output_bytes)
        measured = measure_output(bench, err);
    broker_stop(&bench->broker);
    return measured ? bench->n_events / took_ms * 1000 : 0;
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static int
measure(struct bench *bench, struct err *err)
{
    double ours[RUNS];
    double peer[RUNS];
    for (int i = 0; i < RUNS; i++) {
        ours[i] = one_run(bench, true, err);
        peer[i] = ours[i] > 0 ? one_run(bench, false, err) : 0;
        fprintf(stderr, "pipeline_embedded: %.0f events/s, pass-through %.0f\n", ours[i],
                peer[i]);
        if (ours[i] <= 0 || peer[i] <= 0)
            return 1;
    }
    qsort(ours, RUNS, sizeof ours[0], compare);
    qsort(peer, RUNS, sizeof peer[0], compare);
    double ratio = ours[RUNS / 2] / peer[RUNS / 2];
    printf("{\"name\": \"pipeline_embedded\", \"what\": \"%d tuning events over the "
           "embedded "
           "broker to audit rows of %zu bytes\", \"unit\": \"events/s\", \"ours\": %.0f, "
           "\"peer\": %.0f, \"peer_name\": \"pass-through\", \"ratio\": %.2f, \"goal\": "
           "%.1f, "
           "\"holds\": %s, \"runs\": %d}\n",
           bench->n_events, bench->output_bytes, ours[RUNS / 2], peer[RUNS / 2], ratio,
           goal, ratio >= goal ? "true" : "false", RUNS);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--only") == 0 &&
        strcmp(argv[2], "pipeline_embedded") != 0)
        return 0;
    static struct bench bench;
    struct err err = {0};
    bench.serde = serde_new(&tuning_event_type, NULL, &err);
    if (!bench.serde || !temp_dir_make(&bench.home) ||
        campaign_generate(SEED, keep_result, &bench, NULL, &err)) {
        fprintf(stderr, "pipeline: no events: %s\n", err.msg);
        return 1;
    }
    int status = measure(&bench, &err);
    if (status)
        fprintf(stderr, "pipeline: not measured: %s\n", err.msg);
    temp_dir_done(&bench.home);
    serde_free(bench.serde);
    arena_done(&bench.arena);
    return status;
}
