/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make chaos: heddle-audit workers on a real Kafka, killed at random while the broker,
 * and the schema registry that one of them uses, are killed and restarted; at the end
 * what a read_committed reader sees of each event beside what the audit's own function
 * gives for it.
 *
 *   chaos SECONDS KILLS_A_MINUTE OUTPUT.json
 *
 * TEST_SEED repeats a run's choices. Exit 0 when nothing was lost, doubled, changed or
 * dead-lettered and every kind of fault happened; 1 otherwise.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "chance.h"
#include "cleanup.h"
#include "derive.h"
#include "digest.h"
#include "kafka.h"
#include "kafka_admin.h"
#include "process.h"
#include "real_kafka.h"
#include "real_registry.h"
#include "registry.h"
#include "serde.h"
#include "temp_dir.h"
#include "topics.h"

enum {
    WORKERS = 4,
    EVENTS = 200000, /* spread over the run */
    PARTITIONS = 8,
    TICK_MS = 20,
    FIRST_KILL_MS = 2000,
    TERM_SHARE = 5,        /* one in so many is asked, not killed */
    OUTAGE_MIN_MS = 20000, /* between two deaths of a server */
    OUTAGE_MAX_MS = 40000,
    AWAY_MS = 5000, /* at most, before it is started again */
    REGISTRY_WORKER = 1,
    DRAIN_MS = 600000,
    CALL_MS = 60000,
    TEXT_BYTES = 2048,
    MAX_STATUS = 256,
};

struct worker_slot {
    struct process process;
    bool running;
    bool asked; /* to stop */
};

/* A server that is killed and started again, while everything else goes on. */
struct outage {
    const struct local_server *server;
    struct process start;
    enum { SERVER_UP, SERVER_AWAY, SERVER_STARTS } phase;
    long long next_ms; /* of the next phase */
    int n;             /* it came back from */
};

struct chaos {
    int seconds;
    int kills_a_minute;
    const char *output;
    struct real_kafka kafka;
    struct real_registry registry;
    struct outage broker_outage;
    struct outage registry_outage;
    struct registry *schemas;
    struct temp_dir home;
    struct serde *events;
    struct serde *rows;
    struct producer *producer;
    struct worker_slot slots[WORKERS];
    uint64_t *expected; /* digest of row and x, by number */
    uint8_t *seen;
    int sent;

    int kills;
    int restarts;
    int rebalances;
    int aborts;
    int statuses[MAX_STATUS];
    int lost;
    int doubled;
    int changed;
    int dead;
    int by_id; /* rows written with an id of the registry */
};

static int
pick(int from, int to)
{
    return from + (int)chance_next((uint64_t)(to - from));
}

_Noreturn static void
die(const char *what, const struct err *err)
{
    fprintf(stderr, "chaos: %s%s%s\n", what, err ? ": " : "", err ? err->msg : "");
    exit(1);
}

static struct kafka_settings
settings_of(const struct chaos *chaos)
{
    return (struct kafka_settings){.brokers = chaos->kafka.bootstrap,
                                   .client_id = "chaos"};
}

/* --- the events --------------------------------------------------------------------- */

/* Texts of one event; they live as long as it. */
struct texts {
    char key[64];
    char workspace[128];
    char result[TEXT_BYTES];
    char log[TEXT_BYTES];
    char e2e[TEXT_BYTES];
};

static void
write_texts(int number, struct texts *texts)
{
    snprintf(texts->key, sizeof texts->key, "Chaos/s-%06d/gemm", number);
    snprintf(texts->workspace, sizeof texts->workspace,
             "/data/Chaos/s-%06d/runs/gemm_tuning/gemm", number);
    snprintf(texts->result, sizeof texts->result,
             "{\"attempt_id\": \"a-%d\", \"run_id\": \"r-%d\", \"workspace\": \"%s\", "
             "\"backend\": \"hipblaslt\", \"engine\": \"vllm\", \"status\": \"ok\", "
             "\"best_speedup\": 1.%06d, \"started_at\": \"2026-08-18T10:00:00Z\", "
             "\"tuners_run\": [{\"tuner\": \"hipblaslt\", \"status\": \"ok\", "
             "\"best_micro_speedup\": 1.%06d, \"elapsed_s\": %d.5}]}",
             number, number, texts->workspace, number, number, number % 600);
    int at = snprintf(texts->log, sizeof texts->log, "tuning run %d\n", number);
    for (int i = 0; i < 12; i++)
        at += snprintf(texts->log + at, sizeof texts->log - (size_t)at,
                       "candidate %d of shape %dx%d: %d.%d us\n", i, 64 << (i % 6),
                       number % 4096, number % 97, i);
    snprintf(texts->e2e, sizeof texts->e2e,
             "{\"started_at\": \"2026-08-18T10:00:00Z\", \"decision\": \"keep\"}");
}

static struct payload
inline_payload(const char *text)
{
    return (struct payload){.kind = PAYLOAD_INLINE, .bytes = slice_of(text)};
}

static uint64_t
digest_row(struct slice row, struct slice x)
{
    char hex[DIGEST_HEX];
    char start[17] = "";
    CLEANUP(buf_done) struct buf both = BUF_INIT;
    buf_add_slice(&both, row);
    buf_add_byte(&both, '\n');
    buf_add_slice(&both, x);
    digest_hex(buf_slice(&both), hex);
    memcpy(start, hex, 16);
    return strtoull(start, NULL, 16);
}

/* What the audit's own function gives for the event. */
static uint64_t
expect(const struct tuning_event *event, const char *key)
{
    const struct provenance provenance = {
        .worker = SLICE("audit"), .version = SLICE("v"), .config_sha256 = SLICE("c")};
    const struct message in = {.topic = TOPIC_TUNINGS, .key = slice_of(key)};
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct emits out = {.arena = &arena};
    struct err err = {0};
    if (audit_derive(event, &in, &provenance, &out, &err))
        die("an event gives no row", &err);
    for (size_t i = 0; i < out.n; i++) {
        const struct audit_row *row = out.items[i].value;
        if (out.items[i].type == &audit_row_type)
            return digest_row(row->row, row->x);
    }
    die("an event gives no row", NULL);
}

static void
send_one(struct chaos *chaos)
{
    struct texts texts;
    struct err err = {0};
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    write_texts(chaos->sent, &texts);
    struct log_part log = {SLICE("hipblaslt"), inline_payload(texts.log), 1000000};
    struct tuning_event event = {
        .origin = {SLICE("chaos"), SLICE("node"), SLICE("session"), 2000000,
                   SLICE("chaos")},
        .workspace = slice_of(texts.workspace),
        .result = inline_payload(texts.result),
        .logs = {&log, 1},
        .has_e2e = true,
        .e2e = {inline_payload(texts.e2e), 3000000},
    };
    chaos->expected[chaos->sent] = expect(&event, texts.key);
    if (serde_encode(chaos->events, &event, &value, &err))
        die("an event can't be encoded", &err);
    const struct outgoing record = {.topic = TOPIC_TUNINGS,
                                    .key = slice_of(texts.key),
                                    .value = buf_slice(&value),
                                    .timestamp_ms = 2000};
    if (producer_send(chaos->producer, &record, CALL_MS, &err))
        die("an event can't be sent", &err);
    chaos->sent++;
}

/* As many as the time that has gone by wants. */
static void
send_due(struct chaos *chaos, long long since_ms)
{
    long long due = (process_now_ms() - since_ms) * EVENTS / (chaos->seconds * 1000LL);
    while (chaos->sent < due && chaos->sent < EVENTS)
        send_one(chaos);
    producer_poll(chaos->producer, 0);
}

/* --- the fleet ---------------------------------------------------------------------- */

static int
count(const char *text, const char *needle)
{
    int n = 0;
    for (const char *at = text; at && (at = strstr(at, needle)); at++)
        n++;
    return n;
}

static void
start_worker(struct chaos *chaos, int i)
{
    struct worker_slot *slot = &chaos->slots[i];
    char instance[8];
    char home[512];
    snprintf(instance, sizeof instance, "w%d", i);
    snprintf(home, sizeof home, "XDG_STATE_HOME=%s", chaos->home.path);
    /* The first comes back as a new member each time, the others as the same. */
    const char *argv[32] = {BIN_DIR "/heddle-audit",
                            "--brokers",
                            chaos->kafka.bootstrap,
                            "--delivery",
                            "exactly-once",
                            "--instance",
                            instance,
                            "--batch-time",
                            "200ms",
                            "--batch-records",
                            "2000",
                            "-X",
                            "session.timeout.ms=6000",
                            "-X",
                            "heartbeat.interval.ms=1000"};
    size_t n = 15;
    if (i > 0)
        argv[n++] = "--static";
    if (i == REGISTRY_WORKER) {
        argv[n++] = "--schema-registry";
        argv[n++] = chaos->registry.url;
        argv[n++] = "--schema-register";
    }
    const char *environment[] = {home, NULL};
    *slot = (struct worker_slot){.running = true};
    if (!process_start(&slot->process, argv, environment))
        die("a worker can't be started", NULL);
}

/* Takes what the worker said in its life into the figures. */
static void
bury_worker(struct chaos *chaos, int i, int status)
{
    struct worker_slot *slot = &chaos->slots[i];
    const char *text = slot->process.text;
    chaos->rebalances +=
        count(text, "partition assigned") + count(text, "partitions released");
    chaos->aborts += count(text, "batch given up");
    if (status >= 0 && status < MAX_STATUS)
        chaos->statuses[status]++;
    if (status != 0 && status != 128 + SIGKILL && status != 80)
        fprintf(stderr, "--- worker %d left with status %d:\n%s\n", i, status, text);
    process_close(&slot->process);
    slot->running = false;
}

/* Starts again who has ended by itself. */
static void
look_after(struct chaos *chaos)
{
    for (int i = 0; i < WORKERS; i++) {
        int status = process_wait(&chaos->slots[i].process, TICK_MS / WORKERS);
        if (status < 0)
            continue;
        bury_worker(chaos, i, status);
        start_worker(chaos, i);
        chaos->restarts++;
    }
}

static void
kill_one(struct chaos *chaos)
{
    int i = pick(0, WORKERS);
    struct worker_slot *slot = &chaos->slots[i];
    if (pick(0, TERM_SHARE) == 0 && !slot->asked) {
        process_signal(&slot->process, SIGTERM);
        slot->asked = true;
        return;
    }
    process_signal(&slot->process, SIGKILL);
    bury_worker(chaos, i, process_wait(&slot->process, CALL_MS));
    start_worker(chaos, i);
    chaos->kills++;
    chaos->restarts++;
}

/* --- servers that go and come back -------------------------------------------------- */

static void
plan_outage(struct outage *outage)
{
    outage->phase = SERVER_UP;
    outage->next_ms = process_now_ms() + pick(OUTAGE_MIN_MS, OUTAGE_MAX_MS);
}

static void
bring_back(struct outage *outage)
{
    if (!local_server_begin(outage->server, "start", &outage->start))
        die("a server can't be started again", NULL);
    outage->phase = SERVER_STARTS;
    outage->next_ms = process_now_ms() + LOCAL_SERVER_START_MS;
}

static void
kill_server(struct outage *outage)
{
    if (!local_server_call(outage->server, "kill", NULL, LOCAL_SERVER_CALL_MS, NULL, 0))
        die("a server can't be killed", NULL);
    outage->phase = SERVER_AWAY;
    outage->next_ms = process_now_ms() + pick(0, AWAY_MS);
}

static void
await_start(struct outage *outage)
{
    int status = process_wait(&outage->start, 1);
    if (status < 0 && process_now_ms() < outage->next_ms)
        return;
    if (status != 0) {
        fputs(outage->start.text, stderr);
        die("a server does not come back", NULL);
    }
    process_close(&outage->start);
    outage->n++;
    plan_outage(outage);
}

/* One step further, when it is due. */
static void
advance(struct outage *outage)
{
    bool due = process_now_ms() >= outage->next_ms;
    if (outage->phase == SERVER_STARTS)
        await_start(outage);
    else if (due && outage->phase == SERVER_AWAY)
        bring_back(outage);
    else if (due)
        kill_server(outage);
}

/* --- the run ------------------------------------------------------------------------ */

static void
make_topic(struct kafka_admin *admin, const char *topic, int partitions, bool compact)
{
    const struct topic_setting settings[] = {
        {"retention.ms", "-1"},
        {"max.message.bytes", "4194304"},
        {"cleanup.policy", compact ? "compact" : "delete"},
    };
    struct err err = {0};
    if (kafka_admin_create(admin, topic, partitions, settings, 3, &err))
        die(topic, &err);
}

/* The output is not compacted here: a key that came twice must be seen twice. */
static void
make_topics(struct chaos *chaos)
{
    struct kafka_settings settings = settings_of(chaos);
    struct err err = {0};
    struct kafka_admin *admin = kafka_admin_new(&settings, CALL_MS, &err);
    if (!admin)
        die("topics", &err);
    make_topic(admin, TOPIC_TUNINGS, PARTITIONS, false);
    make_topic(admin, TOPIC_AUDIT_TUNINGS, PARTITIONS, false);
    make_topic(admin, TOPIC_STATE_AUDIT, PARTITIONS, true);
    make_topic(admin, TOPIC_WARNINGS, 4, false);
    make_topic(admin, TOPIC_DEAD, 1, false);
    kafka_admin_free(admin);
}

static void
set_up(struct chaos *chaos)
{
    struct err err = {0};
    chaos->expected = calloc(EVENTS, sizeof *chaos->expected);
    chaos->seen = calloc(EVENTS, 1);
    chaos->events = serde_new(&tuning_event_type, NULL, &err);
    if (!chaos->expected || !chaos->seen || !chaos->events ||
        !temp_dir_make(&chaos->home))
        die("no memory or no folder", NULL);
    if (!real_kafka_start(&chaos->kafka, false))
        die("no Kafka", NULL);
    if (!real_registry_start(&chaos->registry))
        die("no registry", NULL);
    chaos->broker_outage.server = &chaos->kafka.server;
    chaos->registry_outage.server = &chaos->registry.server;
    make_topics(chaos);
    struct kafka_settings settings = settings_of(chaos);
    chaos->producer = producer_new(&settings, NULL, NULL, &err);
    if (!chaos->producer)
        die("no producer", &err);
    for (int i = 0; i < WORKERS; i++)
        start_worker(chaos, i);
}

/* Counted are those with -9: some are asked first. */
static int
kill_pause_ms(struct chaos *chaos)
{
    int mean_ms = 60000 * (TERM_SHARE - 1) / TERM_SHARE / chaos->kills_a_minute;
    return pick(0, 2 * mean_ms + 1);
}

static void
rage(struct chaos *chaos)
{
    long long since = process_now_ms();
    long long until = since + chaos->seconds * 1000LL;
    long long kill_at = since + FIRST_KILL_MS;
    plan_outage(&chaos->broker_outage);
    plan_outage(&chaos->registry_outage);
    for (long long now = since; now < until; now = process_now_ms()) {
        send_due(chaos, since);
        look_after(chaos);
        if (now >= kill_at) {
            kill_one(chaos);
            kill_at += kill_pause_ms(chaos);
        }
        advance(&chaos->broker_outage);
        advance(&chaos->registry_outage);
    }
    send_due(chaos, since); /* the rest */
}

/* Brings back what is away. */
static void
calm(struct chaos *chaos, struct outage *outage)
{
    while (outage->phase != SERVER_UP) {
        advance(outage);
        look_after(chaos);
    }
}

static int64_t
lag(struct chaos *chaos)
{
    struct kafka_settings settings = settings_of(chaos);
    struct group_lag *lags = NULL;
    size_t n = 0;
    struct err err = {0};
    if (kafka_group_lag(&settings, "heddle-audit", TOPIC_TUNINGS, CALL_MS, &lags, &n,
                        &err))
        return -1;
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += lags[i].lag;
    free(lags);
    return sum;
}

static void
drain(struct chaos *chaos)
{
    struct err err = {0};
    calm(chaos, &chaos->broker_outage);
    calm(chaos, &chaos->registry_outage);
    long long until = process_now_ms() + DRAIN_MS;
    if (producer_flush(chaos->producer, CALL_MS, &err))
        die("the events are not all acknowledged", &err);
    while (lag(chaos) != 0 && process_now_ms() < until)
        look_after(chaos);
    for (int i = 0; i < WORKERS && process_now_ms() >= until; i++)
        fprintf(stderr, "--- not drained; worker %d:\n%s\n", i,
                chaos->slots[i].process.text);
    for (int i = 0; i < WORKERS; i++)
        process_signal(&chaos->slots[i].process, SIGTERM);
    for (int i = 0; i < WORKERS; i++)
        bury_worker(chaos, i, process_wait(&chaos->slots[i].process, CALL_MS));
}

/* --- what came out ------------------------------------------------------------------ */

static void
note_row(struct chaos *chaos, const struct message *in)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct audit_row row;
    struct err err = {0};
    char key[128];
    int number = -1;
    if (!in->value.data)
        return; /* the tombstone of an orphan record */
    snprintf(key, sizeof key, "%.*s", SLICE_ARG(in->key));
    /* The row's key is the attempt's id. */
    if (sscanf(key, "a-%d", &number) != 1 || number < 0 || number >= chaos->sent ||
        serde_decode(chaos->rows, in->value, &arena, &row, &err)) {
        if (chaos->changed++ == 0)
            fprintf(stderr, "a row that no event stands for, key %s: %s\n", key, err.msg);
        return;
    }
    chaos->by_id += in->value.data[0] == 0;
    chaos->doubled += chaos->seen[number];
    chaos->seen[number] = 1;
    if (digest_row(row.row, row.x) == chaos->expected[number])
        return;
    if (chaos->changed++ == 0)
        fprintf(stderr, "another row than expected, key %s: %.*s %.*s\n", key,
                SLICE_ARG(row.row), SLICE_ARG(row.x));
}

static void
note_dead(struct chaos *chaos, const struct message *in)
{
    (void)in;
    chaos->dead++;
}

static void
read_topic(struct chaos *chaos,
           const char *topic,
           void (*note)(struct chaos *chaos, const struct message *in))
{
    struct kafka_settings settings = settings_of(chaos);
    struct err err = {0};
    bool done = false;
    struct topic_reader *reader =
        topic_reader_new(&settings, topic, TOPIC_FROM_START, CALL_MS, &err);
    if (!reader)
        die(topic, &err);
    while (!done) {
        const struct message *in = topic_reader_next(reader, 200, &done, &err);
        if (err.kind)
            die(topic, &err);
        if (in)
            note(chaos, in);
    }
    topic_reader_free(reader);
}

/* Rows with an id of the registry, and rows without. */
static void
open_rows(struct chaos *chaos)
{
    struct err err = {0};
    const struct registry_settings settings = {.url = chaos->registry.url,
                                               .http.timeout_ms = CALL_MS};
    chaos->schemas = registry_new(&settings, &err);
    if (!chaos->schemas)
        die("no client of the registry", &err);
    struct schema_source source = registry_source(chaos->schemas);
    chaos->rows = serde_new(&audit_row_type, &source, &err);
    if (!chaos->rows)
        die("no reader of rows", &err);
}

static void
check(struct chaos *chaos)
{
    open_rows(chaos);
    read_topic(chaos, TOPIC_AUDIT_TUNINGS, note_row);
    read_topic(chaos, TOPIC_DEAD, note_dead);
    for (int i = 0; i < chaos->sent; i++)
        chaos->lost += !chaos->seen[i];
}

static bool
held(const struct chaos *chaos)
{
    bool clean = !chaos->lost && !chaos->doubled && !chaos->changed && !chaos->dead;
    bool faults = chaos->kills > 0 && chaos->restarts > 0 && chaos->rebalances > 0 &&
                  chaos->broker_outage.n > 0 && chaos->registry_outage.n > 0;
    return chaos->sent == EVENTS && chaos->by_id > 0 && clean && faults;
}

/* Redis is no part of the audit: its figure is 0. */
static void
report(const struct chaos *chaos)
{
    printf("%d s, %d workers, %d events: %d kills, %d restarts, %d rebalances, %d broker "
           "bounces, %d registry outages, %d aborts, %d rows with an id\n",
           chaos->seconds, WORKERS, chaos->sent, chaos->kills, chaos->restarts,
           chaos->rebalances, chaos->broker_outage.n, chaos->registry_outage.n,
           chaos->aborts, chaos->by_id);
    for (int i = 0; i < MAX_STATUS; i++)
        if (chaos->statuses[i])
            printf("  left with status %d: %d\n", i, chaos->statuses[i]);
    printf("%s: %d lost, %d doubled, %d changed, %d dead\n",
           held(chaos) ? "held" : "FAILED", chaos->lost, chaos->doubled, chaos->changed,
           chaos->dead);
    FILE *out = fopen(chaos->output, "w");
    if (!out)
        die(chaos->output, NULL);
    fprintf(out,
            "{\"seconds\": %d, \"workers\": %d, \"events\": %d, \"kills\": %d, "
            "\"restarts\": %d, \"rebalances\": %d, \"broker_bounces\": %d, "
            "\"redis_outages\": 0, \"registry_outages\": %d, \"aborts\": %d, "
            "\"lost\": %d, \"doubled\": %d, \"changed\": %d, \"dead\": %d}\n",
            chaos->seconds, WORKERS, chaos->sent, chaos->kills, chaos->restarts,
            chaos->rebalances, chaos->broker_outage.n, chaos->registry_outage.n,
            chaos->aborts, chaos->lost, chaos->doubled, chaos->changed, chaos->dead);
    if (fclose(out))
        die(chaos->output, NULL);
}

int
main(int argc, char **argv)
{
    struct chaos chaos = {.kafka.server.guard = -1, .registry.server.guard = -1};
    int status = 0;
    if (argc == 4) {
        chaos.seconds = atoi(argv[1]);
        chaos.kills_a_minute = atoi(argv[2]);
    }
    if (chaos.seconds <= 0 || chaos.kills_a_minute <= 0) {
        fprintf(stderr, "usage: chaos SECONDS KILLS_A_MINUTE OUTPUT.json\n");
        return 64;
    }
    if (!real_kafka_here("chaos", &status) || !real_registry_here("chaos", &status))
        return status;
    chaos.output = argv[3];
    chance_start();
    set_up(&chaos);
    rage(&chaos);
    drain(&chaos);
    check(&chaos);
    report(&chaos);
    producer_free(chaos.producer);
    serde_free(chaos.events);
    serde_free(chaos.rows);
    registry_free(chaos.schemas);
    real_registry_stop(&chaos.registry);
    real_kafka_stop(&chaos.kafka);
    temp_dir_done(&chaos.home);
    return held(&chaos) ? 0 : 1;
}
