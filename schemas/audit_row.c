/* SPDX-License-Identifier: Apache-2.0 */
/* Table of the audit row. */
#include "audit_row.h"

#include "avsc.h"

#define TUNER_TEXT(member)                                                               \
    {                                                                                    \
        .name = #member, .type = FIELD_STRING,                                           \
        .offset = offsetof(struct tuner_entry, member), .nullable = true                 \
    }

#define TUNER_VALUE(member, avro_type)                                                   \
    {                                                                                    \
        .name = #member, .type = avro_type,                                              \
        .offset = offsetof(struct tuner_entry, member), .nullable = true,                \
        .present = offsetof(struct tuner_entry, has_##member)                            \
    }

static const struct field tuner_entry_fields[] = {
    TUNER_TEXT(tuner),
    TUNER_TEXT(status),
    TUNER_TEXT(outcome),
    TUNER_TEXT(error_class),
    TUNER_TEXT(error),
    TUNER_VALUE(best_micro_speedup, FIELD_DOUBLE),
    TUNER_VALUE(elapsed_s, FIELD_DOUBLE),
    TUNER_VALUE(kept, FIELD_BOOLEAN),
    TUNER_VALUE(exit_code, FIELD_INT),
};

static const struct record_type tuner_entry_type = {
    "heddle.v1.TunerEntry",     NULL, FIELD_ROWS(tuner_entry_fields),
    sizeof(struct tuner_entry), NULL,
};

static const struct field tuner_item = {.type = FIELD_RECORD,
                                        .record = &tuner_entry_type};

#define ROW_TEXT(member)                                                                 \
    {                                                                                    \
        .name = #member, .type = FIELD_STRING,                                           \
        .offset = offsetof(struct audit_row, member), .nullable = true                   \
    }

static const struct field audit_row_fields[] = {
    {.name = "run_key",
     .type = FIELD_STRING,
     .offset = offsetof(struct audit_row, run_key)},
    {.name = "row",
     .type = FIELD_BYTES,
     .offset = offsetof(struct audit_row, row),
     .nullable = true},
    {.name = "x", .type = FIELD_BYTES, .offset = offsetof(struct audit_row, x)},
    ROW_TEXT(trace),
    ROW_TEXT(workspace),
    ROW_TEXT(backend),
    ROW_TEXT(engine),
    ROW_TEXT(status),
    ROW_TEXT(decision),
    ROW_TEXT(micro_decision),
    ROW_TEXT(verdict),
    ROW_TEXT(precision),
    ROW_TEXT(framework),
    ROW_TEXT(error_class),
    {.name = "best_speedup",
     .type = FIELD_DOUBLE,
     .offset = offsetof(struct audit_row, best_speedup),
     .nullable = true,
     .present = offsetof(struct audit_row, has_best_speedup)},
    {.name = "tuners",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct audit_row, tuners),
     .size = sizeof(struct tuner_entry),
     .of = &tuner_item},
    {.name = "origin",
     .type = FIELD_RECORD,
     .offset = offsetof(struct audit_row, origin),
     .record = &origin_type},
    {.name = "provenance",
     .type = FIELD_RECORD,
     .offset = offsetof(struct audit_row, provenance),
     .record = &provenance_type},
};

const struct record_type audit_row_type = {
    "heddle.v1.AuditRow",     avsc_audit_row,          FIELD_ROWS(audit_row_fields),
    sizeof(struct audit_row), avsc_audit_row_released,
};
