/* SPDX-License-Identifier: Apache-2.0 */
/* Exactly-once: results and offsets in one transaction, or neither. */
#include "delivery.h"

#include <stdio.h>
#include <string.h>

#include "log.h"
#include "watchdog.h"

enum {
    INIT_STEP_MS = 2000,
    SEND_STEP_MS = 1000,
    OFFSETS_STEP_MS = 5000,
    FLUSH_STEP_MS = 1000,
    CALL_DEADLINE_MS = 25000, /* of a call, while a broker is connected */
    NAMESAKE_BYTES = 256,
};

static void
start_call(const char *what)
{
    watchdog_arm(WATCH_CALL, CALL_DEADLINE_MS, EXIT_TXN_DEADLINE, what);
}

static enum err_kind
end_call(enum err_kind kind)
{
    watchdog_disarm(WATCH_CALL);
    return kind;
}

/* Between two tries of a call. A broker that is away is no hang: the deadline starts
 * anew. */
static bool
wait_more(void *state)
{
    struct delivery *delivery = state;
    delivery->waiting(delivery->state);
    if (!producer_connected(delivery->producer))
        start_call("a transactional call after an outage");
    return true;
}

/* Commit and abort block inside the library: not to be called without a broker. */
static void
wait_for_broker(struct delivery *delivery)
{
    while (!producer_connected(delivery->producer)) {
        delivery->waiting(delivery->state);
        producer_poll(delivery->producer, FLUSH_STEP_MS);
    }
}

/* Names who fenced us, as far as that can be known: two causes look alike. */
static enum err_kind
explain(struct delivery *delivery, enum err_kind kind, struct err *err)
{
    char other[NAMESAKE_BYTES] = "";
    if (kind != ERR_FATAL || err_exit_code(err) != EXIT_FENCED)
        return kind;
    bool seen =
        delivery->consumer && consumer_find_namesake(delivery->consumer, delivery->group,
                                                     delivery->name, other, sizeof other);
    return err_fatal(
        err, EXIT_FENCED, "fenced",
        "fenced: either a newer process has taken the name %s (%s%s), or the "
        "coordinator ended our transaction by its timeout; nothing of it is "
        "visible. Start this process again, with another instance if the "
        "name is taken",
        delivery->name, seen ? "seen in the group: " : "none is seen in the group",
        other);
}

static enum err_kind
begin_fencing(struct delivery *delivery, struct err *err)
{
    while (!watchdog_stopping()) {
        start_call("init_transactions");
        enum err_kind kind =
            end_call(transactions_init(delivery->producer, INIT_STEP_MS, err));
        if (kind != ERR_RETRY)
            return explain(delivery, kind, err);
        producer_poll(delivery->producer, 0);
        delivery->waiting(delivery->state);
    }
    return err_set(err, ERR_RETRY, "stopping", "asked to stop before the first record");
}

static enum err_kind
begin(struct delivery *delivery, struct err *err)
{
    const struct patience patience = {wait_more, delivery};
    if (delivery->in_transaction)
        return ERR_OK;
    start_call("begin_transaction");
    enum err_kind kind = end_call(transaction_begin(delivery->producer, &patience, err));
    delivery->in_transaction = !kind;
    return explain(delivery, kind, err);
}

/*
 * A full queue is waited out, and said so: it empties as soon as the broker takes records
 * again, while giving up the batch would want that broker, too.
 */
static enum err_kind
send_patiently(struct delivery *delivery, const struct outgoing *record, struct err *err)
{
    bool told = false;
    for (;;) {
        enum err_kind kind = producer_send(delivery->producer, record, SEND_STEP_MS, err);
        bool full = kind == ERR_RETRY && strcmp(err->code, "producer_queue_full") == 0;
        if (full && !told)
            log_event(LOG_WARNING, "the queue for the broker is full, waiting",
                      LOG_FIELDS(LOG_STR("code", err->code)));
        if (!full && told)
            log_say(LOG_INFO, "the queue for the broker takes records again");
        if (!full || watchdog_stopping())
            return kind;
        told = true;
        delivery->waiting(delivery->state);
    }
}

/* In a transaction that can only be aborted nothing is taken: the first failed delivery
 * says why. */
static enum err_kind
produce(struct delivery *delivery, const struct outgoing *record, struct err *err)
{
    if (begin(delivery, err))
        return err->kind;
    enum err_kind kind = send_patiently(delivery, record, err);
    if (kind != ERR_RETRY)
        return explain(delivery, kind, err);
    struct err why = {0};
    if (producer_take_failure(delivery->producer, &why))
        *err = why;
    if (err->kind != ERR_FATAL)
        err->kind = ERR_RETRY;
    return explain(delivery, err->kind, err);
}

/* The library's own commit flushes too, but would not say that it waits. */
static enum err_kind
flush(struct delivery *delivery, struct err *err)
{
    for (;;) {
        enum err_kind kind = producer_flush(delivery->producer, FLUSH_STEP_MS, err);
        if (kind != ERR_RETRY)
            return kind;
        if (producer_take_failure(delivery->producer, err))
            return err->kind;
        if (producer_pending(delivery->producer) == 0)
            return kind;
        delivery->waiting(delivery->state);
    }
}

static enum err_kind
send_offsets(struct delivery *delivery,
             const struct topic_partition *offsets,
             size_t n,
             struct err *err)
{
    const struct patience patience = {wait_more, delivery};
    start_call("send_offsets_to_transaction");
    return end_call(transaction_send_offsets(delivery->producer, delivery->consumer,
                                             offsets, n, OFFSETS_STEP_MS, &patience,
                                             err));
}

static enum err_kind
commit_open(struct delivery *delivery, struct err *err)
{
    const struct patience patience = {wait_more, delivery};
    wait_for_broker(delivery);
    start_call("commit_transaction");
    return end_call(transaction_commit(delivery->producer, &patience, err));
}

static enum err_kind
commit(struct delivery *delivery,
       const struct topic_partition *offsets,
       size_t n,
       struct err *err)
{
    delivery->delivered = false;
    enum err_kind kind = begin(delivery, err);
    if (!kind)
        kind = send_offsets(delivery, offsets, n, err);
    if (!kind)
        kind = flush(delivery, err);
    if (!kind)
        kind = commit_open(delivery, err);
    if (!kind)
        delivery->in_transaction = false;
    /* What failed on the way says more than that the transaction did. */
    struct err why = {0};
    if (kind && kind != ERR_FATAL && producer_take_failure(delivery->producer, &why))
        *err = why;
    return explain(delivery, kind ? err->kind : ERR_OK, err);
}

static enum err_kind
give_up(struct delivery *delivery, struct err *err)
{
    const struct patience patience = {wait_more, delivery};
    delivery->delivered = false;
    if (!delivery->in_transaction)
        return ERR_OK;
    wait_for_broker(delivery);
    start_call("abort_transaction");
    enum err_kind kind = end_call(transaction_abort(delivery->producer, &patience, err));
    delivery->in_transaction = false;
    if (kind == ERR_RETRY || kind == ERR_RECORD) {
        struct err why = *err;
        kind = err_fatal(err, EXIT_TRY_AGAIN, "abort_failed",
                         "%s; start the process again", why.msg);
    }
    return explain(delivery, kind, err);
}

static bool
wait_never(void *state)
{
    (void)state;
    return false;
}

/* Only a courtesy to readers: what is left open, the coordinator ends by its timeout. */
static void
end(struct delivery *delivery)
{
    const struct patience patience = {wait_never, NULL};
    struct err err;
    if (delivery->in_transaction && producer_connected(delivery->producer))
        transaction_abort(delivery->producer, &patience, &err);
    delivery->in_transaction = false;
}

const struct delivery_ops delivery_exactly_once = {
    .name = "exactly-once",
    .promise = "each record exactly once for read_committed readers",
    .transactional = true,
    .open = begin_fencing,
    .produce = produce,
    .commit = commit,
    .abort = give_up,
    .close = end,
};
