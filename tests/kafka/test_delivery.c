/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery on a real Kafka: exactly-once whatever dies, as a read_committed reader that
 * is none of the workers sees it. docs/delivery.md names each test and its size.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rig.h"

#include "unit.h"

enum { WORKERS = 3, TEXT_BYTES = 256 };

static struct real_kafka kafka;
static uint64_t seed;

static int
open_kafka(void **state)
{
    (void)state;
    return real_kafka_start(&kafka, false) ? 0 : -1;
}

static int
close_kafka(void **state)
{
    (void)state;
    real_kafka_stop(&kafka);
    return 0;
}

static uint64_t
next_random(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

/* TEST_KILLS for the long run. */
static int
size_of(const char *variable, int small)
{
    const char *text = getenv(variable);
    return text ? atoi(text) : small;
}

static void
assert_each_once(const struct rig *rig, int n)
{
    struct rig_seen seen = rig_seen_new();
    rig_wait_distinct(rig, &seen, n);
    assert_int_equal(seen.doubled, 0);
    rig_seen_done(&seen);
}

static void
gives_each_record_once_when_nothing_dies(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    rig_open(&rig, &kafka, "calm", 4);
    rig_send(&rig, 0, 5000);

    rig_start(&rig, &worker, "a", NULL);

    assert_each_once(&rig, 5000);
    rig_wait_drained(&rig);
    rig_stop(&worker, 0);
    assert_each_once(&rig, 5000);
    rig_done(&rig);
}

/* Its partitions wait for a killed one, so the next kill meets work again. */
static const char *const static_member[] = {"--static", NULL};
static const char *const names[WORKERS] = {"a", "b", "c"};

static void
loses_and_doubles_nothing_when_workers_are_killed(void **state)
{
    (void)state;
    struct rig rig;
    struct process workers[WORKERS];
    int kills = size_of("TEST_KILLS", 50);
    int sent = 0;
    rig_open(&rig, &kafka, "killed", 4);
    for (int i = 0; i < WORKERS; i++)
        rig_start(&rig, &workers[i], names[i], static_member);

    for (int i = 0; i < kills; i++) {
        rig_send(&rig, sent, 500);
        sent += 500;
        struct process *victim = &workers[next_random(WORKERS)];
        process_wait(victim, (int)next_random(1200)); /* any moment of its life */
        rig_kill(victim);
        rig_start(&rig, victim, names[victim - workers], static_member);
    }

    rig_wait_drained(&rig);
    assert_each_once(&rig, sent);
    for (int i = 0; i < WORKERS; i++)
        rig_stop(&workers[i], 0);
    assert_each_once(&rig, sent);
    rig_done(&rig);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_each_record_once_when_nothing_dies),
        cmocka_unit_test(loses_and_doubles_nothing_when_workers_are_killed),
    };
    int status = 0;
    if (!real_kafka_here("kafka.delivery", &status))
        return status;
    const char *given = getenv("TEST_SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)process_now_ms() + 1;
    printf("TEST_SEED=%llu\n", (unsigned long long)seed);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_kafka, close_kafka);
}
