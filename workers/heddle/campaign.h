/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the runs of a campaign in folders (tuning-audit.md 1). Any folder will do as a
 * start: a root, a model, a session, a workspace. A folder is a workspace when it holds
 * result.json, e2e_results.json or tuners/<tuner>/tune.log. Files *.pt.trace.json and
 * *.pt.trace.json.gz in any folder are traces.
 *
 * The order is that of the names, the same in every walk. Symbolic links to folders are
 * followed after everything else and by their real path, so a run is found once and
 * under its own name. What can't be read is told by name, and the walk goes on.
 */
#pragma once

#include "err.h"
#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Folders deeper than this below the start are told and left. */
enum { CAMPAIGN_MAX_DEPTH = 64 };

/* A file as it was found. */
struct campaign_file {
    const char *path; /* absolute; NULL: there is none */
    int64_t size;
    int64_t mtime_ns;
    uint64_t inode;
};

struct campaign_log {
    const char *tuner; /* name of its folder */
    struct campaign_file file;
};

/* One run; valid during the call that gives it. */
struct campaign_run {
    const char *workspace; /* absolute */
    struct campaign_file result;
    struct campaign_log *logs; /* by tuner */
    size_t n_logs;
    struct campaign_file e2e;
};

/* A trace; valid during the call that gives it. */
struct campaign_trace {
    struct campaign_file file;
    /* What is asked of it: NAME.request.json beside it, else request.json of its folder;
     * path NULL: neither. */
    struct campaign_file ask;
};

struct campaign_visitor {
    /* A kind other than ERR_OK ends the walk. */
    enum err_kind (*run)(void *state, const struct campaign_run *run, struct err *err);
    /* A file or folder that is left out, and why. */
    void (*problem)(void *state, const char *path, const char *message);
    void *state;
    /* NULL: traces are passed by. */
    enum err_kind (*trace)(void *state,
                           const struct campaign_trace *trace,
                           struct err *err);
};

struct campaign;

/* `visitor` is copied. ERR_FATAL "out_of_memory". */
struct campaign *campaign_new(const struct campaign_visitor *visitor, struct err *err);
void campaign_free(struct campaign *campaign);

/*
 * Walks `dir`. Folders that this campaign has walked before are passed by. Returns what
 * ended it: the visitor's error, or ERR_FATAL "out_of_memory"; a `dir` that can't be read
 * is a problem like any other.
 */
enum err_kind campaign_walk(struct campaign *campaign, const char *dir, struct err *err);

/* Looks at one trace again. */
enum err_kind
campaign_look_trace(struct campaign *campaign, const char *path, struct err *err);
/* Looks at one workspace again, whether it was walked or not. */
enum err_kind
campaign_look(struct campaign *campaign, const char *workspace, struct err *err);
