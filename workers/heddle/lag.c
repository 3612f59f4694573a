/* SPDX-License-Identifier: Apache-2.0 */
/* heddle lag: how far a group is behind, partition by partition. */
#include "verb.h"

#include <stdlib.h>

#include "cleanup.h"
#include "kafka.h"
#include "lag_print.h"
#include "topics.h"

enum { TIMEOUT_MS = 10000 };

enum output { OUTPUT_TABLE, OUTPUT_JSON };

static struct lag_settings {
    int64_t output; /* enum output */
} settings;

static const struct option lag_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_CHOICE,
     .offset = offsetof(struct lag_settings, output),
     .value = "table",
     .choices = "table|json",
     .arg = "FORM",
     .traits = OPTION_CLI_ONLY,
     .help = "A table for people, or one JSON document."},
};

static void
lags_done(struct group_lag **lags)
{
    free(*lags);
}

static int
run(const struct program_call *call, struct err *err)
{
    CLEANUP(lags_done) struct group_lag *lags = NULL;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    size_t n = 0;
    const char *group = call->fleet.group ? call->fleet.group : "heddle-audit";
    const char *topic = call->n_rest ? call->rest[0] : TOPIC_TUNINGS;
    struct kafka_settings kafka =
        fleet_kafka_settings(&call->fleet, call->options, "heddle-lag");
    if (verb_refuse_rest(call, 1, err) || fleet_check_brokers(&kafka, err) ||
        kafka_group_lag(&kafka, group, topic, TIMEOUT_MS, &lags, &n, err))
        return EXIT_INTERNAL;
    if (settings.output == OUTPUT_JSON)
        lag_json(group, topic, lags, n, &out);
    else
        lag_table(group, topic, lags, n, &out);
    return program_print(&out, err) ? EXIT_INTERNAL : EXIT_OK;
}

const struct verb verb_lag = {
    .name = "lag",
    .usage = "[OPTION]... [TOPIC]",
    .summary = "Shows how far a group is behind.",
    .details =
        "TOPIC is " TOPIC_TUNINGS " and the group heddle-audit unless given. Lag is "
        "counted from\nthe log start where the committed offset is older; a "
        "partition that was never committed\nsays so.",
    .options = lag_options,
    .n_options = sizeof lag_options / sizeof lag_options[0],
    .settings = &settings,
    .run = run,
};
