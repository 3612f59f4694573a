/* SPDX-License-Identifier: Apache-2.0 */
/* heddle dead as a person runs it, over the embedded broker. */
#include "clock.h"
#include "dead_journal.h"
#include "deadletter.h"
#include "kafka.h"
#include "marks.h"
#include "topics.h"

#include <signal.h>
#include <stdio.h>

#include "broker.h"
#include "process.h"
#include "temp_dir.h"

#include "unit.h"

enum { TIMEOUT_MS = 60000, MAX_WORDS = 16, MAX_ARGUMENTS = 32, ATTEMPT_BYTES = 16 };

static const int64_t event_time_ms = 1785024000000;

CLEANUP_DEFINE(struct producer, producer_free);
CLEANUP_DEFINE(struct topic_reader, topic_reader_free);

static struct broker broker;
static struct temp_dir dir;

static int
start(void **state)
{
    (void)state;
    return temp_dir_make(&dir) && broker_start(&broker, 0, NULL) ? 0 : -1;
}

static int
stop(void **state)
{
    (void)state;
    broker_stop(&broker);
    temp_dir_done(&dir);
    return 0;
}

static struct kafka_settings
settings(void)
{
    static const struct option_property properties[] = {
        {"compression.codec", "none", ORIGIN_FLAG, "test"},
        {"linger.ms", "0", ORIGIN_FLAG, "test"},
    };
    return (struct kafka_settings){broker.bootstrap, properties, 2, "test", NULL, NULL};
}

/* --- what is in the topics ---------------------------------------------------------- */

static void
send(const struct outgoing *records, size_t n)
{
    struct err err;
    struct kafka_settings to = settings();
    CLEANUP(producer_freep)
    struct producer *producer = producer_new(&to, NULL, NULL, &err);
    assert_non_null(producer);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(producer_send(producer, &records[i], TIMEOUT_MS, &err), ERR_OK);
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
}

struct letter_sample {
    const char *key;
    struct slice value;
    const char *code;
    int64_t attempt;
};

static const struct header own_header = {{"traceparent", 11}, {"00-\xff\x01", 5}};

/* A dead letter of heddle.tunings as a worker writes it. */
static void
send_letter(const struct letter_sample *sample)
{
    struct err err, why;
    char attempt[ATTEMPT_BYTES];
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    const struct dead_letter_source source = {"heddle-audit", "audit", "0.1.0", true};
    snprintf(attempt, sizeof attempt, "%d", (int)sample->attempt);
    const struct header headers[] = {own_header,
                                     {SLICE(DEAD_ATTEMPT), slice_of(attempt)}};
    struct message in = {.topic = TOPIC_TUNINGS,
                         .partition = 1,
                         .offset = 42,
                         .timestamp_ms = event_time_ms,
                         .key = slice_of(sample->key),
                         .value = sample->value,
                         .headers = headers,
                         .n_headers = 2};
    struct outgoing record = {.topic = TOPIC_DEAD,
                              .key = in.key,
                              .value = in.value,
                              .timestamp_ms = in.timestamp_ms};
    err_set(&why, ERR_RECORD, sample->code, "by hand");
    assert_int_equal(dead_letter_headers(&source, &in, &why, event_time_ms + 5, &arena,
                                         &record.headers, &record.n_headers, &err),
                     ERR_OK);
    send(&record, 1);
}

static void
send_plain(const char *topic, const char *key, struct slice value)
{
    struct outgoing record = {.topic = topic,
                              .key = slice_of(key),
                              .value = value,
                              .timestamp_ms = event_time_ms};
    send(&record, 1);
}

typedef void look_fn(const struct message *in, void *state);

static size_t
read_topic(const char *topic, look_fn *look, void *state)
{
    struct err err = {0};
    size_t n = 0;
    struct kafka_settings from = settings();
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader =
        topic_reader_new(&from, topic, TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(reader);
    for (bool done = false; !done;) {
        const struct message *in = topic_reader_next(reader, 250, &done, &err);
        assert_int_equal(err.kind, ERR_OK);
        if (in && look)
            look(in, state);
        n += in != NULL;
        done = done && !in;
    }
    return n;
}

/* --- the command -------------------------------------------------------------------- */

static void
start_dead(struct process *process, const char *const *words)
{
    const char *argv[MAX_ARGUMENTS] = {BIN_DIR "/heddle", "dead"};
    static const char *const environment[] = {"HEDDLE_CONFIG=/dev/null", NULL};
    int n = 2;
    for (int i = 0; words[i] && i < MAX_WORDS; i++)
        argv[n++] = words[i];
    argv[n++] = "--brokers";
    argv[n++] = broker.bootstrap;
    argv[n++] = "--state-dir";
    argv[n++] = dir.path;
    argv[n++] = "-Xcompression.codec=none";
    assert_true(process_start(process, argv, environment));
}

static int
run_dead(struct process *process, const char *const *words)
{
    start_dead(process, words);
    return process_wait(process, TIMEOUT_MS);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Runs it, expects the status and every text of `wanted`. */
static void
expect(int status, const char *const *words, const char *const *wanted)
{
    struct process process;
    int got = run_dead(&process, words);
    if (got != status)
        fail_msg("%s left with %d, not %d: %s", words[0], got, status, process.text);
    for (; *wanted; wanted++)
        if (!strstr(process.text, *wanted))
            fail_msg("`%s` is not in: %s", *wanted, process.text);
    process_close(&process);
}

static size_t
count_of(const char *text, const char *needle)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, needle)); at++)
        n++;
    return n;
}

static size_t
count_lines(const char *const *words, const char *needle)
{
    struct process process;
    run_dead(&process, words);
    size_t n = count_of(process.text, needle);
    process_close(&process);
    return n;
}

/* --- ls, stats, show ---------------------------------------------------------------- */

static const struct letter_sample garbage = {
    "M/s/a", {"\x03\xFF\x01", 3}, "magic_unknown", 1};
static const struct letter_sample hollow = {"M/s/b", {NULL, 0}, "value_null", 1};
static const struct letter_sample worn = {"M/s/c", {"text", 4}, "body_invalid", 5};

static void
send_one_of_each(void)
{
    send_letter(&garbage);
    send_letter(&hollow);
    send_letter(&worn);
    send_plain(TOPIC_DEAD, "stray", SLICE("no dead letter"));
}

static void
ls_and_stats_show_what_there_is(void **state)
{
    (void)state;
    send_one_of_each();

    expect(0, WORDS("ls"),
           WORDS("magic_unknown", "value_null", "quarantined", "unknown", "M/s/a",
                 "heddle.tunings:1:42", "stray", "2026-07-26T00:00:00Z"));
    expect(0, WORDS("ls", "-o", "json", "--code", "value_*"),
           WORDS("\"state\": \"open\", \"code\": \"value_null\"", "\"worker\": \"audit\"",
                 "\"first_failed_at\": 1785024000005", "\"size\": 0"));
    expect(0, WORDS("stats", "-o", "json"),
           WORDS("{\"code\": \"body_invalid\", \"origin_topic\": \"heddle.tunings\", "
                 "\"open\": 0, \"quarantined\": 1",
                 "{\"code\": \"unknown\", \"origin_topic\": null, \"open\": 1"));
    expect(0, WORDS("stats"), WORDS("origin topic", "magic_unknown"));
    assert_int_equal(count_lines(WORDS("ls", "-o", "json"), "\"offset\"") / 2, 4);
    assert_int_equal(
        count_lines(WORDS("ls", "-o", "json", "--limit", "2"), "\"partition\"") / 2, 2);
    assert_int_equal(
        count_lines(WORDS("ls", "-o", "json", "--since", "2026-07-27"), "\"size\""), 0);
    assert_int_equal(
        count_lines(WORDS("ls", "-o", "json", "--until", "2026-07-27"), "\"size\""), 4);
}

/* The place of the first dead letter with that key. */
struct place {
    const char *key;
    char text[48];
};

static void
note_place(const struct message *in, void *state)
{
    struct place *place = state;
    if (slice_is(in->key, place->key))
        snprintf(place->text, sizeof place->text, "%d:%lld", (int)in->partition,
                 (long long)in->offset);
}

static struct place
find_place(const char *key)
{
    struct place place = {.key = key};
    read_topic(TOPIC_DEAD, note_place, &place);
    assert_true(place.text[0] != '\0');
    return place;
}

static void
show_gives_the_value_as_it_came(void **state)
{
    (void)state;
    struct process process;
    send_one_of_each();
    struct place place = find_place("M/s/a");

    expect(0, WORDS("show", place.text),
           WORDS("magic_unknown", "traceparent: base64:", "heddle.dead.message: by hand",
                 "base64:A/8B"));
    expect(0, WORDS("show", place.text, "-o", "json"),
           WORDS("\"value\": {\"base64\": \"A/8B\"}"));
    assert_int_equal(run_dead(&process, WORDS("show", place.text, "--raw")), 0);
    assert_int_equal(process.len, 3);
    assert_memory_equal(process.text, "\x03\xFF\x01", 3);
    process_close(&process);
    expect(1, WORDS("show", "0:999999"), WORDS("0:999999 is not in heddle.dead"));
    expect(64, WORDS("show"), WORDS("PARTITION:OFFSET"));
}

/* --- requeue ------------------------------------------------------------------------ */

struct back {
    const struct letter_sample *sample;
    size_t n;
};

static void
check_back(const struct message *in, void *state)
{
    struct back *back = state;
    if (!slice_is(in->key, back->sample->key))
        return;
    back->n++;
    assert_true(slice_equal(in->value, back->sample->value));
    assert_true(!in->value.data == !back->sample->value.data);
    assert_int_equal(in->timestamp_ms, event_time_ms);
    assert_int_equal(in->n_headers, 3);
    assert_true(slice_equal(in->headers[0].name, own_header.name));
    assert_true(slice_equal(in->headers[0].value, own_header.value));
    assert_true(slice_is(header_last(in->headers, in->n_headers, DEAD_ATTEMPT), "2"));
    assert_true(slice_is(header_last(in->headers, in->n_headers, DEAD_FIRST_FAILED_AT),
                         "1785024000005"));
}

static void
requeue_plans_then_sends_each_once(void **state)
{
    (void)state;
    send_one_of_each();

    expect(1, WORDS("requeue"),
           WORDS("2 to requeue, 2 left out; --execute does it", "(quarantined)",
                 "(unknown)"));
    assert_int_equal(read_topic(TOPIC_TUNINGS, NULL, NULL), 0);
    expect(2, WORDS("requeue", "--code", "value_null"), WORDS("1 to requeue"));

    expect(1, WORDS("requeue", "--execute", "-o", "json"),
           WORDS("\"action\": \"requeued\", \"reason\": null",
                 "\"action\": \"leave\", \"reason\": \"quarantined\"",
                 "\"action\": \"leave\", \"reason\": \"unknown\"",
                 "2 requeued, 2 left out"));

    struct back first = {&garbage, 0}, second = {&hollow, 0};
    assert_int_equal(read_topic(TOPIC_TUNINGS, check_back, &first), 2);
    read_topic(TOPIC_TUNINGS, check_back, &second);
    assert_int_equal(first.n, 1);
    assert_int_equal(second.n, 1);

    expect(1, WORDS("requeue", "--execute"), WORDS("0 requeued, 2 left out"));
    assert_int_equal(read_topic(TOPIC_TUNINGS, NULL, NULL), 2);
    assert_int_equal(count_lines(WORDS("ls", "-o", "json"), "\"size\""), 2);
    assert_int_equal(
        count_lines(WORDS("ls", "--all", "-o", "json"), "\"state\": \"requeued\""), 2);
    expect(0, WORDS("requeue", "--execute", "--code", "value_null"),
           WORDS("0 requeued, 0 left out"));
    expect(1, WORDS("requeue", "--execute", find_place("M/s/a").text),
           WORDS("(requeued_before)"));
}

static void
the_cap_is_a_setting(void **state)
{
    (void)state;
    send_letter(&worn);

    expect(1, WORDS("requeue", "--execute"), WORDS("(quarantined)"));
    expect(0, WORDS("requeue", "--execute", "--max-attempts", "6"),
           WORDS("1 requeued, 0 left out"));
    assert_int_equal(read_topic(TOPIC_TUNINGS, NULL, NULL), 1);
}

static void
drop_lays_aside_and_requeue_takes_up_again(void **state)
{
    (void)state;
    send_letter(&garbage);
    send_letter(&hollow);

    expect(2, WORDS("drop", "--code", "magic_unknown"), WORDS("1 to drop"));
    expect(0, WORDS("ls"), WORDS("magic_unknown"));
    expect(0, WORDS("drop", "--code", "magic_unknown", "--execute"),
           WORDS("1 dropped", "its bytes stay in heddle.dead"));

    assert_int_equal(count_lines(WORDS("ls"), "magic_unknown"), 0);
    assert_int_equal(read_topic(TOPIC_DEAD, NULL, NULL), 2);
    expect(0, WORDS("requeue", "--execute"), WORDS("1 requeued, 0 left out"));
    expect(0, WORDS("requeue", "--execute", "--all"), WORDS("1 requeued, 0 left out"));
    assert_int_equal(read_topic(TOPIC_TUNINGS, NULL, NULL), 2);
}

static void
a_letter_of_a_topic_that_is_not_there_stays(void **state)
{
    (void)state;
    const struct header headers[] = {
        {SLICE(DEAD_CODE), SLICE("value_null")},
        {SLICE(DEAD_ORIGIN_TOPIC), SLICE("not.there")},
    };
    struct outgoing record = {
        .topic = TOPIC_DEAD, .timestamp_ms = 1, .headers = headers, .n_headers = 2};
    send(&record, 1);

    expect(1, WORDS("requeue", "--execute"), WORDS("(origin_topic_missing)"));
}

/* --- crashes ------------------------------------------------------------------------ */

struct tally {
    int *counts;
    int n;
};

static void
tally_key(const struct message *in, void *state)
{
    struct tally *tally = state;
    char text[16] = "";
    assert_true(in->key.len < sizeof text);
    memcpy(text, in->key.data, in->key.len);
    long number = strtol(text, NULL, 10);
    assert_in_range(number, 0, tally->n - 1);
    tally->counts[number]++;
}

static void
send_many(int n)
{
    struct err err;
    struct kafka_settings to = settings();
    const struct header headers[] = {
        {SLICE(DEAD_CODE), SLICE("body_invalid")},
        {SLICE(DEAD_ORIGIN_TOPIC), SLICE(TOPIC_TUNINGS)},
        {SLICE(DEAD_ATTEMPT), SLICE("1")},
    };
    CLEANUP(producer_freep)
    struct producer *producer = producer_new(&to, NULL, NULL, &err);
    assert_non_null(producer);
    for (int i = 0; i < n; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        struct outgoing record = {.topic = TOPIC_DEAD,
                                  .key = slice_of(key),
                                  .value = SLICE("v"),
                                  .timestamp_ms = event_time_ms,
                                  .headers = headers,
                                  .n_headers = 3};
        assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
    }
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
}

static void
a_kill_loses_and_doubles_none(void **state)
{
    (void)state;
    enum { N = 6000 }; /* twelve batches: it is killed after the first */
    static int counts[N];
    struct tally tally = {counts, N};
    struct process process;
    char line[256];
    send_many(N);

    start_dead(&process, WORDS("requeue", "--execute"));
    assert_true(
        process_wait_line(&process, "of 6000 requeued", line, sizeof line, TIMEOUT_MS));
    process_signal(&process, SIGKILL);
    assert_int_equal(process_wait(&process, TIMEOUT_MS), 128 + SIGKILL);
    process_close(&process);

    expect(0, WORDS("requeue", "--execute"),
           WORDS("an earlier requeue did not end", ", 0 left out"));

    assert_int_equal(read_topic(TOPIC_TUNINGS, tally_key, &tally), N);
    for (int i = 0; i < N; i++)
        assert_int_equal(counts[i], 1);
    assert_int_equal(count_lines(WORDS("ls", "-o", "json"), "\"size\""), 0);
}

/* As a crash leaves it between an acknowledgement and its mark: one letter had arrived,
 * one had not, and nothing but the topic tells. */
struct unsure {
    struct buf lines;
};

static void
mark_sending(const struct message *in, void *state)
{
    struct unsure *unsure = state;
    struct dead_letter facts;
    char id[LETTER_ID_BYTES];
    assert_true(dead_letter_read(in, &facts));
    assert_true(letter_id(facts.origin_topic, in, facts.attempt + 1,
                          facts.first_failed_at_ms, id));
    marks_line(&unsure->lines, MARK_SENDING, in->partition, in->offset, id);
}

static void
what_arrived_before_a_crash_is_not_sent_again(void **state)
{
    (void)state;
    struct err err = {0};
    struct cluster_info info;
    struct kafka_settings from = settings();
    struct unsure unsure = {BUF_INIT};
    struct marks marks = MARKS_INIT;
    send_letter(&garbage);
    send_letter(&hollow);
    const struct header headers[] = {
        own_header,
        {SLICE(DEAD_ATTEMPT), SLICE("2")},
        {SLICE(DEAD_FIRST_FAILED_AT), SLICE("1785024000005")},
    };
    struct outgoing arrived = {.topic = TOPIC_TUNINGS,
                               .key = slice_of(garbage.key),
                               .value = garbage.value,
                               .timestamp_ms = event_time_ms,
                               .headers = headers,
                               .n_headers = 3};
    send(&arrived, 1);
    assert_int_equal(cluster_info_get(&from, TIMEOUT_MS, &info, &err), ERR_OK);
    marks_line_run(&unsure.lines);
    marks_line_from(&unsure.lines, TOPIC_TUNINGS, 0, 0);
    marks_line_from(&unsure.lines, TOPIC_TUNINGS, 1, 0);
    read_topic(TOPIC_DEAD, mark_sending, &unsure);
    char *folder = temp_path(&dir, "dead");
    assert_true(temp_write(&dir, "dead/.keep", "", 0));
    struct dead_journal *journal =
        dead_journal_open(folder, info.cluster_id, &marks, &err);
    assert_non_null(journal);
    assert_int_equal(dead_journal_append(journal, &unsure.lines, &err), ERR_OK);
    dead_journal_close(journal);

    assert_int_equal(count_lines(WORDS("ls", "-o", "json"), "\"state\": \"unsure\""), 2);
    expect(2, WORDS("requeue"), WORDS("1 to requeue, 0 left out"));
    expect(0, WORDS("requeue", "--execute"),
           WORDS("an earlier requeue did not end", "1 requeued, 0 left out"));

    struct back first = {&garbage, 0}, second = {&hollow, 0};
    assert_int_equal(read_topic(TOPIC_TUNINGS, check_back, &first), 2);
    read_topic(TOPIC_TUNINGS, check_back, &second);
    assert_int_equal(first.n, 1);
    assert_int_equal(second.n, 1);
    marks_done(&marks);
    buf_done(&unsure.lines);
    cluster_info_done(&info);
    free(folder);
}

static void
a_broker_that_is_away_is_said(void **state)
{
    (void)state;
    broker_stop(&broker);
    expect(69, WORDS("ls"), WORDS(broker.bootstrap));
}

static void
refuses_what_makes_no_sense(void **state)
{
    (void)state;
    expect(64, WORDS("lss"), WORDS("did you mean ls?"));
    expect(64, WORDS("ls", "--execute"), WORDS("--execute goes with requeue and drop"));
    expect(64, WORDS("ls", "--raw"), WORDS("--raw goes with show"));
    expect(64, WORDS("ls", "--since", "soon"), WORDS("--since soon"));
    expect(64, WORDS("requeue", "7"), WORDS("PARTITION:OFFSET"));
    expect(1, WORDS("requeue", "0:7"), WORDS("0:7 is not in heddle.dead"));
}

/* --- with the worker ---------------------------------------------------------------- */

static void
start_audit(struct process *process)
{
    static const char *const environment[] = {"HEDDLE_CONFIG=/dev/null", NULL};
    const char *argv[] = {BIN_DIR "/heddle-audit",
                          "--brokers",
                          broker.bootstrap,
                          "--state-dir",
                          dir.path,
                          "--delivery",
                          "at-least-once",
                          "--batch-time",
                          "20ms",
                          "-Xcompression.codec=none",
                          NULL};
    assert_true(process_start(process, argv, environment));
}

static void
wait_for_letters(size_t n)
{
    int64_t deadline_ms = clock_monotonic_ms() + TIMEOUT_MS;
    while (read_topic(TOPIC_DEAD, NULL, NULL) < n)
        assert_true(clock_monotonic_ms() < deadline_ms);
}

/* Every attempt fails again: the letters stay as large as they were, and end in
 * quarantine. */
struct growth {
    size_t largest, smallest;
};

static void
measure(const struct message *in, void *state)
{
    struct growth *growth = state;
    size_t size = headers_size(in->headers, in->n_headers);
    assert_true(slice_equal(in->value, garbage.value));
    if (size > growth->largest)
        growth->largest = size;
    if (size < growth->smallest)
        growth->smallest = size;
}

static void
a_worker_that_fails_again_ends_in_quarantine(void **state)
{
    (void)state;
    enum { ATTEMPTS = 3, GROWTH_BYTES = 512 };
    struct process audit;
    struct growth growth = {0, SIZE_MAX};
    send_plain(TOPIC_TUNINGS, "a", garbage.value);
    start_audit(&audit);
    for (size_t i = 1; i < ATTEMPTS; i++) {
        wait_for_letters(i);
        expect(0, WORDS("requeue", "--execute", "--max-attempts", "3"),
               WORDS("1 requeued, 0 left out"));
    }
    wait_for_letters(ATTEMPTS);

    expect(1, WORDS("requeue", "--execute", "--max-attempts", "3"),
           WORDS("(quarantined)", "0 requeued, 1 left out"));

    assert_int_equal(read_topic(TOPIC_DEAD, measure, &growth), ATTEMPTS);
    assert_true(growth.largest - growth.smallest < GROWTH_BYTES);
    expect(0, WORDS("ls", "-o", "json", "--max-attempts", "3"),
           WORDS("\"state\": \"quarantined\", \"code\": \"magic_unknown\"",
                 "\"attempt\": 3"));
    process_signal(&audit, SIGTERM);
    process_wait(&audit, TIMEOUT_MS);
    process_close(&audit);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ls_and_stats_show_what_there_is, start, stop),
        cmocka_unit_test_setup_teardown(show_gives_the_value_as_it_came, start, stop),
        cmocka_unit_test_setup_teardown(requeue_plans_then_sends_each_once, start, stop),
        cmocka_unit_test_setup_teardown(the_cap_is_a_setting, start, stop),
        cmocka_unit_test_setup_teardown(drop_lays_aside_and_requeue_takes_up_again, start,
                                        stop),
        cmocka_unit_test_setup_teardown(a_letter_of_a_topic_that_is_not_there_stays,
                                        start, stop),
        cmocka_unit_test_setup_teardown(a_kill_loses_and_doubles_none, start, stop),
        cmocka_unit_test_setup_teardown(what_arrived_before_a_crash_is_not_sent_again,
                                        start, stop),
        cmocka_unit_test_setup_teardown(a_broker_that_is_away_is_said, start, stop),
        cmocka_unit_test_setup_teardown(refuses_what_makes_no_sense, start, stop),
        cmocka_unit_test_setup_teardown(a_worker_that_fails_again_ends_in_quarantine,
                                        start, stop),
    };
    return cmocka_run_group_tests_name("dead", tests, NULL, NULL);
}
