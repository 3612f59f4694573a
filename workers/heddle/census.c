/* SPDX-License-Identifier: Apache-2.0 */
/* heddle census: what the audit topic says happened, counted. */
#include "verb.h"

#include <stdio.h>
#include <unistd.h>

#include "census_fold.h"
#include "census_print.h"
#include "cleanup.h"
#include "clock.h"
#include "example.h"
#include "fleet_registry.h"
#include "kafka.h"
#include "serde.h"
#include "topics.h"

enum {
    OPEN_TIMEOUT_MS = 10000,
    POLL_MS = 500,
    STALL_LIMIT_MS = 60000, /* without a record before the end */
    MAX_REPORTS = 20,       /* unreadable records that are named one by one */
};

static struct census_settings {
    bool json;
    struct option_list examples;
} settings;

static const struct option census_options[] = {
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct census_settings, json),
     .traits = OPTION_CLI_ONLY,
     .help = "Prints the numbers as one JSON document."},
    {.name = "example",
     .type = OPTION_LIST,
     .offset = offsetof(struct census_settings, examples),
     .arg = "OUTCOME",
     .traits = OPTION_CLI_ONLY,
     .help = "Shows one row with an entry of this outcome; may be given again."},
};

CLEANUP_DEFINE(struct census, census_free);
CLEANUP_DEFINE(struct registry, registry_free);
CLEANUP_DEFINE(struct serde, serde_free);
CLEANUP_DEFINE(struct topic_reader, topic_reader_free);

struct reading {
    struct kafka_settings kafka;
    struct serde *serde;
    struct arena arena;
    struct census *census;
    struct example *examples; /* NULL in the first pass */
    size_t n_examples;
    size_t n_unreadable;
    int64_t n_gone;
};

static void
reading_done(struct reading *reading)
{
    arena_done(&reading->arena);
}

/* --- the first pass: every record into the fold
 * ------------------------------------------ */

static void
report_unreadable(struct reading *reading,
                  const struct message *in,
                  const struct err *err)
{
    if (reading->n_unreadable++ < MAX_REPORTS)
        fprintf(stderr, "heddle census: %s partition %d offset %lld: %s: %s\n", in->topic,
                in->partition, (long long)in->offset, err->code, err->msg);
}

static enum err_kind
fold_record(struct reading *reading, const struct message *in, struct err *err)
{
    struct audit_row record;
    struct slice key = in->key;
    arena_reset(&reading->arena);
    if (!key.data)
        return err_set(err, ERR_RECORD, "key_missing", "a record without a key");
    if (!in->value.data)
        return census_drop(reading->census, key, err);
    if (serde_decode(reading->serde, in->value, &reading->arena, &record, err) == ERR_OK)
        return census_add(reading->census, key, &record, err);
    if (err->kind == ERR_RECORD && census_drop(reading->census, key, NULL))
        return err_no_memory(err, "the keys of the census");
    return err->kind;
}

static enum err_kind
on_fold(struct reading *reading, const struct message *in, struct err *err)
{
    if (fold_record(reading, in, err) != ERR_RECORD)
        return err->kind;
    report_unreadable(reading, in, err);
    *err = (struct err){0};
    return ERR_OK;
}

/* --- the second pass: the rows that are shown
 * --------------------------------------------- */

static enum err_kind
on_example(struct reading *reading, const struct message *in, struct err *err)
{
    for (size_t i = 0; i < reading->n_examples; i++) {
        struct example *example = &reading->examples[i];
        struct audit_row record;
        if (!in->key.data || !example->key.data || !slice_equal(example->key, in->key))
            continue;
        arena_reset(&reading->arena);
        buf_reset(&example->text);
        if (in->value.data && serde_decode(reading->serde, in->value, &reading->arena,
                                           &record, NULL) == ERR_OK)
            example_write(example, in, &record);
    }
    *err = (struct err){0};
    return ERR_OK;
}

/* --- the topic
 * ---------------------------------------------------------------------------- */

typedef enum err_kind
record_fn(struct reading *reading, const struct message *in, struct err *err);

static void
report_gone(struct reading *reading, const struct topic_reader *reader)
{
    size_t n = 0;
    const struct partition_range *ranges = topic_reader_ranges(reader, &n);
    reading->n_gone = 0;
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].start <= 0)
            continue;
        reading->n_gone += ranges[i].start;
        fprintf(stderr, "heddle census: %s partition %d: %lld offsets are gone\n",
                TOPIC_AUDIT_TUNINGS, ranges[i].partition, (long long)ranges[i].start);
    }
}

static enum err_kind
read_all(struct reading *reading,
         struct topic_reader *reader,
         record_fn *on_record,
         struct err *err)
{
    int64_t last_ms = clock_monotonic_ms();
    for (bool done = false;;) {
        const struct message *in = topic_reader_next(reader, POLL_MS, &done, err);
        if (err->kind)
            return err->kind;
        if (in && on_record(reading, in, err))
            return err->kind;
        if (!in && done)
            return ERR_OK;
        if (in)
            last_ms = clock_monotonic_ms();
        else if (clock_monotonic_ms() - last_ms > STALL_LIMIT_MS)
            return err_fatal(err, EXIT_TRY_AGAIN, "read_stalled",
                             "topic %s has given no record for %d s before its end; "
                             "is a broker down?",
                             TOPIC_AUDIT_TUNINGS, STALL_LIMIT_MS / 1000);
    }
}

static enum err_kind
read_topic(struct reading *reading, record_fn *on_record, struct err *err)
{
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader = topic_reader_new(
        &reading->kafka, TOPIC_AUDIT_TUNINGS, TOPIC_FROM_START, OPEN_TIMEOUT_MS, err);
    if (!reader)
        return err->kind;
    if (on_record == on_fold)
        report_gone(reading, reader);
    return read_all(reading, reader, on_record, err);
}

/* --- the verb
 * ------------------------------------------------------------------------------ */

static enum err_kind
add_examples(struct reading *reading, struct buf *out, struct err *err)
{
    struct example examples[EXAMPLES_MAX] = {0};
    reading->examples = examples;
    reading->n_examples = settings.examples.n;
    for (size_t i = 0; i < settings.examples.n; i++)
        examples[i] = (struct example){
            .outcome = settings.examples.items[i],
            .key = census_find(reading->census, settings.examples.items[i]),
        };
    enum err_kind kind = read_topic(reading, on_example, err);
    for (size_t i = 0; i < settings.examples.n; i++) {
        if (kind == ERR_OK)
            example_print(&examples[i], out);
        buf_done(&examples[i].text);
    }
    reading->examples = NULL;
    return kind;
}

static enum err_kind
print(struct reading *reading, struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    CLEANUP(census_counts_done) struct census_counts counts = {0};
    if (census_count(reading->census, &counts, err))
        return err->kind;
    if (settings.json)
        census_json(&counts, &out);
    else
        census_table(&counts, &out);
    if (settings.examples.n && add_examples(reading, &out, err))
        return err->kind;
    return program_print(&out, err);
}

/* What was read is printed all the same; the status says that it is not everything. */
static int
status_of(const struct reading *reading)
{
    if (reading->n_unreadable)
        fprintf(stderr,
                "heddle census: %zu records can't be read and are not counted; "
                "`heddle tap %s --from start` shows them\n",
                reading->n_unreadable, TOPIC_AUDIT_TUNINGS);
    if (reading->n_gone)
        fprintf(stderr,
                "heddle census: rows may be missing: the topic no longer begins at "
                "offset 0\n");
    return reading->n_unreadable || reading->n_gone ? EXIT_NEGATIVE : EXIT_OK;
}

static enum err_kind
check_settings(const struct program_call *call, struct err *err)
{
    if (verb_refuse_rest(call, 0, err))
        return err->kind;
    if (settings.json && settings.examples.n)
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "--example goes with the table; leave --json or --example out");
    if (settings.examples.n > EXAMPLES_MAX)
        return err_fatal(err, EXIT_USAGE, "bad_value", "--example: %d at most",
                         EXAMPLES_MAX);
    return ERR_OK;
}

static int
run(const struct program_call *call, struct err *err)
{
    CLEANUP(census_freep) struct census *census = census_new(err);
    CLEANUP(registry_freep)
    struct registry *registry = fleet_registry_open(&call->fleet, err);
    const struct schema_source source = registry_source(registry);
    CLEANUP(serde_freep)
    struct serde *serde =
        err->kind ? NULL : serde_new(&audit_row_type, registry ? &source : NULL, err);
    CLEANUP(reading_done)
    struct reading reading = {
        .kafka = fleet_kafka_settings(&call->fleet, call->options, "heddle-census"),
        .serde = serde,
        .census = census,
    };
    if (err->kind || !census || !serde || check_settings(call, err) ||
        fleet_check_brokers(&reading.kafka, err) || read_topic(&reading, on_fold, err) ||
        print(&reading, err))
        return EXIT_INTERNAL;
    return status_of(&reading);
}

const struct verb verb_census = {
    .name = "census",
    .usage = "[OPTION]...",
    .summary = "Counts what the audit rows say happened.",
    .details = "Reads " TOPIC_AUDIT_TUNINGS " from its start to the end that it has now; "
               "the last\nrecord of each key counts. Exit status 1 when records can't be "
               "read or offsets are gone.",
    .options = census_options,
    .n_options = sizeof census_options / sizeof census_options[0],
    .settings = &settings,
    .run = run,
};
