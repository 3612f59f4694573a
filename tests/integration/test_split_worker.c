/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The splitter as a real worker over the embedded broker: traces that travel in their
 * event, lie on disk or behind a slow server; what is refused, what is dead, and what a
 * kill, a stop, a slow and a hung trace leave behind.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "broker.h"
#include "canned_http.h"
#include "cleanup.h"
#include "deadletter.h"
#include "digest.h"
#include "kafka.h"
#include "lag.h"
#include "process.h"
#include "serde.h"
#include "serving_trace.h"
#include "split_record.h"
#include "temp_dir.h"
#include "test_size.h"
#include "topics.h"
#include "trace_event.h"
#include "warning.h"

#include "unit.h"

enum {
    TIMEOUT_MS = 120000,
    LINE_BYTES = 1024,
    MAX_RECORDS = 64,
    MAX_FLAGS = 48,
    STEPS = 40,
    LAUNCHES = 20,
    POLL_US = 500, /* between two looks, not for luck */
    LOOK_MS = 20,
};

static struct broker broker;
static struct temp_dir home;
static struct serde *events;
static struct serde *splits;
static struct serde *warnings;
static char *store;
static struct process *running; /* the last that was started */

static int
open_all(void **state)
{
    (void)state;
    if (!temp_dir_make(&home) || !broker_start_sized(&broker, 0, 2))
        return -1;
    store = temp_path(&home, "store");
    return mkdir(store, 0755);
}

static int
close_all(void **state)
{
    (void)state;
    broker_stop(&broker);
    temp_dir_done(&home);
    free(store);
    return 0;
}

static struct kafka_settings
to_broker(void)
{
    static const struct option_property properties[] = {
        {"compression.codec", "none", ORIGIN_FLAG, "test"},
        {"fetch.wait.max.ms", "20", ORIGIN_FLAG, "test"},
        {"message.max.bytes", "17000000", ORIGIN_FLAG, "test"},
    };
    return (struct kafka_settings){broker.bootstrap, properties, 3, "test", NULL, NULL};
}

/* --- traces --------------------------------------------------------------------------
 */

static void
write_bytes(const char *path, struct slice bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.len, file), bytes.len);
    assert_int_equal(fclose(file), 0);
}

static void
pack_file(const char *path, struct slice bytes)
{
    gzFile file = gzopen(path, "wb1");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes.data, (unsigned)bytes.len), bytes.len);
    assert_int_equal(gzclose(file), Z_OK);
}

static struct slice
read_bytes(struct arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    char *bytes = arena_alloc(arena, (size_t)status.st_size + 1);
    assert_non_null(bytes);
    size_t len = fread(bytes, 1, (size_t)status.st_size, file);
    assert_int_equal(fclose(file), 0);
    return (struct slice){bytes, len};
}

/* --- sending -------------------------------------------------------------------------
 */

static struct trace_event
event_of(const char *request_id)
{
    return (struct trace_event){
        .origin = {SLICE("id"), SLICE("node"), SLICE("session"), 5000, SLICE("test")},
        .request = {.request_id = slice_of(request_id),
                    .framework = SLICE("vllm"),
                    .attempt = 1},
    };
}

static void
send_event(const struct trace_event *event)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    struct kafka_settings settings = to_broker();
    struct err err = {0};
    assert_int_equal(serde_encode(events, event, &value, &err), ERR_OK);
    struct producer *producer = producer_new(&settings, NULL, NULL, &err);
    assert_non_null(producer);
    const struct outgoing record = {
        .topic = TOPIC_TRACES,
        .key = event->request.request_id,
        .value = buf_slice(&value),
        .timestamp_ms = 123456,
    };
    assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
    producer_free(producer);
}

static void
send_inline(const char *request_id, struct slice bytes)
{
    struct trace_event event = event_of(request_id);
    event.payload = (struct payload){.kind = PAYLOAD_INLINE, .bytes = bytes};
    send_event(&event);
}

static void
send_claim(const char *request_id, const char *uri, struct slice bytes)
{
    char sha256[DIGEST_HEX];
    struct trace_event event = event_of(request_id);
    digest_hex(bytes, sha256);
    event.payload = (struct payload){
        .kind = PAYLOAD_CLAIM,
        .claim = {slice_of(uri), (int64_t)bytes.len, slice_of(sha256)},
    };
    send_event(&event);
}

static void
send_file(const char *request_id, const char *path, struct slice bytes)
{
    char uri[LINE_BYTES];
    snprintf(uri, sizeof uri, "file://%s", path);
    send_claim(request_id, uri, bytes);
}

/* --- the worker ----------------------------------------------------------------------
 */

static void
start_worker(struct process *worker, const char *const *more)
{
    char url[LINE_BYTES];
    char line[LINE_BYTES];
    const char *argv[MAX_FLAGS] = {BIN_DIR "/heddle-split",
                                   "--store",
                                   url,
                                   "--claim-roots",
                                   home.path,
                                   "--delivery",
                                   "at-least-once",
                                   "--brokers",
                                   broker.bootstrap,
                                   "--state-dir",
                                   home.path,
                                   "--retry-first",
                                   "10ms",
                                   "--retry-max",
                                   "20ms",
                                   "--retry-attempts",
                                   "3",
                                   "-X",
                                   "fetch.wait.max.ms=20",
                                   "-X",
                                   "compression.codec=none",
                                   "-X",
                                   "session.timeout.ms=6000"};
    size_t n = 0;
    while (argv[n])
        n++;
    snprintf(url, sizeof url, "file://%s", store);
    for (; more && *more; more++)
        argv[n++] = *more;
    assert_true(n < MAX_FLAGS);
    assert_true(process_start(worker, argv, NULL));
    running = worker;
    if (!process_wait_line(worker, "started:", line, sizeof line, TIMEOUT_MS))
        fail_msg("it does not start:\n%s", worker->text);
}

/* What the worker says of it. */
static void
fail_with_log(size_t n, size_t least, const char *topic)
{
    process_signal(running, SIGTERM);
    process_wait(running, TIMEOUT_MS);
    fail_msg("%zu of %zu records on %s:\n%s", n, least, topic, running->text);
}

/* Its text is whole afterwards, and the caller's to close. */
static void
stop_worker(struct process *worker, int signal_number, int expected)
{
    process_signal(worker, signal_number);
    int status = process_wait(worker, TIMEOUT_MS);
    if (status != expected)
        fail_msg("status %d, not %d:\n%s", status, expected, worker->text);
}

static void
end_worker(struct process *worker, int signal_number, int expected)
{
    stop_worker(worker, signal_number, expected);
    process_close(worker);
}

/* --- what came out -------------------------------------------------------------------
 */

struct seen {
    struct arena arena;
    struct slice keys[MAX_RECORDS];
    struct slice values[MAX_RECORDS];
    struct slice codes[MAX_RECORDS]; /* of dead letters */
    size_t n;
};

/* All of the topic once it has `least` records. */
static void
read_topic_for(int patience_ms, const char *topic, size_t least, struct seen *seen)
{
    struct kafka_settings settings = to_broker();
    struct err err = {0};
    *seen = (struct seen){.arena = ARENA_INIT};
    struct topic_reader *reader =
        topic_reader_new(&settings, topic, TOPIC_FROM_START, TIMEOUT_MS, &err);
    long long until_ms = process_now_ms() + patience_ms;
    if (!reader)
        fail_msg("%s", err.msg);
    for (bool done = false; !done || seen->n < least;) {
        if (process_now_ms() > until_ms)
            fail_with_log(seen->n, least, topic);
        const struct message *in = topic_reader_next(reader, 50, &done, &err);
        if (!in)
            continue;
        assert_true(seen->n < MAX_RECORDS);
        seen->keys[seen->n] = arena_copy(&seen->arena, in->key);
        seen->values[seen->n] = arena_copy(&seen->arena, in->value);
        seen->codes[seen->n++] =
            arena_copy(&seen->arena, header_last(in->headers, in->n_headers,
                                                 DEAD_HEADER_PREFIX "code"));
    }
    topic_reader_free(reader);
}

static void
read_topic(const char *topic, size_t least, struct seen *seen)
{
    read_topic_for(TIMEOUT_MS, topic, least, seen);
}

static void
decode_split(struct seen *seen, size_t i, struct split_record *ret_record)
{
    struct err err = {0};
    if (serde_decode(splits, seen->values[i], &seen->arena, ret_record, &err))
        fail_msg("%s", err.msg);
}

/* The one record of the key, once there are `least` records. */
static void
read_split(const char *key,
           size_t least,
           struct seen *seen,
           struct split_record *ret_record)
{
    size_t n = 0;
    read_topic(TOPIC_SPLITS, least, seen);
    for (size_t i = 0; i < seen->n; i++) {
        if (!slice_is(seen->keys[i], key))
            continue;
        decode_split(seen, i, ret_record);
        n++;
    }
    assert_int_equal(n, 1);
}

/* The object is whole: its name is the digest of its content. */
static void
assert_object(struct slice uri, struct slice sha256)
{
    CLEANUP(buf_done) struct buf content = {.max = SIZE_MAX};
    char path[2 * LINE_BYTES];
    char piece[1 << 16];
    char found[DIGEST_HEX];
    snprintf(path, sizeof path, "%s/%.*s", store, SLICE_ARG(uri));
    gzFile file = gzopen(path, "rb");
    assert_non_null(file);
    int n;
    while ((n = gzread(file, piece, sizeof piece)) > 0)
        buf_add(&content, piece, (size_t)n);
    assert_int_equal(n, 0);
    assert_int_equal(gzclose(file), Z_OK);
    digest_hex(buf_slice(&content), found);
    assert_true(slice_is(sha256, found));
}

static void
assert_objects(const struct split_record *record)
{
    const struct split_chunk *chunks = record->chunks.items;
    assert_true(record->chunks.n > 0);
    for (size_t i = 0; i < record->chunks.n; i++)
        assert_object(chunks[i].uri, chunks[i].sha256);
}

/* Objects and drafts in a folder of the store. */
static void
count_objects(const char *folder, size_t *ret_objects, size_t *ret_drafts)
{
    char path[LINE_BYTES];
    snprintf(path, sizeof path, "%s/%s", store, folder);
    *ret_objects = *ret_drafts = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strncmp(entry->d_name, ".draft", 6) == 0)
            ++*ret_drafts;
        else if (entry->d_name[0] != '.')
            ++*ret_objects;
    }
    closedir(dir);
}

/* All that can be seen in the store is whole. */
static void
assert_store_is_whole(void)
{
    char path[LINE_BYTES];
    snprintf(path, sizeof path, "%s/chunks", store);
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char uri[LINE_BYTES];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(uri, sizeof uri, "chunks/%s", entry->d_name);
        assert_object(slice_of(uri), (struct slice){entry->d_name, DIGEST_HEX - 1});
    }
    closedir(dir);
}

static int64_t
group_lag(void)
{
    struct kafka_settings settings = to_broker();
    return lag_of_group(&settings, "heddle-split", TOPIC_TRACES, TIMEOUT_MS);
}

/* --- tests ---------------------------------------------------------------------------
 */

static void
splits_what_came_inline_and_by_claim(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf trace;
    struct process worker;
    struct seen seen;
    struct split_record in_event;
    struct split_record on_disk;
    char *path = temp_path(&home, "a.pt.trace.json.gz");
    serving_trace_make(&trace, STEPS, LAUNCHES);
    pack_file(path, buf_slice(&trace));

    send_inline("inline", buf_slice(&trace));
    send_file("claim", path, read_bytes(&arena, path));
    start_worker(&worker, NULL);
    read_split("inline", 2, &seen, &in_event);
    int32_t in_event_result = in_event.result;
    arena_done(&seen.arena);
    read_split("claim", 2, &seen, &on_disk);
    end_worker(&worker, SIGTERM, 0);

    assert_int_equal(on_disk.result, SPLIT_RESULT_SPLIT);
    assert_objects(&on_disk);
    const struct split_chunk *chunks = on_disk.chunks.items;
    assert_non_null(memmem(chunks[0].file.data, chunks[0].file.len, "_a.json.gz", 10));
    assert_int_equal(on_disk.steps.n, STEPS);
    assert_int_equal(in_event_result, SPLIT_RESULT_SPLIT);
    arena_done(&seen.arena);
    free(path);
}

static void
keeps_inline_bytes_where_the_record_says(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf trace;
    struct process worker;
    struct seen seen;
    struct split_record record;
    serving_trace_make(&trace, STEPS, LAUNCHES);

    send_inline("kept", buf_slice(&trace));
    start_worker(&worker, NULL);
    read_split("kept", 1, &seen, &record);
    end_worker(&worker, SIGTERM, 0);

    char path[LINE_BYTES];
    snprintf(path, sizeof path, "%.*s", SLICE_ARG(record.trace.uri));
    assert_memory_equal(path, "file://", 7);
    struct slice kept = read_bytes(&arena, path + 7);
    assert_true(slice_equal(kept, buf_slice(&trace)));
    assert_int_equal(record.trace.size, trace.len);
    arena_done(&seen.arena);
}

/* The same event for another group: equal but for the provenance, nothing is rewritten.
 */
static void
gives_the_same_twice(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf trace;
    static const char *const again[] = {"--group", "again", NULL};
    struct process worker;
    struct seen seen;
    struct split_record first;
    struct split_record second;
    serving_trace_make(&trace, STEPS, LAUNCHES);

    send_inline("twice", buf_slice(&trace));
    start_worker(&worker, NULL);
    read_topic(TOPIC_SPLITS, 1, &seen);
    arena_done(&seen.arena);
    end_worker(&worker, SIGTERM, 0);
    start_worker(&worker, again);
    read_topic(TOPIC_SPLITS, 2, &seen);
    end_worker(&worker, SIGTERM, 0);

    assert_int_equal(seen.n, 2);
    decode_split(&seen, 0, &first);
    decode_split(&seen, 1, &second);
    first.has_provenance = second.has_provenance = false;
    CLEANUP(buf_done) struct buf one = BUF_INIT;
    CLEANUP(buf_done) struct buf other = BUF_INIT;
    assert_int_equal(serde_encode(splits, &first, &one, NULL), ERR_OK);
    assert_int_equal(serde_encode(splits, &second, &other, NULL), ERR_OK);
    assert_true(slice_equal(buf_slice(&one), buf_slice(&other)));
    arena_done(&seen.arena);
}

static void
assert_refused(const char *key, size_t least, const char *code)
{
    struct seen seen;
    struct split_record record;
    read_split(key, least, &seen, &record);
    assert_int_equal(record.result, SPLIT_RESULT_REFUSED);
    assert_true(record.has_refusal);
    if (!slice_is(record.refusal.code, code))
        fail_msg("%s: %.*s, not %s", key, SLICE_ARG(record.refusal.code), code);
    assert_true(record.manifest.aborted);
    assert_int_equal(record.chunks.n, 0);
    arena_done(&seen.arena);
}

static void
refuses_what_can_not_be_split_or_fetched(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf trace;
    struct process worker;
    char *path = temp_path(&home, "b.json");
    char *locked = temp_path(&home, "locked.json");
    serving_trace_make(&trace, STEPS, LAUNCHES);
    write_bytes(path, buf_slice(&trace));
    struct slice other = {trace.data, trace.len - 1};
    char *turned = strdup(trace.data);
    assert_non_null(turned);
    turned[trace.len - 1] = ' ';

    send_inline("text", SLICE("no trace"));
    send_inline("empty", SLICE(""));
    send_file("absent", "/nowhere/at/all", SLICE("x"));
    send_file("shorter", path, other);
    send_file("another", path, (struct slice){turned, trace.len});
    send_file("gone", locked, SLICE("x"));
    start_worker(&worker, NULL);

    assert_refused("text", 5, "not_a_trace");
    assert_refused("empty", 5, "trace_empty");
    assert_refused("shorter", 5, "claim_mismatch");
    assert_refused("another", 5, "claim_mismatch");
    assert_refused("gone", 5, "claim_not_found");
    struct seen dead;
    read_topic(TOPIC_DEAD, 1, &dead);
    end_worker(&worker, SIGTERM, 0);
    assert_int_equal(dead.n, 1);
    assert_true(slice_is(dead.keys[0], "absent"));
    assert_true(slice_is(dead.codes[0], "trace_event_malformed"));
    arena_done(&dead.arena);
    free(turned);
    free(path);
    free(locked);
}

static void
dead_letters_an_event_that_is_unusable(void **state)
{
    (void)state;
    struct process worker;
    struct seen dead;
    struct trace_event nothing = event_of("nothing");
    struct trace_event third = event_of("third");
    third.request.attempt = 3;
    third.payload = (struct payload){.kind = PAYLOAD_INLINE, .bytes = SLICE("{}")};

    send_event(&nothing);
    send_event(&third);
    start_worker(&worker, NULL);
    read_topic(TOPIC_DEAD, 2, &dead);
    end_worker(&worker, SIGTERM, 0);

    for (size_t i = 0; i < dead.n; i++)
        assert_true(slice_is(dead.codes[i], slice_is(dead.keys[i], "third")
                                                ? "gate_request_malformed"
                                                : "trace_event_malformed"));
    arena_done(&dead.arena);
}

static void
refuses_once_the_store_stays_away(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf trace;
    struct process worker;
    struct seen seen;
    struct warning warning;
    struct err err = {0};
    serving_trace_make(&trace, STEPS, LAUNCHES);
    assert_int_equal(rmdir(store), 0);

    send_inline("homeless", buf_slice(&trace));
    start_worker(&worker, NULL);
    assert_refused("homeless", 1, "output_failed");
    read_topic(TOPIC_WARNINGS, 1, &seen);
    end_worker(&worker, SIGTERM, 0);

    assert_int_equal(seen.n, 1);
    assert_int_equal(serde_decode(warnings, seen.values[0], &seen.arena, &warning, &err),
                     ERR_OK);
    assert_true(slice_is(warning.code, "store_unavailable"));
    assert_true(slice_is(warning.subject, "homeless"));
    arena_done(&seen.arena);
}

/* Kills it twice, each time with more drafts in the store than before, if it can be
 * caught so. How often it was. */
static int
kill_over_drafts(void)
{
    struct process worker;
    size_t objects;
    size_t drafts = 0;
    int caught = 0;
    for (int i = 0; i < 2 && caught == i; i++) {
        start_worker(&worker, NULL);
        long long until_ms = process_now_ms() + TIMEOUT_MS;
        do {
            usleep(POLL_US);
            count_objects("chunks", &objects, &drafts);
        } while (drafts <= (size_t)caught && objects == 0 && process_now_ms() < until_ms);
        end_worker(&worker, SIGKILL, 128 + SIGKILL);
        caught += drafts > (size_t)caught;
        assert_store_is_whole();
    }
    return caught;
}

/* Lets a worker commit all that was sent. */
static void
catch_up(void)
{
    struct kafka_settings settings = to_broker();
    struct process worker;
    start_worker(&worker, NULL);
    lag_wait_none(&settings, "heddle-split", TOPIC_TRACES, TIMEOUT_MS);
    end_worker(&worker, SIGTERM, 0);
}

static void
empty_store(void)
{
    char command[2 * LINE_BYTES];
    snprintf(command, sizeof command, "rm -rf '%s'/*", store);
    assert_int_equal(system(command), 0);
}

/* A kill that came too late is tried again with another event and an empty store. */
static void
leaves_nothing_half_written_when_it_is_killed(void **state)
{
    (void)state;
    enum { TRIES = 5 };
    CLEANUP(buf_done) struct buf trace;
    struct seen seen;
    struct split_record record;
    char id[32];
    int caught = 0;
    char *path = temp_path(&home, "big.json");
    serving_trace_make(&trace, 400, 300);
    write_bytes(path, buf_slice(&trace));

    for (int i = 0; i < TRIES && caught == 0; i++) {
        snprintf(id, sizeof id, "killed%d", i);
        empty_store();
        send_file(id, path, buf_slice(&trace));
        caught = kill_over_drafts();
        catch_up();
    }

    assert_true(caught > 0);
    read_split(id, 1, &seen, &record);
    assert_int_equal(record.result, SPLIT_RESULT_SPLIT);
    assert_objects(&record);
    arena_done(&seen.arena);
    free(path);
}

/* --- long work -----------------------------------------------------------------------
 */

enum { GRACE_MS = 20000, QUICK = 6, HANGS = 3 };

/* Answers the one trace after `delay_ms`. */
static struct canned_http *
serve(struct canned_answer *answer, const struct buf *trace, unsigned delay_ms)
{
    struct canned_http *server = canned_http_start(NULL);
    assert_int_equal(strlen(trace->data), trace->len);
    *answer =
        (struct canned_answer){.status = 200, .body = trace->data, .delay_ms = delay_ms};
    canned_http_answer(server, answer, 1);
    return server;
}

static void
send_address(const char *request_id, const char *base, struct slice bytes)
{
    char uri[2 * LINE_BYTES];
    snprintf(uri, sizeof uri, "%s/slow.json", base);
    send_claim(request_id, uri, bytes);
}

static size_t
records_of(const char *key)
{
    struct seen seen;
    size_t n = 0;
    read_topic(TOPIC_SPLITS, 0, &seen);
    for (size_t i = 0; i < seen.n; i++)
        n += slice_is(seen.keys[i], key);
    arena_done(&seen.arena);
    return n;
}

/* The slow trace holds up its own partition alone, and no member is thrown out for it. */
static void
finishes_a_slow_trace_once_while_others_flow(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf trace;
    struct process worker;
    struct seen seen;
    struct canned_answer answer;
    char poll_interval[64];
    int slow_ms = test_size("TEST_SLOW_S", 40) * 1000;
    /* The group would take a member that polls so seldom, or not at all, for dead. */
    const char *const impatient[] = {
        "-X", poll_interval, "--claim-stall-timeout", "1h", "--jobs", "2", NULL};
    snprintf(poll_interval, sizeof poll_interval, "max.poll.interval.ms=%d",
             test_size("TEST_POLL_S", 10) * 1000);
    serving_trace_make(&trace, STEPS, LAUNCHES);
    buf_text(&trace);
    struct canned_http *server = serve(&answer, &trace, (unsigned)slow_ms);

    send_address("slow", canned_http_url(server), buf_slice(&trace));
    start_worker(&worker, impatient);
    for (int i = 0; i < QUICK; i++) {
        char id[32];
        snprintf(id, sizeof id, "quick%d", i);
        send_inline(id, buf_slice(&trace));
    }
    read_topic(TOPIC_SPLITS, 1, &seen);
    assert_false(slice_is(seen.keys[0], "slow"));
    arena_done(&seen.arena);
    read_topic_for(slow_ms + TIMEOUT_MS, TOPIC_SPLITS, QUICK + 1, &seen);
    arena_done(&seen.arena);

    stop_worker(&worker, SIGTERM, 0);
    assert_null(strstr(worker.text, "partitions lost"));
    process_close(&worker);
    assert_int_equal(canned_http_requests(server), 1);
    assert_int_equal(records_of("slow"), 1);
    assert_int_equal(group_lag(), 0);
    canned_http_stop(server);
}

/* A request to stop ends the transfer; nobody is blamed, and the next start does it. */
static void
leaves_a_slow_trace_to_the_next_start(void **state)
{
    (void)state;
    static const char *const short_drain[] = {"--drain-timeout", "4s", NULL};
    CLEANUP(buf_done) struct buf trace;
    struct process worker;
    struct seen seen;
    struct split_record record;
    struct canned_answer answer;
    serving_trace_make(&trace, STEPS, LAUNCHES);
    buf_text(&trace);
    struct canned_http *server = serve(&answer, &trace, GRACE_MS);

    send_address("slow", canned_http_url(server), buf_slice(&trace));
    start_worker(&worker, short_drain);
    long long until_ms = process_now_ms() + TIMEOUT_MS;
    while (canned_http_requests(server) == 0)
        if (process_wait(&worker, LOOK_MS) >= 0 || process_now_ms() > until_ms)
            fail_msg("nobody asks for the trace:\n%s", worker.text);
    end_worker(&worker, SIGTERM, 0);
    assert_int_equal(records_of("slow"), 0);

    answer.delay_ms = 0;
    start_worker(&worker, NULL);
    read_split("slow", 1, &seen, &record);
    end_worker(&worker, SIGTERM, 0);
    assert_int_equal(record.result, SPLIT_RESULT_SPLIT);
    arena_done(&seen.arena);
    canned_http_stop(server);
}

/* A server that takes the call and says nothing. */
static int
open_silence(char *ret_url, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    snprintf(ret_url, size, "http://127.0.0.1:%d", (int)ntohs(at.sin_port));
    return fd;
}

/* Its own deadline ends the process, says why on the topic, and counts. */
static void
leaves_over_a_hung_trace_until_it_is_dead(void **state)
{
    (void)state;
    static const char *const strict[] = {"--split-job-deadline", "1s",
                                         "--claim-stall-timeout", "10m", NULL};
    char url[LINE_BYTES];
    char line[LINE_BYTES];
    struct process worker;
    struct seen seen;
    struct warning warning;
    struct err err = {0};
    int silence = open_silence(url, sizeof url);

    send_address("hung", url, SLICE("a trace"));
    for (int i = 0; i < HANGS; i++) {
        start_worker(&worker, strict);
        if (!process_wait_line(&worker, "job_deadline", line, sizeof line, TIMEOUT_MS))
            fail_msg("nobody is late:\n%s", worker.text);
        assert_non_null(strstr(line, "offset 0"));
        assert_int_equal(process_wait(&worker, TIMEOUT_MS), EXIT_JOB_DEADLINE);
        process_close(&worker);
    }
    start_worker(&worker, strict);
    read_topic(TOPIC_DEAD, 1, &seen);
    end_worker(&worker, SIGTERM, 0);

    assert_int_equal(seen.n, 1);
    assert_true(slice_is(seen.codes[0], "crash_loop"));
    arena_done(&seen.arena);
    read_topic(TOPIC_WARNINGS, HANGS, &seen);
    assert_int_equal(seen.n, HANGS);
    assert_int_equal(serde_decode(warnings, seen.values[0], &seen.arena, &warning, &err),
                     ERR_OK);
    assert_true(slice_is(warning.code, "job_deadline"));
    assert_true(slice_is(warning.subject, "hung"));
    arena_done(&seen.arena);
    close(silence);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(splits_what_came_inline_and_by_claim, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(keeps_inline_bytes_where_the_record_says,
                                        open_all, close_all),
        cmocka_unit_test_setup_teardown(gives_the_same_twice, open_all, close_all),
        cmocka_unit_test_setup_teardown(refuses_what_can_not_be_split_or_fetched,
                                        open_all, close_all),
        cmocka_unit_test_setup_teardown(dead_letters_an_event_that_is_unusable, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(refuses_once_the_store_stays_away, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(leaves_nothing_half_written_when_it_is_killed,
                                        open_all, close_all),
        cmocka_unit_test_setup_teardown(finishes_a_slow_trace_once_while_others_flow,
                                        open_all, close_all),
        cmocka_unit_test_setup_teardown(leaves_a_slow_trace_to_the_next_start, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(leaves_over_a_hung_trace_until_it_is_dead,
                                        open_all, close_all),
    };
    struct err err = {0};
    events = serde_new(&trace_event_type, NULL, &err);
    splits = serde_new(&split_record_type, NULL, &err);
    warnings = serde_new(&warning_type, NULL, &err);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = events && splits && warnings
                     ? cmocka_run_group_tests_name("split_worker", tests, NULL, NULL)
                     : 1;
    serde_free(events);
    serde_free(splits);
    serde_free(warnings);
    return failed;
}
