/* SPDX-License-Identifier: Apache-2.0 */
/* heddle topics: the table of topics beside what the cluster has. */
#include "verb.h"

#include "cleanup.h"
#include "kafka.h"
#include "topics_plan.h"

enum { TIMEOUT_MS = 10000 };

static int
print_plan(const struct cluster_info *cluster, struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    bool pending = topics_plan(cluster, &out);
    if (program_print(&out, err))
        return EXIT_INTERNAL;
    return pending ? EXIT_CHANGES : EXIT_OK;
}

static int
print_description(const struct cluster_info *cluster, struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    topics_describe(cluster, &out);
    return program_print(&out, err) ? EXIT_INTERNAL : EXIT_OK;
}

static int
run(const struct program_call *call, struct err *err)
{
    static const char *const words[] = {"plan", "describe", NULL};
    size_t word = 0;
    CLEANUP(cluster_info_done) struct cluster_info cluster = {0};
    struct kafka_settings kafka =
        fleet_kafka_settings(&call->fleet, call->options, "heddle-topics");
    if (verb_choose("action of heddle topics", call->n_rest ? call->rest[0] : NULL, words,
                    &word, err) ||
        verb_refuse_rest(call, 1, err) || fleet_check_brokers(&kafka, err) ||
        cluster_info_get(&kafka, TIMEOUT_MS, &cluster, err))
        return EXIT_INTERNAL;
    return word == 0 ? print_plan(&cluster, err) : print_description(&cluster, err);
}

const struct verb verb_topics = {
    .name = "topics",
    .usage = "plan|describe [OPTION]...",
    .summary = "Compares the cluster's topics with the table of topics.",
    .details = "plan: what is missing (+) or differs (~); exit status 2 when anything "
               "does.\ndescribe: every topic of the table as it is and as it should be.\n"
               "Only metadata is asked for, so settings of a topic are shown as unknown.",
    .run = run,
};
