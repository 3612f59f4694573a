/* SPDX-License-Identifier: Apache-2.0 */
/* heddle tap: a topic's records as they come, decoded, as JSON lines. */
#include "verb.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "cleanup.h"
#include "deadletter.h"
#include "fleet_registry.h"
#include "kafka.h"
#include "serde.h"
#include "tap_line.h"
#include "topics.h"
#include "warning.h"

enum {
    OPEN_TIMEOUT_MS = 10000,
    POLL_MS = 250,
    LINE_BYTES = 256 << 20, /* a value of 17 MiB, escaped six to one, and room */
    FILTERS_MAX = 16,
    PATTERN_BYTES = 1024,
};

enum from { FROM_START, FROM_END };

static struct tap_settings {
    int64_t from; /* enum from */
    int64_t limit;
    bool until_end;
    bool strict;
    struct option_list filters;
} settings;

static const struct option tap_options[] = {
    {.name = "from",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct tap_settings, from),
     .value = "end",
     .choices = "start|end",
     .arg = "PLACE",
     .traits = OPTION_CLI_ONLY,
     .help = "Begins at the start of the topic, or at its end with what comes now."},
    {.name = "limit",
     .type = OPTION_INT,
     .offset = offsetof(struct tap_settings, limit),
     .value = "0",
     .arg = "N",
     .traits = OPTION_CLI_ONLY,
     .help = "Leaves after N records were shown; 0: never."},
    {.name = "until_end",
     .type = OPTION_FLAG,
     .offset = offsetof(struct tap_settings, until_end),
     .traits = OPTION_CLI_ONLY,
     .help = "Leaves at the end that the topic had when the tap began."},
    {.name = "filter",
     .type = OPTION_LIST,
     .offset = offsetof(struct tap_settings, filters),
     .arg = "WHAT=PATTERN",
     .traits = OPTION_CLI_ONLY,
     .help = "Shows records whose key or code (of a warning, a dead letter, or why it "
             "can't be decoded) is like PATTERN (* ? []): key=Qwen3*, code=body_*."},
    {.name = "strict",
     .type = OPTION_FLAG,
     .offset = offsetof(struct tap_settings, strict),
     .traits = OPTION_CLI_ONLY,
     .help = "Leaves at the first record that can't be decoded."},
};

CLEANUP_DEFINE(struct registry, registry_free);
CLEANUP_DEFINE(struct serde, serde_free);
CLEANUP_DEFINE(struct topic_reader, topic_reader_free);

struct tap {
    struct serde *serde;            /* NULL: the topic's values are shown as they are */
    const struct record_type *type; /* of the serde */
    struct arena arena;
    struct buf json;
    struct buf line;
    int64_t n_shown;
    int64_t n_bad;
};

static void
tap_done(struct tap *tap)
{
    arena_done(&tap->arena);
    buf_done(&tap->json);
    buf_done(&tap->line);
}

static volatile sig_atomic_t told_to_stop;

static void
on_signal(int signal_number)
{
    (void)signal_number;
    told_to_stop = 1;
}

static void
catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* --- filters
 * ---------------------------------------------------------------------------- */

static bool
is_like(const char *pattern, struct slice text)
{
    char copy[PATTERN_BYTES];
    if (!text.data || text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return fnmatch(pattern, copy, 0) == 0;
}

/* What the record's code is: why it is bad, a warning's own, or a dead letter's header.
 */
static struct slice
code_of(const struct tap *tap,
        const struct message *in,
        const void *value,
        const struct err *bad)
{
    if (bad)
        return slice_of(bad->code);
    if (value && tap->type == &warning_type)
        return ((const struct warning *)value)->code;
    return header_last(in->headers, in->n_headers, DEAD_CODE);
}

/* Patterns of one name are alternatives; what is named must fit. */
static bool
fits(const char *name, struct slice text)
{
    bool named = false;
    size_t len = strlen(name);
    for (size_t i = 0; i < settings.filters.n; i++) {
        const char *filter = settings.filters.items[i];
        if (strncmp(filter, name, len) != 0)
            continue;
        named = true;
        if (is_like(filter + len, text))
            return true;
    }
    return !named;
}

static enum err_kind
check_filters(struct err *err)
{
    if (settings.filters.n > FILTERS_MAX)
        return err_fatal(err, EXIT_USAGE, "bad_value", "--filter: %d at most",
                         FILTERS_MAX);
    for (size_t i = 0; i < settings.filters.n; i++)
        if (strncmp(settings.filters.items[i], "key=", 4) != 0 &&
            strncmp(settings.filters.items[i], "code=", 5) != 0)
            return err_fatal(err, EXIT_USAGE, "bad_value",
                             "--filter %.100s: key=PATTERN or code=PATTERN is wanted",
                             settings.filters.items[i]);
    return ERR_OK;
}

/* --- one record
 * ----------------------------------------------------------------------------- */

/* Fills tap->json when the value has a schema and is there; otherwise `*ret_value` is
 * NULL. It lies in the arena. */
static enum err_kind
decode(struct tap *tap, const struct message *in, void **ret_value, struct err *err)
{
    *ret_value = NULL;
    buf_reset(&tap->json);
    arena_reset(&tap->arena);
    if (!tap->serde || !in->value.data)
        return ERR_OK;
    void *value = arena_alloc(&tap->arena, tap->type->size);
    if (!value)
        return err_no_memory(err, "a record");
    if (serde_decode(tap->serde, in->value, &tap->arena, value, err))
        return err->kind;
    *ret_value = value;
    return codec_to_json(serde_codec(tap->serde), value, &tap->json, err);
}

static enum err_kind
show(struct tap *tap, const struct message *in, struct err *err)
{
    void *value;
    struct err bad = {0};
    enum err_kind kind = decode(tap, in, &value, &bad);
    if (kind == ERR_FATAL || kind == ERR_RETRY) {
        *err = bad;
        return kind;
    }
    if (!fits("key=", in->key) ||
        !fits("code=", code_of(tap, in, value, kind ? &bad : NULL)))
        return ERR_OK;
    struct slice json = {0};
    if (!kind && tap->json.len)
        json = buf_slice(&tap->json);
    buf_reset(&tap->line);
    tap_line(in, json, kind ? &bad : NULL, &tap->line);
    tap->n_shown++;
    tap->n_bad += kind != ERR_OK;
    return program_print(&tap->line, err);
}

/* --- the verb
 * ---------------------------------------------------------------------------------- */

static bool
is_over(const struct tap *tap)
{
    return told_to_stop || (settings.limit && tap->n_shown >= settings.limit) ||
           (settings.strict && tap->n_bad);
}

static enum err_kind
follow(struct tap *tap, struct topic_reader *reader, struct err *err)
{
    while (!is_over(tap)) {
        bool done = false;
        const struct message *in = topic_reader_next(reader, POLL_MS, &done, err);
        if (err->kind || (in && show(tap, in, err)))
            return err->kind;
        if (!in && done && settings.until_end)
            return ERR_OK;
    }
    return ERR_OK;
}

static const char *
topic_name(const struct program_call *call, struct err *err)
{
    const char *name = call->n_rest ? call->rest[0] : TOPIC_AUDIT_TUNINGS;
    if (verb_refuse_rest(call, 1, err) || topic_find(name))
        return err->kind ? NULL : name;
    size_t n = 0;
    const struct topic *all = topics_all(&n);
    const char *names[TOPICS_MAX];
    for (size_t i = 0; i < n; i++)
        names[i] = all[i].name;
    const char *nearest = options_nearest(name, names, n);
    if (nearest && strncmp(name, "heddle.", 7) == 0)
        fprintf(stderr, "heddle tap: %s is none of Heddle's topics; did you mean %s?\n",
                name, nearest);
    return name;
}

static int
run(const struct program_call *call, struct err *err)
{
    struct kafka_settings kafka =
        fleet_kafka_settings(&call->fleet, call->options, "heddle-tap");
    const char *topic = topic_name(call, err);
    if (!topic || check_filters(err) || fleet_check_brokers(&kafka, err))
        return EXIT_INTERNAL;
    const struct catalog_entry *entry = catalog_of_topic(topic);
    const struct record_type *type = entry ? entry->type : NULL;
    CLEANUP(registry_freep)
    struct registry *registry = fleet_registry_open(&call->fleet, err);
    const struct schema_source source = registry_source(registry);
    CLEANUP(serde_freep)
    struct serde *serde =
        type && !err->kind ? serde_new(type, registry ? &source : NULL, err) : NULL;
    CLEANUP(tap_done) struct tap tap = {.serde = serde, .type = type};
    buf_init(&tap.json, LINE_BYTES);
    buf_init(&tap.line, LINE_BYTES);
    if (err->kind)
        return EXIT_INTERNAL;
    catch_signals();
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader = topic_reader_new(
        &kafka, topic, settings.from == FROM_START ? TOPIC_FROM_START : TOPIC_FROM_END,
        OPEN_TIMEOUT_MS, err);
    if (!reader)
        return EXIT_INTERNAL;
    if (settings.from == FROM_END && !settings.until_end)
        fprintf(stderr, "heddle tap: waiting for what comes on %s; Ctrl-C ends\n", topic);
    if (follow(&tap, reader, err))
        return EXIT_INTERNAL;
    return tap.n_bad ? EXIT_NEGATIVE : EXIT_OK;
}

const struct verb verb_tap = {
    .name = "tap",
    .usage = "[OPTION]... [TOPIC]",
    .summary = "Shows a topic's records, decoded, as JSON lines.",
    .details =
        "TOPIC is " TOPIC_AUDIT_TUNINGS " when none is given. Reads without a group and "
        "never\ncommits. A record that can't be decoded is shown with the reason, and "
        "the exit status\nis 1 in the end.",
    .options = tap_options,
    .n_options = sizeof tap_options / sizeof tap_options[0],
    .settings = &settings,
    .run = run,
};
