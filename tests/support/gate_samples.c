/* SPDX-License-Identifier: Apache-2.0 */
/* Split records from files, and from the vectors of the gate. */
#include "gate_rig.h"

#include "from_record.h"
#include "input_json.h"
#include "mode.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

enum { FILE_MAX_BYTES = 1 << 24, MAX_SAMPLES = 1000 };

static struct slice
read_file(struct arena *arena, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s can't be opened", path);
    char *bytes = arena_alloc(arena, FILE_MAX_BYTES);
    assert_non_null(bytes);
    size_t n = fread(bytes, 1, FILE_MAX_BYTES, file);
    fclose(file);
    assert_true(n > 0 && n < FILE_MAX_BYTES);
    return (struct slice){bytes, n};
}

static struct slice
id_of(struct arena *arena, struct slice name, int round, const char *end)
{
    struct slice id = arena_printf(arena, "%.*s-%d%s", SLICE_ARG(name), round, end);
    assert_non_null(id.data);
    return id;
}

/* --- a file of records -------------------------------------------------------------- */

static void
set_apart(struct request *request, struct arena *arena, int round)
{
    bool again = request->attempt == 2 && request->retry_of.data;
    struct slice root = again ? request->retry_of : request->request_id;
    request->request_id = id_of(arena, root, round, again ? "/2" : "");
    if (again)
        request->retry_of = id_of(arena, root, round, "");
}

static void
read_lines(struct gate_samples *samples, int round)
{
    struct err err;
    struct codec *codec = codec_new(&split_record_type, NULL, &err);
    struct slice rest =
        read_file(&samples->arena, SOURCE_DIR "/tests/data/split_records.jsonl");
    assert_non_null(codec);
    while (rest.len) {
        const char *end = memchr(rest.data, '\n', rest.len);
        struct slice line = {rest.data, end ? (size_t)(end - rest.data) : rest.len};
        size_t used = line.len + (end ? 1 : 0);
        struct gate_sample *sample = &samples->items[samples->n++];
        assert_true(samples->n < MAX_SAMPLES);
        if (codec_from_json(codec, line, &samples->arena, &sample->record, &err))
            fail_msg("%s", err.msg);
        set_apart(&sample->record.request, &samples->arena, round);
        rest = (struct slice){rest.data + used, rest.len - used};
    }
    codec_free(codec);
}

/* --- vectors ------------------------------------------------------------------------ */

/* A figure that a record can't leave out counts as absent below 0. */
static int64_t
or_absent(struct amount amount)
{
    return amount_usable(amount) && amount.value < 1e15 ? (int64_t)amount.value : -1;
}

static void
set_chunk(const struct gate_chunk *from, struct split_chunk *to)
{
    const struct chunk_numbers *numbers = &from->numbers;
    static int64_t steps[2];
    *to = (struct split_chunk){
        .kind = (int32_t)mode_of(from->kind), /* both in one order */
        .file = from->file,
        .steps = {steps, 2},
        .num_steps = or_absent(numbers->num_steps),
        .num_gpu_events = or_absent(numbers->num_gpu_events),
        .gpu_duration_ns = or_absent(numbers->gpu_duration_ns),
        .gpu_busy_duration_ns = or_absent(numbers->gpu_busy_duration_ns),
        .busy_ratio = numbers->busy_ratio.known ? numbers->busy_ratio.value : (double)NAN,
        .has_wall_ns = numbers->wall_ns.known,
        .wall_ns = or_absent(numbers->wall_ns),
        .busy_union_ns = or_absent(numbers->busy_union_ns),
        .compute_union_ns = or_absent(numbers->compute_union_ns),
        .exposed_comm_ns = or_absent(numbers->exposed_comm_ns),
        .has_max_event_ns = numbers->max_event_ns.known,
        .max_event_ns = or_absent(numbers->max_event_ns),
        .steps_without_gpu_events = or_absent(numbers->steps_without_gpu_events),
        .uri = SLICE("chunks/c.json.gz"),
        .sha256 = SLICE("cc"),
    };
}

#define SET_COUNT(to, member, from)                                                      \
    do {                                                                                 \
        (to)->has_##member = (from)->member.known;                                       \
        (to)->member = or_absent((from)->member);                                        \
    } while (0)
#define SET_RATIO(to, member, from)                                                      \
    do {                                                                                 \
        (to)->has_##member = (from)->member.known;                                       \
        (to)->member = (from)->member.value;                                             \
    } while (0)

static void
set_manifest(const struct trace_numbers *from, struct split_manifest *to)
{
    SET_RATIO(to, graded_coverage, from);
    SET_RATIO(to, root_span_share, from);
    to->has_startup_transient_trimmed = from->startup_transient_trimmed != BOOL_UNKNOWN;
    to->startup_transient_trimmed = from->startup_transient_trimmed == BOOL_TRUE;
    to->startup_transient_kernel = from->startup_transient_kernel;
    SET_RATIO(to, startup_transient_collective_ratio, from);
    SET_RATIO(to, startup_transient_noise_ratio, from);
    SET_COUNT(to, gpu_busy_ns, from);
    SET_COUNT(to, graph_launch_count, from);
    SET_COUNT(to, graph_launches_with_kernels, from);
    SET_COUNT(to, graph_kernels, from);
    SET_COUNT(to, off_root_thread_busy_ns, from);
    SET_COUNT(to, overlap_excess_ns, from);
    SET_COUNT(to, overlap_device_ns, from);
    SET_COUNT(to, overlap_worst_ns, from);
}

static bool
set_chunks(const struct gate_split *split,
           struct arena *arena,
           struct split_record *record)
{
    struct split_chunk *chunks = arena_calloc(arena, split->n_chunks, sizeof chunks[0]);
    assert_non_null(chunks);
    for (size_t i = 0; i < split->n_chunks; i++) {
        if (!split->chunks[i].has_numbers)
            return false;
        set_chunk(&split->chunks[i], &chunks[i]);
    }
    record->chunks = (struct list){chunks, split->n_chunks};
    return true;
}

static void
set_request(struct json_value input, struct request *request)
{
    struct gate_request asked = {.framework = SLICE(""), .attempt = 1};
    input_json_request(json_get(input, "request"), &asked);
    enum framework_kind kind = framework_kind_of_name(asked.framework_kind);
    /* A record's kind follows from its framework; the cases are free of that. */
    if (kind != KIND_UNKNOWN && kind != framework_kind_of(asked.framework))
        asked.framework = kind == KIND_SCRIPTABLE ? SLICE("custom") : SLICE("vllm");
    *request = (struct request){
        .framework = asked.framework,
        .framework_kind = asked.framework_kind,
        .requested_mode = asked.requested_mode,
        .attempt = (int32_t)asked.attempt,
        .retry_of = asked.retry_of,
        .from_mode = asked.from_mode,
        .source_warning_code = asked.source_warning_code,
    };
}

static void
name_request(struct request *request, struct slice name, struct arena *arena, int round)
{
    bool again = request->attempt == 2 && request->retry_of.len;
    if (again)
        request->retry_of = id_of(arena, name, round, "");
    request->request_id = id_of(arena, name, round, again ? "/2" : "");
}

/* False: a split record can't hold it. */
static bool
set_record(struct json_value vector, struct arena *arena, struct split_record *record)
{
    struct json_value input = json_get(vector, "input");
    struct gate_split split;
    if (json_count(json_get(input, "env")) || json_count(json_get(input, "config")))
        return false;
    assert_true(input_json_split(json_get(input, "split"), arena, &split));
    *record = (struct split_record){
        .trace = {.uri = SLICE("file:///t"),
                  .has_size = true,
                  .size = 9,
                  .sha256 = SLICE("aa")},
        .has_request = true,
        .split = {.num_steps = 8, .mode = SLICE("auto"), .iterations = SLICE("all")},
        .manifest = {.has_status = split.status != STATUS_UNKNOWN,
                     .status = split.status == STATUS_UNKNOWN ? 0 : (int32_t)split.status,
                     .aborted = split.aborted},
        .has_refusal = split.refusal_code.len > 0,
        .refusal = {.code = split.refusal_code},
        .has_origin = true,
        .origin = {SLICE("id"), SLICE("node"), SLICE(""), 5000, SLICE("test")},
    };
    if (split.has_numbers)
        set_manifest(&split.numbers, &record->manifest);
    set_request(input, &record->request);
    return !split.failed && set_chunks(&split, arena, record);
}

static void
read_vectors(struct gate_samples *samples, int round)
{
    struct arena *arena = &samples->arena;
    struct json *doc = arena_calloc(arena, 1, sizeof *doc);
    struct err err;
    struct slice text = read_file(arena, SOURCE_DIR "/tests/vectors/gate/decide.json");
    assert_non_null(doc);
    assert_int_equal(json_read(doc, text, arena, &err), ERR_OK);
    struct json_iter iter = json_iter(json_get(json_root(doc), "vectors"));
    struct slice key;
    struct json_value vector;
    while (json_next(&iter, &key, &vector)) {
        struct gate_sample *sample = &samples->items[samples->n];
        if (!set_record(vector, arena, &sample->record))
            continue;
        sample->expect = json_get(vector, "expect");
        name_request(&sample->record.request, json_string(json_get(vector, "id")), arena,
                     round);
        assert_true(++samples->n < MAX_SAMPLES);
    }
}

void
gate_samples_read(struct gate_samples *ret_samples, int round)
{
    *ret_samples = (struct gate_samples){.arena = ARENA_INIT};
    ret_samples->items =
        arena_calloc(&ret_samples->arena, MAX_SAMPLES, sizeof(struct gate_sample));
    assert_non_null(ret_samples->items);
    read_lines(ret_samples, round);
    read_vectors(ret_samples, round);
}

void
gate_samples_done(struct gate_samples *samples)
{
    arena_done(&samples->arena);
}
