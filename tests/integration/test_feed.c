/* SPDX-License-Identifier: Apache-2.0 */
/* heddle feed over the embedded broker: what lies in folders is what is on the topic. */
#include "kafka.h"
#include "serde.h"
#include "trace_event.h"
#include "tuning_event.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker.h"
#include "process.h"
#include "sent.h"
#include "temp_dir.h"

#include "unit.h"

enum { TIMEOUT_MS = 30000, RUN_TIMEOUT_MS = 60000, ARGS_MAX = 16 };

#define RUN       "M/20260801T000000Z/runs/gemm_tuning/"
#define OTHER_RUN "M/20260802T000000Z/runs/gemm_tuning/"

static const char topic[] = "heddle.tunings";

CLEANUP_DEFINE(struct sent, sent_free);
CLEANUP_DEFINE(struct serde, serde_free);
CLEANUP_DEFINE(struct topic_reader, topic_reader_free);

enum { PARTITIONS_MAX = 64 };

/* One broker for all, as its start and end take a second each. */
static struct broker broker;

/* A campaign and a state folder for each test, and where the topic ended before it. */
struct scene {
    int64_t ends[PARTITIONS_MAX];
    struct temp_dir campaign;
    struct temp_dir state;
    char state_variable[512];
};

static struct kafka_settings
kafka(void)
{
    static const struct option_property fast[] = {
        {"fetch.wait.max.ms", "20", ORIGIN_FLAG, "test"},
    };
    return (struct kafka_settings){broker.bootstrap, fast, 1, "test", NULL, NULL};
}

static void
note_ends(struct scene *scene)
{
    struct kafka_settings from = kafka();
    size_t n;
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader =
        topic_reader_new(&from, topic, TOPIC_FROM_END, TIMEOUT_MS, NULL);
    assert_non_null(reader);
    const struct partition_range *ranges = topic_reader_ranges(reader, &n);
    for (size_t i = 0; i < n; i++)
        scene->ends[ranges[i].partition] = ranges[i].end;
}

static int
set_up(void **state)
{
    static struct scene scene;
    scene = (struct scene){0};
    *state = &scene;
    if (!temp_dir_make(&scene.campaign) || !temp_dir_make(&scene.state))
        return -1;
    snprintf(scene.state_variable, sizeof scene.state_variable, "XDG_STATE_HOME=%s",
             scene.state.path);
    note_ends(&scene);
    return 0;
}

static int
tear_down(void **state)
{
    struct scene *scene = *state;
    temp_dir_done(&scene->campaign);
    temp_dir_done(&scene->state);
    return 0;
}

static int
start_broker(void **state)
{
    (void)state;
    return broker_start(&broker, 0, NULL) ? 0 : -1;
}

static int
stop_broker(void **state)
{
    (void)state;
    broker_stop(&broker);
    return 0;
}

/* Starts `heddle feed` with the arguments (NULL-terminated) after the common ones. */
static void
start_feed(const struct scene *scene,
           struct process *process,
           const char *const *arguments)
{
    static const char program[] = BIN_DIR "/heddle";
    const char *argv[ARGS_MAX] = {program, "feed", "--brokers", broker.bootstrap,
                                  "-Xcompression.codec=none"};
    const char *environment[] = {scene->state_variable, "HEDDLE_CONFIG=/dev/null", NULL};
    size_t n = 5;
    for (size_t i = 0; arguments[i]; i++) {
        assert_true(n < ARGS_MAX - 1);
        argv[n++] = arguments[i];
    }
    assert_true(process_start(process, argv, environment));
}

/* Runs it to its end and asserts the status; the output is in `process`. */
static void
feed(const struct scene *scene,
     struct process *process,
     const char *const *arguments,
     int status)
{
    start_feed(scene, process, arguments);
    int got = process_wait(process, RUN_TIMEOUT_MS);
    if (got != status)
        fail_msg("exit status %d, not %d:\n%s", got, status, process->text);
}

static void
feed_campaign(const struct scene *scene, int status, const char *needle)
{
    struct process process;
    feed(scene, &process, (const char *[]){scene->campaign.path, NULL}, status);
    if (!strstr(process.text, needle))
        fail_msg("\"%s\" is not in:\n%s", needle, process.text);
    process_close(&process);
}

/* Called for each event that came since the test began, by partitions. */
typedef void
event_fn(void *state, const struct message *in, const struct tuning_event *event);

static int
read_topic(const struct scene *scene, event_fn *each, void *state)
{
    struct err err = {0};
    struct kafka_settings from = kafka();
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(serde_freep) struct serde *serde = serde_new(&tuning_event_type, NULL, &err);
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader =
        topic_reader_new(&from, topic, TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(serde);
    assert_non_null(reader);
    int n = 0;
    for (bool done = false; !done;) {
        const struct message *in = topic_reader_next(reader, TIMEOUT_MS, &done, &err);
        struct tuning_event event;
        assert_int_equal(err.kind, ERR_OK);
        if (!in || in->offset < scene->ends[in->partition])
            continue;
        arena_reset(&arena);
        assert_int_equal(serde_decode(serde, in->value, &arena, &event, &err), ERR_OK);
        n++;
        if (each)
            each(state, in, &event);
    }
    return n;
}

static void
write_run(const struct scene *scene, const char *run, const char *result)
{
    char name[256];
    snprintf(name, sizeof name, "%s/result.json", run);
    assert_true(temp_write(&scene->campaign, name, result, 100));
    snprintf(name, sizeof name, "%s/tuners/a8w8/tune.log", run);
    assert_true(temp_write(&scene->campaign, name, "# Elapsed: 1s\n", 101));
}

/* --- tests ---------------------------------------------------------------------------
 */

static void
check_whole_event(void *state, const struct message *in, const struct tuning_event *event)
{
    const struct scene *scene = state;
    char *workspace = temp_path(&scene->campaign, RUN "t");
    assert_true(slice_is(in->key, "M/20260801T000000Z/t"));
    assert_true(slice_is(event->workspace, workspace));
    assert_true(slice_is(event->trace, "M/20260801T000000Z"));
    assert_int_equal(in->timestamp_ms, event->origin.captured_at_us / 1000);
    assert_int_equal(event->origin.event_id.len, 64);
    assert_int_equal(event->result.kind, PAYLOAD_INLINE);
    assert_true(slice_is(event->result.bytes, "{ \"status\" : \"ok\" }\n"));
    assert_int_equal(event->logs.n, 1);
    const struct log_part *log = event->logs.items;
    assert_true(slice_is(log->tuner, "a8w8"));
    assert_true(slice_is(log->payload.bytes, "# Elapsed: 1s\n"));
    assert_true(log->event_time_us < event->origin.captured_at_us);
    assert_true(event->has_e2e);
    assert_int_equal(event->defaults.n, 2);
    const struct default_entry *defaults = event->defaults.items;
    assert_true(slice_is(defaults[0].key, "backend"));
    assert_true(slice_is(defaults[0].json, "\"forge\""));
    free(workspace);
}

static void
sends_all_parts_of_a_run_in_one_event(void **state)
{
    struct scene *scene = *state;
    struct process process;
    write_run(scene, RUN "t", "{ \"status\" : \"ok\" }\n");
    temp_write(&scene->campaign, RUN "t/e2e_results.json", "{}", 50);

    feed(scene, &process,
         (const char *[]){"--set", "tp=1", "--set", "backend=\"forge\"",
                          scene->campaign.path, NULL},
         0);

    assert_int_equal(read_topic(scene, check_whole_event, scene), 1);
    process_close(&process);
}

static void
sends_only_what_has_changed(void **state)
{
    struct scene *scene = *state;
    write_run(scene, RUN "a", "{}");
    write_run(scene, RUN "b", "{}");
    write_run(scene, OTHER_RUN "a", "{}");
    feed_campaign(scene, 0, "3 runs found: 3 sent");

    feed_campaign(scene, 0, "3 unchanged, 0 skipped");
    assert_int_equal(read_topic(scene, NULL, NULL), 3);

    temp_touch(&scene->campaign, RUN "b/tuners/a8w8/tune.log", 90);
    feed_campaign(scene, 0, "3 runs found: 1 sent");
    assert_int_equal(read_topic(scene, NULL, NULL), 4);

    temp_write(&scene->campaign, RUN "b/tuners/new/tune.log", "", 90);
    feed_campaign(scene, 0, "3 runs found: 1 sent");
    assert_int_equal(read_topic(scene, NULL, NULL), 5);
}

static void
sends_again_when_told_or_when_the_defaults_differ(void **state)
{
    struct scene *scene = *state;
    struct process process;
    write_run(scene, RUN "a", "{}");
    feed_campaign(scene, 0, "1 sent");

    feed(scene, &process, (const char *[]){"--set", "tp=1", scene->campaign.path, NULL},
         0);
    assert_non_null(strstr(process.text, "1 sent"));
    process_close(&process);
    feed(scene, &process,
         (const char *[]){"--again", "--set", "tp=1", scene->campaign.path, NULL}, 0);
    assert_non_null(strstr(process.text, "1 sent"));
    process_close(&process);

    assert_int_equal(read_topic(scene, NULL, NULL), 3);
}

/* Makes the memory of the campaign one of more events than the topic has. */
static void
remember_many(const struct scene *scene)
{
    struct kafka_settings to = kafka();
    struct cluster_info info;
    const char id[DIGEST_HEX] = "x";
    CLEANUP(sent_freep) struct sent *sent = NULL;
    char *folder = temp_path(&scene->state, "heddle/feed");
    assert_int_equal(cluster_info_get(&to, TIMEOUT_MS, &info, NULL), ERR_OK);
    sent = sent_open(folder, info.cluster_id, scene->campaign.path, NULL);
    assert_non_null(sent);
    assert_int_equal(sent_delivered(sent), 1);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(sent_put_event(sent, "/elsewhere", id, NULL), ERR_OK);
    assert_int_equal(sent_commit(sent, NULL), ERR_OK);
    cluster_info_done(&info);
    free(folder);
}

static void
starts_over_when_the_topic_was_made_anew(void **state)
{
    struct scene *scene = *state;
    write_run(scene, RUN "a", "{}");
    feed_campaign(scene, 0, "1 sent");
    feed_campaign(scene, 0, "1 unchanged");

    remember_many(scene);

    feed_campaign(scene, 0, "made anew");
    feed_campaign(scene, 0, "1 unchanged");
    assert_int_equal(read_topic(scene, NULL, NULL), 2);
}

static void
names_what_is_half_written_or_can_not_be_read_and_goes_on(void **state)
{
    struct scene *scene = *state;
    struct process process;
    write_run(scene, RUN "good", "{}");
    write_run(scene, RUN "half", "{\"status\": \"o");
    write_run(scene, RUN "odd", "{}");
    char *result = temp_path(&scene->campaign, RUN "odd/result.json");
    unlink(result);
    assert_int_equal(symlink("nowhere", result), 0);
    char *closed = temp_path(&scene->campaign, RUN "good/tuners/a8w8/tune.log");
    chmod(closed, 0);

    feed(scene, &process, (const char *[]){scene->campaign.path, NULL}, 1);

    assert_non_null(strstr(process.text, "half/result.json: half-written or damaged"));
    assert_non_null(strstr(process.text, "odd/result.json: can't look at this file"));
    if (geteuid() != 0)
        assert_non_null(strstr(process.text, "tune.log: Permission denied"));
    assert_non_null(strstr(process.text, "3 runs found: 3 sent"));
    assert_int_equal(read_topic(scene, NULL, NULL), 3);
    process_close(&process);
    free(result);
    free(closed);
}

static void
leaves_out_a_verdict_of_an_earlier_attempt(void **state)
{
    struct scene *scene = *state;
    write_run(scene, RUN "a", "{}");
    temp_write(&scene->campaign, RUN "a/e2e_results.json", "{}", 500);

    feed_campaign(scene, 0, "e2e_results.json: older than result.json");

    temp_write(&scene->campaign, RUN "a/e2e_results.json", "{}", 50);
    feed_campaign(scene, 0, "1 sent");
}

static void
waits_for_a_file_that_is_being_written(void **state)
{
    struct scene *scene = *state;
    temp_write(&scene->campaign, RUN "a/result.json", "{}", 0);

    feed_campaign(scene, 0, "1 runs found: 1 sent");
    feed_campaign(scene, 0, "1 unchanged");
}

enum { KILL_RUNS = 300 };

static void
note_run(void *state, const struct message *in, const struct tuning_event *event)
{
    (void)event;
    bool *seen = state;
    const char *task = memrchr(in->key.data, '/', in->key.len);
    assert_non_null(task);
    int i = (int)strtol(task + 2, NULL, 10);
    assert_in_range(i, 0, KILL_RUNS - 1);
    seen[i] = true;
}

/* The killed one has sent some, all or nothing; nothing of it is lost by the next. */
static void
loses_nothing_when_it_is_killed(void **state)
{
    struct scene *scene = *state;
    char name[64];
    for (int i = 0; i < KILL_RUNS; i++) {
        snprintf(name, sizeof name, RUN "t%d/result.json", i);
        temp_write(&scene->campaign, name, "{}", 100);
    }

    for (int delay_ms = 0; delay_ms < 200; delay_ms += 40) {
        struct process process;
        start_feed(scene, &process,
                   (const char *[]){"--again", scene->campaign.path, NULL});
        process_wait(&process, delay_ms);
        process_end(process.pid, SIGKILL, TIMEOUT_MS);
        process_close(&process);
    }
    struct process process;
    feed(scene, &process, (const char *[]){scene->campaign.path, NULL}, 0);
    process_close(&process);

    bool seen[KILL_RUNS] = {false};
    int sent = read_topic(scene, note_run, seen);
    for (int i = 0; i < KILL_RUNS; i++)
        assert_true(seen[i]);
    feed_campaign(scene, 0, "300 unchanged");
    assert_int_equal(read_topic(scene, NULL, NULL), sent);
}

static void
wait_for_key(struct topic_reader *reader, const char *key)
{
    struct err err = {0};
    bool done;
    long long deadline = process_now_ms() + TIMEOUT_MS;
    while (process_now_ms() < deadline) {
        const struct message *in = topic_reader_next(reader, TIMEOUT_MS, &done, &err);
        assert_int_equal(err.kind, ERR_OK);
        if (in && slice_is(in->key, key))
            return;
    }
    fail_msg("%s did not come", key);
}

static void
watches_until_it_is_told_to_stop(void **state)
{
    struct scene *scene = *state;
    struct process process;
    struct kafka_settings from = kafka();
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader =
        topic_reader_new(&from, topic, TOPIC_FROM_END, TIMEOUT_MS, NULL);
    assert_non_null(reader);
    write_run(scene, RUN "a", "{}");
    start_feed(scene, &process, (const char *[]){"--watch", scene->campaign.path, NULL});
    wait_for_key(reader, "M/20260801T000000Z/a");

    write_run(scene, RUN "b", "{}");
    wait_for_key(reader, "M/20260801T000000Z/b");

    process_signal(&process, SIGTERM);
    assert_int_equal(process_wait(&process, TIMEOUT_MS), 0);
    assert_non_null(strstr(process.text, "2 sent"));
    process_close(&process);
}

struct seen_events {
    int results, logs, verdicts;
    bool verbatim;
};

static void
note_event(void *state, const struct message *in, const struct tuning_event *event)
{
    struct seen_events *seen = state;
    assert_true(slice_is(in->key, "M/S/t"));
    seen->results += event->result.kind != PAYLOAD_NONE;
    seen->logs += (int)event->logs.n;
    seen->verdicts += event->has_e2e;
    if (slice_is(event->result.bytes, "{\"a\":1.50, \"b\":NaN}"))
        seen->verbatim = true;
    if (event->has_e2e)
        assert_true(slice_is(event->started_at, "2026-08-01T00:00:00Z"));
}

static void
sends_each_line_as_an_event_and_names_the_bad_ones(void **state)
{
    struct scene *scene = *state;
    struct process process;
    struct seen_events seen = {0};
#define WS "\"workspace\":\"/x/M/S/runs/gemm_tuning/t\","
    temp_write(&scene->campaign, "events.jsonl",
               "{\"type\":\"tuning_result\"," WS "\"event_time_us\":5,\"trace\":\"x\","
               "\"value\":{\"a\":1.50, \"b\":NaN}}\n"
               "{\"type\":\"tune_log\"," WS
               "\"event_time_us\":4,\"tuner\":\"q\",\"text\":\"\\n\"}"
               "\n\n"
               "{\"type\":\"tuning_result\"," WS
               "\"event_time_us\":6,\"value_text\":\"\"}\n"
               "{\"type\":\"e2e_result\"," WS "\"event_time_us\":7,\"value\":{},"
               "\"started_at\":\"2026-08-01T00:00:00Z\"}\n"
               "{\"type\":\"tune_log\"," WS "\"event_time_us\":4,\"text\":\"\"}\n"
               "{\"type\":\"who\"," WS "\"event_time_us\":4}\n"
               "{\"type\":\"tuning_result\"," WS "\"event_time_us\":4.5,\"value\":{}}\n"
               "{\"type\":\"tuning",
               0);
    char *path = temp_path(&scene->campaign, "events.jsonl");

    feed(scene, &process, (const char *[]){"--events", path, NULL}, 1);

    assert_non_null(strstr(process.text, "8 events found: 4 sent"));
    assert_non_null(strstr(process.text, ":6: `tuner` must be a string"));
    assert_non_null(strstr(process.text, ":7: `type` must be"));
    assert_non_null(strstr(process.text, ":8: `event_time_us` must be"));
    assert_non_null(strstr(process.text, ":9: no JSON"));
    assert_int_equal(read_topic(scene, note_event, &seen), 4);
    assert_int_equal(seen.results, 2);
    assert_int_equal(seen.logs, 1);
    assert_int_equal(seen.verdicts, 1);
    assert_true(seen.verbatim);
    process_close(&process);
    free(path);
}

static void
refuses_a_wrong_command_line_and_a_broker_that_is_not_there(void **state)
{
    struct scene *scene = *state;
    struct process process;

    feed(scene, &process,
         (const char *[]){"--set", "backend=forge", scene->campaign.path, NULL}, 64);
    assert_non_null(strstr(process.text, "--set backend='\"forge\"'"));
    process_close(&process);
    feed(scene, &process, (const char *[]){NULL}, 64);
    process_close(&process);
    feed(scene, &process, (const char *[]){"--events", "-", "dir", NULL}, 64);
    process_close(&process);
    feed(scene, &process, (const char *[]){"--events", "-", "--framework", "vllm", NULL},
         64);
    process_close(&process);
    feed(scene, &process, (const char *[]){"--conc", "many", scene->campaign.path, NULL},
         64);
    process_close(&process);
    feed(scene, &process,
         (const char *[]){"--brokers", "127.0.0.1:1", scene->campaign.path, NULL}, 69);
    assert_non_null(strstr(process.text, "127.0.0.1:1"));
    process_close(&process);
}

/* --- traces ------------------------------------------------------------------------ */

enum { TRACES_MAX = 8 };

/* Trace events that came since the test began; texts in the arena. */
struct traces {
    struct arena arena;
    struct trace_event events[TRACES_MAX];
    struct slice keys[TRACES_MAX];
    int64_t timestamps_ms[TRACES_MAX];
    int n;
};

static void
traces_done(struct traces *traces)
{
    arena_done(&traces->arena);
}

static const char trace_topic[] = "heddle.traces";

/* Of the whole topic; each test feeds bytes of its own, so `name` tells them apart. */
static void
read_traces(struct traces *traces, const char *name)
{
    struct err err = {0};
    struct kafka_settings from = kafka();
    CLEANUP(serde_freep) struct serde *serde = serde_new(&trace_event_type, NULL, &err);
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader =
        topic_reader_new(&from, trace_topic, TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(serde);
    assert_non_null(reader);
    traces->n = 0;
    for (bool done = false; !done;) {
        const struct message *in = topic_reader_next(reader, TIMEOUT_MS, &done, &err);
        struct trace_event event;
        assert_int_equal(err.kind, ERR_OK);
        if (!in)
            continue;
        struct slice value = arena_copy(&traces->arena, in->value);
        assert_int_equal(serde_decode(serde, value, &traces->arena, &event, &err),
                         ERR_OK);
        if (!slice_is(event.trace_name, name))
            continue;
        assert_true(traces->n < TRACES_MAX);
        traces->keys[traces->n] = arena_copy(&traces->arena, in->key);
        traces->timestamps_ms[traces->n] = in->timestamp_ms;
        traces->events[traces->n++] = event;
    }
}

static void
sends_a_trace_with_what_is_asked_of_it(void **state)
{
    struct scene *scene = *state;
    struct process process;
    CLEANUP(traces_done) struct traces traces = {0};
    temp_write(&scene->campaign, "t/asked.pt.trace.json", "{\"traceEvents\": []}", 100);
    temp_write(&scene->campaign, "t/request.json",
               "{\"framework\": \"vllm\", \"baseline\": {\"conc\": 64},"
               " \"split\": {\"num_steps\": 16}}",
               100);

    feed(scene, &process,
         (const char *[]){"--framework", "xdit", "--osl", "1024", "--r", "0.80", "--mode",
                          "decode_only", scene->campaign.path, NULL},
         0);

    assert_non_null(strstr(process.text, "1 traces found: 1 sent"));
    assert_null(strstr(process.text, "runs found"));
    read_traces(&traces, "asked.pt.trace.json");
    assert_int_equal(traces.n, 1);
    const struct trace_event *event = &traces.events[0];
    assert_int_equal(event->payload.kind, PAYLOAD_INLINE);
    assert_true(slice_is(event->payload.bytes, "{\"traceEvents\": []}"));
    assert_true(slice_is(event->request.framework, "vllm"));
    assert_true(slice_is(event->request.requested_mode, "decode_only"));
    assert_int_equal(event->request.attempt, 1);
    assert_true(slice_is(event->request.baseline.conc, "64"));
    assert_true(slice_is(event->request.baseline.osl, "1024"));
    assert_true(slice_is(event->request.baseline.random_range_ratio, "0.80"));
    assert_int_equal(event->split.num_steps, 16);
    assert_int_equal(event->request.request_id.len, 32);
    assert_true(slice_equal(traces.keys[0], event->request.request_id));
    assert_int_equal(traces.timestamps_ms[0], event->origin.captured_at_us / 1000);
    process_close(&process);
}

static void
claims_a_trace_that_is_too_large_for_an_event(void **state)
{
    struct scene *scene = *state;
    CLEANUP(traces_done) struct traces traces = {0};
    char *text = malloc((600 << 10) + 1);
    assert_non_null(text);
    memset(text, ' ', 600 << 10);
    text[600 << 10] = '\0';
    temp_write(&scene->campaign, "t/large.pt.trace.json", text, 100);
    free(text);

    feed_campaign(scene, 0, "1 traces found: 1 sent");

    read_traces(&traces, "large.pt.trace.json");
    assert_int_equal(traces.n, 1);
    assert_int_equal(traces.events[0].payload.kind, PAYLOAD_CLAIM);
    assert_int_equal(traces.events[0].payload.claim.size, 600 << 10);
    assert_int_equal(traces.events[0].payload.claim.sha256.len, 64);
    assert_memory_equal(traces.events[0].payload.claim.uri.data, "file:///", 8);
}

static void
sends_a_trace_once_until_it_or_its_request_changes(void **state)
{
    struct scene *scene = *state;
    struct process process;
    CLEANUP(traces_done) struct traces traces = {0};
    temp_write(&scene->campaign, "t/once.pt.trace.json", "{}", 100);
    feed_campaign(scene, 0, "1 sent");
    feed_campaign(scene, 0, "0 sent (0.0 MiB in");
    feed_campaign(scene, 0, "1 unchanged");

    temp_write(&scene->campaign, "t/once.pt.trace.json.request.json",
               "{\"framework\": \"vllm\"}", 100);
    feed_campaign(scene, 0, "1 sent");
    temp_write(&scene->campaign, "t/once.pt.trace.json", "[]", 90);
    feed_campaign(scene, 0, "1 sent");
    feed(scene, &process, (const char *[]){"--conc", "8", scene->campaign.path, NULL}, 0);
    process_close(&process);
    feed(scene, &process,
         (const char *[]){"--conc", "8", "--again", scene->campaign.path, NULL}, 0);
    process_close(&process);

    read_traces(&traces, "once.pt.trace.json");
    assert_int_equal(traces.n, 5);
    int same = 0;
    for (int i = 0; i < traces.n; i++)
        for (int j = i + 1; j < traces.n; j++)
            same += slice_equal(traces.keys[i], traces.keys[j]);
    assert_int_equal(same, 1); /* the one that was sent again */
}

static void
leaves_out_a_trace_whose_request_is_wrong(void **state)
{
    struct scene *scene = *state;
    CLEANUP(traces_done) struct traces traces = {0};
    temp_write(&scene->campaign, "t/wrong.pt.trace.json", "{}", 100);
    temp_write(&scene->campaign, "t/wrong.pt.trace.json.request.json",
               "{\"framwork\": \"vllm\"}", 100);
    temp_write(&scene->campaign, "u/right.pt.trace.json", "{\"a\": 1}", 100);

    feed_campaign(scene, 1, "framwork: is no member");

    read_traces(&traces, "wrong.pt.trace.json");
    assert_int_equal(traces.n, 0);
    read_traces(&traces, "right.pt.trace.json");
    assert_int_equal(traces.n, 1);
}

static void
waits_for_a_trace_that_is_being_written(void **state)
{
    struct scene *scene = *state;
    CLEANUP(traces_done) struct traces traces = {0};
    temp_write(&scene->campaign, "t/fresh.pt.trace.json", "{}", 0);
    feed_campaign(scene, 0, "1 traces found: 1 sent");
    read_traces(&traces, "fresh.pt.trace.json");
    assert_int_equal(traces.n, 1);
}

static void
feeds_runs_and_traces_of_one_folder(void **state)
{
    struct scene *scene = *state;
    CLEANUP(traces_done) struct traces traces = {0};
    write_run(scene, RUN "t", "{}");
    temp_write(&scene->campaign, RUN "t/both.pt.trace.json", "{}", 100);
    feed_campaign(scene, 0, "1 runs found: 1 sent");
    feed_campaign(scene, 0, "1 traces found: 0 sent");
    assert_int_equal(read_topic(scene, NULL, NULL), 1);
    read_traces(&traces, "both.pt.trace.json");
    assert_int_equal(traces.n, 1);
}

int
main(void)
{
#define WITH_SCENE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SCENE(sends_all_parts_of_a_run_in_one_event),
        WITH_SCENE(sends_only_what_has_changed),
        WITH_SCENE(sends_again_when_told_or_when_the_defaults_differ),
        WITH_SCENE(starts_over_when_the_topic_was_made_anew),
        WITH_SCENE(names_what_is_half_written_or_can_not_be_read_and_goes_on),
        WITH_SCENE(leaves_out_a_verdict_of_an_earlier_attempt),
        WITH_SCENE(waits_for_a_file_that_is_being_written),
        WITH_SCENE(loses_nothing_when_it_is_killed),
        WITH_SCENE(watches_until_it_is_told_to_stop),
        WITH_SCENE(sends_each_line_as_an_event_and_names_the_bad_ones),
        WITH_SCENE(refuses_a_wrong_command_line_and_a_broker_that_is_not_there),
        WITH_SCENE(sends_a_trace_with_what_is_asked_of_it),
        WITH_SCENE(claims_a_trace_that_is_too_large_for_an_event),
        WITH_SCENE(sends_a_trace_once_until_it_or_its_request_changes),
        WITH_SCENE(leaves_out_a_trace_whose_request_is_wrong),
        WITH_SCENE(waits_for_a_trace_that_is_being_written),
        WITH_SCENE(feeds_runs_and_traces_of_one_folder),
    };
    return cmocka_run_group_tests_name("feed", tests, start_broker, stop_broker);
}
