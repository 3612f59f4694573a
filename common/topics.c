/* SPDX-License-Identifier: Apache-2.0 */
/* The table of topics. */
#include "topics.h"

#include <string.h>

#define MIB(n) ((size_t)(n) << 20)

static const struct topic topics[] = {
    {TOPIC_TUNINGS, "tuning event", "input key", 8, false, MIB(2)},
    {TOPIC_AUDIT_TUNINGS, "audit row", "run_key, or orphan: + input key", 8, true,
     MIB(2)},
    {"heddle.state.audit", "parts of the join", "input key + part", 8, true, MIB(3)},
    {"heddle.traces", "trace event", "root request", 8, false, MIB(2)},
    {"heddle.splits", "split record", "root request", 8, false, MIB(16)},
    {"heddle.audit.splits", "verdict", "root request", 8, false, MIB(2)},
    {"heddle.candidates", "candidate table", "root request", 8, false, MIB(16)},
    {"heddle.resolutions", "resolved table", "root request", 8, false, MIB(16)},
    {"heddle.proposals", "proposals", "root request", 8, false, MIB(16)},
    {"heddle.attempts", "attempt", "root request", 8, false, MIB(16)},
    {"heddle.audit.candidates", "reviewed table", "root request", 8, false, MIB(16)},
    {"heddle.audit.dispatch", "decision", "root request", 8, false, MIB(16)},
    {TOPIC_WARNINGS, "warning", "code", 4, false, MIB(1)},
    {TOPIC_DEAD, "the original value", "the original key", 4, false, MIB(17)},
};

enum { N_TOPICS = sizeof topics / sizeof topics[0] };

const struct topic *
topics_all(size_t *ret_n)
{
    *ret_n = N_TOPICS;
    return topics;
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
