/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heddle-audit between topics of a broker, beside a pass-through of the same events with
 * the same library settings that writes as many bytes: what the worker wrote of an event,
 * row and state in one record, for other bytes would pack better or worse. For both the
 * clock runs from the first record to the last commit.
 */
#pragma once

#include "kafka.h"
#include "serde.h"
#include "temp_dir.h"

enum {
    PIPELINE_MAX_RESULTS = 512,
    PIPELINE_MAX_PARTITIONS = 64,
    PIPELINE_MAX_SAMPLES = 4096, /* more than a compressed batch holds */
    PIPELINE_TIMEOUT_MS = 60000,
};

struct pipeline {
    const char *name;    /* for talk */
    const char *brokers; /* host:port */
    bool transactional;  /* exactly-once on both sides */
    int batch_records;   /* of both sides */
    int batch_ms;
    size_t event_bytes;            /* events are padded up to it; 0: they are not */
    const char *const *properties; /* NAME=VALUE of both sides, NULL-terminated */
    struct temp_dir home;          /* state of the workers */
    struct slice results[PIPELINE_MAX_RESULTS];
    size_t n_results;
    struct arena arena;
    struct serde *serde;
    int n_events;         /* in one run */
    int sent;             /* so far, all of distinct keys */
    double event_average; /* bytes of a value */
    size_t output_bytes;  /* that the worker writes of one event, with keys */
    struct slice samples[PIPELINE_MAX_SAMPLES]; /* what it wrote of some events */
    size_t n_samples;
};

/* What a run took, from the first record to the last commit. */
struct pipeline_run {
    double wall_ms; /* below 0: it failed */
    double cpu_ms;  /* of the process, user and system */
};

/* The rest of the struct is the caller's. */
bool pipeline_open(struct pipeline *pipeline, struct err *err);
void pipeline_done(struct pipeline *pipeline);

/* Heddle's topics, on a real Kafka. */
bool pipeline_make_topics(const struct pipeline *pipeline);
/* Sends events, all acknowledged, until there are `max_events` or `max_bytes` of values;
 * sets n_events. */
bool pipeline_fill(struct pipeline *pipeline,
                   int max_events,
                   double max_bytes,
                   struct err *err);
struct pipeline_run pipeline_run_worker(struct pipeline *pipeline);
/* Call after the first run of the worker, which alone may have written. False, with a
 * line on stderr, unless every event is a row and none a dead letter. */
bool pipeline_measure_output(struct pipeline *pipeline, struct err *err);
/* In a process of its own. */
struct pipeline_run pipeline_run_pass(const struct pipeline *pipeline);
/* CPU time of a process so far. */
double pipeline_cpu_ms(int pid);
