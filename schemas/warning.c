/* SPDX-License-Identifier: Apache-2.0 */
/* Table of the warning. */
#include "warning.h"

#include "avsc.h"

static const struct field field_value = {
    .type = FIELD_STRING,
    .offset = offsetof(struct warning_field, json),
};

static const struct field warning_fields[] = {
    {.name = "code", .type = FIELD_STRING, .offset = offsetof(struct warning, code)},
    {.name = "severity",
     .type = FIELD_ENUM,
     .offset = offsetof(struct warning, severity)},
    {.name = "subject",
     .type = FIELD_STRING,
     .offset = offsetof(struct warning, subject)},
    {.name = "fields",
     .type = FIELD_MAP,
     .offset = offsetof(struct warning, fields),
     .size = sizeof(struct warning_field),
     .of = &field_value},
    {.name = "message",
     .type = FIELD_STRING,
     .offset = offsetof(struct warning, message)},
    {.name = "origin",
     .type = FIELD_RECORD,
     .offset = offsetof(struct warning, origin),
     .record = &origin_type},
    {.name = "provenance",
     .type = FIELD_RECORD,
     .offset = offsetof(struct warning, provenance),
     .record = &provenance_type},
};

const struct record_type warning_type = {
    "heddle.v1.Warning",    avsc_warning,          FIELD_ROWS(warning_fields),
    sizeof(struct warning), avsc_warning_released,
};
