/* SPDX-License-Identifier: Apache-2.0 */
/* Table of the join's state. */
#include "audit_part.h"

#include "avsc.h"
#include "tuning_event.h"

static const struct field default_value = {
    .type = FIELD_STRING,
    .offset = offsetof(struct default_entry, json),
};

static const struct field part_fields[] = {
    {.name = "kind", .type = FIELD_ENUM, .offset = offsetof(struct join_part, kind)},
    {.name = "name", .type = FIELD_STRING, .offset = offsetof(struct join_part, name)},
    {.name = "started_at",
     .type = FIELD_STRING,
     .offset = offsetof(struct join_part, started_at),
     .nullable = true},
    {.name = "event_time_us",
     .type = FIELD_LONG,
     .offset = offsetof(struct join_part, event_time_us)},
    {.name = "sha256",
     .type = FIELD_STRING,
     .offset = offsetof(struct join_part, sha256)},
    {.name = "payload",
     .type = FIELD_UNION,
     .offset = offsetof(struct join_part, payload),
     .of = payload_branches,
     .n_of = 2},
    {.name = "claimed",
     .type = FIELD_BOOLEAN,
     .offset = offsetof(struct join_part, claimed)},
    {.name = "workspace",
     .type = FIELD_STRING,
     .offset = offsetof(struct join_part, workspace)},
    {.name = "trace",
     .type = FIELD_STRING,
     .offset = offsetof(struct join_part, trace),
     .nullable = true},
    {.name = "defaults",
     .type = FIELD_MAP,
     .offset = offsetof(struct join_part, defaults),
     .size = sizeof(struct default_entry),
     .of = &default_value},
    {.name = "origin",
     .type = FIELD_RECORD,
     .offset = offsetof(struct join_part, origin),
     .record = &origin_type},
    {.name = "input",
     .type = FIELD_RECORD,
     .offset = offsetof(struct join_part, input),
     .record = &input_ref_type},
    {.name = "arrived_ms",
     .type = FIELD_LONG,
     .offset = offsetof(struct join_part, arrived_ms)},
};

static const struct record_type part_type = {
    "heddle.v1.JoinPart", NULL, FIELD_ROWS(part_fields), sizeof(struct join_part), NULL,
};

static const struct field sent_fields[] = {
    {.name = "key", .type = FIELD_STRING, .offset = offsetof(struct join_sent, key)},
    {.name = "parts", .type = FIELD_BYTES, .offset = offsetof(struct join_sent, parts)},
    {.name = "content",
     .type = FIELD_BYTES,
     .offset = offsetof(struct join_sent, content)},
    {.name = "warnings",
     .type = FIELD_BYTES,
     .offset = offsetof(struct join_sent, warnings)},
};

static const struct record_type sent_type = {
    "heddle.v1.JoinSent", NULL, FIELD_ROWS(sent_fields), sizeof(struct join_sent), NULL,
};

static const struct field sent_item = {.type = FIELD_RECORD, .record = &sent_type};

static const struct field head_fields[] = {
    {.name = "last_part_ms",
     .type = FIELD_LONG,
     .offset = offsetof(struct join_head, last_part_ms)},
    {.name = "shown_ms",
     .type = FIELD_LONG,
     .offset = offsetof(struct join_head, shown_ms)},
    {.name = "due_ms", .type = FIELD_LONG, .offset = offsetof(struct join_head, due_ms)},
    {.name = "sent",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct join_head, sent),
     .size = sizeof(struct join_sent),
     .of = &sent_item},
};

static const struct record_type head_type = {
    "heddle.v1.JoinHead", NULL, FIELD_ROWS(head_fields), sizeof(struct join_head), NULL,
};

static const struct field audit_part_fields[] = {
    {.name = "input_key",
     .type = FIELD_STRING,
     .offset = offsetof(struct audit_part, input_key)},
    {.name = "part",
     .type = FIELD_RECORD,
     .offset = offsetof(struct audit_part, part),
     .record = &part_type,
     .nullable = true,
     .present = offsetof(struct audit_part, has_part)},
    {.name = "head",
     .type = FIELD_RECORD,
     .offset = offsetof(struct audit_part, head),
     .record = &head_type,
     .nullable = true,
     .present = offsetof(struct audit_part, has_head)},
};

const struct record_type audit_part_type = {
    "heddle.v1.AuditPart",     avsc_audit_part,          FIELD_ROWS(audit_part_fields),
    sizeof(struct audit_part), avsc_audit_part_released,
};
