/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends tuning and trace events and remembers each one once it is delivered. What is on
 * its way is bounded in events and bytes; everything happens on the caller's thread.
 */
#pragma once

#include "err.h"
#include "kafka.h"
#include "sent.h"
#include "trace_build.h"
#include "tuning_build.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Events and bytes that are on their way at most. */
enum { FEEDER_MAX_EVENTS = 1024, FEEDER_STOP_MS = 10000 };
#define FEEDER_MAX_BYTES ((size_t)32 << 20)

/* What is sent; each has its topic, its memory and its counts. */
enum feed_kind { FEED_RUNS, FEED_TRACES, FEED_KINDS };

/* heddle.tunings, heddle.traces */
const char *feed_topic(enum feed_kind kind);

/* A file that goes with an event, to be remembered. */
struct delivery_file {
    char *path;
    struct sent_file file;
};

/* What to do when an event is delivered. */
struct delivery {
    char *name; /* of the run, trace or line, for messages */
    enum feed_kind kind;
    struct sent *sent; /* NULL: nothing is remembered */
    char event_id[DIGEST_HEX];
    struct delivery_file *files;
    size_t n_files;
    size_t bytes;              /* of the record */
    struct delivery *previous; /* while it is on its way */
    struct delivery *next;
};

/* Room for `n_files` files; NULL without memory. */
struct delivery *delivery_new(const char *name, struct sent *sent, size_t n_files);
/* Adds a file; false without memory. */
bool
delivery_add(struct delivery *delivery, const char *path, const struct sent_file *file);
void delivery_free(struct delivery *delivery);

struct feeder;

struct feeder_events {
    /* The broker refused this one for good; the others go on. */
    void (*refused)(void *state, const char *name, const struct err *err);
    void (*waiting)(void *state); /* while it waits, some times a second */
    void *state;
    const volatile sig_atomic_t *stop; /* not 0: waits end early */
    int silence_ms; /* without any report for so long the broker is given up; 0: never */
};

struct feeder_counts {
    size_t delivered;
    size_t refused;
    size_t undelivered; /* not acknowledged, to be sent again by a later run */
    size_t bytes;       /* delivered */
};

/* ERR_FATAL of the producer and the codec. `events` is copied. */
struct feeder *feeder_new(const struct kafka_settings *kafka,
                          const struct feeder_events *events,
                          struct err *err);
/* What is on its way is given up; feeder_flush() first. */
void feeder_free(struct feeder *feeder);

/*
 * Builds, encodes and queues one event; takes the delivery over, whatever comes. Waits
 * while too much is on its way. ERR_RECORD when this event can't be sent, ERR_RETRY
 * "delivery_failed" or "broker_silent" when the broker stopped taking events, ERR_RETRY
 * "interrupted", ERR_FATAL.
 */
enum err_kind feeder_send(struct feeder *feeder,
                          const struct tuning_parts *parts,
                          struct delivery *delivery,
                          struct err *err);
/* The same for a trace. */
enum err_kind feeder_send_trace(struct feeder *feeder,
                                const struct trace_parts *parts,
                                struct delivery *delivery,
                                struct err *err);
/* Serves reports for at most `timeout_ms`; the first error that ends the feeding. */
enum err_kind feeder_poll(struct feeder *feeder, int timeout_ms, struct err *err);
/*
 * Waits for every report: until the broker is silent for silence_ms, or for at most
 * FEEDER_STOP_MS once a stop is asked for. Counts the rest as undelivered.
 */
enum err_kind feeder_flush(struct feeder *feeder, struct err *err);
/* Forgets a failed delivery, so that a watch may try again. */
void feeder_resume(struct feeder *feeder);
const struct feeder_counts *feeder_counts(const struct feeder *feeder,
                                          enum feed_kind kind);
