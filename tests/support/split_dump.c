/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scanner and index make of a trace, as JSON for tools/split_differential.py:
 *
 *   split_dump [--salvage] [--zlib] [--thread] [--variant NAME] [--index-memory N]
 *              [--max-event-bytes N] FILE
 */
#include "events.h"
#include "feed_thread.h"
#include "scan.h"

#include "cleanup.h"

#include <stdio.h>
#include <stdlib.h>

struct options {
    bool salvage;
    bool has_thread; /* the text is decoded ahead */
    enum unpack_decoder decoder;
    struct split_limits limits;
    const char *file;
};

static void
fail(const char *what, const char *why)
{
    fprintf(stderr, "split_dump: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static enum err_kind
rewind_file(void *state, struct err *err)
{
    if (fseek(state, 0, SEEK_SET) == 0)
        return ERR_OK;
    return err_set(err, ERR_RETRY, "io", "seek");
}

static enum err_kind
read_file(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    FILE *file = state;
    *ret_len = fread(buf, 1, cap, file);
    return ferror(file) ? err_set(err, ERR_RETRY, "io", "read") : ERR_OK;
}

static enum err_kind
write_spill(void *state, uint64_t offset, const void *data, size_t len, struct err *err)
{
    FILE *file = state;
    if (fseek(file, (long)offset, SEEK_SET) == 0 && fwrite(data, 1, len, file) == len)
        return ERR_OK;
    return err_set(err, ERR_RETRY, "io", "spill write");
}

static enum err_kind
read_spill(void *state, uint64_t offset, void *data, size_t len, struct err *err)
{
    FILE *file = state;
    if (fseek(file, (long)offset, SEEK_SET) == 0 && fread(data, 1, len, file) == len)
        return ERR_OK;
    return err_set(err, ERR_RETRY, "io", "spill read");
}

static void
add_string(struct buf *out, struct slice text)
{
    buf_add_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte == '"' || byte == '\\' || byte < 0x20)
            buf_addf(out, "\\u%04x", byte);
        else
            buf_add_byte(out, text.data[i]);
    }
    buf_add_byte(out, '"');
}

static void
add_count(struct buf *out, const char *name, uint64_t n)
{
    if (n)
        buf_addf(out, "\"%s\":%llu,", name, (unsigned long long)n);
}

static void
add_set(struct buf *out, const char *name, struct refusal_number number)
{
    if (number.is_set)
        buf_addf(out, "\"%s\":%llu,", name, (unsigned long long)number.value);
}

static void
add_flag(struct buf *out, const char *name, bool is_set)
{
    if (is_set)
        buf_addf(out, "\"%s\":true,", name);
}

/* Ends a list or an object that may have a comma too many. */
static void
close_with(struct buf *out, char bracket)
{
    if (out->len && out->data[out->len - 1] == ',')
        out->len--;
    buf_add_byte(out, bracket);
}

static void
add_refusal(struct buf *out, const struct refusal *refusal)
{
    buf_add_str(out, "\"refusal\":");
    if (!refusal->code) {
        buf_add_str(out, "null,");
        return;
    }
    buf_addf(out, "{\"code\":\"%s\",", refusal->code);
    add_set(out, "bytes", refusal->bytes);
    add_set(out, "offset", refusal->offset);
    add_set(out, "events", refusal->events);
    add_set(out, "damaged_events", refusal->damaged_events);
    close_with(out, '}');
    buf_add_byte(out, ',');
}

static void
add_document(struct buf *out, const struct scan_facts *facts)
{
    static const char *const repairs[SCAN_REPAIRS] = {
        "control_character", "bad_escape",   "non_finite_number",
        "trailing_comma",    "invalid_utf8", "duplicate_key"};
    if (facts->is_document)
        buf_addf(out, "\"document\":\"%s\",", facts->is_array ? "array" : "object");
    add_flag(out, "bom", facts->bom);
    add_flag(out, "unclosed_array", facts->unclosed_array);
    add_count(out, "keys_before", facts->keys_before);
    add_count(out, "keys_after", facts->keys_after);
    add_count(out, "missing_commas", facts->missing_commas);
    add_count(out, "stray_commas", facts->stray_commas);
    add_count(out, "non_object_elements", facts->non_object_elements);
    add_count(out, "oversized_events", facts->oversized_events);
    add_count(out, "repaired_events", facts->repaired_events);
    for (int i = 0; i < SCAN_REPAIRS; i++) {
        char name[64];
        snprintf(name, sizeof name, "header_%s", repairs[i]);
        add_count(out, repairs[i], facts->repairs[i]);
        add_count(out, name, facts->header_repairs[i]);
    }
    add_count(out, "damaged_events", facts->damaged_events);
    add_count(out, "damaged_header_keys", facts->damaged_header_keys);
    if (facts->damaged_header_keys)
        add_count(out, "header_damage_offset", facts->header_damage_offset);
    add_count(out, "trailing_bytes", facts->trailing_bytes);
}

static void
add_input(struct buf *out, const struct scan_answer *answer, const struct event_counts *n)
{
    const struct feed_facts *container = &answer->container;
    const struct scan_facts *facts = &answer->facts;
    buf_add_str(out, "\"input\":{");
    if (container->container)
        buf_addf(out, "\"container\":\"%s\",", container->container);
    add_count(out, "gzip_members", container->gzip_members);
    add_count(out, "container_trailing_bytes", container->container_trailing_bytes);
    add_count(out, "bytes", container->bytes);
    add_document(out, facts);
    add_flag(out, "salvaged", facts->salvaged);
    add_count(out, "truncated_at", facts->truncated_at.value);
    add_count(out, "corrupt_at", facts->corrupt_at.value);
    add_count(out, "damaged_bytes", facts->damaged_bytes);
    add_count(out, "first_damage_offset", facts->first_damage_offset);
    add_set(out, "events_behind_the_end", facts->events_behind_the_end);
    if (facts->is_indexed) {
        add_count(out, "events", facts->events);
        add_count(out, "non_event_objects", n->non_event_objects);
        add_count(out, "string_number", n->string_number);
        add_count(out, "bad_number", n->bad_number);
        add_count(out, "without_dur", n->without_dur);
        add_count(out, "negative_dur", n->negative_dur);
        add_count(out, "begin_end_pairs", n->begin_end_pairs);
        add_count(out, "unmatched_begin_end", n->unmatched_begin_end);
        add_count(out, "gpu_events_without_correlation",
                  n->gpu_events_without_correlation);
    }
    close_with(out, '}');
}

static void
add_id(struct buf *out, const struct events *events, event_id id)
{
    char digits[EVENT_ID_DIGITS];
    if (id == 0)
        buf_add_str(out, "null");
    else
        add_string(out, events_id_text(events, id, digits));
    buf_add_byte(out, ',');
}

static void
add_raw(struct buf *out, const struct events *events, bool is_set, uint32_t text)
{
    CLEANUP(buf_done) struct buf compact = BUF_INIT;
    if (is_set) {
        scan_add_compact(&compact, events_text(events, text));
        add_string(out, buf_slice(&compact));
    } else {
        buf_add_str(out, "null");
    }
    buf_add_byte(out, ',');
}

static void
add_detail(struct buf *out, const struct events *events, struct event event)
{
    if (event_category(event) >= CATEGORY_KERNEL) {
        struct event_launch launch = events_launch(events, event.detail);
        add_id(out, events, launch.stream);
        add_raw(out, events, launch.grid, launch.grid);
        add_raw(out, events, launch.block, launch.block);
        return;
    }
    struct event_shape shape = events_shape(events, event.detail);
    add_raw(out, events, shape.has_dims_key, shape.dims);
    add_raw(out, events, shape.has_type_key, shape.type);
    buf_add_str(out, shape.has_dims ? "true," : "false,");
}

static void
add_event(struct buf *out, const struct events *events, struct event event)
{
    struct event_thread thread = events_thread(events, event_thread(event));
    uint64_t end = 0;
    bool is_pair = events_pair_end(events, event_index(event), &end);
    buf_addf(out, "[%llu,%lld,%lld,%lld,%d,", (unsigned long long)event_index(event),
             is_pair ? (long long)end : -1, (long long)event.ts_ns,
             (long long)event.dur_ns, event_category(event));
    add_string(out, events_text(events, event.name));
    buf_add_byte(out, ',');
    add_id(out, events, thread.pid);
    add_id(out, events, thread.tid);
    add_id(out, events, event.correlation);
    add_id(out, events, event.external_id);
    add_detail(out, events, event);
    close_with(out, ']');
    buf_add_str(out, ",\n");
}

typedef struct event event_reader(const struct events *events, uint64_t i);

static void
add_list(struct buf *out,
         const char *name,
         const struct events *events,
         uint64_t n,
         event_reader *at)
{
    buf_addf(out, "\"%s\":[", name);
    for (uint64_t i = 0; i < n; i++)
        add_event(out, events, at(events, i));
    if (n)
        out->len--;
    close_with(out, ']');
    buf_add_str(out, ",\n");
}

/* GPU events and flows by each id that some event has, and events by thread. */
static void
add_links(struct buf *out, const struct events *events)
{
    event_id before = 0;
    buf_add_str(out, "\"flows\":[");
    for (uint64_t i = 0; i < events_flow_count(events); i++) {
        struct event_mark flow = events_flow(events, i);
        struct event_run run = events_flows_of(events, (event_id)flow.key);
        if (flow.key == before)
            continue;
        before = (event_id)flow.key;
        buf_add_byte(out, '[');
        add_id(out, events, before);
        for (uint64_t k = run.first; k < run.first + run.n; k++)
            buf_addf(out, "%llu,", (unsigned long long)events_flow(events, k).index);
        close_with(out, ']');
        buf_add_byte(out, ',');
    }
    close_with(out, ']');
    buf_add_str(out, ",\"gpu_of\":[");
    for (uint64_t i = 0; i < events_gpu_count(events); i++) {
        event_id id = events_gpu(events, i).correlation;
        struct event_run run = events_gpu_of(events, id);
        buf_add_byte(out, '[');
        add_id(out, events, id);
        for (uint64_t k = run.first; k < run.first + run.n; k++)
            buf_addf(out, "%llu,",
                     (unsigned long long)event_index(events_gpu_linked(events, k)));
        close_with(out, ']');
        buf_add_byte(out, ',');
    }
    close_with(out, ']');
    buf_add_str(out, ",\"correlated\":[");
    for (uint32_t thread = 0; thread < events_thread_count(events); thread++) {
        struct event_run run = events_correlated_of(events, thread);
        if (run.n == 0)
            continue;
        buf_add_byte(out, '[');
        add_id(out, events, events_thread(events, thread).pid);
        add_id(out, events, events_thread(events, thread).tid);
        for (uint64_t k = run.first; k < run.first + run.n; k++)
            buf_addf(out, "%llu,",
                     (unsigned long long)event_index(events_correlated(events, k)));
        close_with(out, ']');
        buf_add_byte(out, ',');
    }
    close_with(out, ']');
}

static void
add_index(struct buf *out, const struct events *events)
{
    const struct event_counts *counts = events_counts(events);
    buf_addf(out, ",\"index\":{\"gpu_busy\":%lld,\"metadata\":%llu,\"objects\":%llu,",
             (long long)events_gpu_busy_ns(events), (unsigned long long)counts->metadata,
             (unsigned long long)counts->event_objects);
    add_list(out, "cpu", events, events_cpu_count(events), events_cpu);
    add_list(out, "gpu", events, events_gpu_count(events), events_gpu);
    add_list(out, "annotations", events, events_annotation_count(events),
             events_annotation);
    add_list(out, "gpu_annotations", events, events_gpu_annotation_count(events),
             events_gpu_annotation);
    buf_add_str(out, "\"instants\":[");
    for (uint64_t i = 0; i < events_instant_count(events); i++)
        buf_addf(out, "[%llu,%lld],", (unsigned long long)events_instant(events, i).index,
                 (long long)events_instant(events, i).key);
    close_with(out, ']');
    buf_add_byte(out, ',');
    add_links(out, events);
    buf_add_byte(out, '}');
}

static void
dump(const struct options *options, FILE *file, FILE *scratch)
{
    struct err err = {0};
    struct scan_answer answer;
    CLEANUP(buf_done) struct buf out;
    buf_init(&out, (size_t)1 << 32);
    struct split_source source = {file, rewind_file, read_file};
    struct split_spill spill = {scratch, write_spill, read_spill};
    struct unpack *unpack = unpack_new(&source, &options->limits, options->decoder);
    struct feed_direct *direct = options->has_thread ? NULL : feed_direct_new(unpack);
    struct feed_thread *thread = options->has_thread ? feed_thread_new(unpack) : NULL;
    struct events *events = events_new(&options->limits, &spill);
    struct feed feed = thread ? feed_thread_feed(thread) : feed_direct_feed(direct);
    struct scan_listener listener = {
        .state = events, .event = events_add, .restart = events_reset};
    if (scan_run(&feed, &listener, &options->limits, options->salvage, &answer, &err))
        fail(err.code, err.msg);
    if (events_close(events, &err))
        fail(err.code, err.msg);
    buf_add_byte(&out, '{');
    add_refusal(&out, &answer.refusal);
    add_input(&out, &answer, events_counts(events));
    if (answer.facts.is_indexed)
        add_index(&out, events);
    buf_add_str(&out, "}\n");
    if (out.failed || events_check(events, &err))
        fail("output", err.msg);
    fwrite(out.data, 1, out.len, stdout);
    events_free(events);
    feed_direct_free(direct);
    feed_thread_free(thread);
    unpack_free(unpack);
}

static void
force_variant(const char *name)
{
    for (enum scan_variant i = SCAN_AVX512; i < SCAN_VARIANTS; i++)
        if (strcmp(scan_variant_name(i), name) == 0) {
            scan_variant_force(scan_variant_runs(i) ? i : SCAN_PORTABLE);
            return;
        }
    fail(name, "no such variant");
}

static struct options
read_options(int argc, char **argv)
{
    struct options options = {.limits = SPLIT_LIMITS_DEFAULT};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--salvage") == 0)
            options.salvage = true;
        else if (strcmp(argv[i], "--zlib") == 0)
            options.decoder = UNPACK_ZLIB;
        else if (strcmp(argv[i], "--thread") == 0)
            options.has_thread = true;
        else if (strcmp(argv[i], "--variant") == 0 && i + 1 < argc)
            force_variant(argv[++i]);
        else if (strcmp(argv[i], "--index-memory") == 0 && i + 1 < argc)
            options.limits.index_memory = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--max-event-bytes") == 0 && i + 1 < argc)
            options.limits.max_event_bytes = strtoull(argv[++i], NULL, 10);
        else
            options.file = argv[i];
    }
    return options;
}

int
main(int argc, char **argv)
{
    struct options options = read_options(argc, argv);
    FILE *file = options.file ? fopen(options.file, "rb") : NULL;
    FILE *scratch = tmpfile();
    if (!file || !scratch)
        fail(options.file ? options.file : "FILE", "can't be opened");
    dump(&options, file, scratch);
    fclose(file);
    fclose(scratch);
    return 0;
}
