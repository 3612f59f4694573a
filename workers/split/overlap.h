/* SPDX-License-Identifier: Apache-2.0 */
/* The stream whose events run into each other most (splitting.md 10.1). */
#pragma once

#include "err.h"
#include "events.h"

struct overlap {
    int64_t excess_ns;
    int64_t device_ns; /* sum of dur on it */
    int64_t worst_ns;  /* largest single excess */
    bool has_event;
    uint32_t event;  /* name of the event with it */
    uint32_t thread; /* whose pid and tid are the stream */
};

/* A trace with at least one GPU event. */
enum err_kind
overlap_find(const struct events *events, struct overlap *ret_overlap, struct err *err);
