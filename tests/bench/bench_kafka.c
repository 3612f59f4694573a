/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_pipeline and audit_cpu: heddle-audit with exactly-once on a real Kafka, beside a
 * transactional pass-through in a plain loop, and beside a Python consumer that derives
 * the same (peers/audit_consumer.py). All three read the same events, in turns. The first
 * round warms the broker up (its JVM compiles while it serves) and is not counted; the
 * worker and the pass-through go first in turn, for what one leaves behind in the broker.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "pipeline.h"
#include "process.h"
#include "real_kafka.h"

enum {
    RUNS = 5,
    EVENTS = 120000,
    EVENT_BYTES = 1024,
    BATCH_RECORDS = 5000,
    BATCH_MS = 200,
    COMMAND_BYTES = 4096,
};

static const double pipeline_goal = 0.9;
static const double cpu_goal = 4;

struct bench {
    struct pipeline pipeline;
    bool wants_pipeline;
    bool wants_cpu;
    char python[COMMAND_BYTES]; /* "" without the peer's packages */
    double ours[RUNS];          /* events a second */
    double pass[RUNS];
    double our_cpu[RUNS]; /* microseconds an event */
    double peer_cpu[RUNS];
};

/* The interpreter that has the peer's packages: the script makes it when it can. */
static void
find_python(struct bench *bench)
{
    FILE *script = popen("'" SOURCE_DIR "/tests/bench/peers/python'", "r");
    if (script && !fgets(bench->python, sizeof bench->python, script))
        bench->python[0] = '\0';
    if (!script || pclose(script) != 0)
        bench->python[0] = '\0';
    bench->python[strcspn(bench->python, "\n")] = '\0';
    if (!bench->python[0])
        fprintf(stderr,
                "SKIPPED audit_cpu: the peer's packages can't be had; get them by "
                "tests/bench/peers/python\n");
}

/* Microseconds of CPU an event; below 0 when it failed. */
static double
run_python(const struct bench *bench)
{
    char line[256] = "";
    char n_events[32];
    snprintf(n_events, sizeof n_events, "%d", bench->pipeline.n_events);
    const char *argv[] = {bench->python,
                          SOURCE_DIR "/tests/bench/peers/audit_consumer.py",
                          bench->pipeline.brokers, n_events, NULL};
    struct process peer;
    double cpu_ms = -1;
    double wall_ms = 0;
    if (!process_start(&peer, argv, NULL))
        return -1;
    if (process_wait_line(&peer, "cpu_ms", line, sizeof line, PIPELINE_TIMEOUT_MS))
        sscanf(line, "cpu_ms %lf wall_ms %lf", &cpu_ms, &wall_ms);
    if (cpu_ms < 0)
        fprintf(stderr, "audit_cpu: the peer failed:\n%.2000s\n", peer.text);
    else
        fprintf(stderr, "audit_cpu: Python %.0f events/s\n",
                bench->pipeline.n_events / wall_ms * 1000);
    process_end(peer.pid, SIGTERM, PIPELINE_TIMEOUT_MS);
    process_close(&peer);
    return cpu_ms < 0 ? cpu_ms : cpu_ms * 1000 / bench->pipeline.n_events;
}

static bool
run_worker(struct bench *bench, int i, struct err *err)
{
    struct pipeline *pipeline = &bench->pipeline;
    struct pipeline_run run = pipeline_run_worker(pipeline);
    if (run.wall_ms <= 0 ||
        (!pipeline->output_bytes && !pipeline_measure_output(pipeline, err)))
        return false;
    bench->ours[i] = pipeline->n_events / run.wall_ms * 1000;
    bench->our_cpu[i] = run.cpu_ms * 1000 / pipeline->n_events;
    fprintf(stderr, "audit_pipeline: %.0f events/s, %.1f us CPU an event\n",
            bench->ours[i], bench->our_cpu[i]);
    return true;
}

static bool
run_pass(struct bench *bench, int i, struct err *err)
{
    struct pipeline *pipeline = &bench->pipeline;
    (void)err;
    if (!bench->wants_pipeline)
        return true;
    struct pipeline_run run = pipeline_run_pass(pipeline);
    if (run.wall_ms <= 0)
        return false;
    bench->pass[i] = pipeline->n_events / run.wall_ms * 1000;
    fprintf(stderr, "audit_pipeline: pass-through %.0f events/s, %.1f us CPU\n",
            bench->pass[i], run.cpu_ms * 1000 / pipeline->n_events);
    return true;
}

/* Round 0 warms up and is overwritten by round 1. */
static bool
one_round(struct bench *bench, int round, struct err *err)
{
    struct pipeline *pipeline = &bench->pipeline;
    int i = round > 0 ? round - 1 : 0;
    bool worker_first = round % 2 == 0;
    if (!pipeline_fill(pipeline, EVENTS, (double)EVENTS * EVENT_BYTES * 4, err))
        return false;
    if (!(worker_first ? run_worker : run_pass)(bench, i, err) ||
        !(worker_first ? run_pass : run_worker)(bench, i, err))
        return false;
    if (bench->wants_cpu)
        bench->peer_cpu[i] = run_python(bench);
    return !bench->wants_cpu || bench->peer_cpu[i] > 0;
}

static void
print_pipeline(struct bench *bench)
{
    double ours = measure_median(bench->ours, RUNS);
    double pass = measure_median(bench->pass, RUNS);
    printf(
        "{\"name\": \"audit_pipeline\", \"what\": \"%d tuning events of %.0f bytes over "
        "a real Kafka, exactly-once, to %zu bytes of audit rows and state each; "
        "transactions of %d records or %d ms\", \"unit\": \"events/s\", \"ours\": "
        "%.0f, \"peer\": %.0f, \"peer_name\": \"transactional pass-through\", "
        "\"ratio\": %.2f, \"goal\": %.1f, \"holds\": %s, \"runs\": %d}\n",
        bench->pipeline.n_events, bench->pipeline.event_average,
        bench->pipeline.output_bytes, BATCH_RECORDS, BATCH_MS, ours, pass, ours / pass,
        pipeline_goal, ours / pass >= pipeline_goal ? "true" : "false", RUNS);
}

static void
print_cpu(struct bench *bench)
{
    double ours = measure_median(bench->our_cpu, RUNS);
    double peer = measure_median(bench->peer_cpu, RUNS);
    printf("{\"name\": \"audit_cpu\", \"what\": \"CPU of the consumer an event of %.0f "
           "bytes, exactly-once on a real Kafka\", \"unit\": \"us\", \"ours\": %.1f, "
           "\"peer\": %.1f, \"peer_name\": \"Python, confluent-kafka, fastavro\", "
           "\"ratio\": %.2f, \"goal\": %.0f, \"holds\": %s, \"runs\": %d}\n",
           bench->pipeline.event_average, ours, peer, peer / ours, cpu_goal,
           peer / ours >= cpu_goal ? "true" : "false", RUNS);
}

static int
measure(struct bench *bench, struct err *err)
{
    if (!pipeline_open(&bench->pipeline, err) || !pipeline_make_topics(&bench->pipeline))
        return 1;
    for (int round = 0; round <= RUNS; round++)
        if (!one_round(bench, round, err))
            return 1;
    if (bench->wants_pipeline)
        print_pipeline(bench);
    if (bench->wants_cpu)
        print_cpu(bench);
    return 0;
}

int
main(int argc, char **argv)
{
    static const char *const properties[] = {"session.timeout.ms=6000", NULL};
    static struct bench bench = {.pipeline = {.name = "audit_pipeline",
                                              .transactional = true,
                                              .batch_records = BATCH_RECORDS,
                                              .batch_ms = BATCH_MS,
                                              .event_bytes = EVENT_BYTES,
                                              .properties = properties}};
    const char *only = argc == 3 && strcmp(argv[1], "--only") == 0 ? argv[2] : NULL;
    struct real_kafka kafka = {0};
    struct err err = {0};
    int status = 0;
    bench.wants_pipeline = !only || strcmp(only, "audit_pipeline") == 0;
    bench.wants_cpu = !only || strcmp(only, "audit_cpu") == 0;
    if (bench.wants_cpu)
        find_python(&bench);
    bench.wants_cpu = bench.python[0] != '\0';
    if (!bench.wants_pipeline && !bench.wants_cpu)
        return 0;
    if (!real_kafka_here("audit_pipeline", &status))
        return status;
    if (!real_kafka_start(&kafka, false))
        return 1;
    bench.pipeline.brokers = kafka.bootstrap;
    status = measure(&bench, &err);
    if (status)
        fprintf(stderr, "audit_pipeline: not measured: %s\n", err.msg);
    pipeline_done(&bench.pipeline);
    real_kafka_stop(&kafka);
    return status;
}
