/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker promises about each record, as four calls that the runner makes for every
 * batch. At-least-once is one set of them; a transactional one is another.
 *
 *   begin            before the first record of a batch
 *   produce          for every record that goes out, dead letters included
 *   commit           everything is delivered, then the offsets are committed
 *   abort            what is open is given up; the runner reads the batch again
 */
#pragma once

#include "kafka.h"

#include <stdbool.h>

struct delivery;

struct delivery_ops {
    const char *name; /* as the setting writes it */
    enum err_kind (*begin)(struct delivery *delivery, struct err *err);
    /* ERR_RETRY: the broker takes no more at present; abort the batch. */
    enum err_kind (*produce)(struct delivery *delivery,
                             const struct outgoing *record,
                             struct err *err);
    /*
     * Waits through an outage of any length: a drain's deadline bounds it.
     * ERR_RECORD: the broker refused records, each reported by its token; dead-letter
     * their inputs and commit again. ERR_RETRY with `delivery->delivered`: only the
     * offsets did not get through, commit again later. ERR_RETRY otherwise: abort.
     */
    enum err_kind (*commit)(struct delivery *delivery,
                            const struct topic_partition *offsets,
                            size_t n,
                            struct err *err);
    enum err_kind (*abort)(struct delivery *delivery, struct err *err);
};

struct delivery {
    const struct delivery_ops *ops;
    struct producer *producer; /* borrowed */
    struct consumer *consumer; /* borrowed */
    bool delivered;            /* by the last commit */
    /* Called about every second while commit() waits for the broker. */
    void (*waiting)(void *state);
    void *state;
};

/* Flush, then commit: a record may be seen again after a crash, never lost. */
extern const struct delivery_ops delivery_at_least_once;
