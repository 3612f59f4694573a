/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A large backlog against a small limit: the worker's own memory (RssAnon; the pages of
 * mapped stores are the system's cache and are shown apart) stays below the setting
 * `memory`. The rates with and without a limit are printed.
 *
 *   TEST_BACKLOG_MIB   size of the backlog, 300 by default; 1000 and 5000 for long runs
 *   TEST_MEMORY_MIB    the limit, 256 by default
 *   TEST_RATE          anything: more than half the rate without a limit is wanted, too
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "kafka.h"
#include "process.h"
#include "real_kafka.h"
#include "serde.h"
#include "temp_dir.h"
#include "test_size.h"
#include "topics.h"
#include "tuning_event.h"

#include "unit.h"

enum {
    BACKLOG_MIB = 300,
    LIMIT_MIB = 256,
    EVENT_BYTES = 1300,
    SAMPLE_MS = 20,
    TIMEOUT_MS = 1200000, /* of one drain, in the long run */
    SEND_MS = 60000,
    FIRST_RECORD_MS = 60000,
    LINE_BYTES = 4096,
};

static struct real_kafka kafka;
static struct temp_dir dir;
static int n_events;

static struct kafka_settings
to_kafka(void)
{
    return (struct kafka_settings){.brokers = kafka.bootstrap, .client_id = "backlog"};
}

/* --- the backlog -------------------------------------------------------------------- */

/* Much alike, as results are: it packs to a fraction, and unpacks to all of it. */
static enum err_kind
send_one(struct serde *serde, struct producer *producer, int i, struct err *err)
{
    CLEANUP(buf_done) struct buf result = BUF_INIT;
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    char workspace[64];
    snprintf(workspace, sizeof workspace, "/w/M/s/runs/gemm_tuning/task%08d", i);
    buf_addf(&result,
             "{\"status\": \"ok\", \"run_id\": \"r%d\", \"best_speedup\": 1.%d, "
             "\"stderr_tail\": \"",
             i, i);
    while (result.len < EVENT_BYTES)
        buf_addf(&result, "step %zu of run %d: tile 128x128 is slower; ", result.len, i);
    buf_add_str(&result, "\"}");
    const struct tuning_event event = {
        .origin = {SLICE("0"), SLICE("node"), SLICE("s"), 1000000, SLICE("test")},
        .workspace = slice_of(workspace),
        .result = {.kind = PAYLOAD_INLINE, .bytes = buf_slice(&result)},
    };
    if (serde_encode(serde, &event, &value, err))
        return err->kind;
    const struct outgoing record = {.topic = TOPIC_TUNINGS,
                                    .key = slice_of(workspace),
                                    .value = buf_slice(&value),
                                    .timestamp_ms = 1000};
    return producer_send(producer, &record, SEND_MS, err);
}

static void
send_backlog(int first)
{
    struct kafka_settings to = to_kafka();
    int64_t bytes = (int64_t)test_size("TEST_BACKLOG_MIB", BACKLOG_MIB) << 20;
    struct err err = {0};
    struct serde *serde = serde_new(&tuning_event_type, NULL, &err);
    struct producer *producer = producer_new(&to, NULL, NULL, &err);
    assert_non_null(serde);
    assert_non_null(producer);
    for (n_events = 0; (int64_t)n_events * EVENT_BYTES < bytes; n_events++)
        assert_int_equal(send_one(serde, producer, first + n_events, &err), ERR_OK);
    assert_int_equal(producer_flush(producer, SEND_MS, &err), ERR_OK);
    producer_free(producer);
    serde_free(serde);
}

static int
open_backlog(void **state)
{
    (void)state;
    return temp_dir_make(&dir) && real_kafka_start_with_topics(&kafka, false) ? 0 : -1;
}

static int
close_backlog(void **state)
{
    (void)state;
    real_kafka_stop(&kafka);
    temp_dir_done(&dir);
    return 0;
}

/* --- the worker --------------------------------------------------------------------- */

struct memory {
    int64_t anonymous; /* KiB, the most that was seen */
    int64_t file;
};

static int64_t
status_kib(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

static void
sample(pid_t pid, struct memory *most)
{
    char path[64];
    char text[LINE_BYTES] = "";
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    int64_t anonymous = status_kib(text, "RssAnon:");
    int64_t mapped = status_kib(text, "RssFile:");
    assert_true(anonymous > 0);
    most->anonymous = anonymous > most->anonymous ? anonymous : most->anonymous;
    most->file = mapped > most->file ? mapped : most->file;
}

static void
start_worker(struct process *worker, const char *limit)
{
    char home[LINE_BYTES];
    snprintf(home, sizeof home, "XDG_STATE_HOME=%s", dir.path);
    const char *environment[] = {home, NULL};
    const char *argv[] = {BIN_DIR "/heddle-audit",
                          "--brokers",
                          kafka.bootstrap,
                          "--instance",
                          "m",
                          "--memory",
                          limit,
                          "--log-level",
                          "debug",
                          "-X",
                          "session.timeout.ms=6000",
                          NULL};
    assert_true(process_start(worker, argv, environment));
}

/* Samples until every event is committed; events a second from the first record on. */
static double
drain(struct process *worker, struct memory *most)
{
    char line[LINE_BYTES];
    if (!process_wait_line(worker, "first record", line, sizeof line, FIRST_RECORD_MS))
        fail_msg("no first record:\n%.2000s", worker->text);
    int64_t begin_ms = clock_monotonic_ms();
    for (int committed = 0; committed < n_events;) {
        const char *records = NULL;
        sample(worker->pid, most);
        if (process_wait_line(worker, "batch committed", line, sizeof line, SAMPLE_MS))
            records = strstr(line, "records=");
        committed += records ? atoi(records + 8) : 0;
        if (clock_monotonic_ms() - begin_ms > TIMEOUT_MS)
            fail_msg("not drained:\n%.2000s", worker->text);
    }
    return n_events * 1000.0 / (double)(clock_monotonic_ms() - begin_ms);
}

static double
run_with(const char *limit, struct memory *most)
{
    struct process worker;
    *most = (struct memory){0};
    start_worker(&worker, limit);
    double rate = drain(&worker, most);
    assert_int_equal(process_end(worker.pid, SIGTERM, SEND_MS), 0);
    process_close(&worker);
    printf("memory %s: %d events of %d bytes, %.0f a second, RssAnon at most %lld MiB, "
           "RssFile at most %lld MiB, librdkafka %s\n",
           limit, n_events, EVENT_BYTES, rate, (long long)(most->anonymous >> 10),
           (long long)(most->file >> 10), kafka_version());
    return rate;
}

static void
stays_below_its_limit_on_a_large_backlog(void **state)
{
    (void)state;
    char limit[32];
    struct memory bounded;
    struct memory unlimited;
    int64_t mib = test_size("TEST_MEMORY_MIB", LIMIT_MIB);
    snprintf(limit, sizeof limit, "%lldMiB", (long long)mib);

    send_backlog(0);
    double free_rate = run_with("0", &unlimited);
    send_backlog(n_events); /* of other keys: as much work */
    double rate = run_with(limit, &bounded);

    assert_true(bounded.anonymous < mib << 10);
    /* Two rates taken one after the other are a measurement: a machine that does other
     * things meanwhile would fail it, so it counts only where it is asked for. */
    if (getenv("TEST_RATE"))
        assert_true(rate > free_rate / 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_below_its_limit_on_a_large_backlog),
    };
    int status = 0;
    if (!real_kafka_here("kafka.memory", &status))
        return status;
    return cmocka_run_group_tests(tests, open_backlog, close_backlog);
}
