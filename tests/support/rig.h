/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test worker (support/test_worker.c) between two topics of its own on a real Kafka:
 * numbered records go in, and what a read_committed reader sees of each is counted.
 */
#pragma once

#include "kafka.h"
#include "process.h"
#include "real_kafka.h"
#include "temp_dir.h"

#include <stdbool.h>
#include <stdint.h>

enum { RIG_MAX_RECORDS = 1000000, RIG_TIMEOUT_MS = 120000 };

struct rig {
    const struct real_kafka *kafka;
    struct temp_dir home; /* state folder of the workers */
    char input[64];
    char output[64];
    char group[64];
};

/* How often each number came out, and the dead letters of the rig's input. */
struct rig_seen {
    uint8_t *times; /* RIG_MAX_RECORDS */
    int records;
    int distinct;
    int doubled;
};

/* The Kafka of the test program, for cmocka_run_group_tests(). */
int rig_open_kafka(void **state);
int rig_close_kafka(void **state);
struct real_kafka *rig_kafka(void);

/* Makes the topics NAME.in (`partitions`) and NAME.out; fails the test otherwise. */
void rig_open(struct rig *rig,
              const struct real_kafka *kafka,
              const char *name,
              int partitions);
void rig_done(struct rig *rig);

/* Sends w<from> ... w<from + n - 1> to the input, acknowledged. */
void rig_send(const struct rig *rig, int from, int n);
/* Sends one event whose workspace is `text`, acknowledged. */
void rig_send_text(const struct rig *rig, const char *text);

/* Sends w<number> to the output, as another program would, acknowledged. */
void rig_send_beside(const struct rig *rig, int number);

/* Starts heddle-testworker as `instance` with `more` flags (NULL-terminated, may be
 * NULL). */
void rig_start(const struct rig *rig,
               struct process *worker,
               const char *instance,
               const char *const *more);
/* Waits for a line; fails with the worker's output when it does not come. */
void rig_wait(struct process *worker, const char *text);
/* Lines of what the worker has said so far that contain `text`. */
int rig_lines(const struct process *worker, const char *text);
/* SIGTERM, and the status must be `expected`. */
void rig_stop(struct process *worker, int expected);
/* kill -9. */
void rig_kill(struct process *worker);
/* SIGTERM, and whatever status. */
void rig_end(struct process *worker);

/* Reads the output to its end as it is now. Fill `seen` with rig_seen_new() first. */
struct rig_seen rig_seen_new(void);
void rig_seen_done(struct rig_seen *seen);
void rig_read(const struct rig *rig, struct rig_seen *seen);
/* Reads again and again until at least `n` different numbers came out; fails when they
 * don't. */
void rig_wait_distinct(const struct rig *rig, struct rig_seen *seen, int n);
/* Waits until w0 ... w<n - 1> came out; fails unless each came once and nothing else. */
void rig_assert_each_once(const struct rig *rig, int n);
/* Dead letters from the rig's input with `code`; NULL: any. */
int rig_dead(const struct rig *rig, const char *code);
/* Records of the output that carry the trace context of their input. */
int rig_traced(const struct rig *rig);
/* Makes the output a compacted topic, which refuses records without a key. */
void rig_compact(const struct rig *rig);
/* Records that were stored in the output, those of open and aborted transactions too. */
int64_t rig_stored(const struct rig *rig);
/* Records of the input that the group has not committed. */
int64_t rig_lag(const struct rig *rig);
/* Waits until that is 0. */
void rig_wait_drained(const struct rig *rig);
struct kafka_settings rig_settings(const struct rig *rig);

/* The answer of `GET path` of the worker's admin port, in `ret_page`; its status. */
int rig_port_of(struct process *worker);
int rig_get(int port, const char *path, char *ret_page, size_t size);
/* The value of a metric without labels, as text. */
void rig_metric(int port, const char *name, char *ret_text, size_t size);
/* The same as a number. */
long long rig_number(int port, const char *name);
/* Waits until a page says `text`. */
void rig_wait_page(int port, const char *path, const char *text);
