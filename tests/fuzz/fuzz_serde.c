/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any schema as a writer's and any bytes as its record, a NUL between them: refused, or a
 * value that our own schema writes and reads back to the same bytes. Time and memory are
 * libFuzzer's to watch.
 */
#include "serde.h"

#include "cleanup.h"

#include <stdlib.h>

enum { MAX_ARENA_BYTES = 64 << 20 };

struct item {
    int32_t v;
};

struct entry {
    struct slice key;
    struct slice value;
};

struct sample {
    int64_t n;
    struct slice s;
    struct slice b; /* nullable */
    bool has_o;
    double o;
    int32_t e;
    uint8_t x[4];
    struct list l; /* struct item */
    struct list m; /* struct entry */
};

static const struct field item_fields[] = {
    {.name = "v", .type = FIELD_INT, .offset = offsetof(struct item, v)},
};

static const struct record_type item_type = {
    "f.I", NULL, FIELD_ROWS(item_fields), sizeof(struct item), NULL,
};

static const struct field item_row = {.type = FIELD_RECORD, .record = &item_type};
static const struct field entry_row = {
    .type = FIELD_STRING,
    .offset = offsetof(struct entry, value),
};

static const struct field sample_fields[] = {
    {.name = "n", .type = FIELD_LONG, .offset = offsetof(struct sample, n)},
    {.name = "s", .type = FIELD_STRING, .offset = offsetof(struct sample, s)},
    {.name = "b",
     .type = FIELD_BYTES,
     .offset = offsetof(struct sample, b),
     .nullable = true},
    {.name = "o",
     .type = FIELD_DOUBLE,
     .offset = offsetof(struct sample, o),
     .nullable = true,
     .present = offsetof(struct sample, has_o)},
    {.name = "e", .type = FIELD_ENUM, .offset = offsetof(struct sample, e)},
    {.name = "x", .type = FIELD_FIXED, .offset = offsetof(struct sample, x), .size = 4},
    {.name = "l",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct sample, l),
     .size = sizeof(struct item),
     .of = &item_row},
    {.name = "m",
     .type = FIELD_MAP,
     .offset = offsetof(struct sample, m),
     .size = sizeof(struct entry),
     .of = &entry_row},
};

static const struct record_type sample_type = {
    "f.S",
    "{\"type\":\"record\",\"name\":\"S\",\"namespace\":\"f\",\"fields\":["
    "{\"name\":\"n\",\"type\":\"long\",\"default\":1,\"aliases\":[\"number\"]},"
    "{\"name\":\"s\",\"type\":\"string\",\"default\":\"\"},"
    "{\"name\":\"b\",\"type\":[\"null\",\"bytes\"],\"default\":null},"
    "{\"name\":\"o\",\"type\":[\"null\",\"double\"],\"default\":null},"
    "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]"
    ","
    "\"default\":\"A\"},\"default\":\"B\"},"
    "{\"name\":\"x\",\"type\":{\"type\":\"fixed\",\"name\":\"X\",\"size\":4},"
    "\"default\":\"abcd\"},"
    "{\"name\":\"l\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"record\","
    "\"name\":\"I\",\"fields\":[{\"name\":\"v\",\"type\":\"int\",\"default\":0}]}},"
    "\"default\":[{\"v\":1},{}]},"
    "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":\"string\"},"
    "\"default\":{\"k\":\"v\"}}]}",
    FIELD_ROWS(sample_fields),
    sizeof(struct sample),
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The writer's schema of this run; each run is an id of its own. */
static struct slice writer_text;
static uint32_t writer_id;

static enum err_kind
writer_by_id(void *state, uint32_t id, struct slice *ret_text, struct err *err)
{
    (void)state;
    if (id != writer_id)
        return err_set(err, ERR_RECORD, "schema_unknown", "no schema has this id");
    *ret_text = writer_text;
    return ERR_OK;
}

/* Opened once, kept until the end of the process. */
static struct serde *
serde_opened(void)
{
    static struct serde *serde;
    const struct schema_source source = {writer_by_id, NULL, NULL};
    if (!serde)
        serde = serde_new(&sample_type, &source, NULL);
    if (!serde)
        abort();
    return serde;
}

static void
encode_or_abort(const struct serde *serde, const struct sample *sample, struct buf *out)
{
    if (serde_encode(serde, sample, out, NULL))
        abort();
}

static void
check_round_trip(struct serde *serde, const struct sample *sample)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf once = BUF_INIT;
    CLEANUP(buf_done) struct buf twice = BUF_INIT;
    struct sample back;
    encode_or_abort(serde, sample, &once);
    if (serde_decode(serde, buf_slice(&once), &arena, &back, NULL))
        abort();
    encode_or_abort(serde, &back, &twice);
    if (!slice_equal(buf_slice(&once), buf_slice(&twice)))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const uint8_t *cut = len ? memchr(data, '\0', len) : NULL;
    if (!cut)
        return 0;
    writer_text = (struct slice){(const char *)data, (size_t)(cut - data)};
    writer_id++;
    struct serde *serde = serde_opened();
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    CLEANUP(arena_done) struct arena arena;
    struct sample sample;
    struct err err = {0};
    arena_init(&arena, MAX_ARENA_BYTES);
    frame_write_confluent(&value, writer_id);
    buf_add(&value, cut + 1, len - writer_text.len - 1);
    if (serde_decode(serde, buf_slice(&value), &arena, &sample, &err) == ERR_OK)
        check_round_trip(serde, &sample);
    else if (err.kind != ERR_RECORD || !err.code[0] || !err.stage)
        abort();
    return 0;
}
