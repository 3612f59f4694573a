/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of the memory. */
#include "memory_plan.h"

#include <stdlib.h>
#include <string.h>

enum {
    RECORD_BYTES = 512, /* of a client library around a record, with its allocator's */
    KIB = 1024,
};

#define MIB ((int64_t)1 << 20)
/* Program, libraries, their threads, requests that are being packed, the arenas of an
 * ordinary record. */
#define BASE_BYTES (72 * MIB)

/* Without a limit: what the settings and the client's own bounds allow. */
#define FREE_FETCHED_BYTES (32 * MIB)
#define FREE_FETCH_BYTES   (50 * MIB)
#define FREE_SENT_BYTES    (128 * MIB)
#define FREE_STATE_BYTES   (64 * MIB)
#define FREE_SENT_RECORDS  ((int64_t)1000000)

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t
most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct memory_plan
without_limit(const struct memory_wish *wish)
{
    return (struct memory_plan){
        .fetched_bytes = FREE_FETCHED_BYTES,
        .fetched_records = wish->fetched_records,
        .fetch_bytes = FREE_FETCH_BYTES,
        .sent_bytes = FREE_SENT_BYTES,
        .sent_records = FREE_SENT_RECORDS,
        .batch_bytes = wish->batch_bytes,
        .state_bytes = FREE_STATE_BYTES,
    };
}

/* Hundredths of what is left beside the program itself: 80 in all, the rest is room for
 * the allocator. */
static struct memory_plan
within(const struct memory_wish *wish)
{
    int64_t percent = (wish->limit - BASE_BYTES) / 100;
    int64_t records = most(16 * percent / (INT64_C(2) * RECORD_BYTES), 1000);
    return (struct memory_plan){
        .limit = wish->limit,
        .fetched_bytes = 16 * percent,
        .fetched_records = least(wish->fetched_records, records),
        .fetch_bytes = 20 * percent / (1 + MEMORY_UNPACK),
        .sent_bytes = 12 * percent,
        .sent_records = records,
        .batch_bytes = least(8 * percent, wish->batch_bytes),
        .state_bytes = 8 * percent,
    };
}

static void
take_property(struct memory_plan *plan, const char *name, int64_t value)
{
    if (strcmp(name, "queued.max.messages.kbytes") == 0)
        plan->fetched_bytes = value * KIB;
    else if (strcmp(name, "queued.min.messages") == 0)
        plan->fetched_records = value;
    else if (strcmp(name, "fetch.max.bytes") == 0)
        plan->fetch_bytes = value;
    else if (strcmp(name, "message.max.bytes") == 0)
        plan->fetch_bytes = most(plan->fetch_bytes, value);
    else if (strcmp(name, "queue.buffering.max.kbytes") == 0)
        plan->sent_bytes = value * KIB;
    else if (strcmp(name, "queue.buffering.max.messages") == 0)
        plan->sent_records = value;
}

struct memory_plan
memory_plan_make(const struct memory_wish *wish,
                 const struct option_property *properties,
                 size_t n_properties)
{
    struct memory_plan plan = wish->limit ? within(wish) : without_limit(wish);
    for (size_t i = 0; i < n_properties; i++)
        take_property(&plan, properties[i].name, strtoll(properties[i].value, NULL, 10));
    int64_t records = plan.fetched_records + plan.sent_records + wish->batch_records;
    plan.worst = BASE_BYTES + plan.fetched_bytes +
                 plan.fetch_bytes * (1 + MEMORY_UNPACK) + plan.sent_bytes +
                 plan.batch_bytes + plan.state_bytes + records * RECORD_BYTES;
    return plan;
}
