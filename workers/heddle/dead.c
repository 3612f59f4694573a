/* SPDX-License-Identifier: Apache-2.0 */
/* heddle dead: looks at dead letters, sends them back, or lays them aside. */
#include "verb.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "cleanup.h"
#include "clock.h"
#include "config.h"
#include "dead_journal.h"
#include "deadletter.h"
#include "fleet_registry.h"
#include "kafka.h"
#include "letters.h"
#include "letters_print.h"
#include "marks.h"
#include "requeue.h"
#include "serde.h"
#include "tap_line.h"
#include "time_point.h"
#include "topics.h"

enum {
    TIMEOUT_MS = 10000,
    POLL_MS = 250,
    PRINT_BYTES = 1 << 30, /* of a list, or of a value of 17 MiB, escaped */
};

enum word { WORD_LS, WORD_SHOW, WORD_STATS, WORD_REQUEUE, WORD_DROP };
static const char *const words[] = {"ls", "show", "stats", "requeue", "drop", NULL};

enum output { OUTPUT_TABLE, OUTPUT_JSON };

static struct dead_settings {
    struct option_list codes;
    struct option_list origin_topics;
    struct option_list workers;
    const char *since;
    const char *until;
    int64_t limit;
    int64_t output;       /* enum output */
    int64_t max_attempts; /* 0: the setting of the fleet */
    bool all;
    bool raw;
    bool execute;
} settings;

#define FLAG(name_, type_, member)                                                       \
    .name = (name_), .type = (type_), .offset = offsetof(struct dead_settings, member),  \
    .traits = OPTION_CLI_ONLY

static const struct option dead_options[] = {
    {FLAG("code", OPTION_LIST, codes), .arg = "PATTERN",
     .help = "Those whose code is like PATTERN (* ? []); repeatable."},
    {FLAG("origin_topic", OPTION_LIST, origin_topics), .arg = "PATTERN",
     .help = "Those that came from a topic like PATTERN; repeatable."},
    {FLAG("worker", OPTION_LIST, workers), .arg = "PATTERN",
     .help = "Those of a worker like PATTERN; repeatable."},
    {FLAG("since", OPTION_TEXT, since), .arg = "TIME",
     .help = "Those that first failed at TIME or later: 2026-08-18T06:30Z, -2h, or "
             "seconds or milliseconds since 1970."},
    {FLAG("until", OPTION_TEXT, until), .arg = "TIME",
     .help = "Those that first failed at TIME or earlier."},
    {FLAG("limit", OPTION_INT, limit), .value = "0", .arg = "N",
     .help = "The first N by partition and offset; 0: all."},
    {FLAG("output", OPTION_CHOICE, output), .letter = 'o', .value = "table",
     .choices = "table|json", .arg = "FORM",
     .help = "A table for people, or one JSON object a line."},
    {FLAG("max_attempts", OPTION_INT, max_attempts), .value = "0", .max = 1000000,
     .arg = "N",
     .help = "Attempts until a letter is in quarantine; 0: [dead] max_attempts."},
    {FLAG("all", OPTION_FLAG, all),
     .help = "Shows those that were requeued or dropped too; requeue takes up what was "
             "dropped."},
    {FLAG("raw", OPTION_FLAG, raw),
     .help = "With show: the bytes of the value and nothing else."},
    {FLAG("execute", OPTION_FLAG, execute),
     .help = "With requeue and drop: does what would only be printed."},
};

CLEANUP_DEFINE(struct registry, registry_free);
CLEANUP_DEFINE(struct serde, serde_free);
CLEANUP_DEFINE(struct topic_reader, topic_reader_free);

struct dead {
    const struct program_call *call;
    enum word word;
    struct kafka_settings kafka;
    struct cluster_info cluster;
    char *folder;
    struct dead_journal *journal; /* while acting */
    struct marks marks;
    struct letter_filter filter;
    struct letters letters;
    struct buf out;
};

static void
dead_done(struct dead *dead)
{
    letters_done(&dead->letters);
    marks_done(&dead->marks);
    dead_journal_close(dead->journal);
    cluster_info_done(&dead->cluster);
    free(dead->filter.addresses);
    free(dead->folder);
    buf_done(&dead->out);
}

static volatile sig_atomic_t told_to_stop;

static void
on_signal(int signal_number)
{
    (void)signal_number;
    told_to_stop = 1;
}

/* The first asks for the end of the batch, the second ends the process. */
static void
catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* --- what is asked for -------------------------------------------------------------- */

static enum err_kind
read_addresses(struct dead *dead, struct err *err)
{
    size_t n = (size_t)(dead->call->n_rest - 1);
    if (n == 0)
        return ERR_OK;
    dead->filter.addresses = calloc(n, sizeof *dead->filter.addresses);
    if (!dead->filter.addresses)
        return err_no_memory(err, "the places of dead letters");
    for (size_t i = 0; i < n; i++)
        if (letter_address_read(dead->call->rest[i + 1], &dead->filter.addresses[i], err))
            return err->kind;
    dead->filter.n_addresses = letter_addresses_sort(dead->filter.addresses, n);
    return ERR_OK;
}

static enum err_kind
read_filter(struct dead *dead, struct err *err)
{
    int64_t now_ms = clock_now_ms();
    dead->filter.codes = settings.codes;
    dead->filter.origin_topics = settings.origin_topics;
    dead->filter.workers = settings.workers;
    dead->filter.since_ms = INT64_MIN;
    dead->filter.until_ms = INT64_MAX;
    if (settings.since &&
        time_point_read("--since", settings.since, now_ms, &dead->filter.since_ms, err))
        return err->kind;
    if (settings.until &&
        time_point_read("--until", settings.until, now_ms, &dead->filter.until_ms, err))
        return err->kind;
    return read_addresses(dead, err);
}

static bool
acts(const struct dead *dead)
{
    return dead->word == WORD_REQUEUE || dead->word == WORD_DROP;
}

static enum err_kind
check_words(const struct dead *dead, struct err *err)
{
    if (settings.execute && !acts(dead))
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "--execute goes with requeue and drop, not with %s",
                         words[dead->word]);
    if (settings.raw && dead->word != WORD_SHOW)
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "--raw goes with show, not with %s", words[dead->word]);
    if (settings.raw && settings.output == OUTPUT_JSON)
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "--raw is no JSON; leave one of them out");
    if (dead->word == WORD_SHOW && dead->call->n_rest != 2)
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "show wants one place, PARTITION:OFFSET as `heddle dead ls` "
                         "shows it");
    return ERR_OK;
}

/* --- reading ------------------------------------------------------------------------ */

/* The marks: held while acting, so that no other command acts on the same letters. */
static enum err_kind
read_marks(struct dead *dead, struct err *err)
{
    bool holds = settings.execute;
    const char *id = dead->cluster.cluster_id ? dead->cluster.cluster_id : "";
    dead->folder = config_state_dir(dead->call->fleet.state_dir, "dead", holds, err);
    if (!dead->folder)
        return err->kind;
    if (!holds)
        return dead_journal_read(dead->folder, id, &dead->marks, err);
    dead->journal = dead_journal_open(dead->folder, id, &dead->marks, err);
    return dead->journal ? ERR_OK : err->kind;
}

static enum err_kind
open_dead(struct dead *dead, struct err *err)
{
    if (check_words(dead, err) || read_filter(dead, err) ||
        fleet_check_brokers(&dead->kafka, err) ||
        cluster_info_get(&dead->kafka, TIMEOUT_MS, &dead->cluster, err) ||
        read_marks(dead, err))
        return err->kind;
    return acts(dead) ? requeue_settle(&dead->kafka, &dead->marks, dead->journal, err)
                      : ERR_OK;
}

/* What is done with each record; `*ret_more` false ends the reading. */
typedef enum err_kind
visit_fn(struct dead *dead, const struct message *in, bool *ret_more, struct err *err);

static enum err_kind
collect(struct dead *dead, const struct message *in, bool *ret_more, struct err *err)
{
    *ret_more = true; /* there may be another that fits */
    int64_t max_attempts = settings.max_attempts ? settings.max_attempts
                                                 : dead->call->fleet.dead_max_attempts;
    return letters_add(&dead->letters, in, &dead->filter, &dead->marks, max_attempts,
                       err);
}

static enum err_kind
read_all(struct dead *dead, visit_fn *visit, struct err *err)
{
    bool more = true;
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader =
        topic_reader_new(&dead->kafka, TOPIC_DEAD, TOPIC_FROM_START, TIMEOUT_MS, err);
    if (!reader)
        return err->kind;
    while (more) {
        bool done = false;
        const struct message *in = topic_reader_next(reader, POLL_MS, &done, err);
        if (err->kind || (in && visit(dead, in, &more, err)))
            return err->kind;
        if (!in && done)
            break;
    }
    letters_sort(&dead->letters);
    return ERR_OK;
}

/* Names each place that was asked for and holds no dead letter; whether all do. */
static bool
all_found(const struct dead *dead)
{
    bool found = true;
    for (size_t i = 0; i < dead->filter.n_addresses; i++) {
        const struct letter_address *address = &dead->filter.addresses[i];
        if (!address->found)
            fprintf(stderr,
                    "heddle dead: %" PRId32 ":%" PRId64 " is not in " TOPIC_DEAD
                    "; `heddle dead ls --all` shows what is\n",
                    address->partition, address->offset);
        found &= address->found;
    }
    return found;
}

/* --- ls, stats ---------------------------------------------------------------------- */

static int
list(struct dead *dead, struct err *err)
{
    struct letters_list how = {
        .json = settings.output == OUTPUT_JSON,
        .settled = settings.all || dead->filter.n_addresses > 0,
        .limit = settings.limit,
    };
    if (read_all(dead, collect, err))
        return EXIT_INTERNAL;
    letters_list(&dead->letters, &how, &dead->out);
    return all_found(dead) ? EXIT_OK : EXIT_NEGATIVE;
}

static int
count(struct dead *dead, struct err *err)
{
    if (read_all(dead, collect, err) ||
        letters_stats(&dead->letters, settings.all, settings.output == OUTPUT_JSON,
                      &dead->out, err))
        return EXIT_INTERNAL;
    return all_found(dead) ? EXIT_OK : EXIT_NEGATIVE;
}

/* --- show --------------------------------------------------------------------------- */

/* The value as an event of the topic it came from; empty when it is none. */
static enum err_kind
decode(struct dead *dead,
       const struct message *in,
       const char *topic,
       struct buf *json,
       struct err *err)
{
    struct err bad = {0};
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    const struct catalog_entry *entry = catalog_of_topic(topic);
    if (!entry || !in->value.data)
        return ERR_OK;
    CLEANUP(registry_freep)
    struct registry *registry = fleet_registry_open(&dead->call->fleet, err);
    if (err->kind)
        return err->kind;
    const struct schema_source source = registry_source(registry);
    CLEANUP(serde_freep)
    struct serde *serde = serde_new(entry->type, registry ? &source : NULL, err);
    if (!serde)
        return err->kind;
    void *value = arena_calloc(&arena, 1, entry->type->size);
    if (!value)
        return err_no_memory(err, "a decoded value");
    enum err_kind kind = serde_decode(serde, in->value, &arena, value, &bad);
    if (kind > ERR_RECORD && strcmp(bad.code, "schema_unknown") != 0) {
        *err = bad;
        return err->kind;
    }
    if (kind || codec_to_json(serde_codec(serde), value, json, &bad))
        buf_reset(json); /* that it can't be decoded may be why it is here */
    return ERR_OK;
}

static enum err_kind
show(struct dead *dead, const struct message *in, bool *ret_more, struct err *err)
{
    struct letters *letters = &dead->letters;
    CLEANUP(buf_done) struct buf json;
    buf_init(&json, PRINT_BYTES);
    if (collect(dead, in, ret_more, err) || letters->n == 0)
        return err->kind;
    const struct letter *letter = &letters->items[0];
    *ret_more = false;
    if (settings.raw) {
        buf_add_slice(&dead->out, in->value);
        return ERR_OK;
    }
    if (decode(dead, in, letters_text(letters, letter->origin_topic).data, &json, err))
        return err->kind;
    struct slice value = json.len ? buf_slice(&json) : (struct slice){0};
    if (settings.output == OUTPUT_JSON)
        tap_line(in, value, NULL, &dead->out);
    else
        letter_show(letters, letter, in, value, &dead->out);
    return ERR_OK;
}

static int
show_one(struct dead *dead, struct err *err)
{
    if (read_all(dead, show, err))
        return EXIT_INTERNAL;
    return all_found(dead) ? EXIT_OK : EXIT_NEGATIVE;
}

/* --- requeue, drop ------------------------------------------------------------------ */

static bool
topic_exists(void *state, struct slice topic)
{
    const struct cluster_info *cluster = state;
    for (size_t i = 0; i < cluster->n_topics; i++)
        if (slice_is(topic, cluster->topics[i].name))
            return !cluster->topics[i].error;
    return false;
}

static enum err_kind
plan(struct dead *dead, struct err *err)
{
    struct letter_plan how = {
        .drop = dead->word == WORD_DROP,
        .again = settings.all,
        .by_place = dead->filter.n_addresses > 0,
        .limit = settings.limit,
    };
    if (read_all(dead, collect, err))
        return err->kind;
    letters_plan(&dead->letters, &how, topic_exists, &dead->cluster);
    return ERR_OK;
}

static enum err_kind
drop(struct dead *dead, struct err *err)
{
    CLEANUP(buf_done) struct buf lines;
    buf_init(&lines, PRINT_BYTES);
    for (size_t i = 0; i < dead->letters.n; i++) {
        struct letter *letter = &dead->letters.items[i];
        if (letter->action != LETTER_TAKE)
            continue;
        marks_line(&lines, MARK_DROPPED, letter->partition, letter->offset, letter->id);
        letter->state = LETTER_DROPPED;
    }
    return dead_journal_append(dead->journal, &lines, err);
}

static enum err_kind
execute(struct dead *dead, struct err *err)
{
    if (dead->word == WORD_DROP)
        return drop(dead, err);
    struct requeue requeue = {
        .kafka = &dead->kafka,
        .letters = &dead->letters,
        .journal = dead->journal,
        .stop = &told_to_stop,
    };
    catch_signals();
    return requeue_run(&requeue, err);
}

static void
say_result(const struct dead *dead, size_t n_taken, size_t n_left)
{
    bool dropping = dead->word == WORD_DROP;
    if (!settings.execute)
        fprintf(stderr, "heddle dead: %zu to %s, %zu left out%s\n", n_taken,
                dropping ? "drop" : "requeue", n_left,
                n_taken ? "; --execute does it" : "");
    else
        fprintf(stderr, "heddle dead: %zu %s, %zu left out\n", n_taken,
                dropping ? "dropped" : "requeued", n_left);
    if (dropping && settings.execute && n_taken)
        fprintf(stderr,
                "heddle dead: what was dropped is hidden and left alone (ls --all shows "
                "it, requeue --all takes it up again); its bytes stay in " TOPIC_DEAD
                " until the topic's retention removes them\n");
}

/* What happened is printed whatever ended it. */
static int
act(struct dead *dead, struct err *err)
{
    struct letters_list how = {
        .json = settings.output == OUTPUT_JSON,
        .actions = true,
        .done = settings.execute,
        .drop = dead->word == WORD_DROP,
    };
    if (plan(dead, err) ||
        (settings.execute && execute(dead, err) && dead->word == WORD_DROP))
        return EXIT_INTERNAL;
    size_t n_taken = letters_count(&dead->letters, LETTER_TAKE);
    size_t n_left = letters_count(&dead->letters, LETTER_LEAVE);
    letters_list(&dead->letters, &how, &dead->out);
    say_result(dead, n_taken, n_left);
    if (!all_found(dead) || n_left)
        return EXIT_NEGATIVE;
    return n_taken && !settings.execute ? EXIT_CHANGES : EXIT_OK;
}

/* --- the verb ----------------------------------------------------------------------- */

static int
run(const struct program_call *call, struct err *err)
{
    static int (*const actions[])(struct dead * dead, struct err * err) = {
        [WORD_LS] = list,     [WORD_SHOW] = show_one, [WORD_STATS] = count,
        [WORD_REQUEUE] = act, [WORD_DROP] = act,
    };
    size_t word = 0;
    CLEANUP(dead_done)
    struct dead dead = {
        .call = call,
        .kafka = fleet_kafka_settings(&call->fleet, call->options, "heddle-dead"),
    };
    buf_init(&dead.out, PRINT_BYTES);
    if (verb_choose("action of heddle dead", call->n_rest ? call->rest[0] : NULL, words,
                    &word, err))
        return EXIT_INTERNAL;
    dead.word = (enum word)word;
    if (open_dead(&dead, err))
        return EXIT_INTERNAL;
    int status = actions[word](&dead, err);
    struct err unwritten = {0};
    if (program_print(&dead.out, &unwritten) && err->kind == ERR_OK)
        *err = unwritten;
    return status;
}

const struct verb verb_dead = {
    .name = "dead",
    .usage = "ls|show|stats|requeue|drop [OPTION]... [PARTITION:OFFSET]...",
    .summary = "Looks at dead letters, sends them back, or lays them aside.",
    .details =
        "ls: one line a dead letter. stats: counts by code and origin topic.\n"
        "show PARTITION:OFFSET: one with headers, key and value.\n"
        "requeue: which would go back to their topic and which would not, and why; with\n"
        "--execute they go, once each even when the command dies and is run again.\n"
        "drop: so too, but they are laid aside; the topic keeps its bytes.\n"
        "What was done is remembered in the state folder of this host. Exit status 2 "
        "when\n"
        "a plan has something to do, 1 when something is left out.",
    .options = dead_options,
    .n_options = sizeof dead_options / sizeof dead_options[0],
    .settings = &settings,
    .run = run,
};
