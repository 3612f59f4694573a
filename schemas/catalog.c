/* SPDX-License-Identifier: Apache-2.0 */
/* Topics and their schemas. */
#include "catalog.h"

#include "audit_part.h"
#include "audit_row.h"
#include "candidate_table.h"
#include "split_record.h"
#include "topics.h"
#include "trace_event.h"
#include "tuning_event.h"
#include "verdict.h"
#include "warning.h"

#include <string.h>

static const struct catalog_entry entries[] = {
    {"tuning_event", TOPIC_TUNINGS, &tuning_event_type},
    {"audit_row", TOPIC_AUDIT_TUNINGS, &audit_row_type},
    {"audit_part", TOPIC_STATE_AUDIT, &audit_part_type},
    {"trace_event", TOPIC_TRACES, &trace_event_type},
    {"split_record", TOPIC_SPLITS, &split_record_type},
    {"verdict", TOPIC_AUDIT_SPLITS, &verdict_type},
    {"candidate_table", TOPIC_CANDIDATES, &candidate_table_type},
    {"warning", TOPIC_WARNINGS, &warning_type},
};

const struct catalog_entry *
catalog_all(size_t *ret_n)
{
    *ret_n = sizeof entries / sizeof entries[0];
    return entries;
}

const struct catalog_entry *
catalog_of_topic(const char *topic)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].topic, topic) == 0)
            return &entries[i];
    return NULL;
}
