/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in work on threads of their own (worker.h, struct worker_jobs): a table of
 * jobs, at most one for each record, that a fixed number of threads works off in the
 * order in which they were started. A job owns a copy of its record and what it gave,
 * until it is dropped; nothing else is shared with the thread that started it.
 *
 * One thread owns the table and calls all of this, but for jobs_longest_ms().
 */
#pragma once

#include "err.h"
#include "journal.h"
#include "record.h"
#include "worker.h"

#include <stdbool.h>
#include <stdint.h>

struct jobs;

/* A job that is finished, the owner's to read. */
struct job {
    struct message in; /* a copy */
    void *task;        /* what prepare() made; NULL: it failed */
    struct emits out;
    enum err_kind kind;
    struct err err;
    int64_t took_ms;
};

/*
 * Starts the threads. `ops` and `state` are borrowed; `journal` may be NULL: its lanes
 * from 1 on are the threads'.
 */
struct jobs *jobs_new(const struct worker_jobs *ops,
                      void *state,
                      struct journal *journal,
                      struct err *err);
/*
 * Cancels what is in work and waits for it; nothing is begun any more. False: something
 * still runs after that time, so that the process has to leave over it; it is not counted
 * as a crash, unless it was late.
 */
bool jobs_end(struct jobs *jobs, int64_t timeout_ms);
/* Takes NULL. Cancels what is in work and waits for the threads, however long. */
void jobs_free(struct jobs *jobs);

/*
 * Prepares the record here and now, and leaves the rest to a thread; what goes wrong is
 * found in the finished job. A record that the process has died over before is worked on
 * alone: its neighbours are not to be counted with it. ERR_FATAL "out_of_memory".
 */
enum err_kind jobs_start(struct jobs *jobs, const struct message *in, struct err *err);
/* Whether the record has a job, be it finished or not. */
bool jobs_has(struct jobs *jobs, int32_t partition, int64_t offset);
/* Its finished job; NULL: none, or still in work. Valid until it is dropped. */
struct job *jobs_finished(struct jobs *jobs, int32_t partition, int64_t offset);
/* Forgets the jobs of `partition` up to `below`; what is in work is cancelled. */
void jobs_drop(struct jobs *jobs, int32_t partition, int64_t below);

/* How many are waiting or in work, dropped ones left out. */
size_t jobs_open(struct jobs *jobs);
/* No job is begun any more; those that are waiting stay so. */
void jobs_hold_back(struct jobs *jobs);
/* How many are in work or finished, dropped ones left out. */
size_t jobs_begun(struct jobs *jobs);
/*
 * The job that has been in work for longer than its deadline; NULL: none. The process is
 * about to leave over it: it is kept, and its mark stays in the journal.
 */
const struct job *jobs_late(struct jobs *jobs, int64_t *ret_worked_ms);
/* How long the oldest job has been in work, from any thread; 0: none is. */
int64_t jobs_longest_ms(struct jobs *jobs);
