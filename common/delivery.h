/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker promises about each record, as the calls that the runner makes.
 * At-least-once is one set of them, exactly-once the other.
 *
 *   open             once, before the group is joined
 *   produce          for every record that goes out, dead letters included
 *   commit           everything is delivered, then the offsets are committed
 *   abort            what is open is given up; the runner reads the batch again
 *   close            at the end: leaves nothing open that would hold up readers
 */
#pragma once

#include "kafka.h"

#include <stdbool.h>

struct delivery;

struct delivery_ops {
    const char *name;    /* as the setting writes it */
    const char *promise; /* for people, one clause */
    bool transactional;  /* the producer's id, the consumer's isolation, the rewind */
    /* ERR_RETRY "stopping": the process was asked to stop meanwhile. */
    enum err_kind (*open)(struct delivery *delivery, struct err *err);
    /* ERR_RETRY: the broker takes no more at present; abort the batch. ERR_RECORD: the
     * record can't be sent. */
    enum err_kind (*produce)(struct delivery *delivery,
                             const struct outgoing *record,
                             struct err *err);
    /*
     * Waits through an outage of any length: a drain's deadline bounds it.
     * ERR_RETRY with `delivery->delivered`: only the offsets did not get through, commit
     * again later. ERR_RECORD: the broker refused records, each reported by its token;
     * abort, as for ERR_RETRY otherwise.
     */
    enum err_kind (*commit)(struct delivery *delivery,
                            const struct topic_partition *offsets,
                            size_t n,
                            struct err *err);
    enum err_kind (*abort)(struct delivery *delivery, struct err *err);
    void (*close)(struct delivery *delivery);
};

struct delivery {
    const struct delivery_ops *ops;
    struct producer *producer; /* borrowed */
    struct consumer *consumer; /* borrowed; NULL during open() */
    const char *group;
    const char *name;    /* client.id and transactional.id */
    bool delivered;      /* by the last commit */
    bool in_transaction; /* begun by the first record that goes out */
    /* Called about every second while a call waits for the broker. */
    void (*waiting)(void *state);
    void *state;
};

/* Flush, then commit: a record may be seen again after a crash, never lost. */
extern const struct delivery_ops delivery_at_least_once;
/*
 * Results, dead letters and offsets in one transaction. A transactional call that hangs
 * while a broker is connected ends the process with EXIT_TXN_DEADLINE.
 */
extern const struct delivery_ops delivery_exactly_once;
