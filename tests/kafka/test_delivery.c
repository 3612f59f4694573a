/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery on a real Kafka: exactly-once whatever dies, as a read_committed reader that
 * is none of the workers sees it. docs/delivery.md names each test and its size.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "chance.h"
#include "rig.h"
#include "test_size.h"

#include "unit.h"

enum { WORKERS = 3, TEXT_BYTES = 256 };

/* At least once: none is missing; some may have come twice. */
static void
assert_none_lost(const struct rig *rig, int n)
{
    struct rig_seen seen = rig_seen_new();
    rig_wait_distinct(rig, &seen, n);
    assert_int_equal(seen.distinct, n);
    rig_seen_done(&seen);
}

static void
gives_each_record_once_when_nothing_dies(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    rig_open(&rig, rig_kafka(), "calm", 4);
    rig_send(&rig, 0, 5000);

    rig_start(&rig, &worker, "a", NULL);

    rig_assert_each_once(&rig, 5000);
    rig_wait_drained(&rig);
    rig_stop(&worker, 0);
    rig_assert_each_once(&rig, 5000);
    rig_done(&rig);
}

/* Its partitions wait for a killed one, so the next kill meets work again. */
static const char *const static_member[] = {"--static", NULL};
static const char *const at_least_once[] = {"--delivery", "at-least-once", NULL};
static const char *const names[WORKERS] = {"a", "b", "c"};

/* Sends on, and kills one after the other. The number of records that were sent. */
static int
kill_at_random(const struct rig *rig, int kills, const char *const *more)
{
    enum { RECORDS = 500 }; /* between two kills */
    struct process workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        rig_start(rig, &workers[i], names[i], more);
    for (int i = 0; i < kills; i++) {
        rig_send(rig, i * RECORDS, RECORDS);
        struct process *victim = &workers[chance_next(WORKERS)];
        process_wait(victim, (int)chance_next(1200)); /* any moment of its life */
        rig_kill(victim);
        rig_start(rig, victim, names[victim - workers], more);
    }
    rig_wait_drained(rig);
    for (int i = 0; i < WORKERS; i++)
        rig_stop(&workers[i], 0);
    return kills * RECORDS;
}

static void
loses_and_doubles_nothing_when_workers_are_killed(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, rig_kafka(), "killed", 4);

    int sent = kill_at_random(&rig, test_size("TEST_KILLS", 50), static_member);

    rig_assert_each_once(&rig, sent);
    rig_done(&rig);
}

static void
loses_nothing_at_least_once_when_workers_are_killed(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, rig_kafka(), "alo.killed", 4);

    int sent = kill_at_random(&rig, test_size("TEST_KILLS", 50) / 5, at_least_once);

    assert_none_lost(&rig, sent);
    rig_done(&rig);
}

static void
quarantines_a_record_that_kills_three_times(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    rig_open(&rig, rig_kafka(), "crash", 1);
    rig_send(&rig, 0, 100);
    rig_send_text(&rig, "crash w000100");
    rig_send(&rig, 101, 100);

    for (int i = 0; i < 3; i++) {
        rig_start(&rig, &worker, "a", static_member);
        assert_int_equal(process_wait(&worker, RIG_TIMEOUT_MS), 128 + SIGKILL);
        process_close(&worker);
    }
    rig_start(&rig, &worker, "a", static_member);
    rig_wait_drained(&rig);

    assert_int_equal(rig_dead(&rig, "crash_loop"), 1);
    assert_int_equal(rig_dead(&rig, NULL), 1);
    rig_assert_each_once(&rig, 200);
    rig_stop(&worker, 0);
    rig_done(&rig);
}

static void
quarantines_nothing_when_killed_at_random(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    rig_open(&rig, rig_kafka(), "random", 1);
    rig_send(&rig, 0, 20000);

    for (int i = 0; i < 12; i++) {
        rig_start(&rig, &worker, "a", static_member);
        rig_wait(&worker, "partition assigned");
        process_wait(&worker, (int)chance_next(300));
        rig_kill(&worker);
    }
    rig_start(&rig, &worker, "a", static_member);
    rig_wait_drained(&rig);

    assert_int_equal(rig_dead(&rig, NULL), 0);
    rig_assert_each_once(&rig, 20000);
    rig_stop(&worker, 0);
    rig_done(&rig);
}

static void
names_a_record_that_never_returns_and_leaves(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    static char page[4096];
    rig_open(&rig, rig_kafka(), "hang", 1);
    rig_send(&rig, 0, 10);
    rig_send_text(&rig, "hang w000010");

    rig_start(&rig, &worker, "a",
              (const char *const[]){"--static", "--job-deadline", "2s", NULL});
    int port = rig_port_of(&worker);
    rig_wait(&worker, "code=record_hangs");
    assert_int_equal(rig_get(port, "/readyz", page, sizeof page), 503);
    assert_non_null(strstr(page, "hang.in partition 0 offset 10"));
    rig_wait_page(port, "/metrics", "heddle_late_records_total 1");

    assert_int_equal(process_wait(&worker, RIG_TIMEOUT_MS), 83);
    process_close(&worker);
    rig_done(&rig);
}

static void
dead_letters_what_can_not_be_worked_on_once(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    rig_open(&rig, rig_kafka(), "poison", 2);
    for (int i = 0; i < 20; i++) {
        rig_send_text(&rig, "record w000000");
        rig_send(&rig, i * 10, 10);
    }
    rig_send_text(&rig, "never w000000");

    rig_start(&rig, &worker, "a", (const char *const[]){"--retry-attempts", "4", NULL});
    rig_wait_drained(&rig);

    rig_assert_each_once(&rig, 200);
    assert_int_equal(rig_dead(&rig, "event_without_parts"), 20);
    assert_int_equal(rig_dead(&rig, "claim_not_found"), 1);
    rig_stop(&worker, 0);
    rig_done(&rig);
}

static void
lets_the_newer_of_two_namesakes_fence_the_older(void **state)
{
    (void)state;
    struct rig rig;
    struct rig elsewhere;
    struct process older;
    struct process newer;
    rig_open(&rig, rig_kafka(), "fence", 2);
    /* Another state folder: another host. */
    rig_open(&elsewhere, rig_kafka(), "fence", 2);
    rig_start(&rig, &older, "a", NULL);
    rig_wait(&older, "partition assigned");
    rig_send(&rig, 0, 1000);
    rig_wait_drained(&rig);

    rig_start(&elsewhere, &newer, "a", NULL);
    rig_wait(&newer, "partition assigned"); /* so it has taken the name, too */
    for (int i = 1; i <= 20; i++)
        rig_send(&rig, i * 1000, 1000);

    int status = process_wait(&older, RIG_TIMEOUT_MS);
    if (status != 80)
        fputs(older.text, stderr);
    assert_int_equal(status, 80);
    assert_non_null(strstr(older.text, "either a newer process has taken the name"));
    assert_non_null(strstr(older.text, "or the coordinator ended our transaction"));
    process_close(&older);
    rig_wait_drained(&rig);
    rig_assert_each_once(&rig, 21000);
    rig_stop(&newer, 0);
    rig_done(&rig);
    rig_done(&elsewhere);
}

static void
refuses_a_second_process_of_the_same_name(void **state)
{
    (void)state;
    struct rig rig;
    struct process first;
    struct process second;
    char holder[TEXT_BYTES];
    rig_open(&rig, rig_kafka(), "namesake", 1);
    rig_start(&rig, &first, "a", static_member);
    rig_wait(&first, "partition assigned");

    rig_start(&rig, &second, "a", static_member);

    assert_int_equal(process_wait(&second, RIG_TIMEOUT_MS), 78);
    snprintf(holder, sizeof holder, "held by process %d", (int)first.pid);
    assert_non_null(strstr(second.text, holder));
    process_close(&second);
    rig_stop(&first, 0);
    rig_done(&rig);
}

static void
goes_on_by_itself_when_the_broker_was_away(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    static char page[4096];
    int away_ms = test_size("TEST_AWAY_S", 20) * 1000;
    rig_open(&rig, rig_kafka(), "away", 2);
    rig_start(&rig, &worker, "a", NULL);
    int port = rig_port_of(&worker);
    rig_wait(&worker, "partition assigned");
    rig_send(&rig, 0, 20000);

    assert_true(real_kafka_kill(rig_kafka()));
    rig_wait(&worker, "no broker answers");
    assert_int_equal(rig_get(port, "/readyz", page, sizeof page), 503);
    assert_non_null(strstr(page, "broker_unreachable"));
    assert_int_equal(process_wait(&worker, away_ms), -1); /* it stays */
    assert_true(real_kafka_restart(rig_kafka()));

    rig_wait(&worker, "the broker answers again");
    rig_send(&rig, 20000, 1000);
    rig_wait_drained(&rig);
    rig_assert_each_once(&rig, 21000);
    process_signal(&worker, SIGTERM);
    assert_int_equal(process_wait(&worker, RIG_TIMEOUT_MS), 0);
    assert_int_equal(rig_lines(&worker, "no broker answers"), 1);
    assert_int_equal(rig_lines(&worker, "the broker answers again"), 1);
    process_close(&worker);
    rig_done(&rig);
}

static void
loses_and_doubles_nothing_when_the_broker_is_killed(void **state)
{
    (void)state;
    struct rig rig;
    struct process workers[WORKERS];
    int sent = 0;
    rig_open(&rig, rig_kafka(), "bounce", 4);
    for (int i = 0; i < WORKERS; i++)
        rig_start(&rig, &workers[i], names[i], static_member);

    for (int bounce = 0; bounce < test_size("TEST_BOUNCES", 3); bounce++) {
        rig_send(&rig, sent, 5000);
        sent += 5000;
        process_wait(&workers[0], (int)chance_next(1500));
        assert_true(real_kafka_kill(rig_kafka()));
        assert_true(real_kafka_restart(rig_kafka()));
        for (int i = 0; i < WORKERS; i++) {
            if (process_wait(&workers[i], 100) < 0)
                continue; /* it came through; a fenced one is started again */
            if (!strstr(workers[i].text, "code=fenced"))
                fputs(workers[i].text, stderr);
            assert_non_null(strstr(workers[i].text, "code=fenced"));
            process_close(&workers[i]);
            rig_start(&rig, &workers[i], names[i], static_member);
        }
    }

    rig_wait_drained(&rig);
    rig_assert_each_once(&rig, sent);
    for (int i = 0; i < WORKERS; i++)
        rig_end(&workers[i]);
    rig_done(&rig);
}

/* A commit that meets a rebalance costs the library its assignment until 2.10.0: the
 * commits of a transaction don't go that way. */
static bool
keeps_its_assignment(const char *const *more)
{
    int major = 0;
    int minor = 0;
    assert_int_equal(sscanf(kafka_version(), "%d.%d", &major, &minor), 2);
    return more != at_least_once || major * 100 + minor >= 210;
}

/* Ends a worker that has missed no deadline: it was never robbed of what it had, and no
 * partition of it stood still. */
static void
retire(struct process *worker, const char *const *more)
{
    if (!strstr(worker->text, "started: ")) /* before that a signal is not its own yet */
        rig_wait(worker, "started: ");
    process_signal(worker, SIGTERM);
    int status = process_wait(worker, RIG_TIMEOUT_MS);
    bool robbed = rig_lines(worker, "partitions lost") && keeps_its_assignment(more);
    if (status || robbed || rig_lines(worker, "partition_stuck")) {
        fputs(worker->text, stderr);
        fail_msg("lost partitions, or left one, status %d", status);
    }
    process_close(worker);
}

/* Batches are half full when somebody leaves. The number of records that were sent. */
static int
come_and_go(const struct rig *rig, int churns, const char *const *more)
{
    enum { RECORDS = 500 }; /* between two departures */
    struct process workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        rig_start(rig, &workers[i], names[i], more);
    for (int i = 0; i < churns; i++) {
        struct process *leaver = &workers[i % WORKERS];
        rig_send(rig, i * RECORDS, RECORDS);
        process_wait(leaver, (int)chance_next(700));
        retire(leaver, more);
        rig_start(rig, leaver, names[i % WORKERS], more);
    }
    rig_wait_drained(rig);
    for (int i = 0; i < WORKERS; i++)
        retire(&workers[i], more);
    return churns * RECORDS;
}

static void
loses_and_doubles_nothing_when_members_come_and_go(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, rig_kafka(), "churn", 4);

    int sent = come_and_go(&rig, test_size("TEST_CHURNS", 20), NULL);

    rig_assert_each_once(&rig, sent);
    rig_done(&rig);
}

static void
loses_nothing_at_least_once_when_members_come_and_go(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, rig_kafka(), "alo.churn", 4);

    int sent = come_and_go(&rig, test_size("TEST_CHURNS", 20) / 2, at_least_once);

    assert_none_lost(&rig, sent);
    rig_done(&rig);
}

static void
commit_what_is_in_flight(const char *name, const char *delivery)
{
    struct rig rig;
    struct process worker;
    struct rig_seen seen = rig_seen_new();
    rig_open(&rig, rig_kafka(), name, 2);
    rig_send(&rig, 0, 50000);
    rig_start(&rig, &worker, "a",
              (const char *const[]){"--batch-records", "10000", "--batch-time", "60s",
                                    "--delivery", delivery, NULL});
    rig_wait(&worker, "partition assigned");
    rig_wait_distinct(&rig, &seen, 1); /* a batch is through, the next is open */

    rig_stop(&worker, 0);

    rig_read(&rig, &seen);
    assert_int_equal(rig_lag(&rig), 50000 - seen.distinct);
    assert_int_equal(seen.doubled, 0);
    rig_start(&rig, &worker, "a", (const char *const[]){"--delivery", delivery, NULL});
    rig_wait_drained(&rig);
    rig_assert_each_once(&rig, 50000);
    rig_stop(&worker, 0);
    rig_seen_done(&seen);
    rig_done(&rig);
}

static void
commits_what_is_in_flight_when_told_to_stop(void **state)
{
    (void)state;
    commit_what_is_in_flight("drain", "exactly-once");
}

static void
commits_what_is_in_flight_at_least_once_when_told_to_stop(void **state)
{
    (void)state;
    commit_what_is_in_flight("alo.drain", "at-least-once");
}

static void
moves_no_partition_when_a_static_member_restarts(void **state)
{
    (void)state;
    struct rig rig;
    struct process workers[2];
    rig_open(&rig, rig_kafka(), "static", 4);
    for (int i = 0; i < 2; i++)
        rig_start(&rig, &workers[i], names[i], static_member);
    for (int i = 0; i < 2; i++)
        rig_wait(&workers[i], "partition assigned");
    int port = rig_port_of(&workers[0]);
    rig_wait_page(port, "/metrics", "heddle_assigned_partitions 2");
    char before[TEXT_BYTES];
    rig_metric(port, "heddle_rebalances_total", before, sizeof before);

    for (int i = 0; i < 3; i++) {
        rig_stop(&workers[1], 0);
        rig_start(&rig, &workers[1], names[1], static_member);
        rig_wait(&workers[1], "partition assigned");
        rig_send(&rig, i * 100, 100);
    }
    rig_wait_drained(&rig);

    char after[TEXT_BYTES];
    rig_metric(port, "heddle_rebalances_total", after, sizeof after);
    assert_string_equal(after, before);
    rig_assert_each_once(&rig, 300);
    for (int i = 0; i < 2; i++)
        rig_stop(&workers[i], 0);
    rig_done(&rig);
}

static void
buries_the_one_record_that_the_broker_refuses(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    rig_open(&rig, rig_kafka(), "refuse", 1);
    rig_compact(&rig); /* refuses records without a key */
    rig_send(&rig, 0, 700);
    rig_send_text(&rig, "nokey w000700");
    rig_send(&rig, 701, 700);

    rig_start(&rig, &worker, "a", NULL);
    rig_wait_drained(&rig);

    assert_int_equal(rig_dead(&rig, "record_refused_by_broker"), 1);
    assert_int_equal(rig_dead(&rig, NULL), 1);
    rig_assert_each_once(&rig, 1400);
    rig_stop(&worker, 0);
    rig_done(&rig);
}

static void
ends_in_time_from_every_state(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    struct process other;
    static const char *const grace[] = {"--drain-timeout", "5s", NULL};
    rig_open(&rig, rig_kafka(), "ends", 2);

    for (int i = 0; i < 5; i++) { /* starting, joining */
        rig_start(&rig, &worker, "a", grace);
        rig_wait(&worker, "started");
        process_wait(&worker, i * 40);
        rig_stop(&worker, 0);
    }
    rig_start(&rig, &worker, "a", grace); /* in a rebalance */
    rig_wait_page(rig_port_of(&worker), "/metrics", "heddle_assigned_partitions 2");
    rig_start(&rig, &other, "b", grace);
    rig_wait(&worker, "partitions released");
    rig_stop(&worker, 0);
    rig_stop(&other, 0);
    rig_send(&rig, 0, 20000); /* in a transaction */
    rig_start(&rig, &worker, "a", (const char *const[]){"--batch-time", "30s", NULL});
    rig_wait(&worker, "partition assigned");
    rig_stop(&worker, 0);
    struct real_kafka nowhere = *rig_kafka(); /* no broker */
    snprintf(nowhere.bootstrap, sizeof nowhere.bootstrap, "127.0.0.1:1");
    rig.kafka = &nowhere;
    rig_start(&rig, &worker, "a", grace);
    rig_wait(&worker, "no broker answers");
    rig_stop(&worker, 0);
    rig_done(&rig);
}

static void
shows_what_dashboards_ask_for(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    rig_open(&rig, rig_kafka(), "show", 1);
    rig_send(&rig, 0, 50);
    rig_send_text(&rig, "record w000000");
    rig_start(&rig, &worker, "a", NULL);
    int port = rig_port_of(&worker);

    rig_wait_page(
        port, "/metrics",
        "kafka_consumergroup_current_offset{consumergroup=\"show\",topic=\"show."
        "in\",partition=\"0\"} 51");
    rig_wait_page(port, "/metrics",
                  "kafka_consumergroup_lag{consumergroup=\"show\",topic=\"show.in\","
                  "partition=\"0\"} 0");
    rig_wait_page(
        port, "/metrics",
        "kafka_topic_partition_current_offset{topic=\"show.in\",partition=\"0\"} 51");
    rig_wait_page(port, "/metrics",
                  "heddle_last_stable_offset{topic=\"show.in\",partition=\"0\"} 51");
    rig_wait_page(
        port, "/metrics",
        "heddle_dead_letters_total{stage=\"derive\",code=\"event_without_parts\"} 1");
    rig_wait_page(port, "/metrics", "heddle_batch_records_count");
    rig_wait_page(port, "/metrics", "heddle_aborts_total 0");
    rig_wait_page(port, "/readyz", "\"delivery\":\"exactly-once\"");
    assert_int_equal(rig_traced(&rig), 50);
    rig_stop(&worker, 0);
    rig_done(&rig);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_each_record_once_when_nothing_dies),
        cmocka_unit_test(loses_and_doubles_nothing_when_workers_are_killed),
        cmocka_unit_test(loses_nothing_at_least_once_when_workers_are_killed),
        cmocka_unit_test(quarantines_a_record_that_kills_three_times),
        cmocka_unit_test(quarantines_nothing_when_killed_at_random),
        cmocka_unit_test(names_a_record_that_never_returns_and_leaves),
        cmocka_unit_test(dead_letters_what_can_not_be_worked_on_once),
        cmocka_unit_test(lets_the_newer_of_two_namesakes_fence_the_older),
        cmocka_unit_test(refuses_a_second_process_of_the_same_name),
        cmocka_unit_test(goes_on_by_itself_when_the_broker_was_away),
        cmocka_unit_test(loses_and_doubles_nothing_when_the_broker_is_killed),
        cmocka_unit_test(loses_and_doubles_nothing_when_members_come_and_go),
        cmocka_unit_test(loses_nothing_at_least_once_when_members_come_and_go),
        cmocka_unit_test(commits_what_is_in_flight_when_told_to_stop),
        cmocka_unit_test(commits_what_is_in_flight_at_least_once_when_told_to_stop),
        cmocka_unit_test(moves_no_partition_when_a_static_member_restarts),
        cmocka_unit_test(buries_the_one_record_that_the_broker_refuses),
        cmocka_unit_test(ends_in_time_from_every_state),
        cmocka_unit_test(shows_what_dashboards_ask_for),
    };
    int status = 0;
    if (!real_kafka_here("kafka.delivery", &status))
        return status;
    chance_start();
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, rig_open_kafka, rig_close_kafka);
}
