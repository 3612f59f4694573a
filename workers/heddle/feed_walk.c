/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of feed: each folder, what is not settled again, and a watch. */
#include "feed_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "feed_trace.h"
#include "feeder.h"

enum {
    WATCH_EVERY_MS = 2000,
    SETTLE_STEP_MS = 1100, /* a file must be a second old */
    SETTLE_STEPS = 5,      /* then it is left for the next run */
};

CLEANUP_DEFINE(struct campaign, campaign_free);

static void
drop_later(struct feed *feed)
{
    for (size_t i = 0; i < feed->n_later; i++)
        free(feed->later[i].path);
    feed->n_later = 0;
}

void
feed_walk_done(struct feed *feed)
{
    drop_later(feed);
    free(feed->later);
}

/* --- folders ----------------------------------------------------------------------- */

static enum err_kind
put_off(struct feed *feed,
        enum feed_kind kind,
        const char *name,
        const struct err *why,
        struct err *err)
{
    if (feed->n_later == feed->cap_later) {
        size_t cap = feed->cap_later ? feed->cap_later * 2 : 16;
        struct feed_later *later = realloc(feed->later, cap * sizeof later[0]);
        if (!later)
            return err_no_memory(err, "the runs to look at again");
        feed->later = later;
        feed->cap_later = cap;
    }
    char *path = strdup(name);
    if (!path)
        return err_no_memory(err, "the runs to look at again");
    feed->later[feed->n_later++] =
        (struct feed_later){path, kind, feed->target.sent, *why};
    return ERR_OK;
}

/* What came of one; `name` is its path. */
static enum err_kind
note_outcome(struct feed *feed,
             enum feed_kind kind,
             const char *name,
             enum feed_outcome outcome,
             const struct err *why,
             struct err *err)
{
    struct feed_tally *tally = &feed->report.tallies[kind];
    tally->unchanged += outcome == FEED_UNCHANGED;
    tally->skipped += outcome == FEED_SKIPPED;
    feed_show(&feed->report, feed->feeder);
    if (outcome == FEED_LATER)
        return put_off(feed, kind, name, why, err);
    return feed_commit_when_due(feed, err);
}

static enum err_kind
begin(struct feed *feed, enum feed_kind kind, struct err *err)
{
    if (*feed->stop)
        return err_set(err, ERR_RETRY, "interrupted", "interrupted");
    feed->report.tallies[kind].found += !feed->again;
    return feed->again ? ERR_OK : feed_open_memory(feed, kind, &feed->target.sent, err);
}

/* A campaign_visitor's run. */
static enum err_kind
visit_run(void *state, const struct campaign_run *run, struct err *err)
{
    struct feed *feed = state;
    struct err why = {0};
    enum feed_outcome outcome;
    if (begin(feed, FEED_RUNS, err) || feed_run(&feed->target, run, &outcome, &why, err))
        return err->kind;
    return note_outcome(feed, FEED_RUNS, run->workspace, outcome, &why, err);
}

/* A campaign_visitor's trace. */
static enum err_kind
visit_trace(void *state, const struct campaign_trace *trace, struct err *err)
{
    struct feed *feed = state;
    struct err why = {0};
    enum feed_outcome outcome;
    if (!feed->has_topic[FEED_TRACES]) {
        feed->report.tallies[FEED_TRACES].found++;
        feed->report.tallies[FEED_TRACES].skipped++;
        feed_problem(&feed->report, feed_topic(FEED_TRACES),
                     feed->unseen.kind
                         ? feed->unseen.msg
                         : "the cluster has no such topic, so no trace is sent; `heddle "
                           "topics plan` shows what is missing, and a new start sees it");
        return ERR_OK;
    }
    if (begin(feed, FEED_TRACES, err) ||
        feed_trace(&feed->target, trace, &outcome, &why, err))
        return err->kind;
    return note_outcome(feed, FEED_TRACES, trace->file.path, outcome, &why, err);
}

static void
on_problem(void *state, const char *path, const char *message)
{
    struct feed *feed = state;
    feed_problem(&feed->report, path, message);
}

static enum err_kind
walk_folder(struct feed *feed, struct campaign *campaign, char *dir, struct err *err)
{
    struct feed_root *root = NULL;
    char *real = realpath(dir, NULL);
    if (!real)
        return campaign_walk(campaign, dir, err); /* tells why */
    if (feed_open_root(feed, real, &root, err))
        return err->kind;
    return campaign_walk(campaign, root->path, err);
}

static enum err_kind
walk_folders(struct feed *feed, struct campaign *campaign, struct err *err)
{
    for (int i = 0; i < feed->call->n_rest; i++)
        if (walk_folder(feed, campaign, feed->call->rest[i], err))
            return err->kind;
    return ERR_OK;
}

/* Looks again at what was being written. */
static enum err_kind
look_again(struct feed *feed, struct campaign *campaign, struct err *err)
{
    struct feed_later *later = feed->later;
    size_t n = feed->n_later;
    enum err_kind kind = ERR_OK;
    feed->later = NULL;
    feed->n_later = feed->cap_later = 0;
    for (size_t i = 0; i < n; i++) {
        feed->target.sent = later[i].sent;
        if (!kind)
            kind = later[i].kind == FEED_RUNS
                       ? campaign_look(campaign, later[i].path, err)
                       : campaign_look_trace(campaign, later[i].path, err);
        free(later[i].path);
    }
    free(later);
    return kind;
}

static enum err_kind
wait_until(struct feed *feed, int64_t until_ms, struct err *err)
{
    for (int64_t left; !*feed->stop && (left = until_ms - clock_monotonic_ms()) > 0;) {
        if (feeder_poll(feed->feeder, left < 100 ? (int)left : 100, err) ||
            feed_commit_when_due(feed, err))
            return err->kind;
    }
    return *feed->stop ? err_set(err, ERR_RETRY, "interrupted", "interrupted") : ERR_OK;
}

static enum err_kind
settle(struct feed *feed, struct campaign *campaign, struct err *err)
{
    feed->again = true;
    for (int i = 0; i < SETTLE_STEPS && feed->n_later > 0; i++)
        if (wait_until(feed, clock_monotonic_ms() + SETTLE_STEP_MS, err) ||
            look_again(feed, campaign, err))
            return err->kind;
    for (size_t i = 0; i < feed->n_later; i++) {
        feed->report.tallies[feed->later[i].kind].skipped++;
        feed_problem(&feed->report, feed->later[i].path, feed->later[i].why.msg);
    }
    return ERR_OK;
}

/* --- passes ------------------------------------------------------------------------ */

static enum err_kind
pass(struct feed *feed, struct err *err)
{
    struct campaign_visitor visitor = {visit_run, on_problem, feed, visit_trace};
    CLEANUP(campaign_freep) struct campaign *campaign = campaign_new(&visitor, err);
    if (!campaign)
        return err->kind;
    feed->again = false;
    enum err_kind kind = walk_folders(feed, campaign, err);
    if (!kind && !feed->watches)
        kind = settle(feed, campaign, err);
    drop_later(feed); /* a watch meets them again */
    return kind;
}

static enum err_kind
count_run(void *state, const struct campaign_run *run, struct err *err)
{
    (void)run;
    (void)err;
    struct feed *feed = state;
    feed->counted++;
    return ERR_OK;
}

static enum err_kind
count_trace(void *state, const struct campaign_trace *trace, struct err *err)
{
    (void)trace;
    (void)err;
    struct feed *feed = state;
    feed->counted++;
    return ERR_OK;
}

static void
ignore_problem(void *state, const char *path, const char *message)
{
    (void)state;
    (void)path;
    (void)message;
}

/* How long the bar is; a walk more, so only for eyes. */
static void
count_runs(struct feed *feed)
{
    struct campaign_visitor visitor = {count_run, ignore_problem, feed, count_trace};
    CLEANUP(campaign_freep) struct campaign *campaign = campaign_new(&visitor, NULL);
    for (int i = 0; campaign && i < feed->call->n_rest && !*feed->stop; i++)
        campaign_walk(campaign, feed->call->rest[i], NULL);
    progress_start(&feed->report.progress, "runs and traces", feed->counted);
}

/* The counts of a watch are those of its last look, beside what was sent in all. */
static enum err_kind
watch(struct feed *feed, struct err *err)
{
    for (;;) {
        int64_t next_ms = clock_monotonic_ms() + WATCH_EVERY_MS;
        memset(feed->report.tallies, 0, sizeof feed->report.tallies);
        enum err_kind kind = pass(feed, err);
        if (!kind)
            kind = wait_until(feed, next_ms, err);
        if (kind == ERR_FATAL)
            return kind;
        bool stopped = *feed->stop;
        if (kind && !stopped)
            feed_problem(&feed->report, "the broker", err->msg);
        *err = (struct err){0};
        if (stopped)
            return ERR_OK;
        feeder_resume(feed->feeder);
    }
}

enum err_kind
feed_folders(struct feed *feed, struct err *err)
{
    feed->roots = calloc((size_t)feed->call->n_rest, sizeof feed->roots[0]);
    if (!feed->roots)
        return err_no_memory(err, "the folders");
    if (feed_count_topics(feed, err))
        return err->kind;
    if (feed->watches)
        return watch(feed, err);
    if (progress_wanted())
        count_runs(feed);
    return pass(feed, err);
}
