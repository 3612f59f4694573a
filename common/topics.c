/* SPDX-License-Identifier: Apache-2.0 */
/* The table of topics, made from ops/topics.tsv by the build. */
#include "topics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct topic topics[] = {
#include "topics_table.inc"
};

enum { N_TOPICS = sizeof topics / sizeof topics[0] };
_Static_assert((int)N_TOPICS <= (int)TOPICS_MAX, "raise TOPICS_MAX");

const struct topic *
topics_all(size_t *ret_n)
{
    *ret_n = N_TOPICS;
    return topics;
}

void
topic_settings_wanted(const struct topic *topic,
                      int64_t retention_ms,
                      struct topic_settings *ret_settings)
{
    struct topic_settings *s = ret_settings;
    snprintf(s->text[0], sizeof s->text[0], "%zu", topic->max_message_bytes);
    snprintf(s->text[1], sizeof s->text[1], "%" PRId64, retention_ms);
    s->items[0] =
        (struct topic_setting){"cleanup.policy", topic->compact ? "compact" : "delete"};
    s->items[1] = (struct topic_setting){"max.message.bytes", s->text[0]};
    s->items[2] = (struct topic_setting){"retention.ms", s->text[1]};
    s->items[3] = (struct topic_setting){"message.timestamp.type", "CreateTime"};
    s->items[4] =
        (struct topic_setting){"message.timestamp.after.max.ms", "9223372036854775807"};
}

const struct topic *
topic_find(const char *name)
{
    for (size_t i = 0; i < N_TOPICS; i++)
        if (strcmp(topics[i].name, name) == 0)
            return &topics[i];
    return NULL;
}

size_t
topics_largest(const char *const *names)
{
    size_t largest = topic_find(TOPIC_DEAD)->max_message_bytes;
    for (size_t i = 0; names[i]; i++) {
        const struct topic *topic = topic_find(names[i]);
        if (topic && topic->max_message_bytes > largest)
            largest = topic->max_message_bytes;
    }
    return largest;
}

size_t
topics_smallest(const char *const *names)
{
    size_t smallest = SIZE_MAX;
    for (size_t i = 0; names[i]; i++) {
        const struct topic *topic = topic_find(names[i]);
        if (topic && topic->max_message_bytes < smallest)
            smallest = topic->max_message_bytes;
    }
    return smallest == SIZE_MAX ? topic_find(TOPIC_WARNINGS)->max_message_bytes
                                : smallest;
}
