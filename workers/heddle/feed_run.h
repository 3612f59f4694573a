/* SPDX-License-Identifier: Apache-2.0 */
/* One run or trace: is it new, is it whole, and then off it goes. */
#pragma once

#include "campaign.h"
#include "feed_report.h"
#include "feeder.h"
#include "sent.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of one run that are held at once; parts beyond are claimed without a choice. */
#define FEED_HELD_BYTES ((size_t)16 << 20)

struct feed_target {
    struct feeder *feeder;
    struct sent *sent; /* of what is fed at the moment */
    struct feed_report *report;
    const struct default_entry *defaults;
    size_t n_defaults;
    const struct trace_ask *ask; /* of traces, by flags */
    struct slice node;
    bool again; /* send also what is known */
};

enum feed_outcome {
    FEED_QUEUED = 1, /* on its way */
    FEED_UNCHANGED,
    FEED_SKIPPED, /* nothing of it could be sent; was told */
    FEED_LATER,   /* a file is being written: look again */
};

/*
 * Compares with what was sent, reads, builds, queues. Files that can't be read are told
 * and left out. Errors end the feeding: those of feeder_send() and sent.h but ERR_RECORD.
 * With FEED_LATER `ret_why` (ERR_MSG_BYTES) says what is not settled.
 */
enum err_kind feed_run(const struct feed_target *target,
                       const struct campaign_run *run,
                       enum feed_outcome *ret_outcome,
                       struct err *ret_why,
                       struct err *err);
