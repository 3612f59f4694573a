/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate on a real Kafka: one input gives records on four topics in one transaction,
 * and a read_committed reader sees each of them once, whenever the workers are killed.
 */
#include "chance.h"
#include "gate_rig.h"
#include "real_kafka.h"

#include "unit.h"

enum { WORKERS = 2, ROUNDS = 12, INSTANCE_BYTES = 8, KILL_WITHIN_MS = 1500 };

static const char group[] = "heddle-gate";
static const char *const static_member[] = {"--static", NULL};

static struct real_kafka kafka;
static struct gate_rig rig;

static int
open_kafka(void **state)
{
    (void)state;
    if (!real_kafka_start_with_topics(&kafka, false))
        return -1;
    gate_rig_open(&rig, kafka.bootstrap, 100);
    return 0;
}

static int
close_kafka(void **state)
{
    (void)state;
    gate_rig_done(&rig);
    real_kafka_stop(&kafka);
    return 0;
}

static void
start_worker(struct process *worker, int number)
{
    char instance[INSTANCE_BYTES];
    snprintf(instance, sizeof instance, "g%d", number);
    gate_rig_start(&rig, worker, group, instance, static_member);
}

static void
send_round(int round)
{
    struct gate_samples samples;
    gate_samples_read(&samples, round);
    gate_rig_send_samples(&rig, &samples);
    gate_samples_done(&samples);
}

static void
sends_each_record_once_whenever_it_is_killed(void **state)
{
    (void)state;
    struct process workers[WORKERS];
    struct gate_lines expected;
    struct gate_lines seen;
    for (int i = 0; i < WORKERS; i++)
        start_worker(&workers[i], i);

    for (int round = 0; round < ROUNDS; round++) {
        int victim = (int)chance_next(WORKERS);
        send_round(round);
        process_wait(&workers[victim], (int)chance_next(KILL_WITHIN_MS));
        gate_rig_kill(&workers[victim]);
        start_worker(&workers[victim], victim);
    }

    gate_rig_wait_drained(&rig, group);
    for (int i = 0; i < WORKERS; i++)
        gate_rig_stop(&workers[i]);
    gate_rig_expect(&rig, &expected);
    gate_rig_read(&rig, &seen);
    assert_true(expected.n > (size_t)ROUNDS * 100);
    gate_lines_compare(&expected, &seen, 1);
    gate_lines_done(&expected);
    gate_lines_done(&seen);
}

int
main(void)
{
    int status = 0;
    if (!real_kafka_here("kafka.gate_delivery", &status))
        return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_each_record_once_whenever_it_is_killed),
    };
    chance_start();
    return cmocka_run_group_tests_name("gate_delivery", tests, open_kafka, close_kafka);
}
