/* SPDX-License-Identifier: Apache-2.0 */
/* heddle topics: the table of topics beside what the cluster has, and making it so. */
#include "verb.h"

#include <inttypes.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "kafka.h"
#include "kafka_admin.h"
#include "topics_plan.h"

enum { TIMEOUT_MS = 15000, LOOK_AGAIN_MS = 50 };

static struct {
    struct topics_wish wish;
    bool execute;
} settings;

static const struct option topics_options[] = {
    {.section = "topics",
     .name = "retention_ms",
     .type = OPTION_INT,
     .value = "-1",
     .min = -1,
     .max = INT64_MAX,
     .offset = offsetof(__typeof__(settings), wish.retention_ms),
     .help = "Milliseconds of event time that a topic keeps; -1: for ever."},
    {.section = "topics",
     .name = "partitions",
     .type = OPTION_LIST,
     .arg = "TOPIC=N",
     .offset = offsetof(__typeof__(settings), wish.partitions),
     .help = "Partitions of a topic, instead of the table's; repeatable."},
    {.name = "execute",
     .type = OPTION_FLAG,
     .traits = OPTION_CLI_ONLY,
     .offset = offsetof(__typeof__(settings), execute),
     .help = "Makes and changes what apply would only print."},
};

struct cluster {
    struct cluster_info info;
    struct kafka_admin *admin; /* NULL: the embedded broker */
};

static void
cluster_done(struct cluster *cluster)
{
    kafka_admin_free(cluster->admin);
    cluster_info_done(&cluster->info);
}

/* The admin calls of the embedded broker never answer, so none is made there. */
static enum err_kind
cluster_open(const struct kafka_settings *kafka, struct cluster *cluster, struct err *err)
{
    if (cluster_info_get(kafka, TIMEOUT_MS, &cluster->info, err))
        return err->kind;
    if (cluster->info.mock)
        return ERR_OK;
    cluster->admin = kafka_admin_new(kafka, TIMEOUT_MS, err);
    return cluster->admin ? ERR_OK : err->kind;
}

/* The topic's settings; none when it is not there or can't be asked. */
static enum err_kind
read_configs(const struct cluster *cluster,
             const struct topic_info *info,
             struct topic_configs *ret_configs,
             struct err *err)
{
    if (!cluster->admin || !info || info->error)
        return ERR_OK;
    return kafka_admin_configs(cluster->admin, info->name, ret_configs, err);
}

/* --- apply -----------------------------------------------------------------------------
 */

static enum err_kind
mend(const struct cluster *cluster,
     const struct topic *topic,
     enum topic_change change,
     const struct topic_configs *present,
     struct err *err)
{
    struct topic_settings wanted;
    topic_settings_wanted(topic, settings.wish.retention_ms, &wanted);
    int32_t partitions = topics_wanted_partitions(&settings.wish, topic);
    switch (change) {
    case TOPIC_MISSING:
        return kafka_admin_create(cluster->admin, topic->name, partitions, wanted.items,
                                  TOPIC_SETTINGS, err);
    case TOPIC_TOO_FEW:
        if (kafka_admin_grow(cluster->admin, topic->name, partitions, err))
            return err->kind;
        return kafka_admin_alter(cluster->admin, topic->name, present, wanted.items,
                                 TOPIC_SETTINGS, err);
    case TOPIC_DIFFERS:
        return kafka_admin_alter(cluster->admin, topic->name, present, wanted.items,
                                 TOPIC_SETTINGS, err);
    case TOPIC_FITS:
    case TOPIC_TOO_MANY:
    case TOPIC_HAS_ERROR:
        return ERR_OK;
    }
    return ERR_OK;
}

/* --- the three actions
 * ------------------------------------------------------------------ */

enum action { ACTION_PLAN, ACTION_APPLY, ACTION_DESCRIBE };

/* Looks at one topic; `*pending` counts what is left to do. */
static enum err_kind
visit(const struct cluster *cluster,
      const struct topic *topic,
      enum action action,
      size_t *pending,
      struct buf *out,
      struct err *err)
{
    CLEANUP(topic_configs_done) struct topic_configs present = {0};
    const struct topic_info *info = topics_find(&cluster->info, topic->name);
    if (read_configs(cluster, info, &present, err))
        return err->kind;
    const struct topic_configs *configs = present.n ? &present : NULL;
    if (action == ACTION_DESCRIBE) {
        topics_describe_one(topic, &settings.wish, cluster->info.mock, info, configs,
                            out);
        return ERR_OK;
    }
    enum topic_change change =
        topics_compare(topic, &settings.wish, cluster->info.mock, info, configs, out);
    bool mends = change != TOPIC_FITS && change != TOPIC_TOO_MANY &&
                 change != TOPIC_HAS_ERROR && action == ACTION_APPLY && settings.execute;
    *pending += change != TOPIC_FITS && !mends;
    return mends ? mend(cluster, topic, change, &present, err) : ERR_OK;
}

static enum err_kind
visit_all(const struct cluster *cluster,
          enum action action,
          size_t *pending,
          struct buf *out,
          struct err *err)
{
    size_t n = 0;
    const struct topic *all = topics_all(&n);
    topics_heading(&cluster->info, out);
    for (size_t i = 0; i < n; i++)
        if (visit(cluster, &all[i], action, pending, out, err))
            return err->kind;
    if (action != ACTION_DESCRIBE)
        buf_addf(out, "%zu of %zu topics %s%s%s\n", *pending, n,
                 action == ACTION_APPLY && settings.execute ? "still differ" : "differ",
                 cluster->admin ? "" : "; settings: unknown",
                 action == ACTION_APPLY && !settings.execute && *pending
                     ? "; --execute makes and changes them"
                     : "");
    return ERR_OK;
}

/* How many topics still have something that apply mends. */
static enum err_kind
count_unmended(const struct cluster *cluster, size_t *ret_n, struct err *err)
{
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    size_t n = 0;
    const struct topic *all = topics_all(&n);
    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        CLEANUP(topic_configs_done) struct topic_configs present = {0};
        const struct topic_info *info = topics_find(&cluster->info, all[i].name);
        if (read_configs(cluster, info, &present, err))
            return err->kind;
        enum topic_change change =
            topics_compare(&all[i], &settings.wish, false, info, &present, &lines);
        *ret_n +=
            change == TOPIC_MISSING || change == TOPIC_TOO_FEW || change == TOPIC_DIFFERS;
    }
    return ERR_OK;
}

/* The controller answers before every broker's metadata has it; a worker that is started
 * right after apply must find its topics. */
static enum err_kind
wait_until_visible(const struct kafka_settings *kafka,
                   struct cluster *cluster,
                   struct err *err)
{
    size_t unmended = 0;
    int64_t deadline_ms = clock_monotonic_ms() + TIMEOUT_MS;
    do {
        struct cluster_info fresh = {0};
        if (cluster_info_get(kafka, TIMEOUT_MS, &fresh, err))
            return err->kind;
        cluster_info_done(&cluster->info);
        cluster->info = fresh;
        if (count_unmended(cluster, &unmended, err))
            return err->kind;
        if (unmended > 0)
            usleep(LOOK_AGAIN_MS * 1000);
    } while (unmended > 0 && clock_monotonic_ms() < deadline_ms);
    if (unmended == 0)
        return ERR_OK;
    return err_fatal(err, EXIT_TRY_AGAIN, "topics_not_visible",
                     "%zu topics are not as applied after %d ms; look again with "
                     "`heddle topics plan`",
                     unmended, TIMEOUT_MS);
}

static int
run(const struct program_call *call, struct err *err)
{
    static const char *const words[] = {"plan", "apply", "describe", NULL};
    size_t word = 0;
    size_t pending = 0;
    CLEANUP(cluster_done) struct cluster cluster = {0};
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct kafka_settings kafka =
        fleet_kafka_settings(&call->fleet, call->options, "heddle-topics");
    if (verb_choose("action of heddle topics", call->n_rest ? call->rest[0] : NULL, words,
                    &word, err) ||
        verb_refuse_rest(call, 1, err) || topics_wish_check(&settings.wish, err) ||
        fleet_check_brokers(&kafka, err) || cluster_open(&kafka, &cluster, err))
        return EXIT_INTERNAL;
    if (word == ACTION_APPLY && cluster.info.mock) {
        err_fatal(err, EXIT_USAGE, "embedded_broker",
                  "the embedded broker makes its topics itself and takes no admin call; "
                  "apply is for a real Kafka");
        return EXIT_USAGE;
    }
    visit_all(&cluster, (enum action)word, &pending, &out, err);
    if (word == ACTION_APPLY && settings.execute && err->kind == ERR_OK)
        wait_until_visible(&kafka, &cluster, err);
    struct err unwritten = {0};
    if (program_print(&out, &unwritten) && err->kind == ERR_OK)
        *err = unwritten;
    return pending ? EXIT_CHANGES : EXIT_OK;
}

const struct verb verb_topics = {
    .name = "topics",
    .usage = "plan|apply|describe [OPTION]...",
    .summary = "Compares the cluster's topics with the table of topics.",
    .details =
        "plan: what is missing (+), differs (~) or is for a person to decide (!); exit\n"
        "status 2 when there is anything.\n"
        "apply: the same, and with --execute topics are made, grown and set; nothing is\n"
        "ever deleted or shrunk.\n"
        "describe: every topic of the table as it is and as it should be.\n"
        "On the embedded broker settings are unknown and nothing can be applied.",
    .options = topics_options,
    .n_options = sizeof topics_options / sizeof *topics_options,
    .settings = &settings,
    .run = run,
};
