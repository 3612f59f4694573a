/* SPDX-License-Identifier: Apache-2.0 */
/* The worker and the pass-through of the pipeline benches. */
#include "pipeline.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaign_gen.h"
#include "cleanup.h"
#include "clock.h"
#include "process.h"
#include "topics.h"
#include "tuning_event.h"

enum {
    MAX_PROPERTIES = 16,
    NAME_BYTES = 64,
    TRANSACTION_TIMEOUT_MS = 60000,
    LINE_BYTES = 4096,
    PATH_BYTES = 4096,
    SEED = 1,
    TOUCHED_BYTES = 1 << 30, /* more than a run writes */
};

/* The properties as the library's wrapper takes them. */
struct given {
    char names[MAX_PROPERTIES][NAME_BYTES];
    struct option_property properties[MAX_PROPERTIES];
    struct kafka_settings kafka;
};

static const struct kafka_settings *
settings_of(const struct pipeline *pipeline, struct given *given)
{
    size_t n = 0;
    for (; pipeline->properties[n] && n < MAX_PROPERTIES; n++) {
        const char *value = strchr(pipeline->properties[n], '=');
        snprintf(given->names[n], NAME_BYTES, "%.*s",
                 (int)(value - pipeline->properties[n]), pipeline->properties[n]);
        given->properties[n] =
            (struct option_property){given->names[n], value + 1, ORIGIN_FLAG, "bench"};
    }
    given->kafka = (struct kafka_settings){
        pipeline->brokers, given->properties, n, "bench", NULL, NULL};
    return &given->kafka;
}

/* --- the events --------------------------------------------------------------------- */

static enum err_kind
keep_result(void *state, const struct campaign_file *file, struct err *err)
{
    struct pipeline *pipeline = state;
    const char *name = strrchr(file->path, '/');
    if (!name || strcmp(name, "/result.json") != 0 ||
        pipeline->n_results == PIPELINE_MAX_RESULTS)
        return ERR_OK;
    struct slice copy = arena_copy(&pipeline->arena, file->content);
    if (!copy.data)
        return err_no_memory(err, "the campaign");
    pipeline->results[pipeline->n_results++] = copy;
    return ERR_OK;
}

static enum err_kind
encode_event(const struct pipeline *pipeline,
             const struct tuning_event *event,
             struct buf *ret,
             struct err *err)
{
    if (serde_encode(pipeline->serde, event, ret, err))
        return err->kind;
    if (ret->len >= pipeline->event_bytes)
        return ERR_OK;
    /* White space after the document: the audit reads over it as over any other. */
    CLEANUP(buf_done) struct buf padded = BUF_INIT;
    buf_add_slice(&padded, event->result.bytes);
    for (size_t n = pipeline->event_bytes - ret->len; n > 0; n--)
        buf_add_str(&padded, "\n");
    struct tuning_event longer = *event;
    longer.result.bytes = buf_slice(&padded);
    buf_reset(ret);
    return serde_encode(pipeline->serde, &longer, ret, err);
}

static enum err_kind
send_event(struct pipeline *pipeline,
           struct producer *producer,
           double *bytes,
           struct err *err)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    char workspace[128];
    int i = pipeline->sent++;
    snprintf(workspace, sizeof workspace, "/w/Model/session/runs/gemm_tuning/task%08d",
             i);
    const struct tuning_event event = {
        .origin = {SLICE("0"), SLICE("node"), SLICE("session"), 1000000, SLICE("bench")},
        .workspace = slice_of(workspace),
        .result = {.kind = PAYLOAD_INLINE,
                   .bytes = pipeline->results[(size_t)i % pipeline->n_results]},
    };
    if (encode_event(pipeline, &event, &value, err))
        return err->kind;
    *bytes += (double)value.len;
    const struct outgoing record = {.topic = TOPIC_TUNINGS,
                                    .key = slice_of(workspace),
                                    .value = buf_slice(&value),
                                    .timestamp_ms = 1000};
    return producer_send(producer, &record, PIPELINE_TIMEOUT_MS, err);
}

bool
pipeline_make_topics(const struct pipeline *pipeline)
{
    const char *argv[] = {BIN_DIR "/heddle", "topics",          "apply", "--execute",
                          "--brokers",       pipeline->brokers, NULL};
    struct process process;
    if (!process_start(&process, argv, NULL))
        return false;
    int status = process_wait(&process, PIPELINE_TIMEOUT_MS);
    if (status)
        fprintf(stderr, "%s: no topics:\n%.2000s\n", pipeline->name, process.text);
    process_close(&process);
    return status == 0;
}

bool
pipeline_fill(struct pipeline *pipeline,
              int max_events,
              double max_bytes,
              struct err *err)
{
    struct given given;
    struct producer *producer =
        producer_new(settings_of(pipeline, &given), NULL, NULL, err);
    double bytes = 0;
    int n = 0;
    for (; producer && !err->kind && n < max_events && bytes < max_bytes; n++)
        send_event(pipeline, producer, &bytes, err);
    bool filled =
        producer && !err->kind && !producer_flush(producer, PIPELINE_TIMEOUT_MS, err);
    producer_free(producer);
    pipeline->n_events = n;
    pipeline->event_average = n ? bytes / n : 0;
    return filled;
}

/*
 * A virtual machine's host may take unused memory back; the first touch of a page then
 * costs more than all that is done with it afterwards, and each run would pay for what
 * the one before left. So both sides start on memory that the machine has.
 */
static void
touch_memory(void)
{
    void *bytes = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (bytes != MAP_FAILED)
        munmap(bytes, TOUCHED_BYTES);
}

/* --- the pass-through, in a process of its own -------------------------------------- */

struct pass {
    const struct pipeline *pipeline;
    struct consumer *consumer;
    struct producer *producer;
    struct topic_partition next[PIPELINE_MAX_PARTITIONS];
    size_t n; /* records sent */
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
go_on(void *state)
{
    (void)state;
    return true;
}

static const struct patience patience = {go_on, NULL};

static bool
pass_commit(struct pass *pass, struct err *err)
{
    struct topic_partition done[PIPELINE_MAX_PARTITIONS];
    size_t n = 0;
    for (int p = 0; p < PIPELINE_MAX_PARTITIONS; p++)
        if (pass->next[p].topic)
            done[n++] = pass->next[p];
    if (!pass->pipeline->transactional)
        return !producer_flush(pass->producer, PIPELINE_TIMEOUT_MS, err) &&
               !consumer_commit(pass->consumer, done, n, err);
    return !transaction_send_offsets(pass->producer, pass->consumer, done, n,
                                     PIPELINE_TIMEOUT_MS, &patience, err) &&
           !transaction_commit(pass->producer, &patience, err);
}

static bool
pass_one(struct pass *pass, const struct message *in, struct err *err)
{
    const struct pipeline *pipeline = pass->pipeline;
    const struct outgoing record = {
        .topic = TOPIC_AUDIT_TUNINGS,
        .key = in->key,
        .value = pipeline->samples[pass->n++ % pipeline->n_samples],
        .timestamp_ms = in->timestamp_ms};
    pass->next[in->partition] =
        (struct topic_partition){TOPIC_TUNINGS, in->partition, in->offset + 1};
    return !producer_send(pass->producer, &record, PIPELINE_TIMEOUT_MS, err);
}

static bool
pass_begin(struct pass *pass, struct err *err)
{
    return !pass->pipeline->transactional ||
           !transaction_begin(pass->producer, &patience, err);
}

static struct pipeline_run
pass_all(struct pass *pass, struct err *err)
{
    const struct pipeline *pipeline = pass->pipeline;
    int64_t deadline_ms = clock_monotonic_ms() + PIPELINE_TIMEOUT_MS;
    int64_t begin_ns = 0;
    double begin_cpu_ms = 0;
    int64_t batch_ms = 0;
    int in_batch = 0;
    struct pipeline_run run = {-1, 0};
    for (int n = 0; n < pipeline->n_events && clock_monotonic_ms() < deadline_ms;) {
        struct consumed *consumed =
            consumer_poll(pass->consumer, in_batch ? 10 : 100, err);
        if (consumed && !begin_ns) {
            begin_ns = clock_monotonic_ns();
            begin_cpu_ms = pipeline_cpu_ms(getpid());
        }
        if (consumed && in_batch++ == 0) {
            batch_ms = clock_monotonic_ms();
            if (!pass_begin(pass, err))
                return run;
        }
        bool sent = !consumed || pass_one(pass, consumed_message(consumed), err);
        n += consumed != NULL;
        consumed_free(consumed);
        bool due = in_batch >= pipeline->batch_records || n == pipeline->n_events ||
                   (in_batch && clock_monotonic_ms() - batch_ms >= pipeline->batch_ms);
        if (!sent || (due && !pass_commit(pass, err)))
            return run;
        if (due)
            in_batch = 0;
        if (n == pipeline->n_events)
            run = (struct pipeline_run){(double)(clock_monotonic_ns() - begin_ns) / 1e6,
                                        pipeline_cpu_ms(getpid()) - begin_cpu_ms};
    }
    return run;
}

static struct pipeline_run
run_pass(const struct pipeline *pipeline)
{
    struct given given;
    const struct kafka_settings *kafka = settings_of(pipeline, &given);
    struct pass pass = {.pipeline = pipeline};
    struct err err = {0};
    const struct consumer_settings settings = {
        .kafka = kafka,
        .group = "bench-pass",
        .topic = TOPIC_TUNINGS,
        .start = TOPIC_FROM_START,
        .read_committed = pipeline->transactional,
        .events = {ignore_assigned, ignore_revoked, go_on, NULL},
    };
    pass.producer =
        pipeline->transactional
            ? producer_new_transactional(kafka, "bench-pass", TRANSACTION_TIMEOUT_MS,
                                         NULL, NULL, &err)
            : producer_new(kafka, NULL, NULL, &err);
    pass.consumer = consumer_new(&settings, &err);
    struct pipeline_run run = {-1, 0};
    if (pass.producer && pass.consumer &&
        (!pipeline->transactional ||
         !transactions_init(pass.producer, PIPELINE_TIMEOUT_MS, &err)))
        run = pass_all(&pass, &err);
    if (run.wall_ms < 0)
        fprintf(stderr, "%s: the pass-through failed: %s\n", pipeline->name, err.msg);
    consumer_close(pass.consumer);
    producer_free(pass.producer);
    return run;
}

/* A fork, with no client alive in it, so both sides start alike. */
struct pipeline_run
pipeline_run_pass(const struct pipeline *pipeline)
{
    int ends[2];
    struct pipeline_run run = {-1, 0};
    if (pipe(ends))
        return run;
    touch_memory();
    pid_t pid = fork();
    if (pid == 0) {
        run = run_pass(pipeline);
        _exit(write(ends[1], &run, sizeof run) == sizeof run ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &run, sizeof run) != sizeof run)
        run.wall_ms = -1;
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return run;
}

/* --- the worker --------------------------------------------------------------------- */

double
pipeline_cpu_ms(int pid)
{
    char path[64];
    char text[1024] = "";
    unsigned long user = 0;
    unsigned long system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *after = strrchr(text, ')'); /* the name may hold anything */
    if (!after || sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                         &user, &system) != 2)
        return 0;
    return (double)(user + system) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

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
static struct pipeline_run
watch_worker(struct process *worker, int n_events)
{
    char line[LINE_BYTES];
    const struct pipeline_run failed = {-1, 0};
    if (!process_wait_line(worker, "first record", line, sizeof line,
                           PIPELINE_TIMEOUT_MS))
        return failed;
    double begin_ms = time_of(line);
    double begin_cpu_ms = pipeline_cpu_ms(worker->pid);
    for (int committed = 0; committed < n_events;) {
        if (!process_wait_line(worker, "batch committed", line, sizeof line,
                               PIPELINE_TIMEOUT_MS))
            return failed;
        const char *records = strstr(line, "records=");
        committed += records ? atoi(records + 8) : 0;
    }
    double took_ms = time_of(line) - begin_ms;
    return (struct pipeline_run){took_ms < 0 ? took_ms + 24 * 3600 * 1000.0 : took_ms,
                                 pipeline_cpu_ms(worker->pid) - begin_cpu_ms};
}

struct pipeline_run
pipeline_run_worker(struct pipeline *pipeline)
{
    char state_home[PATH_BYTES];
    char records[32];
    char time[32];
    snprintf(state_home, sizeof state_home, "XDG_STATE_HOME=%s", pipeline->home.path);
    snprintf(records, sizeof records, "%d", pipeline->batch_records);
    snprintf(time, sizeof time, "%dms", pipeline->batch_ms);
    const char *environment[] = {state_home, NULL};
    const char *argv[32 + 2 * MAX_PROPERTIES] = {
        BIN_DIR "/heddle-audit",
        "--brokers",
        pipeline->brokers,
        "--instance",
        "bench",
        "--delivery",
        pipeline->transactional ? "exactly-once" : "at-least-once",
        "--log-level",
        "debug",
        "--batch-records",
        records,
        "--batch-time",
        time,
        "--batch-bytes",
        "1GiB"};
    size_t n = 15;
    for (size_t i = 0; pipeline->properties[i] && i < MAX_PROPERTIES; i++) {
        argv[n++] = "-X";
        argv[n++] = pipeline->properties[i];
    }
    struct process worker;
    struct pipeline_run run = {-1, 0};
    touch_memory();
    if (!process_start(&worker, argv, environment))
        return run;
    run = watch_worker(&worker, pipeline->n_events);
    if (run.wall_ms < 0)
        fprintf(stderr, "%s: the worker failed:\n%.2000s\n", pipeline->name, worker.text);
    process_end(worker.pid, SIGTERM, PIPELINE_TIMEOUT_MS);
    process_close(&worker);
    return run;
}

/* What a topic holds, and its first records. */
struct written {
    int n;
    double bytes;
    struct slice keys[PIPELINE_MAX_SAMPLES];
    struct slice values[PIPELINE_MAX_SAMPLES];
};

static bool
read_written(struct pipeline *pipeline,
             const char *topic,
             struct written *ret,
             struct err *err)
{
    struct given from;
    struct topic_reader *reader = topic_reader_new(
        settings_of(pipeline, &from), topic, TOPIC_FROM_START, PIPELINE_TIMEOUT_MS, err);
    bool done = !reader;
    *ret = (struct written){0};
    while (!done && !err->kind) {
        const struct message *in =
            topic_reader_next(reader, PIPELINE_TIMEOUT_MS, &done, err);
        if (!in)
            continue;
        if (ret->n < PIPELINE_MAX_SAMPLES) {
            ret->keys[ret->n] = arena_copy(&pipeline->arena, in->key);
            ret->values[ret->n] = arena_copy(&pipeline->arena, in->value);
        }
        ret->bytes += (double)(in->key.len + in->value.len);
        ret->n++;
    }
    topic_reader_free(reader);
    return !err->kind;
}

/* An event is a row and a record of the state, and the pass-through has its key. */
static bool
take_samples(struct pipeline *pipeline,
             const struct written *rows,
             const struct written *states)
{
    int n = rows->n < states->n ? rows->n : states->n;
    for (int i = 0; i < n && i < PIPELINE_MAX_SAMPLES; i++) {
        size_t len = rows->values[i].len + states->keys[i].len + states->values[i].len;
        char *sample = arena_alloc(&pipeline->arena, len);
        if (!sample)
            return false;
        char *to = mempcpy(sample, rows->values[i].data, rows->values[i].len);
        to = mempcpy(to, states->keys[i].data, states->keys[i].len);
        memcpy(to, states->values[i].data, states->values[i].len);
        pipeline->samples[pipeline->n_samples++] = (struct slice){sample, len};
    }
    return n > 0;
}

bool
pipeline_measure_output(struct pipeline *pipeline, struct err *err)
{
    enum { ROWS, STATES, WARNINGS, DEAD, TOPICS };
    static const char *const topics[TOPICS] = {TOPIC_AUDIT_TUNINGS, TOPIC_STATE_AUDIT,
                                               TOPIC_WARNINGS, TOPIC_DEAD};
    static struct written written[TOPICS];
    double bytes = 0;
    for (size_t i = 0; i < TOPICS; i++) {
        if (!read_written(pipeline, topics[i], &written[i], err))
            return false;
        bytes += written[i].bytes;
    }
    /* The keys are distinct, so every event is a row; a quick failure is no rate. */
    if (written[ROWS].n != pipeline->n_events || written[DEAD].n != 0) {
        fprintf(stderr, "%s: %d rows and %d dead letters of %d events\n", pipeline->name,
                written[ROWS].n, written[DEAD].n, pipeline->n_events);
        return false;
    }
    pipeline->output_bytes = (size_t)(bytes / pipeline->n_events);
    return take_samples(pipeline, &written[ROWS], &written[STATES]);
}

/* ------------------------------------------------------------------------------------ */

bool
pipeline_open(struct pipeline *pipeline, struct err *err)
{
    pipeline->serde = serde_new(&tuning_event_type, NULL, err);
    return pipeline->serde && temp_dir_make(&pipeline->home) &&
           !campaign_generate(SEED, keep_result, pipeline, NULL, err);
}

void
pipeline_done(struct pipeline *pipeline)
{
    temp_dir_done(&pipeline->home);
    serde_free(pipeline->serde);
    arena_done(&pipeline->arena);
}
