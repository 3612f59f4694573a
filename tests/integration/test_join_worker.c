/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The join as a real worker over the embedded broker: parts that come one by one, in any
 * order, end in the rows of the parts together, whatever becomes of the worker and of its
 * store meanwhile.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "audit_row.h"
#include "broker.h"
#include "derive.h"
#include "kafka.h"
#include "process.h"
#include "serde.h"
#include "temp_dir.h"
#include "topics.h"
#include "tuning_event.h"

#include "unit.h"

enum {
    TIMEOUT_MS = 90000,
    RUNS = 60,
    PARTS = 4, /* result, two logs, verdict */
    N_EVENTS = RUNS * PARTS,
    TEXT_BYTES = 512,
    LONE = 7, /* every such run has no result */
};

static struct broker broker;
static struct temp_dir home;
static struct serde *events;
static struct serde *rows;

static struct kafka_settings
to_broker(void)
{
    static const struct option_property properties[] = {
        {"compression.codec", "none", ORIGIN_FLAG, "test"},
        {"fetch.wait.max.ms", "20", ORIGIN_FLAG, "test"},
    };
    return (struct kafka_settings){broker.bootstrap, properties, 2, "test", NULL, NULL};
}

static int
start_broker(void **state)
{
    (void)state;
    if (!temp_dir_make(&home))
        return -1;
    if (broker_start(&broker, 0, NULL))
        return 0;
    temp_dir_done(&home);
    return -1;
}

static int
stop_broker(void **state)
{
    (void)state;
    broker_stop(&broker);
    temp_dir_done(&home);
    return 0;
}

/* --- the runs
 * ---------------------------------------------------------------------------- */

struct run_text {
    char key[TEXT_BYTES];
    char result[TEXT_BYTES];
    char logs[2][TEXT_BYTES];
    char verdict[TEXT_BYTES];
};

static struct run_text
run_text(int i)
{
    struct run_text run;
    snprintf(run.key, TEXT_BYTES, "model/session/task%d", i);
    snprintf(run.result, TEXT_BYTES,
             "{\"attempt_id\": \"run%d\", \"status\": \"ok\", \"tuners_run\": "
             "[{\"tuner\": \"t0\", \"best_micro_speedup\": 1.5}, {\"tuner\": \"t1\", "
             "\"status\": \"no_improvement\"}]}",
             i);
    snprintf(run.logs[0], TEXT_BYTES, "# Elapsed: %d.0s\n# Exit code: 0\n", i);
    snprintf(
        run.logs[1], TEXT_BYTES,
        "# Command: python3 t.py -i x\n\nt.py: error: unrecognized arguments: --%d\n", i);
    snprintf(run.verdict, TEXT_BYTES,
             "{\"e2e_results\": {\"kept\": [{\"tuner\": \"t0\"}]}, \"status\": \"v%d\"}",
             i);
    return run;
}

static bool
has_result(int i)
{
    return i % LONE != 0;
}

/* What the parts of a run give together. */
static void
derive_run(int i, struct arena *arena, struct audit_answer *ret_answer)
{
    struct run_text *run = arena_alloc(arena, sizeof *run);
    *run = run_text(i);
    struct audit_log *logs = arena_calloc(arena, 2, sizeof *logs);
    for (int k = 0; k < 2; k++)
        logs[k] = (struct audit_log){k ? SLICE("t1") : SLICE("t0"),
                                     slice_of(run->logs[k]), 500};
    const struct audit_parts parts = {
        .result = slice_of(run->result),
        .has_event_time = true,
        .event_time_us = 1000,
        .logs = logs,
        .n_logs = 2,
        .e2e = slice_of(run->verdict),
    };
    struct err err;
    if (audit_row_derive(&parts, arena, ret_answer, &err))
        fail_msg("%s", err.msg);
}

/* --- sending
 * ----------------------------------------------------------------------------- */

static struct payload
inline_of(const char *text)
{
    return (struct payload){.kind = PAYLOAD_INLINE, .bytes = slice_of(text)};
}

static void
send_part(struct producer *producer, int number)
{
    const struct run_text run = run_text(number / PARTS);
    int part = number % PARTS;
    struct log_part log = {part == 2 ? SLICE("t1") : SLICE("t0"),
                           inline_of(run.logs[part == 2]), 500};
    struct tuning_event event = {
        .origin = {SLICE("id"), SLICE("node"), SLICE("session"), 1000, SLICE("test")},
        .workspace = SLICE(""),
    };
    if (part == 0 && !has_result(number / PARTS))
        return;
    if (part == 0)
        event.result = inline_of(run.result);
    else if (part < 3)
        event.logs = (struct list){&log, 1};
    event.has_e2e = part == 3;
    event.e2e = (struct e2e_part){inline_of(run.verdict), 2000};
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    struct err err;
    assert_int_equal(serde_encode(events, &event, &value, &err), ERR_OK);
    const struct outgoing record = {.topic = TOPIC_TUNINGS,
                                    .key = slice_of(run.key),
                                    .value = buf_slice(&value),
                                    .timestamp_ms = 1};
    assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
}

static void
shuffle(int *numbers, int n, unsigned seed)
{
    for (int i = 0; i < n; i++)
        numbers[i] = i;
    for (int i = n - 1; i > 0; i--) {
        seed = seed * 1103515245 + 12345;
        int k = (int)((seed >> 8) % (unsigned)(i + 1));
        int swap = numbers[i];
        numbers[i] = numbers[k];
        numbers[k] = swap;
    }
}

static void
send_parts(const int *numbers, int from, int to)
{
    struct kafka_settings settings = to_broker();
    struct err err;
    struct producer *producer = producer_new(&settings, NULL, NULL, &err);
    assert_non_null(producer);
    for (int i = from; i < to; i++)
        send_part(producer, numbers[i]);
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
    producer_free(producer);
}

/* --- the worker
 * -------------------------------------------------------------------------- */

static void
start_worker(struct process *worker)
{
    char state_home[TEXT_BYTES];
    const char *argv[] = {BIN_DIR "/heddle-audit",
                          "--brokers",
                          broker.bootstrap,
                          "--delivery",
                          "at-least-once",
                          "--batch-time",
                          "100ms",
                          "--join-expiry",
                          "1s",
                          "-X",
                          "session.timeout.ms=6000",
                          "-X",
                          "fetch.wait.max.ms=20",
                          "-X",
                          "compression.codec=none",
                          NULL};
    snprintf(state_home, sizeof state_home, "XDG_STATE_HOME=%s", home.path);
    const char *environment[] = {state_home, NULL};
    assert_true(process_start(worker, argv, environment));
}

static void
stop_worker(struct process *worker)
{
    process_signal(worker, SIGTERM);
    int status = process_wait(worker, TIMEOUT_MS);
    if (status != 0)
        fail_msg("status %d:\n%s", status, worker->text);
    process_close(worker);
}

static void
remove_stores(void)
{
    char command[TEXT_BYTES];
    snprintf(command, sizeof command, "rm -r '%s/heddle/store'", home.path);
    assert_int_equal(system(command), 0);
}

/* --- what came out
 * ------------------------------------------------------------------------ */

struct last {
    char row[4 * TEXT_BYTES];
    char x[8 * TEXT_BYTES];
    bool orphan; /* an orphan record stands */
};

struct outcome {
    struct last runs[RUNS];
    int records;
};

static void
keep_record(struct outcome *outcome, const struct message *in)
{
    static const char orphan[] = "orphan:model/session/task";
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct audit_row row = {0};
    struct err err;
    char key[TEXT_BYTES];
    snprintf(key, sizeof key, "%.*s", SLICE_ARG(in->key));
    outcome->records++;
    if (in->value.data && serde_decode(rows, in->value, &arena, &row, &err))
        fail_msg("%s", err.msg);
    if (strncmp(key, orphan, sizeof orphan - 1) == 0) {
        outcome->runs[atoi(key + sizeof orphan - 1)].orphan = in->value.data != NULL;
        return;
    }
    struct last *last = &outcome->runs[atoi(key + 3)];
    snprintf(last->row, sizeof last->row, "%.*s", SLICE_ARG(row.row));
    snprintf(last->x, sizeof last->x, "%.*s", SLICE_ARG(row.x));
}

static void
read_outcome(struct outcome *outcome)
{
    struct kafka_settings settings = to_broker();
    struct err err;
    bool done = false;
    memset(outcome, 0, sizeof *outcome);
    struct topic_reader *reader = topic_reader_new(&settings, TOPIC_AUDIT_TUNINGS,
                                                   TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(reader);
    while (!done) {
        const struct message *in = topic_reader_next(reader, 100, &done, &err);
        assert_int_equal(err.kind, ERR_OK);
        if (in)
            keep_record(outcome, in);
    }
    topic_reader_free(reader);
}

/* Which run is not yet as it should be; -1: all are. */
static int
find_unfinished(const struct outcome *outcome)
{
    for (int i = 0; i < RUNS; i++) {
        CLEANUP(arena_done) struct arena arena = ARENA_INIT;
        const struct last *last = &outcome->runs[i];
        struct audit_answer answer;
        if (last->orphan == has_result(i))
            return i;
        if (!has_result(i))
            continue;
        derive_run(i, &arena, &answer);
        if (strcmp(last->row, answer.row.data) != 0 ||
            strcmp(last->x, answer.x.data) != 0)
            return i;
    }
    return -1;
}

static void
wait_for_outcome(struct process *worker)
{
    static struct outcome outcome;
    long long deadline = process_now_ms() + TIMEOUT_MS;
    int unfinished = 0;
    while (process_now_ms() < deadline) {
        read_outcome(&outcome);
        unfinished = find_unfinished(&outcome);
        if (unfinished < 0)
            return;
    }
    process_signal(worker, SIGTERM);
    process_wait(worker, TIMEOUT_MS);
    fputs(worker->text, stderr);
    fail_msg("run %d is not as its parts together give it: row '%s', x '%s', orphan %d",
             unfinished, outcome.runs[unfinished].row, outcome.runs[unfinished].x,
             outcome.runs[unfinished].orphan);
}

static void
wait_for_records(int n)
{
    static struct outcome outcome;
    long long deadline = process_now_ms() + TIMEOUT_MS;
    do
        read_outcome(&outcome);
    while (outcome.records < n && process_now_ms() < deadline);
    assert_true(outcome.records >= n);
}

/* --- tests
 * --------------------------------------------------------------------------------- */

static void
gives_the_rows_of_all_parts_together(void **state)
{
    (void)state;
    struct process worker;
    int numbers[N_EVENTS];
    shuffle(numbers, N_EVENTS, 1);
    start_worker(&worker);

    send_parts(numbers, 0, N_EVENTS);

    wait_for_outcome(&worker);
    stop_worker(&worker);
}

static void
ends_the_same_when_it_is_killed_and_its_store_deleted(void **state)
{
    (void)state;
    struct process first;
    struct process second;
    char line[TEXT_BYTES];
    int numbers[N_EVENTS];
    shuffle(numbers, N_EVENTS, 2);
    start_worker(&first);
    send_parts(numbers, 0, N_EVENTS / 2);
    wait_for_records(10);
    send_parts(numbers, N_EVENTS / 2, 3 * N_EVENTS / 4);
    process_signal(&first, SIGKILL);
    assert_int_equal(process_wait(&first, TIMEOUT_MS), 128 + SIGKILL);
    process_close(&first);
    remove_stores();

    start_worker(&second);
    send_parts(numbers, 3 * N_EVENTS / 4, N_EVENTS);

    assert_true(
        process_wait_line(&second, "state is up to date", line, sizeof line, TIMEOUT_MS));
    wait_for_outcome(&second);
    stop_worker(&second);
}

/* A store that is there is read on from where it is, not from the start. */
static void
reads_on_from_where_its_store_is(void **state)
{
    (void)state;
    struct process first;
    struct process second;
    char line[TEXT_BYTES];
    int numbers[N_EVENTS];
    long long from = -1;
    long long next = -1;
    shuffle(numbers, N_EVENTS, 3);
    start_worker(&first);
    send_parts(numbers, 0, N_EVENTS);
    wait_for_outcome(&first);
    stop_worker(&first);

    start_worker(&second);

    assert_true(
        process_wait_line(&second, "state is up to date", line, sizeof line, TIMEOUT_MS));
    assert_int_equal(sscanf(strstr(line, "from="), "from=%lld next=%lld", &from, &next),
                     2);
    assert_true(from > 0);
    assert_int_equal(from, next);
    stop_worker(&second);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gives_the_rows_of_all_parts_together,
                                        start_broker, stop_broker),
        cmocka_unit_test_setup_teardown(
            ends_the_same_when_it_is_killed_and_its_store_deleted, start_broker,
            stop_broker),
        cmocka_unit_test_setup_teardown(reads_on_from_where_its_store_is, start_broker,
                                        stop_broker),
    };
    struct err err = {0};
    events = serde_new(&tuning_event_type, NULL, &err);
    rows = serde_new(&audit_row_type, NULL, &err);
    if (!events || !rows)
        return 1;
    int failed = cmocka_run_group_tests_name("join_worker", tests, NULL, NULL);
    serde_free(events);
    serde_free(rows);
    return failed;
}
