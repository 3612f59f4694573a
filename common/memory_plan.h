/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the memory of a worker is shared out: every queue and batch has a bound, and what
 * they take together at worst stays below the setting `memory`. Pages of the mapped
 * stores are the system's cache and do not count.
 */
#pragma once

#include "options.h"

#include <stddef.h>
#include <stdint.h>

/* The least that a worker can be told to do with. */
#define MEMORY_MIN_BYTES ((int64_t)128 << 20)
/* A fetch of compressed records is taken to unpack to so many times its size at most. */
enum { MEMORY_UNPACK = 8 };

/* Bytes unless said otherwise. */
struct memory_plan {
    int64_t limit;         /* the setting; 0: none, and nothing below is bounded by it */
    int64_t fetched_bytes; /* fetched records that wait: queued.max.messages.kbytes */
    int64_t fetched_records; /* ... their number: queued.min.messages */
    int64_t fetch_bytes;     /* one answer of a broker: fetch.max.bytes */
    int64_t sent_bytes;      /* produced records that wait: queue.buffering.max.kbytes */
    int64_t sent_records;    /* ... their number: queue.buffering.max.messages */
    int64_t batch_bytes;     /* input of the open batch */
    int64_t state_bytes;     /* changes of the open batch, filters, and what waits for
                              * an index, of all partitions */
    int64_t worst;           /* all of it at once */
};

struct memory_wish {
    int64_t limit;           /* 0: none */
    int64_t batch_bytes;     /* the setting */
    int64_t batch_records;   /* the setting */
    int64_t fetched_records; /* what suits the client library */
};

/*
 * Shares `wish->limit` out. The user's own properties come first, whatever they ask for;
 * `worst` counts them, too.
 */
struct memory_plan memory_plan_make(const struct memory_wish *wish,
                                    const struct option_property *properties,
                                    size_t n_properties);
