/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_embedded: pipeline.h over the embedded broker, a fresh one for each run. */
#include <stdio.h>
#include <string.h>

#include "broker.h"
#include "measure.h"
#include "pipeline.h"

enum { RUNS = 3, PARTITIONS = 32, MAX_EVENTS = 1000000 };

/* Of input in one partition: the embedded broker drops what is above 5 MiB. */
#define PARTITION_BYTES (3.5 * 1024 * 1024)
/* Room for uneven keys. */
#define FILL_BYTES (PARTITION_BYTES * 0.8 * PARTITIONS)
static const double goal = 0.8;

/* Events a second; 0 when it failed. */
static double
one_run(struct pipeline *pipeline, bool ours, struct err *err)
{
    struct broker broker;
    struct pipeline_run run = {-1, 0};
    if (!broker_start_sized(&broker, 0, PARTITIONS))
        return 0;
    pipeline->brokers = broker.bootstrap;
    pipeline->sent = 0;
    if (pipeline_fill(pipeline, MAX_EVENTS, FILL_BYTES, err))
        run = ours ? pipeline_run_worker(pipeline) : pipeline_run_pass(pipeline);
    bool measured = run.wall_ms > 0;
    if (measured && ours && !pipeline->output_bytes)
        measured = pipeline_measure_output(pipeline, err);
    broker_stop(&broker);
    temp_dir_done(&pipeline->home); /* the state belongs to that broker */
    return measured && temp_dir_make(&pipeline->home)
               ? pipeline->n_events / run.wall_ms * 1000
               : 0;
}

static int
measure(struct pipeline *pipeline, struct err *err)
{
    double ours[RUNS];
    double peer[RUNS];
    for (int i = 0; i < RUNS; i++) {
        ours[i] = one_run(pipeline, true, err);
        peer[i] = ours[i] > 0 ? one_run(pipeline, false, err) : 0;
        fprintf(stderr, "pipeline_embedded: %.0f events/s, pass-through %.0f\n", ours[i],
                peer[i]);
        if (ours[i] <= 0 || peer[i] <= 0)
            return 1;
    }
    double our_rate = measure_median(ours, RUNS);
    double peer_rate = measure_median(peer, RUNS);
    double ratio = our_rate / peer_rate;
    printf("{\"name\": \"pipeline_embedded\", \"what\": \"%d tuning events over the "
           "embedded broker to %zu bytes of audit rows and state each\", \"unit\": "
           "\"events/s\", \"ours\": %.0f, \"peer\": %.0f, \"peer_name\": "
           "\"pass-through\", \"ratio\": %.2f, \"goal\": %.1f, \"holds\": %s, "
           "\"runs\": %d}\n",
           pipeline->n_events, pipeline->output_bytes, our_rate, peer_rate, ratio, goal,
           ratio >= goal ? "true" : "false", RUNS);
    return 0;
}

int
main(int argc, char **argv)
{
    static const char *const properties[] = {"compression.codec=none",
                                             "fetch.wait.max.ms=20",
                                             "session.timeout.ms=6000", NULL};
    static struct pipeline pipeline = {.name = "pipeline_embedded",
                                       .batch_records = 10000,
                                       .batch_ms = 1000,
                                       .properties = properties};
    struct err err = {0};
    if (argc == 3 && strcmp(argv[1], "--only") == 0 &&
        strcmp(argv[2], "pipeline_embedded") != 0)
        return 0;
    int status = pipeline_open(&pipeline, &err) ? measure(&pipeline, &err) : 1;
    if (status)
        fprintf(stderr, "pipeline_embedded: not measured: %s\n", err.msg);
    pipeline_done(&pipeline);
    return status;
}
