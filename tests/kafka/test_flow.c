/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How records flow on a real Kafka: how often they are committed, after the queue for the
 * broker was full, and past the open transaction of a worker that was killed.
 *
 *   TEST_RATE   anything: the rate after a full queue is held against the one before
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "rig.h"
#include "test_size.h"

#include "unit.h"

enum { LINE_BYTES = 1024 };

/* --- commits ------------------------------------------------------------------------ */

/* 5,000 records a batch at 100,000 a second are 20 commits a second. */
static void
commits_by_the_batch_and_not_by_the_record(void **state)
{
    (void)state;
    enum { BATCH = 5000, BATCHES = 10 };
    struct rig rig;
    struct process worker;
    rig_open(&rig, rig_kafka(), "commits", 2);
    rig_send(&rig, 0, BATCH * BATCHES);

    rig_start(
        &rig, &worker, "a",
        (const char *const[]){"--batch-records", "5000", "--batch-time", "60s", NULL});
    int port = rig_port_of(&worker);
    rig_wait_drained(&rig);

    assert_in_range(rig_number(port, "heddle_commits_total"), 1, BATCHES);
    rig_stop(&worker, 0);
    rig_assert_each_once(&rig, BATCH * BATCHES);
    rig_done(&rig);
}

/* --- a full queue ------------------------------------------------------------------- */

static int
records_in(const char *line)
{
    const char *records = strstr(line, "records=");
    return records ? atoi(records + 8) : 0;
}

/* Records a second until `n` more are committed. */
static double
rate_of(struct process *worker, int n)
{
    char line[LINE_BYTES];
    long long since_ms = process_now_ms();
    for (int committed = 0; committed < n;) {
        if (!process_wait_line(worker, "batch committed", line, sizeof line,
                               RIG_TIMEOUT_MS))
            fail_msg("no batch is committed:\n%.4000s", worker->text);
        committed += records_in(line);
    }
    return n * 1000.0 / (double)(process_now_ms() - since_ms + 1);
}

static void
flows_again_after_the_queue_for_the_broker_was_full(void **state)
{
    (void)state;
    /* What is waited for between the two measurements takes commits with it: they leave
     * two thirds of the records for that. */
    enum { RECORDS = 120000, PART = RECORDS / 6 };
    struct rig rig;
    struct process worker;
    char line[LINE_BYTES];
    rig_open(&rig, rig_kafka(), "full", 2);
    rig_send(&rig, 0, RECORDS);
    rig_start(&rig, &worker, "a",
              (const char *const[]){"--log-level", "debug", "--batch-records", "2000",
                                    "-X", "queue.buffering.max.messages=200", "-X",
                                    "session.timeout.ms=45000", NULL});
    rig_wait(&worker, "batch committed");
    double before = rate_of(&worker, PART);

    assert_true(real_kafka_hold(rig_kafka()));
    bool was_full = process_wait_line(&worker, "code=producer_queue_full", line,
                                      sizeof line, RIG_TIMEOUT_MS);
    assert_true(real_kafka_release(rig_kafka()));
    if (!was_full)
        fail_msg("the queue is never full:\n%.4000s", worker.text);

    long long since_ms = process_now_ms();
    rig_wait(&worker, "batch committed"); /* by itself: it is the same process */
    long long first_ms = process_now_ms() - since_ms;
    double after = rate_of(&worker, PART);
    printf(
        "%.0f records a second before the queue was full, %.0f after, the first commit "
        "%lld ms after the release\n",
        before, after, first_ms);
    rig_wait_drained(&rig);
    rig_stop(&worker, 0);
    rig_assert_each_once(&rig, RECORDS);
    /* A measurement counts only where it is asked for: other work on the machine would
     * fail it. */
    if (getenv("TEST_RATE")) {
        assert_true(after >= 0.9 * before);
        assert_true(first_ms <= 10000);
    }
    rig_done(&rig);
}

/* Of all that the worker has said so far. */
static int
committed_by(const struct process *worker)
{
    int n = 0;
    for (const char *at = worker->text; (at = strstr(at, "batch committed"));
         at += strcspn(at, "\n"))
        n += records_in(at);
    return n;
}

static void
waits_for_a_broker_that_hangs_in_the_middle_of_a_transaction(void **state)
{
    (void)state;
    enum { RECORDS = 60000, USUAL_HANG_S = 40 };
    struct rig rig;
    struct process worker;
    int hang_ms = test_size("TEST_HANG_S", USUAL_HANG_S) * 1000;
    rig_open(&rig, rig_kafka(), "hangs", 2);
    rig_send(&rig, 0, RECORDS);
    rig_start(&rig, &worker, "a",
              (const char *const[]){"--log-level", "debug", "--batch-records", "1000",
                                    "-X", "session.timeout.ms=45000", NULL});
    rig_wait(&worker, "batch committed");

    assert_true(real_kafka_hold(rig_kafka()));
    int status = process_wait(&worker, hang_ms);
    int before_release = committed_by(&worker);
    assert_true(real_kafka_release(rig_kafka()));
    if (status >= 0)
        fail_msg("left with status %d:\n%.4000s", status, worker.text);
    /* The rest was under way: the worker never waits with work before it. */
    assert_true(before_release < RECORDS);

    rig_wait_drained(&rig);
    rig_stop(&worker, 0);
    rig_assert_each_once(&rig, RECORDS);
    rig_done(&rig);
}

/* --- an open transaction ------------------------------------------------------------ */

enum { OPEN_RECORDS = 1000, BESIDE = 5000 };

/* A worker that dies with everything it has sent in an open transaction. */
static void
die_in_a_transaction(const struct rig *rig, const char *timeout)
{
    struct process worker;
    rig_send(rig, 0, OPEN_RECORDS);
    rig_start(rig, &worker, "a",
              (const char *const[]){"--batch-records", "100000", "--batch-time", "60s",
                                    "-X", timeout, NULL});
    long long deadline = process_now_ms() + RIG_TIMEOUT_MS;
    while (rig_stored(rig) < OPEN_RECORDS)
        assert_true(process_now_ms() < deadline);
    rig_kill(&worker);
    rig_send_beside(rig, BESIDE); /* behind it */
}

static void
lets_readers_go_on_when_the_transaction_of_a_killed_worker_times_out(void **state)
{
    (void)state;
    struct rig rig;
    struct rig_seen seen = rig_seen_new();
    rig_open(&rig, rig_kafka(), "open", 1);

    die_in_a_transaction(&rig, "transaction.timeout.ms=20000");

    rig_wait_distinct(&rig, &seen, 1); /* nobody comes for it: the coordinator does */
    assert_int_equal(seen.distinct, 1);
    assert_int_equal(seen.times[BESIDE], 1);
    rig_seen_done(&seen);
    rig_done(&rig);
}

static void
lets_readers_go_on_as_soon_as_a_killed_worker_is_replaced(void **state)
{
    (void)state;
    struct rig rig;
    struct process worker;
    struct rig_seen seen = rig_seen_new();
    rig_open(&rig, rig_kafka(), "replaced", 1);
    /* Far beyond what the test waits for. */
    die_in_a_transaction(&rig, "transaction.timeout.ms=900000");
    rig_read(&rig, &seen);
    assert_int_equal(seen.records, 0);

    rig_start(&rig, &worker, "a", NULL);

    rig_wait_distinct(&rig, &seen, OPEN_RECORDS + 1);
    assert_int_equal(seen.distinct, OPEN_RECORDS + 1);
    assert_int_equal(seen.doubled, 0);
    rig_stop(&worker, 0);
    rig_seen_done(&seen);
    rig_done(&rig);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_by_the_batch_and_not_by_the_record),
        cmocka_unit_test(flows_again_after_the_queue_for_the_broker_was_full),
        cmocka_unit_test(waits_for_a_broker_that_hangs_in_the_middle_of_a_transaction),
        cmocka_unit_test(
            lets_readers_go_on_when_the_transaction_of_a_killed_worker_times_out),
        cmocka_unit_test(lets_readers_go_on_as_soon_as_a_killed_worker_is_replaced),
    };
    int status = 0;
    if (!real_kafka_here("kafka.flow", &status))
        return status;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, rig_open_kafka, rig_close_kafka);
}
