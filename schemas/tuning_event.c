/* SPDX-License-Identifier: Apache-2.0 */
/* Table of the tuning event. */
#include "tuning_event.h"

#include "avsc.h"

static const struct field default_value = {
    .type = FIELD_STRING,
    .offset = offsetof(struct default_entry, json),
};

static const struct field log_part_fields[] = {
    {.name = "tuner", .type = FIELD_STRING, .offset = offsetof(struct log_part, tuner)},
    {.name = "payload",
     .type = FIELD_UNION,
     .offset = offsetof(struct log_part, payload),
     .of = payload_branches,
     .n_of = 2},
    {.name = "event_time_us",
     .type = FIELD_LONG,
     .offset = offsetof(struct log_part, event_time_us)},
};

static const struct record_type log_part_type = {
    "heddle.v1.LogPart", NULL, FIELD_ROWS(log_part_fields), sizeof(struct log_part), NULL,
};

static const struct field e2e_part_fields[] = {
    {.name = "payload",
     .type = FIELD_UNION,
     .offset = offsetof(struct e2e_part, payload),
     .of = payload_branches,
     .n_of = 2},
    {.name = "event_time_us",
     .type = FIELD_LONG,
     .offset = offsetof(struct e2e_part, event_time_us)},
};

static const struct record_type e2e_part_type = {
    "heddle.v1.E2ePart", NULL, FIELD_ROWS(e2e_part_fields), sizeof(struct e2e_part), NULL,
};

static const struct field log_part_item = {.type = FIELD_RECORD,
                                           .record = &log_part_type};

static const struct field tuning_event_fields[] = {
    {.name = "origin",
     .type = FIELD_RECORD,
     .offset = offsetof(struct tuning_event, origin),
     .record = &origin_type},
    {.name = "workspace",
     .type = FIELD_STRING,
     .offset = offsetof(struct tuning_event, workspace)},
    {.name = "trace",
     .type = FIELD_STRING,
     .offset = offsetof(struct tuning_event, trace),
     .nullable = true},
    {.name = "started_at",
     .type = FIELD_STRING,
     .offset = offsetof(struct tuning_event, started_at),
     .nullable = true},
    {.name = "defaults",
     .type = FIELD_MAP,
     .offset = offsetof(struct tuning_event, defaults),
     .size = sizeof(struct default_entry),
     .of = &default_value},
    {.name = "result",
     .type = FIELD_UNION,
     .offset = offsetof(struct tuning_event, result),
     .of = payload_or_null_branches,
     .n_of = 3},
    {.name = "logs",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct tuning_event, logs),
     .size = sizeof(struct log_part),
     .of = &log_part_item},
    {.name = "e2e",
     .type = FIELD_RECORD,
     .offset = offsetof(struct tuning_event, e2e),
     .record = &e2e_part_type,
     .nullable = true,
     .present = offsetof(struct tuning_event, has_e2e)},
};

const struct record_type tuning_event_type = {
    "heddle.v1.TuningEvent",         avsc_tuning_event,
    FIELD_ROWS(tuning_event_fields), sizeof(struct tuning_event),
    avsc_tuning_event_released,
};
