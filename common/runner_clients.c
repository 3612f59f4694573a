/* SPDX-License-Identifier: Apache-2.0 */
/* The producer and the consumer of a runner: opened in order, closed within a bound. */
#include "runner_internal.h"

#include "clock.h"
#include "watchdog.h"

enum {
    CLOSE_TIMEOUT_MS = 10000,
    CLUSTER_TIMEOUT_MS = 5000,
};

/* The embedded broker answers every transactional call and keeps none of it. */
static enum err_kind
check_broker(struct runner *runner, struct err *err)
{
    if (!runner->settings.refuse_embedded ||
        !producer_on_mock(runner->producer, CLUSTER_TIMEOUT_MS))
        return ERR_OK;
    return err_fatal(err, EXIT_CONFIG, "delivery_unavailable",
                     "the embedded broker has no transactions, so exactly-once would be "
                     "an empty promise there: start with --delivery at-least-once (a "
                     "record may then be seen twice after a crash, never lost), or use a "
                     "real Kafka (ops/kafka-local start)");
}

/* First of all, so that a former process of our name is fenced before we read. */
static enum err_kind
open_delivery(struct runner *runner, struct err *err)
{
    const struct runner_settings *settings = &runner->settings;
    runner->producer =
        settings->delivery->transactional
            ? producer_new_transactional(settings->kafka, settings->kafka->client_id,
                                         settings->transaction_timeout_ms,
                                         runner_on_report, runner, err)
            : producer_new(settings->kafka, runner_on_report, runner, err);
    if (!runner->producer)
        return err->kind;
    runner->delivery = (struct delivery){
        .ops = settings->delivery,
        .producer = runner->producer,
        .group = settings->dead.group,
        .name = settings->kafka->client_id,
        .waiting = runner_on_waiting,
        .state = runner,
    };
    if (settings->delivery->open(&runner->delivery, err))
        return err->kind;
    return settings->delivery->transactional ? check_broker(runner, err) : ERR_OK;
}

enum err_kind
runner_open_clients(struct runner *runner, struct err *err)
{
    const struct runner_settings *settings = &runner->settings;
    const struct consumer_settings consumer = {
        .kafka = settings->kafka,
        .group = settings->dead.group,
        .topic = settings->worker->input,
        .group_instance_id = settings->group_instance_id,
        .start = settings->start,
        .read_committed = settings->delivery->transactional,
        .events = {runner_on_assigned, runner_on_revoked, runner_wait_for_coordinator,
                   runner},
    };
    atomic_store(&runner->connected_ms, clock_monotonic_ms());
    if (open_delivery(runner, err))
        return err->kind;
    runner->consumer = consumer_new(&consumer, err);
    runner->delivery.consumer = runner->consumer;
    return runner->consumer ? ERR_OK : err->kind;
}

/* The library may hang in here: the status to leave with is settled before. */
void
runner_close_clients(struct runner *runner, int status)
{
    watchdog_excuse(NULL, NULL);
    watchdog_arm(WATCH_CLOSE, CLOSE_TIMEOUT_MS, status, "leaving the group");
    if (runner->producer)
        runner->delivery.ops->close(&runner->delivery);
    runner_drop_inputs(runner);
    for (size_t i = 0; i < runner->n_parts; i++) {
        consumed_free(runner->parts[i].held);
        runner->parts[i].held = NULL;
    }
    consumer_close(runner->consumer);
    producer_free(runner->producer);
    runner->consumer = NULL;
    runner->producer = NULL;
    watchdog_disarm(WATCH_CLOSE);
}
