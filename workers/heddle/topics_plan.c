/* SPDX-License-Identifier: Apache-2.0 */
/* The table of topics beside what a cluster has. */
#include "topics_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARTITIONS = 10000 };

/* --- what is wished ------------------------------------------------------------------
 */

/* The number in "TOPIC=N" when it is about `topic`, 0 otherwise, -1 when it is no number.
 */
static int32_t
wished(const char *item, const char *topic)
{
    size_t len = strlen(topic);
    if (strncmp(item, topic, len) != 0 || item[len] != '=')
        return 0;
    char *end = NULL;
    long n = strtol(item + len + 1, &end, 10);
    return *end == '\0' && end != item + len + 1 && n > 0 && n <= MAX_PARTITIONS
               ? (int32_t)n
               : -1;
}

static bool
names_a_topic(const char *item)
{
    size_t n = 0;
    const struct topic *all = topics_all(&n);
    for (size_t i = 0; i < n; i++)
        if (wished(item, all[i].name) > 0)
            return true;
    return false;
}

enum err_kind
topics_wish_check(const struct topics_wish *wish, struct err *err)
{
    for (size_t i = 0; i < wish->partitions.n; i++)
        if (!names_a_topic(wish->partitions.items[i]))
            return err_fatal(err, EXIT_CONFIG, "bad_value",
                             "--partitions %.200s: TOPIC=N is wanted, with a topic of "
                             "`heddle topics describe` and 1 to %d",
                             wish->partitions.items[i], MAX_PARTITIONS);
    return ERR_OK;
}

int32_t
topics_wanted_partitions(const struct topics_wish *wish, const struct topic *topic)
{
    const char *name =
        strcmp(topic->name, TOPIC_STATE_AUDIT) == 0 ? TOPIC_TUNINGS : topic->name;
    for (size_t i = 0; i < wish->partitions.n; i++) {
        int32_t n = wished(wish->partitions.items[i], name);
        if (n > 0)
            return n;
    }
    return topic_find(name)->partitions;
}

/* --- what is there --------------------------------------------------------------------
 */

const struct topic_info *
topics_find(const struct cluster_info *cluster, const char *name)
{
    for (size_t i = 0; i < cluster->n_topics; i++)
        if (strcmp(cluster->topics[i].name, name) == 0)
            return &cluster->topics[i];
    return NULL;
}

void
topics_heading(const struct cluster_info *cluster, struct buf *out)
{
    buf_addf(out, "cluster %s, %d broker%s%s\n", cluster->cluster_id, cluster->n_brokers,
             cluster->n_brokers == 1 ? "" : "s", cluster->mock ? ", embedded" : "");
}

/* --- comparing ------------------------------------------------------------------------
 */

/* Appends ", NAME is A, should be B" for each setting that differs; returns how many. */
static size_t
compare_settings(const struct topic_configs *configs,
                 const struct topic_settings *wanted,
                 struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; configs && i < TOPIC_SETTINGS; i++) {
        const struct topic_setting *should = &wanted->items[i];
        const char *is = topic_configs_get(configs, should->name);
        if (is && strcmp(is, should->value) == 0)
            continue;
        buf_addf(out, ", %s is %s, should be %s", should->name, is ? is : "unknown",
                 should->value);
        n++;
    }
    return n;
}

static enum topic_change
compare_present(const struct topic *topic,
                int32_t wanted,
                const struct topic_settings *settings,
                const struct topic_info *info,
                const struct topic_configs *configs,
                struct buf *out)
{
    size_t start = out->len;
    bool too_many = info->n_partitions > wanted;
    buf_addf(out, "%c %-26s %" PRId32 " partitions", too_many ? '!' : '~', topic->name,
             info->n_partitions);
    if (info->n_partitions != wanted)
        buf_addf(out, ", should be %" PRId32, wanted);
    size_t differ = compare_settings(configs, settings, out);
    if (info->n_partitions == wanted && differ == 0) {
        out->len = start;
        return TOPIC_FITS;
    }
    if (too_many)
        buf_add_str(out, " (partitions are never taken away: make the topic anew, or "
                         "wish for as many with --partitions)");
    buf_add_byte(out, '\n');
    if (too_many)
        return TOPIC_TOO_MANY;
    return info->n_partitions < wanted ? TOPIC_TOO_FEW : TOPIC_DIFFERS;
}

enum topic_change
topics_compare(const struct topic *topic,
               const struct topics_wish *wish,
               bool mock,
               const struct topic_info *info,
               const struct topic_configs *configs,
               struct buf *out)
{
    int32_t wanted =
        mock ? TOPIC_PARTITIONS_EMBEDDED : topics_wanted_partitions(wish, topic);
    struct topic_settings settings;
    topic_settings_wanted(topic, wish->retention_ms, &settings);
    if (!info) {
        buf_addf(out, "+ %-26s %" PRId32 " partitions, %s, %zu MiB\n", topic->name,
                 wanted, topic->compact ? "compact" : "delete",
                 topic->max_message_bytes >> 20);
        return TOPIC_MISSING;
    }
    if (info->error) {
        buf_addf(out, "! %-26s %s\n", topic->name, info->error);
        return TOPIC_HAS_ERROR;
    }
    return compare_present(topic, wanted, &settings, info, configs, out);
}

void
topics_describe_one(const struct topic *topic,
                    const struct topics_wish *wish,
                    bool mock,
                    const struct topic_info *info,
                    const struct topic_configs *configs,
                    struct buf *out)
{
    struct topic_settings wanted;
    topic_settings_wanted(topic, wish->retention_ms, &wanted);
    buf_addf(out, "%s\n  partitions: ", topic->name);
    if (!info || info->error)
        buf_add_str(out, info ? info->error : "missing");
    else
        buf_addf(out, "%" PRId32, info->n_partitions);
    buf_addf(out, " (should be %" PRId32 ")\n",
             mock ? TOPIC_PARTITIONS_EMBEDDED : topics_wanted_partitions(wish, topic));
    for (size_t i = 0; i < TOPIC_SETTINGS; i++) {
        const char *is =
            configs ? topic_configs_get(configs, wanted.items[i].name) : NULL;
        buf_addf(out, "  %s: %s (should be %s)\n", wanted.items[i].name,
                 is ? is : "unknown", wanted.items[i].value);
    }
}
