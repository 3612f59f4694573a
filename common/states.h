/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a worker: a store for each assigned partition (store.h) and the changelog
 * topic that they follow. The runner drives it:
 *
 *   states_take      a partition came: its store is opened and brought up to date
 *   states_keep      the record went through / states_drop: it did not
 *   states_produce   before a commit, and in a transaction now and then: what the batch
 *                    changed since goes to the changelog, after everything that it says
 *                    was sent
 *   states_commit    after it / states_abort: the batch was given up
 *   states_tick      what is due by the wall clock
 *   states_release   a partition went
 *
 * The worker finds the store of a record's partition by states_find(), reads it and
 * stages changes in on_record().
 */
#pragma once

#include "kafka.h"
#include "store.h"
#include "worker.h"

#include <stdint.h>

/* Borrowed for the life of the states. */
struct states_settings {
    const struct worker *worker; /* with a description of its state */
    const struct kafka_settings *kafka;
    const char *folder; /* of this instance; a store lies below it */
    int64_t max_bytes;  /* of one store's file */
    int64_t max_memory; /* of changes of one batch, and of filters, of all partitions */
};

struct states;

struct states *states_new(const struct states_settings *settings, struct err *err);
void states_free(struct states *states);
/* What worker->open() gave; before the first partition. Borrowed. */
void states_set_worker(struct states *states, void *worker_state);

/*
 * Opens the store and reads the changelog from where the store is to its end, with a line
 * in the log now and then. ERR_RETRY "stopping"; ERR_FATAL, changelog.h and store.h.
 */
enum err_kind states_take(struct states *states, int32_t partition, struct err *err);
/* Without it nothing happens. */
void states_release(struct states *states, int32_t partition);

enum err_kind states_keep(struct states *states, int32_t partition, struct err *err);
void states_drop(struct states *states, int32_t partition);
/* A batch has changed so much that it should be committed. */
bool states_full(const struct states *states);
/* Whether there is anything to produce. */
bool states_changed(const struct states *states);

/* Sends one record; what the delivery's produce() answers. */
typedef enum err_kind
states_send_fn(void *state, const struct outgoing *record, struct err *err);
enum err_kind
states_produce(struct states *states, states_send_fn *send, void *state, struct err *err);
/* `producer` knows how far the changelog was acknowledged. */
enum err_kind
states_commit(struct states *states, const struct producer *producer, struct err *err);
void states_abort(struct states *states);

/* Encodes and sends what the worker gave for something that was due. ERR_RECORD: it can't
 * be sent. */
typedef enum err_kind states_emit_fn(void *state, struct emits *out, struct err *err);
/*
 * What is due now, a bounded number of it; `*ret_more` when there may be more. What fails
 * for a passing reason, or can't be sent, is tried again after a minute, with a line in
 * the log. The open batch must be committed afterwards. ERR_FATAL; ERR_RETRY of `emit`:
 * the batch is to be given up.
 */
enum err_kind states_tick(struct states *states,
                          struct arena *arena,
                          states_emit_fn *emit,
                          void *state,
                          struct err *err);
