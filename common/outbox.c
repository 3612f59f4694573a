/* SPDX-License-Identifier: Apache-2.0 */
/* Emits to bytes, each held against the limit of its topic. */
#include "outbox.h"

#include <stdio.h>
#include <stdlib.h>

#include "topics.h"

enum { MAX_TYPES = 32, FIRST_RECORDS = 16, SUBJECT_BYTES = 256 };

/* All records of one input together. */
#define OUTBOX_MAX_BYTES ((size_t)256 << 20)

struct known_type {
    const struct record_type *type;
    struct serde *serde;
    bool has_id; /* asked for at the first record that is sent */
};

struct outbox {
    struct schema_source source;
    bool has_source;
    struct known_type types[MAX_TYPES];
    size_t n_types;
    struct buf bytes;
    struct encoded *records;
    size_t *ends; /* of each record in `bytes` */
    size_t cap;
};

struct outbox *
outbox_new(const struct schema_source *source, struct err *err)
{
    struct outbox *outbox = calloc(1, sizeof *outbox);
    if (!outbox) {
        err_no_memory(err, "the outbox");
        return NULL;
    }
    if (source) {
        outbox->source = *source;
        outbox->has_source = true;
    }
    buf_init(&outbox->bytes, OUTBOX_MAX_BYTES);
    return outbox;
}

void
outbox_free(struct outbox *outbox)
{
    if (!outbox)
        return;
    for (size_t i = 0; i < outbox->n_types; i++)
        serde_free(outbox->types[i].serde);
    buf_done(&outbox->bytes);
    free(outbox->records);
    free(outbox->ends);
    free(outbox);
}

struct serde *
outbox_serde(struct outbox *outbox, const struct record_type *type, struct err *err)
{
    for (size_t i = 0; i < outbox->n_types; i++)
        if (outbox->types[i].type == type)
            return outbox->types[i].serde;
    if (outbox->n_types == MAX_TYPES) {
        err_fatal(err, EXIT_INTERNAL, "too_many_types",
                  "a worker writes at most %d record types", MAX_TYPES);
        return NULL;
    }
    struct serde *serde =
        serde_new(type, outbox->has_source ? &outbox->source : NULL, err);
    if (serde)
        outbox->types[outbox->n_types++] = (struct known_type){type, serde, false};
    return serde;
}

size_t
record_size(struct slice key, struct slice value, size_t headers_bytes)
{
    return key.len + value.len + headers_bytes + TOPIC_RECORD_OVERHEAD_BYTES;
}

enum err_kind
record_check_size(const char *topic, size_t size, struct err *err)
{
    const struct topic *known = topic_find(topic);
    if (!known || size <= known->max_message_bytes)
        return ERR_OK;
    err_set(err, ERR_RECORD, "record_too_large",
            "a record for %s takes %zu bytes, its topic allows %zu", topic, size,
            known->max_message_bytes);
    return err_at(err, "emit");
}

static enum err_kind
grow(struct outbox *outbox, size_t n, struct err *err)
{
    size_t cap = outbox->cap ? outbox->cap : FIRST_RECORDS;
    while (cap < n)
        cap *= 2;
    if (cap == outbox->cap)
        return ERR_OK;
    struct encoded *records = realloc(outbox->records, cap * sizeof *records);
    if (records)
        outbox->records = records;
    size_t *ends = realloc(outbox->ends, cap * sizeof *ends);
    if (ends)
        outbox->ends = ends;
    if (!records || !ends)
        return err_no_memory(err, "the encoded records");
    outbox->cap = cap;
    return ERR_OK;
}

/* Each type is written to one topic, so the first record's subject is that of all. */
static enum err_kind
give_id(struct outbox *outbox,
        struct serde *serde,
        const struct emit *emit,
        struct err *err)
{
    char subject[SUBJECT_BYTES];
    uint32_t id = 0;
    struct known_type *known = outbox->types;
    while (known->serde != serde)
        known++;
    if (known->has_id || !outbox->source.id_of)
        return ERR_OK;
    snprintf(subject, sizeof subject, "%s-value", emit->topic);
    if (outbox->source.id_of(outbox->source.state, subject, slice_of(emit->type->avsc),
                             &id, err))
        return err->kind;
    serde_use_id(serde, id);
    known->has_id = true;
    return ERR_OK;
}

static enum err_kind
encode_value(struct outbox *outbox, const struct emit *emit, struct err *err)
{
    if (!emit->type)
        return ERR_OK;
    struct serde *serde = outbox_serde(outbox, emit->type, err);
    if (!serde)
        return err->kind;
    if (give_id(outbox, serde, emit, err))
        return err_at(err, "emit");
    if (serde_encode(serde, emit->value, &outbox->bytes, err))
        return err_at(err, "emit");
    if (buf_check(&outbox->bytes, "what one record gives", err))
        return err_at(err, "emit");
    return ERR_OK;
}

/* The buffer moves while it grows, so the slices are cut once everything is in it. */
static void
cut_records(struct outbox *outbox, const struct emits *emits)
{
    size_t start = 0;
    for (size_t i = 0; i < emits->n; i++) {
        const struct emit *emit = &emits->items[i];
        struct slice value = {0};
        if (emit->type)
            value = (struct slice){outbox->bytes.data + start, outbox->ends[i] - start};
        start = outbox->ends[i];
        outbox->records[i] =
            (struct encoded){emit->topic, emit->key, value, emit->timestamp_ms, emit};
    }
}

enum err_kind
outbox_encode(struct outbox *outbox,
              const struct emits *emits,
              const struct encoded **ret_records,
              size_t *ret_n,
              struct err *err)
{
    buf_reset(&outbox->bytes);
    if (emits->n > outbox->cap && grow(outbox, emits->n, err))
        return err->kind;
    for (size_t i = 0; i < emits->n; i++) {
        if (encode_value(outbox, &emits->items[i], err))
            return err->kind;
        outbox->ends[i] = outbox->bytes.len;
    }
    cut_records(outbox, emits);
    for (size_t i = 0; i < emits->n; i++) {
        const struct encoded *record = &outbox->records[i];
        size_t size = record_size(record->key, record->value, 0);
        if (record_check_size(record->topic, size, err))
            return err->kind;
    }
    *ret_records = outbox->records;
    *ret_n = emits->n;
    return ERR_OK;
}
