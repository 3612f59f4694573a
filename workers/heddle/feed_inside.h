/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of heddle feed share: the folders, what was sent of them, the walk. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "campaign.h"
#include "feed_report.h"
#include "feed_run.h"
#include "kafka.h"
#include "program.h"

/* A folder of the command line and what was sent of it. */
struct feed_root {
    char *path;                    /* real */
    struct sent *sent[FEED_KINDS]; /* NULL: none of the kind was met yet */
};

/* A run or trace with a file that is being written. */
struct feed_later {
    char *path; /* of the workspace, or the trace */
    enum feed_kind kind;
    struct sent *sent;
    struct err why;
};

struct feed {
    const struct program_call *call;
    struct kafka_settings kafka;
    struct arena arena; /* of the whole feeding: --set */
    struct feeder *feeder;
    struct feed_report report;
    struct feed_target target;
    struct trace_ask ask; /* by flags */
    char node[256];
    struct feed_root *roots;
    size_t n_roots;
    struct feed_root *root; /* that is walked */
    char *cluster_id;
    bool has_topic[FEED_KINDS];
    struct err
        unseen; /* why the topic of traces can't be seen, when it is not for want of it */
    uint64_t topic_end[FEED_KINDS]; /* records ever written, at the start */
    struct feed_later *later;       /* of the pass at hand */
    size_t n_later;
    size_t cap_later;
    bool again; /* a run of `later` is looked at */
    bool watches;
    const volatile sig_atomic_t *stop;
    int64_t commit_ms;
    size_t counted; /* runs and traces of a counting walk */
};

enum { FEED_BROKER_TIMEOUT_MS = 10000 };

/* --- feed_memory.c ----------------------------------------------------------------- */

/* How much the topics hold; before the first root is opened, so that a broker that is
 * away later ends no watch. */
enum err_kind feed_count_topics(struct feed *feed, struct err *err);
/* The root of a real path, which is taken over; opened at the first look. */
enum err_kind feed_open_root(struct feed *feed,
                             char *path,
                             struct feed_root **ret_root,
                             struct err *err);
/* The memory of a kind below the root that is walked; made when there is none. */
enum err_kind feed_open_memory(struct feed *feed,
                               enum feed_kind kind,
                               struct sent **ret_sent,
                               struct err *err);
enum err_kind feed_commit(struct feed *feed, struct err *err);
enum err_kind feed_commit_when_due(struct feed *feed, struct err *err);
void feed_memory_done(struct feed *feed);

/* --- feed_walk.c ------------------------------------------------------------------- */

/* All folders of the command line, once, or until told to stop. */
enum err_kind feed_folders(struct feed *feed, struct err *err);
void feed_walk_done(struct feed *feed);
