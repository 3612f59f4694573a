/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tuning event (events.md 3): the parts of one run as a node saw them. Topic
 * heddle.tunings, key: the input key (events.md 4).
 */
#pragma once

#include "origin.h"

/* An entry of `defaults`: a result key and the JSON text that fills it when absent. */
struct default_entry {
    struct slice key;
    struct slice json;
};

struct log_part {
    struct slice tuner;
    struct payload payload;
    int64_t event_time_us;
};

struct e2e_part {
    struct payload payload;
    int64_t event_time_us;
};

struct tuning_event {
    struct origin origin;
    struct slice workspace;  /* "" when unknown */
    struct slice trace;      /* nullable */
    struct slice started_at; /* nullable */
    struct list defaults;    /* struct default_entry */
    struct payload result;   /* PAYLOAD_NONE: not in this event */
    struct list logs;        /* struct log_part */
    bool has_e2e;
    struct e2e_part e2e;
};

extern const struct record_type tuning_event_type;
