/* SPDX-License-Identifier: Apache-2.0 */
/* At-least-once: everything is acknowledged before its input's offset is committed. */
#include "delivery.h"

enum { SEND_TIMEOUT_MS = 10000, FLUSH_STEP_MS = 1000 };

static enum err_kind
begin(struct delivery *delivery, struct err *err)
{
    (void)delivery;
    (void)err;
    return ERR_OK;
}

static enum err_kind
produce(struct delivery *delivery, const struct outgoing *record, struct err *err)
{
    return producer_send(delivery->producer, record, SEND_TIMEOUT_MS, err);
}

/* A flush that ran out of time has lost nothing: go on until all is reported. */
static enum err_kind
flush(struct delivery *delivery, struct err *err)
{
    for (;;) {
        enum err_kind kind = producer_flush(delivery->producer, FLUSH_STEP_MS, err);
        if (kind != ERR_RETRY || producer_pending(delivery->producer) == 0)
            return kind;
        delivery->waiting(delivery->state);
    }
}

static enum err_kind
commit(struct delivery *delivery,
       const struct topic_partition *offsets,
       size_t n,
       struct err *err)
{
    delivery->delivered = false;
    if (flush(delivery, err))
        return err->kind;
    delivery->delivered = true;
    return consumer_commit(delivery->consumer, offsets, n, err);
}

/* What was delivered stays delivered: the promise allows to send it again. */
static enum err_kind
give_up(struct delivery *delivery, struct err *err)
{
    (void)err;
    delivery->delivered = false;
    return ERR_OK;
}

static void
end(struct delivery *delivery)
{
    (void)delivery;
}

const struct delivery_ops delivery_at_least_once = {
    .name = "at-least-once",
    .promise = "each record at least once, twice after a crash",
    .open = begin,
    .produce = produce,
    .commit = commit,
    .abort = give_up,
    .close = end,
};
