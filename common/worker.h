/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every worker's main repeats: options, edges opened in order, the runner, the exit
 * code. A worker is a description and an on_record(); a fifth one is one folder.
 */
#pragma once

#include "err.h"
#include "options.h"
#include "origin.h"
#include "record.h"
#include "remote.h"
#include "serde.h"
#include "store.h"

#include <stdatomic.h>

/*
 * One record from bytes to what it gives: decode, gather, derive, emit, in this order and
 * in the worker's main.c. Fills `out`; the runner encodes, produces and commits.
 * ERR_RECORD dead-letters `in` with the code and stage of `err`.
 */
typedef enum err_kind worker_record_fn(void *state,
                                       const struct message *in,
                                       struct emits *out,
                                       struct err *err);

/* What the runner hands a worker when it starts. Borrowed for the worker's life. */
struct worker_context {
    const struct provenance
        *provenance; /* worker, version, config_sha256, generation; no inputs */
    const struct schema_source *schemas;  /* NULL without a registry */
    struct option_list claim_roots;       /* setting claim.roots */
    const struct remote_settings *remote; /* settings [claim] and [s3] */
    int64_t gather_ms; /* what fetching the claims of one record may take */
    /* Where the state of each partition is; NULL: a dry run, or a worker without state.
     */
    struct states *states;
};

/* The store of an assigned partition. Borrowed, until on_record returns. NULL: it is not
 * ours. */
struct store *states_find(struct states *states, int32_t partition);

/*
 * State of a worker (store.h): what on_record stages in the store of its partition is
 * written, in the same commit as what it gives, to the changelog topic, which has as many
 * partitions as the input.
 */
struct worker_state {
    const char *topic;   /* changelog, one of the worker's outputs */
    size_t suffix_bytes; /* of its keys */
    store_due_fn *due;   /* gets what open() gave */
    /* A record is due: stages changes and fills `out`, as on_record does. */
    enum err_kind (*on_due)(void *state,
                            struct store *store,
                            struct slice value,
                            struct emits *out,
                            struct err *err);
};

/*
 * A worker whose records take minutes. Each is worked on by a thread of its own, several
 * at once when they are of several partitions; the record path's thread goes on polling,
 * and sends what they give in short transactions. Only run() is called by these threads.
 */
struct worker_jobs {
    const int64_t *threads;     /* setting: how many records at once, at most */
    const int64_t *deadline_ms; /* setting: of one record; past it the process leaves */
    /* Decodes: what run() works on, in `arena`, which lives until it is committed. */
    enum err_kind (*prepare)(void *state,
                             const struct message *in,
                             struct arena *arena,
                             void **ret_task,
                             struct err *err);
    /* Gathers and derives into `out`. Once `cancelled` is set nobody waits for it. */
    enum err_kind (*run)(void *state,
                         const struct message *in,
                         const void *task,
                         const atomic_bool *cancelled,
                         struct emits *out,
                         struct err *err);
    /*
     * The attempts at a record are used up, or its topic does not take what it gives:
     * fills `out` with what is sent instead. ERR_FATAL leaves; any other error: a dead
     * letter as usual.
     */
    enum err_kind (*give_up)(void *state,
                             const struct message *in,
                             const void *task,
                             const struct err *why,
                             struct emits *out,
                             struct err *err);
    /* What is said before the process leaves over a record that has been in work for so
     * long. */
    enum err_kind (*late)(void *state,
                          const struct message *in,
                          const void *task,
                          int64_t worked_ms,
                          struct emits *out,
                          struct err *err);
};

/* Most threads that may be asked for. */
enum { WORKER_MAX_JOBS = 15 };

struct worker {
    const char *name;    /* "audit": binary heddle-audit, section [audit] */
    const char *summary; /* one sentence for --help */
    const char *input;   /* topic, "heddle.tunings" */
    const struct record_type *input_type;
    const char *const
        *outputs; /* topics it writes, NULL-terminated; dead letters apart */
    const struct option
        *options; /* settings of its own, offsets in its settings struct */
    size_t n_options;
    void *settings; /* the struct that `options` fills, static in main.c */
    /* Opens what the worker needs; `*ret_state` is given to on_record and close. */
    enum err_kind (*open)(const struct worker_context *context,
                          void **ret_state,
                          struct err *err);
    worker_record_fn *on_record;      /* NULL: it has jobs */
    const struct worker_jobs *jobs;   /* NULL: none */
    const struct worker_state *state; /* NULL: none */
    void (*close)(void *state);
};

/* The whole program: parses, runs until told to stop, returns the exit status. */
int worker_main(const struct worker *worker, int argc, char **argv);
