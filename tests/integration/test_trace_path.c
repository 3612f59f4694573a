/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real traces through broker and workers, trace to split to gate to table: for each one
 * that expected-e2e beside them speaks of, the verdicts of every attempt and the table of
 * the accepted chunk are the expected ones.
 */
#include "broker.h"
#include "candidate_table.h"
#include "catalog.h"
#include "digest.h"
#include "kafka.h"
#include "process.h"
#include "serde.h"
#include "table_json.h"
#include "temp_dir.h"
#include "topics.h"
#include "trace_event.h"
#include "verdict_json.h"

#include "vector_runner/compare.h"
#include "vector_runner/trace_files.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

enum {
    TIMEOUT_MS = 240000,
    MAX_TRACES = 64,
    MAX_ATTEMPTS = 2,
    TEXT_BYTES = 64,
    OPTION_BYTES = PATH_MAX + 32,
};
#define ARENA_BYTES ((size_t)1 << 30)

/* A trace, what is asked of it, and what came of that. */
struct traced {
    char path[PATH_MAX]; /* of the document */
    char root[TEXT_BYTES];
    struct json_value expect;
    const struct verdict *verdicts[MAX_ATTEMPTS];
    size_t n_verdicts; /* all that came; those of further attempts are not kept */
    const struct candidate_table *table;
    size_t n_tables;
};

static char folder[PATH_MAX]; /* of the traces */
static struct broker broker;
static struct temp_dir home;
static struct arena documents;
static struct traced traces[MAX_TRACES];
static size_t n_traces;

static struct kafka_settings
to_broker(void)
{
    static const struct option_property properties[] = {
        {"compression.codec", "none", ORIGIN_FLAG, "test"},
        {"fetch.wait.max.ms", "20", ORIGIN_FLAG, "test"},
    };
    return (struct kafka_settings){broker.bootstrap, properties, 2, "test", NULL, NULL};
}

/* --- events ------------------------------------------------------------------------- */

/* Every parameter is given: that of the document, else its default. */
static struct split_request_parameters
parameters_of(struct json_value params)
{
    struct split_request_parameters split = {
        .has_num_steps = true,
        .num_steps = 32,
        .mode = SLICE("auto"),
        .iterations = SLICE("all"),
        .has_llm_inference = true,
        .llm_inference = json_is_true(json_get(params, "llm")),
        .has_allow_degraded = true,
        .allow_degraded = json_is_true(json_get(params, "allow_degraded")),
        .has_salvage = true,
        .salvage = json_is_true(json_get(params, "salvage")),
    };
    int64_t steps;
    if (json_int(json_get(params, "num_steps"), &steps))
        split.num_steps = (int32_t)steps;
    split.has_conc = json_int(json_get(params, "conc"), &split.conc);
    split.has_osl = json_double(json_get(params, "osl"), &split.osl);
    split.has_r = json_double(json_get(params, "r"), &split.r);
    split.has_max_num_seq = json_int(json_get(params, "max_num_seq"), &split.max_num_seq);
    if (json_string(json_get(params, "mode")).data)
        split.mode = json_string(json_get(params, "mode"));
    if (json_string(json_get(params, "iterations")).data)
        split.iterations = json_string(json_get(params, "iterations"));
    return split;
}

static struct slice
last_segment(struct slice path)
{
    const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
    if (!slash)
        return path;
    return (struct slice){slash + 1, (size_t)(path.data + path.len - slash) - 1};
}

static void
send_event(struct producer *producer, struct json_value document, struct slice root)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    char uri[OPTION_BYTES];
    struct err err;
    struct serde *serde = serde_new(&trace_event_type, NULL, &err);
    struct json_value request = json_get(document, "request");
    struct slice name = json_string(json_get(document, "trace"));
    int64_t size = 0;
    assert_non_null(serde);
    assert_true(json_int(json_get(document, "bytes"), &size));
    snprintf(uri, sizeof uri, "file://%s/%.*s", folder, SLICE_ARG(name));
    struct trace_event event = {
        .origin = {root, SLICE("node"), SLICE("session"), 5000, SLICE("test")},
        .payload = {.kind = PAYLOAD_CLAIM,
                    .claim = {slice_of(uri), size,
                              json_string(json_get(document, "sha256"))}},
        .trace_name = last_segment(name),
        .request = {.request_id = root,
                    .framework = json_string(json_get(request, "framework")),
                    .framework_kind = json_string(json_get(request, "framework_kind")),
                    .requested_mode = json_string(json_get(request, "requested_mode")),
                    .attempt = 1},
        .split = parameters_of(json_get(document, "params")),
    };
    assert_int_equal(serde_encode(serde, &event, &value, &err), ERR_OK);
    const struct outgoing record = {.topic = TOPIC_TRACES,
                                    .key = root,
                                    .value = buf_slice(&value),
                                    .timestamp_ms = 5};
    assert_int_equal(producer_send(producer, &record, TIMEOUT_MS, &err), ERR_OK);
    serde_free(serde);
}

/* --- the documents ------------------------------------------------------------------ */

/* Reads a document once more, for as long as the test runs. */
static enum err_kind
keep_document(struct trace_tally *tally,
              const char *path,
              struct json_value document,
              struct slice bytes,
              struct err *err)
{
    CLEANUP(buf_done) struct buf text;
    struct json *doc = arena_alloc(&documents, sizeof *doc);
    struct traced *traced = &traces[n_traces];
    (void)bytes;
    if (n_traces == MAX_TRACES || !doc)
        return err_no_memory(err, "a document");
    buf_init(&text, (size_t)1 << 28);
    json_write_verbatim(&text, document);
    if (buf_check(&text, path, err) ||
        json_read(doc, arena_copy(&documents, buf_slice(&text)), &documents, err))
        return err->kind;
    snprintf(traced->path, sizeof traced->path, "%s", path);
    snprintf(traced->root, sizeof traced->root, "trace-%zu", n_traces);
    traced->expect = json_root(doc);
    n_traces++;
    tally->passed++;
    return ERR_OK;
}

/* --- workers ------------------------------------------------------------------------ */

static void
start_worker(struct process *worker, const char *program, const char *const *more)
{
    char state[OPTION_BYTES];
    char line[TEXT_BYTES];
    const char *argv[32] = {program,
                            "--brokers",
                            broker.bootstrap,
                            "--delivery",
                            "at-least-once",
                            "--batch-time",
                            "100ms",
                            "-X",
                            "fetch.wait.max.ms=20",
                            "-X",
                            "compression.codec=none"};
    int n = 11;
    for (int i = 0; more && more[i]; i++)
        argv[n++] = more[i];
    snprintf(state, sizeof state, "XDG_STATE_HOME=%s", home.path);
    const char *environment[] = {state, NULL};
    assert_true(process_start(worker, argv, environment));
    if (!process_wait_line(worker, "started", line, sizeof line, TIMEOUT_MS))
        fail_msg("%s did not start:\n%s", program, worker->text);
}

static void
start_splitter(struct process *worker)
{
    static const char scheme[] = "file://";
    char store[OPTION_BYTES];
    snprintf(store, sizeof store, "%s%s/store", scheme, home.path);
    assert_int_equal(mkdir(store + sizeof scheme - 1, 0700), 0);
    start_worker(worker, BIN_DIR "/heddle-split",
                 (const char *const[]){"--store", store, "--claim-roots", folder, NULL});
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

/* --- what came out ------------------------------------------------------------------ */

static struct traced *
traced_of(struct slice root)
{
    for (size_t i = 0; i < n_traces; i++)
        if (slice_is(root, traces[i].root))
            return &traces[i];
    fail_msg("nothing was asked under %.*s", SLICE_ARG(root));
    return NULL;
}

static void
take_verdict(const struct message *in, const void *value)
{
    struct traced *traced = traced_of(in->key);
    if (traced->n_verdicts < MAX_ATTEMPTS)
        traced->verdicts[traced->n_verdicts] = value;
    traced->n_verdicts++;
}

static void
take_table(const struct message *in, const void *value)
{
    struct traced *traced = traced_of(in->key);
    traced->table = value;
    traced->n_tables++;
}

static void
read_topic(const char *topic,
           struct arena *arena,
           void (*take)(const struct message *in, const void *value))
{
    const struct record_type *type = catalog_of_topic(topic)->type;
    struct kafka_settings settings = to_broker();
    struct err err = {0};
    bool done = false;
    struct serde *serde = serde_new(type, NULL, &err);
    struct topic_reader *reader =
        topic_reader_new(&settings, topic, TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(serde);
    assert_non_null(reader);
    while (!done) {
        const struct message *in = topic_reader_next(reader, 50, &done, &err);
        void *value = in ? arena_calloc(arena, 1, type->size) : NULL;
        assert_int_equal(err.kind, ERR_OK);
        if (!in)
            continue;
        struct slice bytes = arena_copy(arena, in->value);
        assert_non_null(value);
        assert_int_equal(serde_decode(serde, bytes, arena, value, &err), ERR_OK);
        take(in, value);
    }
    topic_reader_free(reader);
    serde_free(serde);
}

static void
read_outcome(struct arena *arena)
{
    arena_reset(arena);
    for (size_t i = 0; i < n_traces; i++) {
        traces[i].n_verdicts = 0;
        traces[i].table = NULL;
        traces[i].n_tables = 0;
    }
    read_topic(TOPIC_AUDIT_SPLITS, arena, take_verdict);
    read_topic(TOPIC_CANDIDATES, arena, take_table);
}

static size_t
wanted_verdicts(const struct traced *traced)
{
    return json_count(json_get(json_get(traced->expect, "expect"), "verdicts"));
}

/* The first trace of which not everything has come; NULL: all has. */
static const struct traced *
unfinished(void)
{
    for (size_t i = 0; i < n_traces; i++)
        if (traces[i].n_verdicts < wanted_verdicts(&traces[i]))
            return &traces[i];
    return NULL;
}

static void
wait_for_outcome(struct arena *arena, struct process *splitter)
{
    long long deadline = process_now_ms() + TIMEOUT_MS;
    const struct traced *traced;
    do {
        read_outcome(arena);
        traced = unfinished();
    } while (traced && process_now_ms() < deadline);
    if (!traced)
        return;
    process_signal(splitter, SIGTERM);
    process_wait(splitter, TIMEOUT_MS);
    fputs(splitter->text, stderr);
    fail_msg("%s: %zu verdicts came", traced->path, traced->n_verdicts);
}

/* --- beside what is expected -------------------------------------------------------- */

static void
compare_value(const struct traced *traced,
              struct json_value want,
              struct json_value got,
              struct arena *arena)
{
    CLEANUP(buf_done) struct buf where = BUF_INIT;
    if (!values_equal(want, got, COMPARE_EXPECTED, arena, &where))
        fail_msg("%s: %s", traced->path, buf_text(&where));
}

/* Free text is told by what it must name. */
static void
compare_mentions(const struct traced *traced,
                 struct json_value mentions,
                 const struct verdict *verdict)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_iter iter = json_iter(mentions);
    struct slice key;
    struct json_value mention;
    verdict_json_remediations(&text, verdict);
    while (json_next(&iter, &key, &mention)) {
        struct slice part = json_string(mention);
        if (!text.len || !part.len || !memmem(text.data, text.len, part.data, part.len))
            fail_msg("%s: the remediation does not name %.*s", traced->path,
                     SLICE_ARG(part));
    }
}

static void
compare_verdict(const struct traced *traced,
                struct json_value want,
                const struct verdict *verdict)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct json got;
    struct err err;
    struct json_iter iter = json_iter(want);
    struct slice key;
    struct json_value value;
    verdict_json_write(&text, verdict, "r1");
    assert_int_equal(json_read(&got, buf_slice(&text), &arena, &err), ERR_OK);
    while (json_next(&iter, &key, &value))
        if (slice_is(key, "remediation_mentions"))
            compare_mentions(traced, value, verdict);
        else
            compare_value(traced, value, json_get_slice(json_root(&got), key), &arena);
}

static void
compare_table(const struct traced *traced, struct json_value want)
{
    CLEANUP(buf_done) struct buf text;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct json got;
    struct err err;
    bool none = json_kind(want) != JSON_OBJECT;
    assert_int_equal(traced->n_tables, none ? 0 : 1);
    if (none)
        return;
    buf_init(&text, (size_t)1 << 28);
    assert_true(traced->table->has_table);
    table_json_write(&text, &traced->table->table);
    assert_int_equal(json_read(&got, buf_slice(&text), &arena, &err), ERR_OK);
    compare_value(traced, want, json_root(&got), &arena);
}

static void
compare_trace(const struct traced *traced)
{
    struct json_value expect = json_get(traced->expect, "expect");
    struct json_iter iter = json_iter(json_get(expect, "verdicts"));
    struct slice key;
    struct json_value want;
    size_t n = 0;
    assert_int_equal(traced->n_verdicts, wanted_verdicts(traced));
    while (json_next(&iter, &key, &want)) {
        assert_int_equal(traced->verdicts[n]->request.attempt, n + 1);
        compare_verdict(traced, want, traced->verdicts[n++]);
    }
    compare_table(traced, json_get(expect, "table"));
}

/* --- the test ----------------------------------------------------------------------- */

static int
open_all(void **state)
{
    (void)state;
    if (!temp_dir_make(&home))
        return -1;
    return broker_start(&broker, 0, NULL) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    broker_stop(&broker);
    temp_dir_done(&home);
    return 0;
}

static void
gives_each_trace_the_expected_verdicts_and_table(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena;
    struct kafka_settings settings = to_broker();
    struct process splitter;
    struct process gate;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    struct producer *producer = producer_new(&settings, NULL, NULL, &err);
    assert_non_null(producer);
    start_splitter(&splitter);
    start_worker(&gate, BIN_DIR "/heddle-gate", NULL);

    for (size_t i = 0; i < n_traces; i++)
        send_event(producer, traces[i].expect, slice_of(traces[i].root));
    assert_int_equal(producer_flush(producer, TIMEOUT_MS, &err), ERR_OK);
    producer_free(producer);

    wait_for_outcome(&arena, &splitter);
    stop_worker(&splitter);
    stop_worker(&gate);
    read_outcome(&arena);
    for (size_t i = 0; i < n_traces; i++)
        compare_trace(&traces[i]);
}

static bool
find_traces(void)
{
    const char *given = getenv("TRACES");
    return realpath(given ? given : SOURCE_DIR "/../shared/data/traces", folder) != NULL;
}

int
main(void)
{
    static const char *const hints[] = {
        "TRACELENS_SPLIT_CONC", "TRACELENS_SPLIT_OSL", "TRACELENS_SPLIT_R", "CONC", "OSL",
        "RANDOM_RANGE_RATIO"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_each_trace_the_expected_verdicts_and_table),
    };
    struct trace_tally tally = {0, 0};
    if (!find_traces()) {
        printf("skipped data process.trace_path: there are no real traces in "
               "../shared/data/traces; get it by naming a folder of traces in TRACES\n");
        return 0;
    }
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        unsetenv(hints[i]);
    arena_init(&documents, ARENA_BYTES);
    trace_files_walk(folder, "expected-e2e", keep_document, &tally);
    int failed = n_traces == 0 || tally.failed ||
                 cmocka_run_group_tests_name("trace_path", tests, open_all, close_all);
    arena_done(&documents);
    return failed;
}
