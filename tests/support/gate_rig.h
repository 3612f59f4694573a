/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heddle-gate between the topics of a broker, embedded or real: split records go in, and
 * what came out is laid beside what the pure function gives for the same records.
 */
#pragma once

#include "derive.h"
#include "json.h"
#include "kafka.h"
#include "process.h"
#include "temp_dir.h"
#include "verdict.h"

enum { GATE_RIG_TIMEOUT_MS = 120000, GATE_RIG_OUTPUTS = 4 };

/* A split record and, when it was made of a vector, what that expects of its verdict. */
struct gate_sample {
    struct split_record record;
    struct json_value expect; /* JSON_NONE: of tests/data/split_records.jsonl */
};

struct gate_samples {
    struct arena arena;
    struct gate_sample *items;
    size_t n;
};

/* Lines about records, one each, sorted. Zero it; everything lies in the arena. */
struct gate_lines {
    struct arena arena;
    char **items;
    size_t n, cap;
};

struct gate_rig {
    const char *brokers;  /* borrowed */
    struct temp_dir home; /* state folder of the workers */
    struct gate_tools tools;
    struct serde *splits;
    struct serde *outputs[GATE_RIG_OUTPUTS]; /* of the topics that it writes */
};

/*
 * The records of tests/data/split_records.jsonl, then those of tests/vectors/gate: every
 * case of `decide` under default settings that a split record can hold. Identities are
 * set apart by `round`. Fails the test when nothing can be read.
 */
void gate_samples_read(struct gate_samples *ret_samples, int round);
void gate_samples_done(struct gate_samples *samples);

/* `max_rows` as the setting table.max_rows. */
void gate_rig_open(struct gate_rig *rig, const char *brokers, int64_t max_rows);
void gate_rig_done(struct gate_rig *rig);
struct kafka_settings gate_rig_settings(const struct gate_rig *rig);
/* Sends to heddle.splits, acknowledged. */
void gate_rig_send(const struct gate_rig *rig, const struct split_record *record);
void gate_rig_send_samples(const struct gate_rig *rig,
                           const struct gate_samples *samples);

/* Starts it as `instance` of `group` with `more` flags (NULL-terminated, may be NULL),
 * and waits until it says so. */
void gate_rig_start(const struct gate_rig *rig,
                    struct process *worker,
                    const char *group,
                    const char *instance,
                    const char *const *more);
/* SIGTERM, and the status must be 0. */
void gate_rig_stop(struct process *worker);
/* kill -9. */
void gate_rig_kill(struct process *worker);
/* Waits until `group` has committed all of heddle.splits. */
void gate_rig_wait_drained(const struct gate_rig *rig, const char *group);

/*
 * What must come out of everything that is on heddle.splits now: each record with its
 * topic and key, dead letters by their code. What diff ignores of a provenance is left
 * out.
 */
void gate_rig_expect(const struct gate_rig *rig, struct gate_lines *ret_lines);
/* What did come out, in the same form. */
void gate_rig_read(const struct gate_rig *rig, struct gate_lines *ret_lines);
void gate_lines_done(struct gate_lines *lines);
/* Fails at the first line that is not there `times` times, or that should not be there.
 */
void gate_lines_compare(const struct gate_lines *expected,
                        const struct gate_lines *seen,
                        size_t times);
/* Keeps one of each; how many were left out. */
size_t gate_lines_unique(struct gate_lines *lines);
