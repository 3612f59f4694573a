/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an analysis was asked to do (events.md 6): travels from the trace event through
 * every record that follows from it.
 */
#pragma once

#include "field.h"

/* Workload of a baseline run. */
struct baseline {
    struct slice conc;               /* nullable */
    struct slice osl;                /* nullable */
    struct slice random_range_ratio; /* nullable */
};

/* What was asked for, and by which attempt. */
struct request {
    struct slice request_id;
    struct slice framework;
    struct slice framework_kind; /* nullable */
    struct slice requested_mode; /* nullable */
    int32_t attempt;
    struct slice retry_of;            /* nullable */
    struct slice from_mode;           /* nullable */
    struct slice source_warning_code; /* nullable */
    struct slice target_platform;     /* nullable */
    struct slice model_name;          /* nullable */
    bool has_baseline;
    struct baseline baseline;
    struct slice campaign_framework; /* nullable */
};

extern const struct record_type request_type;
