/* SPDX-License-Identifier: Apache-2.0 */
/* The table of topics beside a cluster's metadata. */
#include "topics_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "topics.h"

static const struct topic_info *
find(const struct cluster_info *cluster, const char *name)
{
    for (size_t i = 0; i < cluster->n_topics; i++)
        if (strcmp(cluster->topics[i].name, name) == 0)
            return &cluster->topics[i];
    return NULL;
}

static int32_t
wanted_partitions(const struct cluster_info *cluster, const struct topic *topic)
{
    return cluster->mock ? TOPIC_PARTITIONS_EMBEDDED : topic->partitions;
}

static const char *
cleanup_of(const struct topic *topic)
{
    return topic->compact ? "compact" : "delete";
}

static void
add_cluster(const struct cluster_info *cluster, struct buf *out)
{
    buf_addf(out, "cluster %s, %d broker%s%s\n", cluster->cluster_id, cluster->n_brokers,
             cluster->n_brokers == 1 ? "" : "s", cluster->mock ? ", embedded" : "");
}

/* Whether the topic differs from the table; its line when it does. */
static bool
plan_topic(const struct cluster_info *cluster, const struct topic *topic, struct buf *out)
{
    const struct topic_info *info = find(cluster, topic->name);
    int32_t wanted = wanted_partitions(cluster, topic);
    if (!info)
        buf_addf(out, "+ %-26s %" PRId32 " partitions, %s, %zu MiB\n", topic->name,
                 wanted, cleanup_of(topic), topic->max_message_bytes >> 20);
    else if (info->error)
        buf_addf(out, "! %-26s %s\n", topic->name, info->error);
    else if (info->n_partitions != wanted)
        buf_addf(out, "~ %-26s %" PRId32 " partitions, should be %" PRId32 "\n",
                 topic->name, info->n_partitions, wanted);
    else
        return false;
    return true;
}

bool
topics_plan(const struct cluster_info *cluster, struct buf *out)
{
    size_t n = 0;
    size_t n_changes = 0;
    const struct topic *all = topics_all(&n);
    add_cluster(cluster, out);
    for (size_t i = 0; i < n; i++)
        n_changes += plan_topic(cluster, &all[i], out);
    buf_addf(out, "%zu of %zu topics differ; settings: unknown\n", n_changes, n);
    return n_changes > 0;
}

void
topics_describe(const struct cluster_info *cluster, struct buf *out)
{
    size_t n = 0;
    const struct topic *all = topics_all(&n);
    add_cluster(cluster, out);
    buf_addf(out, "%-26s %10s %10s  %-26s %s\n", "topic", "partitions", "should be",
             "should be set", "settings");
    for (size_t i = 0; i < n; i++) {
        const struct topic_info *info = find(cluster, all[i].name);
        char settings[64];
        snprintf(settings, sizeof settings, "%s, %zu MiB", cleanup_of(&all[i]),
                 all[i].max_message_bytes >> 20);
        buf_addf(out, "%-26s ", all[i].name);
        if (!info || info->error)
            buf_addf(out, "%10s", info ? "error" : "missing");
        else
            buf_addf(out, "%10" PRId32, info->n_partitions);
        buf_addf(out, " %10" PRId32 "  %-26s %s\n", wanted_partitions(cluster, &all[i]),
                 settings, info ? "unknown" : "-");
    }
    buf_addf(out, "every topic: retention.ms=-1, message.timestamp.type=CreateTime, "
                  "message.timestamp.after.max.ms=9223372036854775807\n");
}
