/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole campaign as loose parts: results, logs and verdicts as separate events, out
 * of order, some twice, some broken, through two workers on a real Kafka. The census and
 * the dead letters come out exactly, also when the workers are killed half-way and lose
 * their stores.
 */
#include "kafka.h"
#include "lag.h"
#include "topics.h"

#include "real_kafka.h"
#include "run_heddle.h"
#include "temp_dir.h"
#include "test_size.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "unit.h"

enum {
    WORKERS = 2,
    DEFAULT_SCALE = 20,
    DEAD_A_COPY = 5,    /* malformed results of one copy of the campaign */
    TIMEOUT_MS = 30000, /* of one call */
    SETTLE_MS = 240000, /* until the census has come out */
    COMMAND_BYTES = 1024,
};

static struct real_kafka kafka;
static struct temp_dir dir;

static int
scale(void)
{
    return test_size("CORPUS_SCALE", DEFAULT_SCALE);
}

/* Runs a shell command in the test's folder. */
static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
shell(const char *fmt, ...)
{
    char command[COMMAND_BYTES];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    assert_true(n > 0 && n < (int)sizeof command);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

static int
open_kafka(void **state)
{
    (void)state;
    return temp_dir_make(&dir) && real_kafka_start_with_topics(&kafka, false) ? 0 : -1;
}

static int
close_kafka(void **state)
{
    (void)state;
    real_kafka_stop(&kafka);
    temp_dir_done(&dir);
    return 0;
}

/* --- the fleet ------------------------------------------------------------------------
 */

static void
start_worker(struct process *worker, int number)
{
    static const char binary[] = BIN_DIR "/heddle-audit";
    char instance[32];
    char home[COMMAND_BYTES];
    snprintf(instance, sizeof instance, "corpus-%d", number);
    snprintf(home, sizeof home, "XDG_STATE_HOME=%s/state-%d", dir.path, number);
    const char *argv[] = {binary,
                          "--brokers",
                          kafka.bootstrap,
                          "--instance",
                          instance,
                          "--join-expiry",
                          "2s",
                          "--batch-time",
                          "200ms",
                          "-X",
                          "session.timeout.ms=6000",
                          NULL};
    const char *environment[] = {home, NULL};
    assert_true(process_start(worker, argv, environment));
}

static void
end_workers(struct process workers[WORKERS], int signal_number)
{
    for (int i = 0; i < WORKERS; i++) {
        process_end(workers[i].pid, signal_number, TIMEOUT_MS);
        process_close(&workers[i]);
    }
}

static void
start_workers(struct process workers[WORKERS])
{
    for (int i = 0; i < WORKERS; i++)
        start_worker(&workers[i], i);
}

/* --- what came out -------------------------------------------------------------------
 */

/* The census as JSON; NULL while the topic holds nothing that can be counted. */
static json_t *
census(void)
{
    struct process process;
    json_error_t where;
    int status = heddle_run(&process, NULL,
                            WORDS("census", "--json", "--brokers", kafka.bootstrap));
    const char *start = strchr(process.text, '{');
    json_t *json =
        status == 0 && start ? json_loads(start, JSON_DISABLE_EOF_CHECK, &where) : NULL;
    process_close(&process);
    return json;
}

static json_t *
expected(void)
{
    char path[COMMAND_BYTES];
    json_error_t where;
    snprintf(path, sizeof path, "%s/expected.json", dir.path);
    json_t *json = json_load_file(path, 0, &where);
    assert_non_null(json);
    return json;
}

static int64_t
lag(void)
{
    struct kafka_settings settings = {.brokers = kafka.bootstrap, .client_id = "test"};
    return lag_of_group(&settings, "heddle-audit", TOPIC_TUNINGS, TIMEOUT_MS);
}

static void
wait_for_lag_below(int64_t most)
{
    long long end_ms = process_now_ms() + SETTLE_MS;
    while (lag() > most)
        assert_true(process_now_ms() < end_ms);
}

static void
wait_for_census(void)
{
    json_t *wanted = expected();
    json_t *got = NULL;
    long long end_ms = process_now_ms() + SETTLE_MS;
    while (process_now_ms() < end_ms) {
        json_decref(got);
        got = census();
        if (got && json_equal(got, wanted))
            break;
    }
    if (!got || !json_equal(got, wanted)) {
        char *text = got ? json_dumps(got, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
        fail_msg("the census is not the expected one: %s", text ? text : "none");
    }
    json_decref(got);
    json_decref(wanted);
}

/* Dead letters that a read_committed reader sees. */
static int
count_dead(void)
{
    struct kafka_settings settings = {.brokers = kafka.bootstrap, .client_id = "test"};
    struct err err = {0};
    int n = 0;
    bool done = false;
    struct topic_reader *reader =
        topic_reader_new(&settings, TOPIC_DEAD, TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(reader);
    while (!done && err.kind == ERR_OK)
        n += topic_reader_next(reader, TIMEOUT_MS, &done, &err) != NULL;
    assert_int_equal(err.kind, ERR_OK);
    topic_reader_free(reader);
    return n;
}

/* --- the test
 * --------------------------------------------------------------------------- */

static void
write_corpus(void)
{
    shell(
        "python3 %s/tests/tools/gen_tuning.py corpus --shuffle --dup 0.1 --malformed %d "
        "--e2e --scale %d --out %s/corpus.jsonl",
        SOURCE_DIR, DEAD_A_COPY, scale(), dir.path);
    shell("python3 %s/tests/tools/gen_tuning.py expected --e2e --scale %d --out "
          "%s/expected.json",
          SOURCE_DIR, scale(), dir.path);
}

/* Malformed results in the corpus, repeats included: each is one dead letter. */
static int
malformed_in_corpus(void)
{
    char path[COMMAND_BYTES];
    snprintf(path, sizeof path, "%s/corpus.jsonl", dir.path);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0;
    int n = 0;
    while (getline(&line, &cap, file) > 0)
        n += strstr(line, "\"value_text\":") != NULL;
    free(line);
    fclose(file);
    return n;
}

static void
feed_corpus(void)
{
    char path[COMMAND_BYTES];
    struct process process;
    snprintf(path, sizeof path, "%s/corpus.jsonl", dir.path);
    assert_int_equal(
        heddle_run(&process, NULL,
                   WORDS("feed", "--events", path, "--brokers", kafka.bootstrap)),
        0);
    process_close(&process);
}

static void
joins_loose_parts_into_the_published_census_whatever_dies(void **state)
{
    (void)state;
    struct process workers[WORKERS];
    write_corpus();
    feed_corpus();
    int64_t all = lag();

    start_workers(workers);
    wait_for_lag_below(all / 2);
    end_workers(workers, SIGKILL);
    shell("rm -rf %s/state-*", dir.path);
    start_workers(workers);

    wait_for_lag_below(0);
    wait_for_census();
    assert_int_equal(count_dead(), malformed_in_corpus());
    end_workers(workers, SIGTERM);
}

int
main(void)
{
    int status = 0;
    if (!real_kafka_here("kafka.corpus", &status))
        return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_loose_parts_into_the_published_census_whatever_dies),
    };
    return cmocka_run_group_tests_name("corpus", tests, open_kafka, close_kafka);
}
