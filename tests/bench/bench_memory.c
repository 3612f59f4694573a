/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_rate: heddle-audit on a backlog of a real Kafka, under a small limit of memory
 * and without any, in turns. That it stays below its limit is asserted by kafka.memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "pipeline.h"
#include "real_kafka.h"

enum {
    RUNS = 3,
    EVENTS = 150000,
    EVENT_BYTES = 1300,
    BATCH_RECORDS = 10000,
    BATCH_MS = 1000
};

#define LIMIT "256MiB"

static const double goal = 0.5;

/* Events a second on a backlog of its own; below 0: it failed. */
static double
run_with(struct pipeline *pipeline, const char *memory, struct err *err)
{
    if (!pipeline_fill(pipeline, EVENTS, (double)EVENTS * EVENT_BYTES * 4, err) ||
        setenv("HEDDLE_MEMORY", memory, 1))
        return -1;
    struct pipeline_run run = pipeline_run_worker(pipeline);
    if (run.wall_ms <= 0)
        return -1;
    double rate = pipeline->n_events / run.wall_ms * 1000;
    fprintf(stderr, "memory_rate: memory %s, %.0f events/s\n", memory, rate);
    return rate;
}

static int
measure(struct pipeline *pipeline, struct err *err)
{
    double limited[RUNS];
    double free_rates[RUNS];
    for (int i = 0; i < RUNS; i++) {
        free_rates[i] = run_with(pipeline, "0", err);
        limited[i] = run_with(pipeline, LIMIT, err);
        if (free_rates[i] < 0 || limited[i] < 0)
            return 1;
    }
    double ours = measure_median(limited, RUNS);
    double peer = measure_median(free_rates, RUNS);
    printf(
        "{\"name\": \"memory_rate\", \"what\": \"%d tuning events of %.0f bytes over a "
        "real Kafka, exactly-once, memory = " LIMIT "\", \"unit\": \"events/s\", "
        "\"ours\": %.0f, \"peer\": %.0f, \"peer_name\": \"the same without a limit\", "
        "\"ratio\": %.2f, \"goal\": %.1f, \"holds\": %s, \"runs\": %d}\n",
        pipeline->n_events, pipeline->event_average, ours, peer, ours / peer, goal,
        ours / peer >= goal ? "true" : "false", RUNS);
    return 0;
}

int
main(int argc, char **argv)
{
    static const char *const properties[] = {"session.timeout.ms=6000", NULL};
    static struct pipeline pipeline = {.name = "memory_rate",
                                       .transactional = true,
                                       .batch_records = BATCH_RECORDS,
                                       .batch_ms = BATCH_MS,
                                       .event_bytes = EVENT_BYTES,
                                       .properties = properties};
    struct real_kafka kafka = {0};
    struct err err = {0};
    int status = 0;
    if (argc == 3 && strcmp(argv[1], "--only") == 0 &&
        strcmp(argv[2], "memory_rate") != 0)
        return 0;
    if (!real_kafka_here("memory_rate", &status))
        return status;
    if (!real_kafka_start(&kafka, false))
        return 1;
    pipeline.brokers = kafka.bootstrap;
    status = !pipeline_open(&pipeline, &err) || !pipeline_make_topics(&pipeline) ||
             measure(&pipeline, &err);
    if (status)
        fprintf(stderr, "memory_rate: not measured: %s\n", err.msg);
    pipeline_done(&pipeline);
    real_kafka_stop(&kafka);
    return status;
}
