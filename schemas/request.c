/* SPDX-License-Identifier: Apache-2.0 */
/* Table of the request. */
#include "request.h"

static const struct field baseline_fields[] = {
    {.name = "conc",
     .type = FIELD_STRING,
     .offset = offsetof(struct baseline, conc),
     .nullable = true},
    {.name = "osl",
     .type = FIELD_STRING,
     .offset = offsetof(struct baseline, osl),
     .nullable = true},
    {.name = "random_range_ratio",
     .type = FIELD_STRING,
     .offset = offsetof(struct baseline, random_range_ratio),
     .nullable = true},
};

static const struct record_type baseline_type = {
    "heddle.v1.Baseline",    NULL, FIELD_ROWS(baseline_fields),
    sizeof(struct baseline), NULL,
};

static const struct field request_fields[] = {
    {.name = "request_id",
     .type = FIELD_STRING,
     .offset = offsetof(struct request, request_id)},
    {.name = "framework",
     .type = FIELD_STRING,
     .offset = offsetof(struct request, framework)},
    {.name = "framework_kind",
     .type = FIELD_STRING,
     .offset = offsetof(struct request, framework_kind),
     .nullable = true},
    {.name = "requested_mode",
     .type = FIELD_STRING,
     .offset = offsetof(struct request, requested_mode),
     .nullable = true},
    {.name = "attempt", .type = FIELD_INT, .offset = offsetof(struct request, attempt)},
    {.name = "retry_of",
     .type = FIELD_STRING,
     .offset = offsetof(struct request, retry_of),
     .nullable = true},
    {.name = "from_mode",
     .type = FIELD_STRING,
     .offset = offsetof(struct request, from_mode),
     .nullable = true},
    {.name = "source_warning_code",
     .type = FIELD_STRING,
     .offset = offsetof(struct request, source_warning_code),
     .nullable = true},
    {.name = "target_platform",
     .type = FIELD_STRING,
     .offset = offsetof(struct request, target_platform),
     .nullable = true},
    {.name = "model_name",
     .type = FIELD_STRING,
     .offset = offsetof(struct request, model_name),
     .nullable = true},
    {.name = "baseline",
     .type = FIELD_RECORD,
     .offset = offsetof(struct request, baseline),
     .record = &baseline_type,
     .nullable = true,
     .present = offsetof(struct request, has_baseline)},
    {.name = "campaign_framework",
     .type = FIELD_STRING,
     .offset = offsetof(struct request, campaign_framework),
     .nullable = true},
};

const struct record_type request_type = {
    "heddle.v1.Request", NULL, FIELD_ROWS(request_fields), sizeof(struct request), NULL,
};
