/* SPDX-License-Identifier: Apache-2.0 */
/* heddle feed: campaign folders, traces, or lines of events. */
#include "verb.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "feed_inside.h"
#include "feed_lines.h"
#include "json_scan.h"
#include "set_defaults.h"
#include "text.h"

enum { SILENCE_MS = 30000 }; /* of the broker, before the feeding is given up */

static struct {
    struct option_list set;
    const char *framework;
    const char *conc;
    const char *osl;
    const char *r;
    const char *mode;
    const char *model;
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
    {.name = "framework",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), framework),
     .arg = "NAME",
     .traits = OPTION_CLI_ONLY,
     .help =
         "What traces are of, where no request.json says it: vllm, sglang, xdit, ..."},
    {.name = "conc",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), conc),
     .arg = "N",
     .traits = OPTION_CLI_ONLY,
     .help = "Concurrency of the workload that was traced."},
    {.name = "osl",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), osl),
     .arg = "N",
     .traits = OPTION_CLI_ONLY,
     .help = "Output length of that workload, in tokens."},
    {.name = "r",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), r),
     .arg = "X",
     .traits = OPTION_CLI_ONLY,
     .help = "Random range ratio of that workload."},
    {.name = "mode",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), mode),
     .arg = "MODE",
     .traits = OPTION_CLI_ONLY,
     .help = "Chunk that is judged: mixed, decode_only, prefilldecode, generic."},
    {.name = "model",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), model),
     .arg = "NAME",
     .traits = OPTION_CLI_ONLY,
     .help = "Name of the model that was traced."},
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

static volatile sig_atomic_t stop;

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
    feed_show(&feed->report, feed->feeder);
}

static void
feed_done(struct feed *feed)
{
    progress_clear(&feed->report.progress);
    feeder_free(feed->feeder);
    feed_memory_done(feed);
    feed_walk_done(feed);
    feed_report_done(&feed->report);
    arena_done(&feed->arena);
    free(feed->cluster_id);
}

static struct slice
node_name(struct feed *feed)
{
    if (gethostname(feed->node, sizeof feed->node - 1) != 0 || !feed->node[0] ||
        text_bad(slice_of(feed->node)) != strlen(feed->node))
        snprintf(feed->node, sizeof feed->node, "unknown");
    return slice_of(feed->node);
}

/* One that we may not see is not in the list; a mock cluster makes it when it is used. */
static enum err_kind
find_topic(struct feed *feed,
           enum feed_kind kind,
           const struct cluster_info *info,
           struct err *err)
{
    int32_t n = 0;
    bool found = false;
    for (size_t i = 0; i < info->n_topics; i++)
        found |= strcmp(info->topics[i].name, feed_topic(kind)) == 0;
    feed->has_topic[kind] = found;
    if (found || info->mock ||
        !kafka_find_topic(&feed->kafka, feed_topic(kind), FEED_BROKER_TIMEOUT_MS, &n,
                          err) ||
        err_exit_code(err) != EXIT_PERMISSION)
        return ERR_OK;
    return err->kind;
}

/* The cluster's id, and whether the topics are there at all: a producer would make one,
 * or wait for it in silence. Without the one of traces runs are fed all the same. */
static enum err_kind
meet_cluster(struct feed *feed, struct err *err)
{
    struct cluster_info info = {0};
    if (cluster_info_get(&feed->kafka, FEED_BROKER_TIMEOUT_MS, &info, err))
        return err->kind;
    enum err_kind kind = find_topic(feed, FEED_RUNS, &info, err);
    if (!find_topic(feed, FEED_TRACES, &info, &feed->unseen))
        feed->unseen = (struct err){0};
    feed->cluster_id = strdup(info.cluster_id ? info.cluster_id : "");
    cluster_info_done(&info);
    if (!feed->cluster_id)
        return err_no_memory(err, "the cluster's id");
    if (kind)
        return kind;
    if (!feed->has_topic[FEED_RUNS])
        return err_fatal(err, EXIT_UNREACHABLE, "topic_unknown",
                         "the cluster has no topic %s; `heddle topics plan` shows what "
                         "is missing",
                         feed_topic(FEED_RUNS));
    *err = (struct err){0};
    return ERR_OK;
}

/* A number stays as it is written. */
static enum err_kind
take_figure(const char *flag, const char *text, struct slice *ret_figure, struct err *err)
{
    enum json_type type = JSON_TYPE_NULL;
    if (!text)
        return ERR_OK;
    *ret_figure = slice_of(text);
    if (json_scan_check(slice_of(text), &type, NULL) || type != JSON_TYPE_NUMBER)
        return err_fatal(err, EXIT_USAGE, "bad_value", "--%s %.100s: no number", flag,
                         text);
    return ERR_OK;
}

static enum err_kind
take_name(const char *flag, const char *text, struct slice *ret_name, struct err *err)
{
    if (!text)
        return ERR_OK;
    *ret_name = slice_of(text);
    if (text_bad(slice_of(text)) != strlen(text))
        return err_fatal(err, EXIT_USAGE, "bad_value", "--%s: no UTF-8", flag);
    return ERR_OK;
}

static enum err_kind
take_ask(struct request *request, struct err *err)
{
    struct baseline *baseline = &request->baseline;
    if (take_name("framework", settings.framework, &request->framework, err) ||
        take_name("mode", settings.mode, &request->requested_mode, err) ||
        take_name("model", settings.model, &request->model_name, err) ||
        take_figure("conc", settings.conc, &baseline->conc, err) ||
        take_figure("osl", settings.osl, &baseline->osl, err))
        return err->kind;
    return take_figure("r", settings.r, &baseline->random_range_ratio, err);
}

static enum err_kind
feed_init(struct feed *feed, const struct program_call *call, struct err *err)
{
    struct default_entry *defaults;
    feed->call = call;
    feed->report.program = "heddle feed";
    if (set_defaults_parse(&settings.set, &feed->arena, &defaults,
                           &feed->target.n_defaults, err) ||
        take_ask(&feed->ask.request, err))
        return err->kind;
    feed->kafka = fleet_kafka_settings(&call->fleet, call->options, "heddle-feed");
    if (fleet_check_brokers(&feed->kafka, err) || meet_cluster(feed, err))
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
    feed->target.ask = &feed->ask;
    feed->watches = settings.watch;
    feed->stop = &stop;
    return feed->feeder ? ERR_OK : err->kind;
}

/* --- the verb ---------------------------------------------------------------------- */

static bool
asks_of_traces(void)
{
    return settings.framework || settings.conc || settings.osl || settings.r ||
           settings.mode || settings.model;
}

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
    if (settings.events && asks_of_traces())
        return err_fatal(err, EXIT_USAGE, "usage",
                         "what is asked of traces goes with folders; the lines of "
                         "--events are tuning events");
    return ERR_OK;
}

/* Reports first, then the memory of them; the first error of the three counts. */
static enum err_kind
finish(struct feed *feed, enum err_kind kind, struct err *err)
{
    struct err flushed = {0}, committed = {0};
    feeder_flush(feed->feeder, &flushed);
    feed_commit(feed, &committed);
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
    feed_summary(&feed->report, feed->feeder, settings.events ? "events" : "runs",
                 (double)ms / 1000, &out);
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
    .summary = "Sends what lies below folders: runs to heddle.tunings, traces to "
               "heddle.traces.",
    .details =
        "A folder is a root, a model, a session, a workspace, or holds traces: files\n"
        "*.pt.trace.json or *.pt.trace.json.gz. What is asked of a trace stands in\n"
        "NAME.request.json beside it or in request.json of its folder, and flags fill "
        "what\n"
        "is missing there (docs/feed.md). What was sent is remembered: a second run "
        "sends\n"
        "what is new or has changed. The summary names what was left out, and the exit\n"
        "status is 1 then.",
    .options = feed_options,
    .n_options = sizeof feed_options / sizeof feed_options[0],
    .settings = &settings,
    .run = run,
};
