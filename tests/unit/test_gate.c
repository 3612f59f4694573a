/* SPDX-License-Identifier: Apache-2.0 */
/* The gate: what vectors can't say. Random split records, and what leaves for each. */
#include "candidate_table.h"
#include "codec.h"
#include "decide.h"
#include "derive.h"
#include "digest.h"
#include "from_record.h"
#include "impossible.h"
#include "ratio.h"
#include "trace_event.h"
#include "verdict.h"

#include "unit.h"

#include <math.h>

CLEANUP_DEFINE(struct codec, codec_free);
CLEANUP_DEFINE(struct codec_plan, codec_plan_free);

enum { RECORDS = 3000, MAX_CHUNKS = 5, MAX_KERNELS = 3 };

/* --- random records ----------------------------------------------------------------- */

/* A fixed seed: a failure is seen again. */
static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t
draw(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static bool
chance(uint64_t percent)
{
    return draw(100) < percent;
}

static int64_t
some_ns(void)
{
    static const int64_t edges[] = {0, 1, 999, 1000, -1, 50000, 1000000};
    return chance(50) ? edges[draw(7)] : (int64_t)draw(3000000);
}

static double
some_ratio(void)
{
    static const double edges[] = {0, 0.05, 0.049999999, 0.15, 1, 1.4, -1};
    if (chance(4))
        return chance(50) ? (double)NAN : (double)INFINITY;
    return chance(50) ? edges[draw(7)] : (double)draw(1000) / 1000.0;
}

struct storage {
    struct split_chunk chunks[MAX_CHUNKS];
    struct kernel_row rows[MAX_CHUNKS][MAX_KERNELS];
    struct launch_group launches[MAX_CHUNKS][MAX_KERNELS];
    char names[MAX_CHUNKS][32];
    int64_t span[2];
};

static void
fill_chunk(struct storage *storage, size_t i)
{
    static const char *const kernels[] = {"ncclKernel", "gemm<float>", "rms_norm"};
    struct split_chunk *chunk = &storage->chunks[i];
    bool empty = chance(30);
    snprintf(storage->names[i], sizeof storage->names[i], "chunk-%zu", i);
    *chunk = (struct split_chunk){
        .kind = (int32_t)draw(5),
        .file = slice_of(storage->names[i]),
        .steps = {storage->span, 2},
        .num_steps = (int64_t)draw(40),
        .num_gpu_events = empty ? -(int64_t)draw(2) : (int64_t)draw(2000),
        .gpu_duration_ns = some_ns(),
        .gpu_busy_duration_ns = chance(20) ? 0 : some_ns(),
        .busy_ratio = some_ratio(),
        .has_wall_ns = chance(80),
        .wall_ns = some_ns(),
        .busy_union_ns = some_ns(),
        .compute_union_ns = some_ns(),
        .exposed_comm_ns = some_ns(),
        .has_max_event_ns = chance(80),
        .max_event_ns = some_ns(),
        .steps_without_gpu_events = (int64_t)draw(40),
        .uri = SLICE("chunks/x.json.gz"),
        .kernels = {storage->rows[i], draw(MAX_KERNELS + 1)},
    };
    for (size_t k = 0; k < chunk->kernels.n; k++) {
        storage->launches[i][k] = (struct launch_group){
            .kind = (int32_t)draw(3),
            .op = chance(60) ? SLICE("aten::mm") : (struct slice){0},
            .has_dims_from = true,
            .dims_from = (int32_t)draw(2),
            .input_dims = SLICE("[[8,16],[],[7]]"),
            .input_type = SLICE("[\"float\",\"Scalar\",\"long\"]"),
            .calls = 3,
            .total_ns = some_ns(),
        };
        storage->rows[i][k] = (struct kernel_row){
            .name = slice_of(kernels[k]),
            .calls = (int64_t)draw(9),
            .total_ns = some_ns(),
            .launches = {&storage->launches[i][k], draw(2)},
        };
    }
}

static void
fill_record(struct storage *storage, struct split_record *record)
{
    static const char *const frameworks[] = {"vllm", "xdit", "", "sglang"};
    static const char *const modes[] = {"mixed", "decode_only", "generic", "", "odd"};
    size_t n = draw(MAX_CHUNKS + 1);
    for (size_t i = 0; i < n; i++)
        fill_chunk(storage, i);
    *record = (struct split_record){
        .trace = {.uri = SLICE("file:///t"),
                  .has_size = true,
                  .size = 9,
                  .sha256 = SLICE("aa")},
        .has_request = true,
        .request = {.request_id = SLICE("r7"),
                    .framework = slice_of(frameworks[draw(4)]),
                    .requested_mode = slice_of(modes[draw(5)]),
                    .attempt = 1},
        .split = {.num_steps = 8, .mode = SLICE("auto"), .iterations = SLICE("all")},
        .manifest = {.has_status = chance(90),
                     .status = (int32_t)(chance(80) ? 0 : draw(3)),
                     .aborted = chance(5),
                     .has_gpu_busy_ns = chance(80),
                     .gpu_busy_ns = some_ns(),
                     .has_graded_coverage = true,
                     .graded_coverage = some_ratio(),
                     .has_off_root_thread_busy_ns = chance(80),
                     .off_root_thread_busy_ns = some_ns()},
        .chunks = {storage->chunks, n},
        .has_origin = true,
        .origin = {SLICE("id"), SLICE("node"), SLICE(""), 5, SLICE("test")},
    };
    if (chance(30)) {
        record->request.attempt = 2;
        record->request.retry_of = SLICE("r7");
        record->request.request_id = SLICE("r7/2");
        record->request.from_mode = SLICE("mixed");
        record->request.source_warning_code = SLICE("steady_state_chunk_missing");
    }
}

/* --- a gate ------------------------------------------------------------------------- */

static struct slice
no_variable(const void *state, const char *name)
{
    (void)state;
    (void)name;
    return (struct slice){0};
}

struct fixture {
    struct arena arena;
    struct emits out;
    struct serde *tables;
    struct gate_tools tools;
};

static void
fixture_open(struct fixture *fixture)
{
    static const struct gate_settings none;
    struct err err = {0};
    memset(fixture, 0, sizeof *fixture);
    arena_init(&fixture->arena, 0);
    fixture->out.arena = &fixture->arena;
    fixture->tables = serde_new(&candidate_table_type, NULL, &err);
    assert_non_null(fixture->tables);
    fixture->tools.tables = fixture->tables;
    categories_init(&fixture->tools.categories);
    gate_config_resolve(&none, no_variable, NULL, &fixture->tools.config, NULL);
}

static void
fixture_done(struct fixture *fixture)
{
    serde_free(fixture->tables);
    arena_done(&fixture->arena);
}

static const struct message message = {
    .topic = "heddle.splits", .offset = 4, .timestamp_ms = 17, .value = {"abc", 3}};
static const struct provenance base = {
    .worker = {"gate", 4}, .version = {"1", 1}, .config_sha256 = {"c", 1}};

static enum err_kind
derive(struct fixture *fixture, const struct split_record *record, struct err *err)
{
    arena_reset(&fixture->arena);
    fixture->out = (struct emits){.arena = &fixture->arena};
    *err = (struct err){0};
    return gate_derive(record, &message, &fixture->tools, &base, &fixture->out, err);
}

static size_t
count_topic(const struct fixture *fixture, const char *topic)
{
    size_t n = 0;
    for (size_t i = 0; i < fixture->out.n; i++)
        n += strcmp(fixture->out.items[i].topic, topic) == 0;
    return n;
}

static const void *
first_of(const struct fixture *fixture, const char *topic)
{
    for (size_t i = 0; i < fixture->out.n; i++)
        if (strcmp(fixture->out.items[i].topic, topic) == 0)
            return fixture->out.items[i].value;
    return NULL;
}

static const struct split_chunk *
chunk_of_kind(const struct split_record *record, enum gate_mode mode)
{
    const struct split_chunk *chunks = record->chunks.items;
    for (size_t i = 0; i < record->chunks.n; i++)
        if (chunks[i].kind == (int32_t)mode)
            return &chunks[i];
    return NULL;
}

/* --- properties --------------------------------------------------------------------- */

static void
check_accepted(const struct split_record *record, const struct verdict *verdict)
{
    const struct split_chunk *chunk =
        chunk_of_kind(record, mode_of(verdict->requested_mode));
    if (verdict->verdict != VERDICT_KIND_ACCEPTED)
        return;
    assert_non_null(chunk);
    assert_true(slice_equal(verdict->accepted_chunk, chunk->file));
    assert_true(chunk->num_gpu_events > 0);
}

static bool
holds_work(const struct split_record *record, enum gate_mode mode)
{
    const struct split_chunk *chunk = chunk_of_kind(record, mode);
    return chunk && chunk->num_gpu_events > 0 && chunk->gpu_busy_duration_ns != 0;
}

/* The modes in a JSON list. */
static void
check_modes(const struct split_record *record,
            const struct verdict *verdict,
            struct slice list)
{
    for (int mode = 0; mode < MODES; mode++) {
        char quoted[32];
        snprintf(quoted, sizeof quoted, "\"%s\"", mode_names[mode]);
        if (!memmem(list.data, list.len, quoted, strlen(quoted)))
            continue;
        assert_true(holds_work(record, (enum gate_mode)mode));
        assert_false(slice_is(verdict->requested_mode, mode_names[mode]));
    }
}

/* "non_empty_modes" of a warning names families that hold events and time alone. */
static void
check_alternates(const struct split_record *record, const struct verdict *verdict)
{
    const struct verdict_warning *warnings = verdict->warnings.items;
    for (size_t i = 0; i < verdict->warnings.n; i++) {
        const struct warning_field *fields = warnings[i].fields.items;
        for (size_t k = 0; k < warnings[i].fields.n; k++)
            if (slice_is(fields[k].key, "non_empty_modes"))
                check_modes(record, verdict, fields[k].json);
    }
}

static void
no_record_gets_an_empty_chunk_accepted_or_a_second_retry(void **state)
{
    (void)state;
    struct fixture fixture;
    struct storage storage = {.span = {0, 8}};
    fixture_open(&fixture);
    for (int i = 0; i < RECORDS; i++) {
        struct split_record record;
        struct err err;
        fill_record(&storage, &record);

        assert_int_equal(derive(&fixture, &record, &err), ERR_OK);

        const struct verdict *verdict = first_of(&fixture, "heddle.audit.splits");
        assert_int_equal(count_topic(&fixture, "heddle.audit.splits"), 1);
        check_accepted(&record, verdict);
        check_alternates(&record, verdict);
        bool accepted = verdict->verdict == VERDICT_KIND_ACCEPTED;
        assert_int_equal(count_topic(&fixture, "heddle.candidates"), accepted);
        assert_int_equal(count_topic(&fixture, "heddle.traces"), verdict->has_retry);
        if (record.request.attempt == 2 || accepted)
            assert_false(verdict->has_retry);
        assert_int_equal(verdict->has_selfcert, record.request.attempt == 1);
    }
    fixture_done(&fixture);
}

/* Everything that leaves, as bytes. */
static void
encode_all(const struct fixture *fixture, struct buf *out)
{
    struct err err = {0};
    for (size_t i = 0; i < fixture->out.n; i++) {
        const struct emit *emit = &fixture->out.items[i];
        CLEANUP(codec_freep) struct codec *codec = codec_new(emit->type, NULL, &err);
        assert_non_null(codec);
        buf_add_str(out, emit->topic);
        buf_add_slice(out, emit->key);
        if (codec_encode(codec, emit->value, out, &err))
            fail_msg("%s: %s", emit->topic, err.msg);
    }
}

static void
answers_the_same_after_a_round_trip_through_avro(void **state)
{
    (void)state;
    struct fixture fixture;
    struct storage storage = {.span = {0, 8}};
    struct err err = {0};
    CLEANUP(codec_freep) struct codec *codec = codec_new(&split_record_type, NULL, &err);
    assert_non_null(codec);
    CLEANUP(codec_plan_freep)
    struct codec_plan *plan = codec_plan_new(codec, codec_schema(codec), &err);
    assert_non_null(plan);
    fixture_open(&fixture);
    for (int i = 0; i < RECORDS / 20; i++) {
        CLEANUP(buf_done) struct buf bytes = BUF_INIT;
        CLEANUP(buf_done) struct buf before = BUF_INIT;
        CLEANUP(buf_done) struct buf after = BUF_INIT;
        CLEANUP(arena_done) struct arena arena = ARENA_INIT;
        struct split_record record;
        struct split_record again;
        fill_record(&storage, &record);
        assert_int_equal(derive(&fixture, &record, &err), ERR_OK);
        encode_all(&fixture, &before);

        if (codec_encode(codec, &record, &bytes, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(codec_decode(plan, buf_slice(&bytes), &arena, &again, &err), 0);
        assert_int_equal(derive(&fixture, &again, &err), ERR_OK);
        encode_all(&fixture, &after);

        assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
    }
    fixture_done(&fixture);
}

/* --- one record --------------------------------------------------------------------- */

/* Mixed is empty, prefilldecode is busy. */
static void
healing_record(struct storage *storage, struct split_record *record)
{
    fill_record(storage, record);
    record->request.framework = SLICE("vllm");
    record->request.requested_mode = (struct slice){0};
    record->request.request_id = SLICE("r7");
    record->request.attempt = 1;
    record->request.retry_of = (struct slice){0};
    record->manifest.has_status = true;
    record->manifest.status = 0;
    record->manifest.aborted = false;
    for (size_t i = 0; i < 2; i++)
        storage->chunks[i] = (struct split_chunk){
            .kind = i ? CHUNK_KIND_PREFILLDECODE : CHUNK_KIND_MIXED,
            .file = i ? SLICE("busy") : SLICE("empty"),
            .steps = {storage->span, 2},
            .num_gpu_events = i ? 50 : 0,
            .gpu_duration_ns = 1000,
            .gpu_busy_duration_ns = i ? 500 : 0,
            .busy_ratio = i ? 0.5 : 0,
            .uri = SLICE("u"),
        };
    record->chunks = (struct list){storage->chunks, 2};
}

static void
sends_one_retry_that_heals_and_names_its_origin(void **state)
{
    (void)state;
    struct fixture fixture;
    struct storage storage = {.span = {0, 8}};
    struct split_record record;
    struct err err;
    fixture_open(&fixture);
    healing_record(&storage, &record);

    assert_int_equal(derive(&fixture, &record, &err), ERR_OK);

    const struct trace_event *event = first_of(&fixture, "heddle.traces");
    assert_non_null(event);
    assert_true(slice_is(event->request.request_id, "r7/2"));
    assert_true(slice_is(event->request.retry_of, "r7"));
    assert_true(slice_is(event->request.requested_mode, "prefilldecode"));
    assert_true(slice_is(event->request.from_mode, "mixed"));
    assert_int_equal(event->request.attempt, 2);
    assert_int_equal(event->payload.kind, PAYLOAD_CLAIM);
    assert_true(slice_is(event->payload.claim.uri, "file:///t"));
    assert_int_equal(event->split.num_steps, record.split.num_steps);
    assert_true(slice_is(event->origin.producer, "heddle-gate"));

    record.request = event->request;
    assert_int_equal(derive(&fixture, &record, &err), ERR_OK);

    const struct verdict *verdict = first_of(&fixture, "heddle.audit.splits");
    assert_int_equal(verdict->verdict, VERDICT_KIND_ACCEPTED);
    assert_true(verdict->has_auto_retry);
    assert_int_equal(count_topic(&fixture, "heddle.traces"), 0);
    assert_true(slice_is(fixture.out.items[0].key, "r7"));
    fixture_done(&fixture);
}

/* The line that the id of the retry's event is the digest of (events.md 2). */
static void
names_the_event_of_a_retry_by_what_it_asks(void **state)
{
    (void)state;
    static const char line[] =
        "{\"payload\": \"aa\", \"request\": {\"attempt\": 2, \"baseline\": {\"conc\": "
        "\"16\", \"osl\": null, \"random_range_ratio\": null}, \"campaign_framework\": "
        "null, \"framework\": \"vllm\", \"framework_kind\": null, \"from_mode\": "
        "\"mixed\", \"model_name\": \"Qwen \\u00e9\", \"request_id\": \"r7/2\", "
        "\"requested_mode\": \"prefilldecode\", \"retry_of\": \"r7\", "
        "\"source_warning_code\": \"steady_state_chunk_low_quality\", "
        "\"target_platform\": null}, \"split\": {\"allow_degraded\": false, \"conc\": "
        "16, \"iterations\": \"all\", \"llm_inference\": true, \"max_num_seq\": null, "
        "\"mode\": \"auto\", \"num_steps\": 32, \"osl\": 1024.0, \"r\": 0.8, "
        "\"salvage\": false}, \"trace_name\": \"t.json\"}";
    struct fixture fixture;
    struct storage storage = {.span = {0, 8}};
    struct split_record record;
    struct err err;
    char id[DIGEST_HEX];
    fixture_open(&fixture);
    healing_record(&storage, &record);
    record.trace.name = SLICE("t.json");
    record.request.framework = SLICE("vllm");
    record.request.framework_kind = (struct slice){0};
    record.request.model_name = SLICE("Qwen \u00e9");
    record.request.has_baseline = true;
    record.request.baseline = (struct baseline){.conc = SLICE("16")};
    record.split = (struct split_parameters){
        .num_steps = 32,
        .has_conc = true,
        .conc = 16,
        .has_osl = true,
        .osl = 1024,
        .has_r = true,
        .r = 0.8,
        .mode = SLICE("auto"),
        .iterations = SLICE("all"),
        .llm_inference = true,
    };

    assert_int_equal(derive(&fixture, &record, &err), ERR_OK);

    const struct trace_event *event = first_of(&fixture, "heddle.traces");
    assert_non_null(event);
    digest_hex(SLICE(line), id);
    assert_true(slice_is(event->origin.event_id, id));
    fixture_done(&fixture);
}

static void
refuses_a_framework_kind_that_contradicts_the_framework(void **state)
{
    (void)state;
    struct fixture fixture;
    struct storage storage = {.span = {0, 8}};
    struct split_record record;
    struct err err;
    fixture_open(&fixture);
    healing_record(&storage, &record);
    record.request.framework_kind = SLICE("scriptable");

    assert_int_equal(derive(&fixture, &record, &err), ERR_RECORD);

    assert_string_equal(err.code, "gate_request_malformed");
    fixture_done(&fixture);
}

static void
refuses_a_record_of_local_mode(void **state)
{
    (void)state;
    struct fixture fixture;
    struct storage storage = {.span = {0, 8}};
    struct split_record record;
    struct err err;
    fixture_open(&fixture);
    healing_record(&storage, &record);
    record.has_request = false;

    assert_int_equal(derive(&fixture, &record, &err), ERR_RECORD);

    assert_string_equal(err.code, "gate_request_malformed");
    fixture_done(&fixture);
}

static void
tells_each_impossible_number(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct storage storage = {.span = {0, 8}};
    struct split_record record;
    struct gate_split split;
    const struct impossible *found = NULL;
    size_t n = 0;
    struct err err = {0};
    healing_record(&storage, &record);
    storage.chunks[1].has_wall_ns = true;
    storage.chunks[1].wall_ns = 1000;
    storage.chunks[1].busy_union_ns = 2000;
    storage.chunks[1].compute_union_ns = 3000;
    storage.chunks[1].has_max_event_ns = true;
    storage.chunks[1].max_event_ns = 1001;
    storage.chunks[0].gpu_duration_ns = -5;
    record.manifest = (struct split_manifest){.has_graded_coverage = true,
                                              .graded_coverage = (double)NAN};
    assert_int_equal(gate_split_of_record(&record, &arena, &split, &err), ERR_OK);

    assert_int_equal(impossible_find(&split, &arena, &found, &n, &err), ERR_OK);

    static const char *const fields[] = {
        "manifest.graded_coverage",   "chunks[0].gpu_duration",
        "chunks[1].busy_union_us",    "chunks[1].gpu_busy_duration",
        "chunks[1].compute_union_us", "chunks[1].max_event_us",
    };
    assert_int_equal(n, 6);
    for (size_t i = 0; i < n; i++)
        assert_true(slice_is(found[i].field, fields[i]));
}

static void
sends_no_table_that_is_too_large_but_says_so(void **state)
{
    (void)state;
    enum { LONG_NAME = 4096, ROWS = 8000 };
    static char name[LONG_NAME];
    struct fixture fixture;
    struct storage storage = {.span = {0, 8}};
    struct split_record record;
    struct err err;
    struct kernel_row *rows = calloc(ROWS, sizeof rows[0]);
    assert_non_null(rows);
    memset(name, 'k', sizeof name);
    fixture_open(&fixture);
    fixture.tools.config.max_rows = 0;
    healing_record(&storage, &record);
    record.request.requested_mode = SLICE("prefilldecode");
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = (struct kernel_row){.name = {name, sizeof name}, .calls = 1};
    storage.chunks[1].kernels = (struct list){rows, ROWS};

    assert_int_equal(derive(&fixture, &record, &err), ERR_OK);

    assert_int_equal(count_topic(&fixture, "heddle.audit.splits"), 1);
    assert_int_equal(count_topic(&fixture, "heddle.candidates"), 0);
    const struct warning *warning = first_of(&fixture, "heddle.warnings");
    assert_non_null(warning);
    assert_true(slice_is(warning->code, "output_failed"));
    fixture_done(&fixture);
    free(rows);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_record_gets_an_empty_chunk_accepted_or_a_second_retry),
        cmocka_unit_test(answers_the_same_after_a_round_trip_through_avro),
        cmocka_unit_test(sends_one_retry_that_heals_and_names_its_origin),
        cmocka_unit_test(names_the_event_of_a_retry_by_what_it_asks),
        cmocka_unit_test(refuses_a_framework_kind_that_contradicts_the_framework),
        cmocka_unit_test(refuses_a_record_of_local_mode),
        cmocka_unit_test(tells_each_impossible_number),
        cmocka_unit_test(sends_no_table_that_is_too_large_but_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
