/* SPDX-License-Identifier: Apache-2.0 */
/* heddle feed: campaign folders, or lines of events, to heddle.tunings. */
#include "verb.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "campaign.h"
#include "cleanup.h"
#include "clock.h"
#include "config.h"
#include "feed_lines.h"
#include "feed_report.h"
#include "feed_run.h"
#include "feeder.h"
#include "kafka.h"
#include "sent.h"
#include "set_defaults.h"
#include "text.h"

enum {
    BROKER_TIMEOUT_MS = 10000,
    SILENCE_MS = 30000,     /* of the broker, before the feeding is given up */
    COMMIT_EVERY_MS = 1000, /* a crash repeats what was delivered since */
    COMMIT_ENTRIES = 2048,
    WATCH_EVERY_MS = 2000,
    SETTLE_STEP_MS = 1100, /* a file must be a second old */
    SETTLE_STEPS = 5,      /* then it is left for the next run */
};

static const char topic[] = "heddle.tunings";

static struct {
    struct option_list set;
    const char *events;
    bool watch;
    bool again;
} settings;

static const struct option feed_options[] = {
    {.name = "set",
     .type = OPTION_LIST,
     .offset = offsetof(__typeof__(settings), set),
     .arg = "KEY=JSON",
     .traits = OPTION_CLI_ONLY,
     .help = "Fills a key that a result does not have; repeatable."},
    {.name = "events",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), events),
     .arg = "FILE",
     .traits = OPTION_CLI_ONLY,
     .help = "Sends the events of a file of JSON lines instead; - is standard input."},
    {.name = "watch",
     .type = OPTION_FLAG,
     .offset = offsetof(__typeof__(settings), watch),
     .traits = OPTION_CLI_ONLY,
     .help = "Goes on looking for what is new or has changed, until it is told to stop."},
    {.name = "again",
     .type = OPTION_FLAG,
     .offset = offsetof(__typeof__(settings), again),
     .traits = OPTION_CLI_ONLY,
     .help = "Sends everything, also what was sent before."},
};

/* A folder of the command line and what was sent of it. */
struct root {
    char *path; /* real; NULL: can't be opened now */
    struct sent *sent;
};

struct feed {
    const struct program_call *call;
    struct kafka_settings kafka;
    struct arena arena; /* of the whole feeding: --set */
    struct feeder *feeder;
    struct feed_report report;
    struct feed_target target;
    char node[256];
    struct root *roots;
    size_t n_roots;
    char *cluster_id;
    uint64_t topic_end; /* records ever written to the topic, at the start */
    char *state_dir;
    struct later *later; /* of the pass at hand */
    size_t n_later;
    size_t cap_later;
    bool again; /* a run of `later` is looked at */
    int64_t commit_ms;
    size_t counted; /* runs of a counting walk */
};

/* A run with a file that is being written. */
struct later {
    char *workspace;
    struct sent *sent;
    struct err why;
};

static volatile sig_atomic_t stop;

CLEANUP_DEFINE(struct campaign, campaign_free);

/* --- start and end ----------------------------------------------------------------- */

static void
on_signal(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

static void
catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void
on_refused(void *state, const char *name, const struct err *err)
{
    struct feed *feed = state;
    feed_problem(&feed->report, name, err->msg);
}

static void
show_progress(void *state)
{
    struct feed *feed = state;
    feed_show(&feed->report, feeder_counts(feed->feeder));
}

static void
drop_later(struct feed *feed)
{
    for (size_t i = 0; i < feed->n_later; i++)
        free(feed->later[i].workspace);
    feed->n_later = 0;
}

static void
feed_done(struct feed *feed)
{
    progress_clear(&feed->report.progress);
    feeder_free(feed->feeder);
    for (size_t i = 0; i < feed->n_roots; i++) {
        sent_free(feed->roots[i].sent);
        free(feed->roots[i].path);
    }
    free(feed->roots);
    drop_later(feed);
    free(feed->later);
    feed_report_done(&feed->report);
    arena_done(&feed->arena);
    free(feed->cluster_id);
    free(feed->state_dir);
}

static struct slice
node_name(struct feed *feed)
{
    if (gethostname(feed->node, sizeof feed->node - 1) != 0 || !feed->node[0] ||
        text_bad(slice_of(feed->node)) != strlen(feed->node))
        snprintf(feed->node, sizeof feed->node, "unknown");
    return slice_of(feed->node);
}

/* The cluster's id, and whether the topic is there at all: a producer would make it, or
 * wait for it in silence. */
static enum err_kind
meet_cluster(struct feed *feed, struct err *err)
{
    struct cluster_info info = {0};
    bool found = false;
    bool mock = false;
    int32_t n = 0;
    if (cluster_info_get(&feed->kafka, BROKER_TIMEOUT_MS, &info, err))
        return err->kind;
    for (size_t i = 0; i < info.n_topics; i++)
        found |= strcmp(info.topics[i].name, topic) == 0;
    mock = info.mock;
    feed->cluster_id = strdup(info.cluster_id ? info.cluster_id : "");
    cluster_info_done(&info);
    if (!feed->cluster_id)
        return err_no_memory(err, "the cluster's id");
    /* One that we may not see is not in the list. */
    if (!found && !mock &&
        kafka_find_topic(&feed->kafka, topic, BROKER_TIMEOUT_MS, &n, err) &&
        err_exit_code(err) == EXIT_PERMISSION)
        return err->kind;
    if (!found)
        return err_fatal(
            err, EXIT_UNREACHABLE, "topic_unknown",
            "the cluster has no topic %s; `heddle topics plan` shows what is "
            "missing",
            topic);
    return ERR_OK;
}

static enum err_kind
count_topic(struct feed *feed, struct err *err)
{
    struct topic_reader *reader =
        topic_reader_new(&feed->kafka, topic, TOPIC_FROM_END, BROKER_TIMEOUT_MS, err);
    if (!reader)
        return err->kind;
    size_t n;
    const struct partition_range *ranges = topic_reader_ranges(reader, &n);
    for (size_t i = 0; i < n; i++)
        feed->topic_end += (uint64_t)ranges[i].end;
    topic_reader_free(reader);
    return ERR_OK;
}

static enum err_kind
feed_init(struct feed *feed, const struct program_call *call, struct err *err)
{
    struct default_entry *defaults;
    feed->call = call;
    feed->report.program = "heddle feed";
    if (set_defaults_parse(&settings.set, &feed->arena, &defaults,
                           &feed->target.n_defaults, err))
        return err->kind;
    feed->kafka = fleet_kafka_settings(&call->fleet, call->options, "heddle-feed");
    if (fleet_check_brokers(&feed->kafka, err) || meet_cluster(feed, err))
        return err->kind;
    if (!settings.events && count_topic(feed, err))
        return err->kind;
    /* The producer comes last: librdkafka 2.0 asks for the topic of a first record while
     * it connects, but only once a second after that. */
    struct feeder_events events = {on_refused, show_progress, feed, &stop,
                                   settings.watch ? 0 : SILENCE_MS};
    feed->feeder = feeder_new(&feed->kafka, &events, err);
    feed->target.feeder = feed->feeder;
    feed->target.report = &feed->report;
    feed->target.defaults = defaults;
    feed->target.node = node_name(feed);
    feed->target.again = settings.again;
    return feed->feeder ? ERR_OK : err->kind;
}

/* --- the memory -------------------------------------------------------------------- */

/* A memory of more events than the topic has ever seen is of a topic that is gone. */
static enum err_kind
check_memory(struct feed *feed, const struct root *root, struct err *err)
{
    if (sent_delivered(root->sent) <= feed->topic_end)
        return ERR_OK;
    progress_clear(&feed->report.progress);
    fprintf(stderr, "%s: %s was made anew since %s was fed; everything is sent again\n",
            feed->report.program, topic, root->path);
    return sent_forget(root->sent, err);
}

static struct root *
find_root(struct feed *feed, const char *path)
{
    for (size_t i = 0; i < feed->n_roots; i++)
        if (strcmp(feed->roots[i].path, path) == 0)
            return &feed->roots[i];
    return NULL;
}

/* The memory of a folder, opened at the first look. LMDB opens a file once a process. */
static enum err_kind
open_root(struct feed *feed, char *path, struct root **ret_root, struct err *err)
{
    struct root *known = find_root(feed, path);
    if (known) {
        free(path);
        *ret_root = known;
        return ERR_OK;
    }
    struct root *root = &feed->roots[feed->n_roots];
    root->path = path;
    root->sent = sent_open(feed->state_dir, feed->cluster_id, path, err);
    if (!root->sent) {
        free(path);
        return err->kind;
    }
    feed->n_roots++;
    *ret_root = root;
    return check_memory(feed, root, err);
}

static enum err_kind
commit_all(struct feed *feed, struct err *err)
{
    feed->commit_ms = clock_monotonic_ms();
    for (size_t i = 0; i < feed->n_roots; i++)
        if (sent_commit(feed->roots[i].sent, err))
            return err->kind;
    return ERR_OK;
}

static enum err_kind
commit_when_due(struct feed *feed, struct err *err)
{
    size_t pending = 0;
    for (size_t i = 0; i < feed->n_roots; i++)
        pending += sent_pending(feed->roots[i].sent);
    if (pending < COMMIT_ENTRIES &&
        clock_monotonic_ms() - feed->commit_ms < COMMIT_EVERY_MS)
        return ERR_OK;
    return commit_all(feed, err);
}

/* --- folders ----------------------------------------------------------------------- */

static enum err_kind
put_off(struct feed *feed,
        const struct campaign_run *run,
        const struct err *why,
        struct err *err)
{
    if (feed->n_later == feed->cap_later) {
        size_t cap = feed->cap_later ? feed->cap_later * 2 : 16;
        struct later *later = realloc(feed->later, cap * sizeof later[0]);
        if (!later)
            return err_no_memory(err, "the runs to look at again");
        feed->later = later;
        feed->cap_later = cap;
    }
    char *workspace = strdup(run->workspace);
    if (!workspace)
        return err_no_memory(err, "the runs to look at again");
    feed->later[feed->n_later++] = (struct later){workspace, feed->target.sent, *why};
    return ERR_OK;
}

/* A campaign_visitor's run. */
static enum err_kind
visit_run(void *state, const struct campaign_run *run, struct err *err)
{
    struct feed *feed = state;
    struct err why = {0};
    enum feed_outcome outcome;
    if (stop)
        return err_set(err, ERR_RETRY, "interrupted", "interrupted");
    feed->report.found += !feed->again;
    if (feed_run(&feed->target, run, &outcome, &why, err))
        return err->kind;
    feed->report.unchanged += outcome == FEED_UNCHANGED;
    feed->report.skipped += outcome == FEED_SKIPPED;
    show_progress(feed);
    if (outcome == FEED_LATER)
        return put_off(feed, run, &why, err);
    return commit_when_due(feed, err);
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
    struct root *root = NULL;
    char *real = realpath(dir, NULL);
    if (!real)
        return campaign_walk(campaign, dir, err); /* tells why */
    if (open_root(feed, real, &root, err))
        return err->kind;
    feed->target.sent = root->sent;
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

/* Looks again at what was being written; true for as long as something still is. */
static enum err_kind
look_again(struct feed *feed, struct campaign *campaign, struct err *err)
{
    struct later *later = feed->later;
    size_t n = feed->n_later;
    enum err_kind kind = ERR_OK;
    feed->later = NULL;
    feed->n_later = feed->cap_later = 0;
    for (size_t i = 0; i < n; i++) {
        feed->target.sent = later[i].sent;
        if (!kind)
            kind = campaign_look(campaign, later[i].workspace, err);
        free(later[i].workspace);
    }
    free(later);
    return kind;
}

static enum err_kind
wait_until(struct feed *feed, int64_t until_ms, struct err *err)
{
    for (int64_t left; !stop && (left = until_ms - clock_monotonic_ms()) > 0;) {
        if (feeder_poll(feed->feeder, left < 100 ? (int)left : 100, err) ||
            commit_when_due(feed, err))
            return err->kind;
    }
    return stop ? err_set(err, ERR_RETRY, "interrupted", "interrupted") : ERR_OK;
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
        feed->report.skipped++;
        feed_problem(&feed->report, feed->later[i].workspace, feed->later[i].why.msg);
    }
    return ERR_OK;
}

/* --- passes ------------------------------------------------------------------------ */

static enum err_kind
pass(struct feed *feed, struct err *err)
{
    struct campaign_visitor visitor = {visit_run, on_problem, feed};
    CLEANUP(campaign_freep) struct campaign *campaign = campaign_new(&visitor, err);
    if (!campaign)
        return err->kind;
    feed->again = false;
    enum err_kind kind = walk_folders(feed, campaign, err);
    if (!kind && !settings.watch)
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
    struct campaign_visitor visitor = {count_run, ignore_problem, feed};
    CLEANUP(campaign_freep) struct campaign *campaign = campaign_new(&visitor, NULL);
    for (int i = 0; campaign && i < feed->call->n_rest && !stop; i++)
        campaign_walk(campaign, feed->call->rest[i], NULL);
    progress_start(&feed->report.progress, "runs", feed->counted);
}

/* The counts of a watch are those of its last look, beside what was sent in all. */
static enum err_kind
watch(struct feed *feed, struct err *err)
{
    for (;;) {
        int64_t next_ms = clock_monotonic_ms() + WATCH_EVERY_MS;
        feed->report.found = feed->report.unchanged = feed->report.skipped = 0;
        enum err_kind kind = pass(feed, err);
        if (!kind)
            kind = wait_until(feed, next_ms, err);
        if (kind == ERR_FATAL)
            return kind;
        bool stopped = stop;
        if (kind && !stopped)
            feed_problem(&feed->report, topic, err->msg);
        *err = (struct err){0};
        if (stopped)
            return ERR_OK;
        feeder_resume(feed->feeder);
    }
}

static enum err_kind
feed_folders(struct feed *feed, struct err *err)
{
    feed->roots = calloc((size_t)feed->call->n_rest, sizeof feed->roots[0]);
    feed->state_dir = config_state_dir(feed->call->fleet.state_dir, "feed", true, err);
    if (!feed->state_dir)
        return err->kind;
    if (!feed->roots)
        return err_no_memory(err, "the folders");
    if (settings.watch)
        return watch(feed, err);
    if (progress_wanted())
        count_runs(feed);
    return pass(feed, err);
}

/* --- the verb ---------------------------------------------------------------------- */

static enum err_kind
check_arguments(const struct program_call *call, struct err *err)
{
    if (!settings.events && call->n_rest == 0)
        return err_fatal(err, EXIT_USAGE, "usage",
                         "no folder is given: heddle feed DIR..., or --events FILE");
    if (settings.events && call->n_rest > 0)
        return err_fatal(err, EXIT_USAGE, "usage",
                         "--events takes no folders; feed %s in a run of its own",
                         call->rest[0]);
    if (settings.events && (settings.watch || settings.again))
        return err_fatal(err, EXIT_USAGE, "usage",
                         "--watch and --again are for folders; the lines of --events are "
                         "always sent");
    return ERR_OK;
}

/* Reports first, then the memory of them; the first error of the three counts. */
static enum err_kind
finish(struct feed *feed, enum err_kind kind, struct err *err)
{
    struct err flushed = {0}, committed = {0};
    feeder_flush(feed->feeder, &flushed);
    commit_all(feed, &committed);
    struct err *next = flushed.kind ? &flushed : &committed;
    if (!kind && next->kind)
        *err = *next;
    return err->kind;
}

/* ERR_RETRY is what a later run mends: the broker that went away, an interruption. */
static int
status_of(const struct feed *feed, struct err *err)
{
    if (err->kind == ERR_RETRY) {
        bool interrupted = strcmp(err->code, "interrupted") == 0;
        err->kind = ERR_FATAL;
        err->exit_code = interrupted ? EXIT_TRY_AGAIN : EXIT_UNREACHABLE;
        if (interrupted)
            snprintf(err->msg, sizeof err->msg,
                     "interrupted; run it again, what is missing is sent then");
    }
    if (err->kind)
        return err_exit_code(err);
    return feed->report.n_problems > 0 ? EXIT_NEGATIVE : EXIT_OK;
}

/* An error that came before it says more than one of its own. */
static void
print_summary(const struct feed *feed, int64_t ms, struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct err failed = {0};
    feed_summary(&feed->report, feeder_counts(feed->feeder),
                 settings.events ? "events" : "runs", (double)ms / 1000, &out);
    if (program_print(&out, &failed) && !err->kind)
        *err = failed;
}

static int
run(const struct program_call *call, struct err *err)
{
    CLEANUP(feed_done) struct feed feed = {0};
    int64_t start_ms = clock_monotonic_ms();
    if (check_arguments(call, err) || feed_init(&feed, call, err))
        return err_exit_code(err);
    catch_signals();
    enum err_kind kind = settings.events
                             ? feed_lines(&feed.target, settings.events, &stop, err)
                             : feed_folders(&feed, err);
    finish(&feed, kind, err);
    progress_clear(&feed.report.progress);
    print_summary(&feed, clock_monotonic_ms() - start_ms, err);
    return status_of(&feed, err);
}

const struct verb verb_feed = {
    .name = "feed",
    .usage = "[OPTION]... DIR...",
    .summary = "Sends the runs below campaign folders to heddle.tunings.",
    .details =
        "A folder is a root, a model, a session or a workspace. What was sent is "
        "remembered:\na second run sends what is new or has changed. The summary names "
        "what was left\nout, and the exit status is 1 then.",
    .options = feed_options,
    .n_options = sizeof feed_options / sizeof feed_options[0],
    .settings = &settings,
    .run = run,
};
