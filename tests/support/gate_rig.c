/* SPDX-License-Identifier: Apache-2.0 */
/* heddle-gate between topics, and the pure function beside it. */
#include "gate_rig.h"

#include "candidate_table.h"
#include "catalog.h"
#include "deadletter.h"
#include "digest.h"
#include "lag.h"
#include "topics.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

enum { MAX_ARGS = 48, TEXT_BYTES = 512, WAIT_MS = 50, ARENA_BYTES = 1 << 30 };

static const char *const outputs[GATE_RIG_OUTPUTS] = {
    TOPIC_AUDIT_SPLITS, TOPIC_CANDIDATES, TOPIC_TRACES, TOPIC_WARNINGS};

static struct slice
no_variable(const void *state, const char *name)
{
    (void)state;
    (void)name;
    return (struct slice){0};
}

static struct serde *
serde_of(const struct gate_rig *rig, const char *topic)
{
    int i = 0;
    while (strcmp(outputs[i], topic) != 0)
        assert_true(++i < GATE_RIG_OUTPUTS);
    return rig->outputs[i];
}

void
gate_rig_open(struct gate_rig *rig, const char *brokers, int64_t max_rows)
{
    const struct gate_settings settings = {.max_rows = AMOUNT((double)max_rows)};
    struct err err;
    *rig = (struct gate_rig){.brokers = brokers};
    assert_true(temp_dir_make(&rig->home));
    rig->splits = serde_new(&split_record_type, NULL, &err);
    assert_non_null(rig->splits);
    for (int i = 0; i < GATE_RIG_OUTPUTS; i++) {
        rig->outputs[i] = serde_new(catalog_of_topic(outputs[i])->type, NULL, &err);
        assert_non_null(rig->outputs[i]);
    }
    rig->tools.tables = serde_of(rig, TOPIC_CANDIDATES);
    categories_init(&rig->tools.categories);
    gate_config_resolve(&settings, no_variable, NULL, &rig->tools.config, NULL);
}

void
gate_rig_done(struct gate_rig *rig)
{
    serde_free(rig->splits);
    for (int i = 0; i < GATE_RIG_OUTPUTS; i++)
        serde_free(rig->outputs[i]);
    temp_dir_done(&rig->home);
}

struct kafka_settings
gate_rig_settings(const struct gate_rig *rig)
{
    static const struct option_property properties[] = {
        {"compression.codec", "none", ORIGIN_FLAG, "test"},
        {"fetch.wait.max.ms", "20", ORIGIN_FLAG, "test"},
    };
    static const char *const topics[] = {TOPIC_SPLITS, NULL};
    return (struct kafka_settings){rig->brokers, properties, 2, "test", topics, NULL};
}

/* --- records in --------------------------------------------------------------------- */

static void
send_one(const struct gate_rig *rig,
         struct producer *producer,
         const struct split_record *record)
{
    CLEANUP(buf_done) struct buf value;
    const struct request *request = &record->request;
    struct err err;
    buf_init(&value, 0);
    if (serde_encode(rig->splits, record, &value, &err))
        fail_msg("%s", err.msg);
    const struct outgoing out = {
        .topic = TOPIC_SPLITS,
        .key = request->attempt == 2 && request->retry_of.len ? request->retry_of
                                                              : request->request_id,
        .value = buf_slice(&value),
        .timestamp_ms = 1700000000000,
    };
    if (producer_send(producer, &out, GATE_RIG_TIMEOUT_MS, &err))
        fail_msg("%s", err.msg);
}

static struct producer *
open_producer(const struct gate_rig *rig)
{
    struct kafka_settings settings = gate_rig_settings(rig);
    struct err err;
    struct producer *producer = producer_new(&settings, NULL, NULL, &err);
    assert_non_null(producer);
    return producer;
}

static void
close_producer(struct producer *producer)
{
    struct err err;
    if (producer_flush(producer, GATE_RIG_TIMEOUT_MS, &err))
        fail_msg("%s", err.msg);
    producer_free(producer);
}

void
gate_rig_send(const struct gate_rig *rig, const struct split_record *record)
{
    struct producer *producer = open_producer(rig);
    send_one(rig, producer, record);
    close_producer(producer);
}

void
gate_rig_send_samples(const struct gate_rig *rig, const struct gate_samples *samples)
{
    struct producer *producer = open_producer(rig);
    for (size_t i = 0; i < samples->n; i++)
        send_one(rig, producer, &samples->items[i].record);
    close_producer(producer);
}

/* --- the worker --------------------------------------------------------------------- */

void
gate_rig_start(const struct gate_rig *rig,
               struct process *worker,
               const char *group,
               const char *instance,
               const char *const *more)
{
    char home[TEXT_BYTES];
    const char *argv[MAX_ARGS + 1] = {
        BIN_DIR "/heddle-gate",
        "--brokers",
        rig->brokers,
        "--group",
        group,
        "--instance",
        instance,
        "--batch-time",
        "100ms",
        "-X",
        "session.timeout.ms=6000",
        "-X",
        "fetch.wait.max.ms=20",
        "-X",
        "compression.codec=none",
    };
    int n = 15;
    for (int i = 0; more && more[i] && n < MAX_ARGS; i++)
        argv[n++] = more[i];
    snprintf(home, sizeof home, "XDG_STATE_HOME=%s", rig->home.path);
    const char *environment[] = {home, NULL};
    assert_true(process_start(worker, argv, environment));
    if (!process_wait_line(worker, "started", home, sizeof home, GATE_RIG_TIMEOUT_MS))
        fail_msg("it did not start:\n%s", worker->text);
}

void
gate_rig_stop(struct process *worker)
{
    process_signal(worker, SIGTERM);
    int status = process_wait(worker, GATE_RIG_TIMEOUT_MS);
    if (status != 0)
        fail_msg("status %d:\n%s", status, worker->text);
    process_close(worker);
}

void
gate_rig_kill(struct process *worker)
{
    process_signal(worker, SIGKILL);
    assert_int_equal(process_wait(worker, GATE_RIG_TIMEOUT_MS), 128 + SIGKILL);
    process_close(worker);
}

void
gate_rig_wait_drained(const struct gate_rig *rig, const char *group)
{
    struct kafka_settings settings = gate_rig_settings(rig);
    lag_wait_none(&settings, group, TOPIC_SPLITS, GATE_RIG_TIMEOUT_MS);
}

/* --- lines -------------------------------------------------------------------------- */

static void
add_line(struct gate_lines *lines, struct slice line)
{
    if (lines->n == lines->cap) {
        size_t cap = lines->cap ? 2 * lines->cap : 256;
        char **items = arena_calloc(&lines->arena, cap, sizeof items[0]);
        assert_non_null(items);
        if (lines->n)
            memcpy(items, lines->items, lines->n * sizeof items[0]);
        lines->items = items;
        lines->cap = cap;
    }
    struct slice copy = arena_copy(&lines->arena, line);
    assert_non_null(copy.data);
    lines->items[lines->n++] = (char *)copy.data;
}

static int
by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
open_lines(struct gate_lines *lines)
{
    *lines = (struct gate_lines){.arena = ARENA_INIT};
    arena_init(&lines->arena, ARENA_BYTES);
}

static void
sort_lines(struct gate_lines *lines)
{
    if (lines->n)
        qsort(lines->items, lines->n, sizeof lines->items[0], by_text);
}

void
gate_lines_done(struct gate_lines *lines)
{
    arena_done(&lines->arena);
}

static void
add_record(const struct gate_rig *rig,
           const struct emit *record,
           struct gate_lines *lines)
{
    CLEANUP(buf_done) struct buf line;
    const struct codec *codec = serde_codec(serde_of(rig, record->topic));
    struct err err;
    buf_init(&line, 0);
    buf_addf(&line, "%s %.*s %lld ", record->topic, SLICE_ARG(record->key),
             (long long)record->timestamp_ms);
    if (codec_to_json(codec, record->value, &line, &err))
        fail_msg("%s", err.msg);
    assert_false(line.failed);
    add_line(lines, buf_slice(&line));
}

static void
add_dead(struct gate_lines *lines,
         const struct message *in,
         struct slice code,
         struct slice stage)
{
    char digest[DIGEST_HEX];
    digest_hex(in->value, digest);
    struct slice line = arena_printf(
        &lines->arena, "%s %.*s %lld %.*s %.*s %s", TOPIC_DEAD, SLICE_ARG(in->key),
        (long long)in->timestamp_ms, SLICE_ARG(code), SLICE_ARG(stage), digest);
    assert_non_null(line.data);
    add_line(lines, line);
}

/* --- reading topics ----------------------------------------------------------------- */

typedef void record_fn(void *state, const struct message *in);

static void
read_topic(const struct gate_rig *rig, const char *topic, record_fn *record, void *state)
{
    struct kafka_settings settings = gate_rig_settings(rig);
    struct err err = {0};
    bool done = false;
    struct topic_reader *reader =
        topic_reader_new(&settings, topic, TOPIC_FROM_START, GATE_RIG_TIMEOUT_MS, &err);
    if (!reader)
        fail_msg("%s", err.msg);
    while (!done) {
        const struct message *in = topic_reader_next(reader, WAIT_MS, &done, &err);
        if (err.kind)
            fail_msg("%s", err.msg);
        if (in)
            record(state, in);
    }
    topic_reader_free(reader);
}

struct expecting {
    const struct gate_rig *rig;
    struct gate_lines *lines;
    struct arena arena;
};

static void
expect_record(void *state, const struct message *in)
{
    struct expecting *expecting = state;
    struct emits out = {.arena = &expecting->arena};
    const struct provenance base = {.worker = SLICE("gate"),
                                    .version = SLICE(HEDDLE_VERSION),
                                    .config_sha256 = SLICE("")};
    struct split_record record;
    struct err err = {0};
    arena_reset(&expecting->arena);
    if (serde_decode(expecting->rig->splits, in->value, &expecting->arena, &record, &err))
        fail_msg("%s", err.msg);
    if (gate_derive(&record, in, &expecting->rig->tools, &base, &out, &err)) {
        assert_int_equal(err.kind, ERR_RECORD);
        add_dead(expecting->lines, in, slice_of(err.code), SLICE("derive"));
        return;
    }
    for (size_t i = 0; i < out.n; i++)
        add_record(expecting->rig, &out.items[i], expecting->lines);
}

void
gate_rig_expect(const struct gate_rig *rig, struct gate_lines *ret_lines)
{
    struct expecting expecting = {.rig = rig, .lines = ret_lines};
    open_lines(ret_lines);
    read_topic(rig, TOPIC_SPLITS, expect_record, &expecting);
    arena_done(&expecting.arena);
    sort_lines(ret_lines);
}

struct seeing {
    const struct gate_rig *rig;
    struct gate_lines *lines;
    struct arena arena;
};

/* Settings and generation are no part of a record's equality. */
static void
forget_provenance(const struct record_type *type, void *value)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        if (type->fields[i].record != &provenance_type)
            continue;
        struct provenance *provenance = (void *)((char *)value + type->fields[i].offset);
        provenance->config_sha256 = SLICE("");
        provenance->generation = 0;
    }
}

static void
see_record(void *state, const struct message *in)
{
    struct seeing *seeing = state;
    const struct record_type *type = catalog_of_topic(in->topic)->type;
    struct err err;
    arena_reset(&seeing->arena);
    void *value = arena_calloc(&seeing->arena, 1, type->size);
    assert_non_null(value);
    if (serde_decode(serde_of(seeing->rig, in->topic), in->value, &seeing->arena, value,
                     &err))
        fail_msg("%s: %s", in->topic, err.msg);
    forget_provenance(type, value);
    const struct emit record = {in->topic, in->key, type, value, in->timestamp_ms};
    add_record(seeing->rig, &record, seeing->lines);
}

static void
see_dead(void *state, const struct message *in)
{
    add_dead(state, in, header_last(in->headers, in->n_headers, DEAD_CODE),
             header_last(in->headers, in->n_headers, DEAD_STAGE));
}

void
gate_rig_read(const struct gate_rig *rig, struct gate_lines *ret_lines)
{
    struct seeing seeing = {.rig = rig, .lines = ret_lines};
    open_lines(ret_lines);
    for (int i = 0; i < GATE_RIG_OUTPUTS; i++)
        read_topic(rig, outputs[i], see_record, &seeing);
    arena_done(&seeing.arena);
    read_topic(rig, TOPIC_DEAD, see_dead, ret_lines);
    sort_lines(ret_lines);
}

/* --- comparing ---------------------------------------------------------------------- */

static size_t
count_same(const struct gate_lines *lines, size_t at)
{
    size_t end = at + 1;
    while (end < lines->n && strcmp(lines->items[end], lines->items[at]) == 0)
        end++;
    return end - at;
}

void
gate_lines_compare(const struct gate_lines *expected,
                   const struct gate_lines *seen,
                   size_t times)
{
    size_t at = 0;
    for (size_t i = 0; i < expected->n; i++)
        for (size_t k = 0; k < times; k++) {
            const char *line = at < seen->n ? seen->items[at] : "nothing";
            at++;
            if (strcmp(line, expected->items[i]) == 0)
                continue;
            fprintf(stderr, "wanted:\n%s\nbut there is:\n%s\n", expected->items[i], line);
            fail_msg("%zu lines, wanted %zu times %zu", seen->n, times, expected->n);
        }
    if (at != seen->n)
        fail_msg("one too many:\n%s", seen->items[at]);
}

size_t
gate_lines_unique(struct gate_lines *lines)
{
    size_t kept = 0;
    size_t n = lines->n;
    for (size_t i = 0; i < n; kept++) {
        size_t same = count_same(lines, i);
        lines->items[kept] = lines->items[i];
        i += same;
    }
    lines->n = kept;
    return n - kept;
}
