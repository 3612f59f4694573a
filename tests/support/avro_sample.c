/* SPDX-License-Identifier: Apache-2.0 */
/* The sample's schema, table, content and avro-c side. */
#include "avro_sample.h"

const char sample_avro_version[] = AVRO_C_VERSION;

static const char sample_avsc[] =
    "{"
    "\"type\": \"record\", \"name\": \"Sample\", \"namespace\": \"heddle.test\", "
    "\"fields\": ["
    "{\"name\": \"event_id\", \"type\": \"string\"},"
    "{\"name\": \"node\", \"type\": \"string\"},"
    "{\"name\": \"session\", \"type\": \"string\"},"
    "{\"name\": \"workspace\", \"type\": \"string\"},"
    "{\"name\": \"kernel\", \"type\": \"string\"},"
    "{\"name\": \"started_at_us\", \"type\": \"long\"},"
    "{\"name\": \"finished_at_us\", \"type\": \"long\"},"
    "{\"name\": \"elapsed_us\", \"type\": \"long\"},"
    "{\"name\": \"n_samples\", \"type\": \"long\"},"
    "{\"name\": \"attempt\", \"type\": \"int\"},"
    "{\"name\": \"exit_code\", \"type\": \"int\"},"
    "{\"name\": \"device\", \"type\": \"int\"},"
    "{\"name\": \"decision\", \"type\": {\"type\": \"enum\", \"name\": \"Decision\","
    "\"symbols\": [\"KEEP\", \"REJECT\", \"RETRY\", \"SKIP\"]}},"
    "{\"name\": \"sha256\", \"type\": {\"type\": \"fixed\", \"name\": \"Sha256\", "
    "\"size\": 32}},"
    "{\"name\": \"signature\", \"type\": \"bytes\"},"
    "{\"name\": \"best_us\", \"type\": \"double\"},"
    "{\"name\": \"share\", \"type\": \"float\"},"
    "{\"name\": \"ok\", \"type\": \"boolean\"},"
    "{\"name\": \"defaults\", \"type\": {\"type\": \"map\", \"values\": \"string\"}},"
    "{\"name\": \"tags\", \"type\": {\"type\": \"array\", \"items\": \"string\"}},"
    "{\"name\": \"trace\", \"type\": [\"null\", \"string\"]},"
    "{\"name\": \"error\", \"type\": [\"null\", \"string\"]},"
    "{\"name\": \"precision\", \"type\": [\"null\", \"string\"]},"
    "{\"name\": \"best_speedup\", \"type\": [\"null\", \"double\"]},"
    "{\"name\": \"tuners_run\", \"type\": {\"type\": \"array\", \"items\": {"
    "\"type\": \"record\", \"name\": \"Tuner\", \"fields\": ["
    "{\"name\": \"name\", \"type\": \"string\"},"
    "{\"name\": \"status\", \"type\": \"string\"},"
    "{\"name\": \"iterations\", \"type\": \"int\"},"
    "{\"name\": \"best_us\", \"type\": \"double\"},"
    "{\"name\": \"error\", \"type\": [\"null\", \"string\"]},"
    "{\"name\": \"speedup\", \"type\": [\"null\", \"double\"]},"
    "{\"name\": \"kept\", \"type\": [\"null\", \"boolean\"]}]}}}]}";

static const struct field tuner_fields[] = {
    {.name = "name", .type = FIELD_STRING, .offset = offsetof(struct sample_tuner, name)},
    {.name = "status",
     .type = FIELD_STRING,
     .offset = offsetof(struct sample_tuner, status)},
    {.name = "iterations",
     .type = FIELD_INT,
     .offset = offsetof(struct sample_tuner, iterations)},
    {.name = "best_us",
     .type = FIELD_DOUBLE,
     .offset = offsetof(struct sample_tuner, best_us)},
    {.name = "error",
     .type = FIELD_STRING,
     .offset = offsetof(struct sample_tuner, error),
     .nullable = true},
    {.name = "speedup",
     .type = FIELD_DOUBLE,
     .offset = offsetof(struct sample_tuner, speedup),
     .nullable = true,
     .present = offsetof(struct sample_tuner, has_speedup)},
    {.name = "kept",
     .type = FIELD_BOOLEAN,
     .offset = offsetof(struct sample_tuner, kept),
     .nullable = true,
     .present = offsetof(struct sample_tuner, has_kept)},
};

static const struct record_type tuner_type = {
    "heddle.test.Tuner",         NULL, FIELD_ROWS(tuner_fields),
    sizeof(struct sample_tuner), NULL,
};

static const struct field default_value = {
    .type = FIELD_STRING, .offset = offsetof(struct sample_default, json)};
static const struct field tag_item = {.type = FIELD_STRING};
static const struct field tuner_item = {.type = FIELD_RECORD, .record = &tuner_type};

static const struct field sample_fields[] = {
    {.name = "event_id",
     .type = FIELD_STRING,
     .offset = offsetof(struct sample, event_id)},
    {.name = "node", .type = FIELD_STRING, .offset = offsetof(struct sample, node)},
    {.name = "session", .type = FIELD_STRING, .offset = offsetof(struct sample, session)},
    {.name = "workspace",
     .type = FIELD_STRING,
     .offset = offsetof(struct sample, workspace)},
    {.name = "kernel", .type = FIELD_STRING, .offset = offsetof(struct sample, kernel)},
    {.name = "started_at_us",
     .type = FIELD_LONG,
     .offset = offsetof(struct sample, started_at_us)},
    {.name = "finished_at_us",
     .type = FIELD_LONG,
     .offset = offsetof(struct sample, finished_at_us)},
    {.name = "elapsed_us",
     .type = FIELD_LONG,
     .offset = offsetof(struct sample, elapsed_us)},
    {.name = "n_samples",
     .type = FIELD_LONG,
     .offset = offsetof(struct sample, n_samples)},
    {.name = "attempt", .type = FIELD_INT, .offset = offsetof(struct sample, attempt)},
    {.name = "exit_code",
     .type = FIELD_INT,
     .offset = offsetof(struct sample, exit_code)},
    {.name = "device", .type = FIELD_INT, .offset = offsetof(struct sample, device)},
    {.name = "decision", .type = FIELD_ENUM, .offset = offsetof(struct sample, decision)},
    {.name = "sha256",
     .type = FIELD_FIXED,
     .offset = offsetof(struct sample, sha256),
     .size = SAMPLE_SHA256_BYTES},
    {.name = "signature",
     .type = FIELD_BYTES,
     .offset = offsetof(struct sample, signature)},
    {.name = "best_us", .type = FIELD_DOUBLE, .offset = offsetof(struct sample, best_us)},
    {.name = "share", .type = FIELD_FLOAT, .offset = offsetof(struct sample, share)},
    {.name = "ok", .type = FIELD_BOOLEAN, .offset = offsetof(struct sample, ok)},
    {.name = "defaults",
     .type = FIELD_MAP,
     .offset = offsetof(struct sample, defaults),
     .size = sizeof(struct sample_default),
     .of = &default_value},
    {.name = "tags",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct sample, tags),
     .size = sizeof(struct slice),
     .of = &tag_item},
    {.name = "trace",
     .type = FIELD_STRING,
     .offset = offsetof(struct sample, trace),
     .nullable = true},
    {.name = "error",
     .type = FIELD_STRING,
     .offset = offsetof(struct sample, error),
     .nullable = true},
    {.name = "precision",
     .type = FIELD_STRING,
     .offset = offsetof(struct sample, precision),
     .nullable = true},
    {.name = "best_speedup",
     .type = FIELD_DOUBLE,
     .offset = offsetof(struct sample, best_speedup),
     .nullable = true,
     .present = offsetof(struct sample, has_best_speedup)},
    {.name = "tuners_run",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct sample, tuners_run),
     .size = sizeof(struct sample_tuner),
     .of = &tuner_item},
};

const struct record_type sample_type = {
    "heddle.test.Sample",  sample_avsc, FIELD_ROWS(sample_fields),
    sizeof(struct sample), NULL,
};

/* ---- Content --------------------------------------------------------------------- */

#define TEXT(literal)                                                                    \
    {                                                                                    \
        (literal), sizeof(literal) - 1                                                   \
    }

void
sample_fill(struct sample *ret_sample)
{
    static struct sample_default defaults[] = {
        {TEXT("precision"), TEXT("\"fp16\"")},
        {TEXT("engine"), TEXT("\"ck\"")},
    };
    static struct slice tags[] = {TEXT("nightly"), TEXT("gemm")};
    static struct sample_tuner tuners[] = {
        {TEXT("gemm_ck"), TEXT("ok"), 120, 41.25, {NULL, 0}, true, 1.75, true, true},
        {TEXT("fmoe_asm"), TEXT("ok"), 64, 42.5, {NULL, 0}, true, 1.125, true, false},
        {TEXT("triton"), TEXT("crashed"), 3, 0.0, TEXT("HIP error 719"), .kept = false},
        {TEXT("hipblaslt"), TEXT("ok"), 900, 39.0, {NULL, 0}, true, 2.5, true, true},
    };
    *ret_sample = (struct sample){
        .event_id = SLICE("3f7a2c9e51b84d06"),
        .node = SLICE("mi300x-node-07"),
        .session = SLICE("Mixtral/s1"),
        .workspace = SLICE("decode_fmoe"),
        .kernel = SLICE("fused_moe"),
        .started_at_us = 1700000000000000,
        .finished_at_us = 1700000123456789,
        .elapsed_us = 123456789,
        .n_samples = 1024,
        .attempt = 1,
        .exit_code = -1,
        .device = 7,
        .decision = 1,
        .signature = SLICE("\x00\x01\xfe\xff"),
        .best_us = 39.0,
        .share = 0.25F,
        .ok = true,
        .defaults = {defaults, 2},
        .tags = {tags, 2},
        .trace = SLICE("tr-0001"),
        .has_best_speedup = true,
        .best_speedup = 2.5,
        .tuners_run = {tuners, 4},
    };
    for (int i = 0; i < SAMPLE_SHA256_BYTES; i++)
        ret_sample->sha256[i] = (uint8_t)(i * 7);
}

/*
 * NOLINTBEGIN(clang-analyzer-core.NullDereference)
 * avro-c's macros call through the table of a value; that it was set, the analyzer can't
 * see.
 */
/* ---- avro-c: setting ------------------------------------------------------------- */

/* The next field of a record, in the schema's order. */
static avro_value_t *
next(const avro_value_t *record, size_t *i, avro_value_t *field)
{
    avro_value_get_by_index(record, (*i)++, field, NULL);
    return field;
}

/* The sample's texts are terminated, which avro-c wants counted. */
static int
set_text(avro_value_t *value, struct slice text)
{
    return avro_value_set_string_len(value, (char *)(uintptr_t)text.data, text.len + 1);
}

/* avro-c's are macros that evaluate their first argument again and again. */
static int
set_long(const avro_value_t *value, int64_t number)
{
    return avro_value_set_long(value, number);
}

static int
set_int(const avro_value_t *value, int32_t number)
{
    return avro_value_set_int(value, number);
}

static int
set_enum(const avro_value_t *value, int number)
{
    return avro_value_set_enum(value, number);
}

static int
set_double(const avro_value_t *value, double number)
{
    return avro_value_set_double(value, number);
}

static int
set_float(const avro_value_t *value, float number)
{
    return avro_value_set_float(value, number);
}

static int
set_boolean(const avro_value_t *value, int number)
{
    return avro_value_set_boolean(value, number);
}

static int
set_fixed(const avro_value_t *value, const void *data, size_t size)
{
    return avro_value_set_fixed(value, (void *)(uintptr_t)data, size);
}

static int
set_bytes(const avro_value_t *value, const void *data, size_t size)
{
    return avro_value_set_bytes(value, (void *)(uintptr_t)data, size);
}

/* The branch of [null, T] that holds a value, or null set. */
static bool
set_branch(avro_value_t *value, bool present, avro_value_t *branch)
{
    avro_value_set_branch(value, present, branch);
    if (!present)
        avro_value_set_null(branch);
    return present;
}

static int
set_opt_text(avro_value_t *value, struct slice text)
{
    avro_value_t branch;
    return set_branch(value, text.data != NULL, &branch) ? set_text(&branch, text) : 0;
}

static int
set_opt_double(avro_value_t *value, bool present, double number)
{
    avro_value_t branch;
    return set_branch(value, present, &branch) ? avro_value_set_double(&branch, number)
                                               : 0;
}

static int
set_tuner(const struct sample_tuner *tuner, const avro_value_t *record)
{
    avro_value_t field;
    avro_value_t branch;
    size_t i = 0;
    int failed = set_text(next(record, &i, &field), tuner->name);
    failed |= set_text(next(record, &i, &field), tuner->status);
    failed |= set_int(next(record, &i, &field), tuner->iterations);
    failed |= set_double(next(record, &i, &field), tuner->best_us);
    failed |= set_opt_text(next(record, &i, &field), tuner->error);
    failed |=
        set_opt_double(next(record, &i, &field), tuner->has_speedup, tuner->speedup);
    if (set_branch(next(record, &i, &field), tuner->has_kept, &branch))
        failed |= avro_value_set_boolean(&branch, tuner->kept);
    return failed;
}

static int
set_defaults(const struct list *list, avro_value_t *map)
{
    const struct sample_default *items = list->items;
    int failed = 0;
    avro_value_t value;
    for (size_t i = 0; i < list->n; i++) {
        failed |= avro_value_add(map, items[i].key.data, &value, NULL, NULL) ||
                  set_text(&value, items[i].json);
    }
    return failed;
}

static int
set_tags(const struct list *list, avro_value_t *array)
{
    const struct slice *items = list->items;
    int failed = 0;
    avro_value_t value;
    for (size_t i = 0; i < list->n; i++) {
        failed |= avro_value_append(array, &value, NULL) || set_text(&value, items[i]);
    }
    return failed;
}

static int
set_tuners(const struct list *list, avro_value_t *array)
{
    const struct sample_tuner *items = list->items;
    int failed = 0;
    avro_value_t value;
    for (size_t i = 0; i < list->n; i++) {
        failed |= avro_value_append(array, &value, NULL) || set_tuner(&items[i], &value);
    }
    return failed;
}

int
sample_to_avro(const struct sample *sample, avro_value_t *value)
{
    avro_value_t field;
    size_t i = 0;
    int failed = avro_value_reset(value);
    failed |= set_text(next(value, &i, &field), sample->event_id);
    failed |= set_text(next(value, &i, &field), sample->node);
    failed |= set_text(next(value, &i, &field), sample->session);
    failed |= set_text(next(value, &i, &field), sample->workspace);
    failed |= set_text(next(value, &i, &field), sample->kernel);
    failed |= set_long(next(value, &i, &field), sample->started_at_us);
    failed |= set_long(next(value, &i, &field), sample->finished_at_us);
    failed |= set_long(next(value, &i, &field), sample->elapsed_us);
    failed |= set_long(next(value, &i, &field), sample->n_samples);
    failed |= set_int(next(value, &i, &field), sample->attempt);
    failed |= set_int(next(value, &i, &field), sample->exit_code);
    failed |= set_int(next(value, &i, &field), sample->device);
    failed |= set_enum(next(value, &i, &field), sample->decision);
    failed |= set_fixed(next(value, &i, &field), sample->sha256, SAMPLE_SHA256_BYTES);
    failed |=
        set_bytes(next(value, &i, &field), sample->signature.data, sample->signature.len);
    failed |= set_double(next(value, &i, &field), sample->best_us);
    failed |= set_float(next(value, &i, &field), sample->share);
    failed |= set_boolean(next(value, &i, &field), sample->ok);
    failed |= set_defaults(&sample->defaults, next(value, &i, &field));
    failed |= set_tags(&sample->tags, next(value, &i, &field));
    failed |= set_opt_text(next(value, &i, &field), sample->trace);
    failed |= set_opt_text(next(value, &i, &field), sample->error);
    failed |= set_opt_text(next(value, &i, &field), sample->precision);
    failed |= set_opt_double(next(value, &i, &field), sample->has_best_speedup,
                             sample->best_speedup);
    failed |= set_tuners(&sample->tuners_run, next(value, &i, &field));
    return failed;
}

/* ---- avro-c: getting ------------------------------------------------------------- */

static int
get_text(const avro_value_t *value, struct slice *ret)
{
    size_t size = 0;
    int failed = avro_value_get_string(value, &ret->data, &size);
    ret->len = size ? size - 1 : 0;
    return failed;
}

static int
get_long(const avro_value_t *value, int64_t *ret)
{
    return avro_value_get_long(value, ret);
}

static int
get_int(const avro_value_t *value, int32_t *ret)
{
    return avro_value_get_int(value, ret);
}

static int
get_enum(const avro_value_t *value, int *ret)
{
    return avro_value_get_enum(value, ret);
}

static int
get_double(const avro_value_t *value, double *ret)
{
    return avro_value_get_double(value, ret);
}

static int
get_float(const avro_value_t *value, float *ret)
{
    return avro_value_get_float(value, ret);
}

static int
get_fixed(const avro_value_t *value, const void **ret_data, size_t *ret_size)
{
    return avro_value_get_fixed(value, ret_data, ret_size);
}

static int
get_bytes(const avro_value_t *value, const void **ret_data, size_t *ret_size)
{
    return avro_value_get_bytes(value, ret_data, ret_size);
}

static bool
get_branch(const avro_value_t *value, avro_value_t *branch)
{
    int index = 0;
    avro_value_get_discriminant(value, &index);
    avro_value_get_current_branch(value, branch);
    return index == 1;
}

static int
get_opt_text(const avro_value_t *value, struct slice *ret)
{
    avro_value_t branch;
    return get_branch(value, &branch) ? get_text(&branch, ret) : 0;
}

static int
get_opt_double(const avro_value_t *value, bool *ret_present, double *ret)
{
    avro_value_t branch;
    *ret_present = get_branch(value, &branch);
    return *ret_present ? avro_value_get_double(&branch, ret) : 0;
}

static int
get_bool(const avro_value_t *value, bool *ret)
{
    int number = 0;
    int failed = avro_value_get_boolean(value, &number);
    *ret = number != 0;
    return failed;
}

static int
get_tuner(const avro_value_t *record, struct sample_tuner *ret)
{
    avro_value_t field;
    avro_value_t branch;
    size_t i = 0;
    *ret = (struct sample_tuner){0};
    int failed = get_text(next(record, &i, &field), &ret->name);
    failed |= get_text(next(record, &i, &field), &ret->status);
    failed |= get_int(next(record, &i, &field), &ret->iterations);
    failed |= get_double(next(record, &i, &field), &ret->best_us);
    failed |= get_opt_text(next(record, &i, &field), &ret->error);
    failed |= get_opt_double(next(record, &i, &field), &ret->has_speedup, &ret->speedup);
    ret->has_kept = get_branch(next(record, &i, &field), &branch);
    return failed | (ret->has_kept ? get_bool(&branch, &ret->kept) : 0);
}

/* The size of an array or map, when it fits into a sample's space. */
static int
get_size(const avro_value_t *value, struct list *ret)
{
    int failed = avro_value_get_size(value, &ret->n);
    return failed | (ret->n > SAMPLE_MAX_ITEMS);
}

static int
get_defaults(const avro_value_t *map, struct list *ret, struct sample_default *items)
{
    int failed = get_size(map, ret);
    avro_value_t value;
    for (size_t i = 0; i < ret->n && !failed; i++) {
        failed |= avro_value_get_by_index(map, i, &value, &items[i].key.data);
        items[i].key.len = strlen(items[i].key.data);
        failed |= get_text(&value, &items[i].json);
    }
    ret->items = items;
    return failed;
}

static int
get_tags(const avro_value_t *array, struct list *ret, struct slice *items)
{
    int failed = get_size(array, ret);
    avro_value_t value;
    for (size_t i = 0; i < ret->n && !failed; i++) {
        failed |= avro_value_get_by_index(array, i, &value, NULL);
        failed |= get_text(&value, &items[i]);
    }
    ret->items = items;
    return failed;
}

static int
get_tuners(const avro_value_t *array, struct list *ret, struct sample_tuner *items)
{
    int failed = get_size(array, ret);
    avro_value_t value;
    for (size_t i = 0; i < ret->n && !failed; i++) {
        failed |= avro_value_get_by_index(array, i, &value, NULL);
        failed |= get_tuner(&value, &items[i]);
    }
    ret->items = items;
    return failed;
}

static int
get_blobs(const avro_value_t *value, size_t *i, struct sample *ret)
{
    avro_value_t field;
    const void *data = NULL;
    size_t size = 0;
    int failed = get_fixed(next(value, i, &field), &data, &size);
    if (failed || size != SAMPLE_SHA256_BYTES)
        return -1;
    memcpy(ret->sha256, data, size);
    failed = get_bytes(next(value, i, &field), &data, &size);
    ret->signature = (struct slice){data, size};
    return failed;
}

int
sample_from_avro(const avro_value_t *value,
                 struct sample *ret_sample,
                 struct sample_space *space)
{
    struct sample *ret = ret_sample;
    avro_value_t field;
    size_t i = 0;
    *ret = (struct sample){0};
    int failed = get_text(next(value, &i, &field), &ret->event_id);
    failed |= get_text(next(value, &i, &field), &ret->node);
    failed |= get_text(next(value, &i, &field), &ret->session);
    failed |= get_text(next(value, &i, &field), &ret->workspace);
    failed |= get_text(next(value, &i, &field), &ret->kernel);
    failed |= get_long(next(value, &i, &field), &ret->started_at_us);
    failed |= get_long(next(value, &i, &field), &ret->finished_at_us);
    failed |= get_long(next(value, &i, &field), &ret->elapsed_us);
    failed |= get_long(next(value, &i, &field), &ret->n_samples);
    failed |= get_int(next(value, &i, &field), &ret->attempt);
    failed |= get_int(next(value, &i, &field), &ret->exit_code);
    failed |= get_int(next(value, &i, &field), &ret->device);
    failed |= get_enum(next(value, &i, &field), &ret->decision);
    failed |= get_blobs(value, &i, ret);
    failed |= get_double(next(value, &i, &field), &ret->best_us);
    failed |= get_float(next(value, &i, &field), &ret->share);
    failed |= get_bool(next(value, &i, &field), &ret->ok);
    failed |= get_defaults(next(value, &i, &field), &ret->defaults, space->defaults);
    failed |= get_tags(next(value, &i, &field), &ret->tags, space->tags);
    failed |= get_opt_text(next(value, &i, &field), &ret->trace);
    failed |= get_opt_text(next(value, &i, &field), &ret->error);
    failed |= get_opt_text(next(value, &i, &field), &ret->precision);
    failed |= get_opt_double(next(value, &i, &field), &ret->has_best_speedup,
                             &ret->best_speedup);
    failed |= get_tuners(next(value, &i, &field), &ret->tuners_run, space->tuners);
    return failed;
}

/* ---- Comparing ------------------------------------------------------------------- */

static bool
same_slice(struct slice a, struct slice b)
{
    return !a.data == !b.data && slice_equal(a, b);
}

static bool
same_number(double a, double b)
{
    /* By bits: NaN equals itself. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
     */
    uint64_t a_bits;
    uint64_t b_bits;
    memcpy(&a_bits, &a, sizeof a_bits);
    memcpy(&b_bits, &b, sizeof b_bits);
    return a_bits == b_bits;
}

static bool
tuner_equal(const struct sample_tuner *a, const struct sample_tuner *b)
{
    return same_slice(a->name, b->name) && same_slice(a->status, b->status) &&
           a->iterations == b->iterations && same_number(a->best_us, b->best_us) &&
           same_slice(a->error, b->error) && a->has_speedup == b->has_speedup &&
           same_number(a->speedup, b->speedup) && a->has_kept == b->has_kept &&
           a->kept == b->kept;
}

static bool
lists_equal(const struct sample *a, const struct sample *b)
{
    const struct sample_default *da = a->defaults.items;
    const struct sample_default *db = b->defaults.items;
    const struct slice *ta = a->tags.items;
    const struct slice *tb = b->tags.items;
    const struct sample_tuner *ua = a->tuners_run.items;
    const struct sample_tuner *ub = b->tuners_run.items;
    bool same = a->defaults.n == b->defaults.n && a->tags.n == b->tags.n &&
                a->tuners_run.n == b->tuners_run.n;
    for (size_t i = 0; same && i < a->defaults.n; i++)
        same = same_slice(da[i].key, db[i].key) && same_slice(da[i].json, db[i].json);
    for (size_t i = 0; same && i < a->tags.n; i++)
        same = same_slice(ta[i], tb[i]);
    for (size_t i = 0; same && i < a->tuners_run.n; i++)
        same = tuner_equal(&ua[i], &ub[i]);
    return same;
}

bool
sample_equal(const struct sample *a, const struct sample *b)
{
    return same_slice(a->event_id, b->event_id) && same_slice(a->node, b->node) &&
           same_slice(a->session, b->session) && same_slice(a->workspace, b->workspace) &&
           same_slice(a->kernel, b->kernel) && a->started_at_us == b->started_at_us &&
           a->finished_at_us == b->finished_at_us && a->elapsed_us == b->elapsed_us &&
           a->n_samples == b->n_samples && a->attempt == b->attempt &&
           a->exit_code == b->exit_code && a->device == b->device &&
           a->decision == b->decision &&
           memcmp(a->sha256, b->sha256, SAMPLE_SHA256_BYTES) == 0 &&
           same_slice(a->signature, b->signature) &&
           same_number(a->best_us, b->best_us) &&
           same_number((double)a->share, (double)b->share) && a->ok == b->ok &&
           same_slice(a->trace, b->trace) && same_slice(a->error, b->error) &&
           same_slice(a->precision, b->precision) &&
           a->has_best_speedup == b->has_best_speedup &&
           same_number(a->best_speedup, b->best_speedup) && lists_equal(a, b);
}
/* NOLINTEND(clang-analyzer-core.NullDereference) */
