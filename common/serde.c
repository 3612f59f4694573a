/* SPDX-License-Identifier: Apache-2.0 */
/* A record type on the wire: header, then body by the plan of its writer. */
#include "serde.h"

#include "cleanup.h"

#include <inttypes.h>
#include <stdlib.h>

/* A schema given by its text. */
struct writer {
    uint64_t fingerprint;
    uint8_t sha256[SCHEMA_SHA256_BYTES]; /* tells a collision from the same schema */
    struct codec_plan *plan;
};

/* An id met on the wire: how to read it, or why we can't. */
struct known_id {
    uint32_t id;
    struct codec_plan *plan; /* NULL: refused */
    struct err *refusal;     /* NULL: readable */
};

struct serde {
    struct codec *codec;
    struct schema_source source; /* by_id NULL: none */
    uint64_t own_fingerprint;
    bool has_own_id;
    uint32_t own_id;
    struct writer writers[SERDE_MAX_WRITERS]; /* our own first */
    size_t n_writers;
    struct known_id ids[SERDE_MAX_IDS]; /* a ring: the next one in takes `next_id` */
    size_t n_ids;
    size_t next_id;
    size_t recent_id; /* the one found last: most records have the id of the one before */
};

CLEANUP_DEFINE(struct schema, schema_free);

static struct writer *
writer_find(struct serde *serde, uint64_t fingerprint)
{
    for (size_t i = 0; i < serde->n_writers; i++)
        if (serde->writers[i].fingerprint == fingerprint)
            return &serde->writers[i];
    return NULL;
}

static enum err_kind
writer_known(const struct writer *writer, const uint8_t *sha256, struct err *err)
{
    if (memcmp(writer->sha256, sha256, SCHEMA_SHA256_BYTES) == 0)
        return ERR_OK;
    return err_fatal(err, EXIT_CONFIG, "schema_collision",
                     "two writers' schemas have the fingerprint %016" PRIx64
                     "; leave one of them out",
                     writer->fingerprint);
}

static enum err_kind
writer_add(struct serde *serde, const struct schema *schema, struct err *err)
{
    struct writer writer = {.fingerprint = schema_crc64(schema)};
    schema_sha256(schema, writer.sha256);
    const struct writer *known = writer_find(serde, writer.fingerprint);
    if (known)
        return writer_known(known, writer.sha256, err);
    if (serde->n_writers == SERDE_MAX_WRITERS)
        return err_fatal(err, EXIT_CONFIG, "schema_limit",
                         "more than %d writers' schemas of %s; leave old ones out",
                         SERDE_MAX_WRITERS, codec_type(serde->codec)->name);
    struct err why = {0};
    writer.plan = codec_plan_new(serde->codec, schema, &why);
    if (!writer.plan) {
        if (err)
            *err = why;
        return why.kind;
    }
    serde->writers[serde->n_writers++] = writer;
    return ERR_OK;
}

static void
known_id_drop(struct known_id *known)
{
    codec_plan_free(known->plan);
    free(known->refusal);
    *known = (struct known_id){0};
}

void
serde_free(struct serde *serde)
{
    if (!serde)
        return;
    for (size_t i = 0; i < serde->n_writers; i++)
        codec_plan_free(serde->writers[i].plan);
    for (size_t i = 0; i < serde->n_ids; i++)
        known_id_drop(&serde->ids[i]);
    codec_free(serde->codec);
    free(serde);
}

static enum err_kind
serde_open(struct serde *serde,
           const struct record_type *type,
           const struct schema_source *source,
           struct err *err)
{
    serde->codec = codec_new(type, NULL, err);
    if (!serde->codec)
        return ERR_FATAL;
    if (source)
        serde->source = *source;
    const struct schema *own = codec_schema(serde->codec);
    serde->own_fingerprint = schema_crc64(own);
    if (writer_add(serde, own, err))
        return err->kind;
    const char *const *released = type->released;
    for (; released && *released; released++)
        if (serde_add_writer(serde, slice_of(*released), err))
            return err->kind;
    return ERR_OK;
}

struct serde *
serde_new(const struct record_type *type,
          const struct schema_source *source,
          struct err *err)
{
    struct serde *serde = calloc(1, sizeof *serde);
    if (!serde) {
        err_no_memory(err, type->name);
        return NULL;
    }
    if (serde_open(serde, type, source, err)) {
        serde_free(serde);
        return NULL;
    }
    return serde;
}

const struct codec *
serde_codec(const struct serde *serde)
{
    return serde->codec;
}

enum err_kind
serde_add_writer(struct serde *serde, struct slice avsc, struct err *err)
{
    struct err why = {0};
    CLEANUP(schema_freep) struct schema *schema = schema_parse(avsc, &why);
    if (schema)
        return writer_add(serde, schema, err);
    if (err)
        *err = why;
    return why.kind;
}

void
serde_use_id(struct serde *serde, uint32_t schema_id)
{
    serde->has_own_id = true;
    serde->own_id = schema_id;
}

enum err_kind
serde_encode(const struct serde *serde,
             const void *value,
             struct buf *out,
             struct err *err)
{
    size_t before = out->len;
    if (serde->has_own_id)
        frame_write_confluent(out, serde->own_id);
    else
        frame_write_single_object(out, serde->own_fingerprint);
    enum err_kind kind = codec_encode(serde->codec, value, out, err);
    if (!kind)
        kind = buf_check(out, codec_type(serde->codec)->name, err);
    if (!kind)
        return ERR_OK;
    out->len = before;
    return err ? err_at(err, "emit") : kind;
}

/* Decode. */

static enum err_kind
plan_by_fingerprint(struct serde *serde,
                    uint64_t fingerprint,
                    const struct codec_plan **ret_plan,
                    struct err *err)
{
    const struct writer *writer = writer_find(serde, fingerprint);
    if (!writer) {
        err_set(err, ERR_RECORD, "schema_unknown",
                "no schema of %s has the fingerprint %016" PRIx64
                "; give this worker the version of its writer",
                codec_type(serde->codec)->name, fingerprint);
        return err_at(err, "frame");
    }
    *ret_plan = writer->plan;
    return ERR_OK;
}

static struct known_id *
known_id_find(struct serde *serde, uint32_t id)
{
    if (serde->recent_id < serde->n_ids && serde->ids[serde->recent_id].id == id)
        return &serde->ids[serde->recent_id];
    for (size_t i = 0; i < serde->n_ids; i++)
        if (serde->ids[i].id == id) {
            serde->recent_id = i;
            return &serde->ids[i];
        }
    return NULL;
}

static struct known_id *
known_id_add(struct serde *serde, uint32_t id)
{
    struct known_id *known = &serde->ids[serde->next_id];
    known_id_drop(known);
    known->id = id;
    serde->next_id = (serde->next_id + 1) % SERDE_MAX_IDS;
    if (serde->n_ids < SERDE_MAX_IDS)
        serde->n_ids++;
    return known;
}

/*
 * An id means one text for ever, so that it can't be read as ours is kept like a plan. A
 * text that is no schema is not: a reader short of memory can take a good one for that.
 */
static enum err_kind
refusal_keep(struct serde *serde, uint32_t id, const struct err *err)
{
    struct err *copy = err->kind == ERR_RECORD ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return err->kind;
    *copy = *err;
    known_id_add(serde, id)->refusal = copy;
    return err->kind;
}

static enum err_kind
source_ask(struct serde *serde, uint32_t id, struct slice *ret_text, struct err *err)
{
    enum err_kind kind = ERR_RECORD;
    if (serde->source.by_id)
        kind = serde->source.by_id(serde->source.state, id, ret_text, err);
    else
        err_set(err, ERR_RECORD, "schema_unknown",
                "value of %s names schema id %" PRIu32
                " of a registry, and this worker has none; configure the registry "
                "of its producer",
                codec_type(serde->codec)->name, id);
    return kind ? err_at(err, "frame") : ERR_OK;
}

static enum err_kind
plan_make(struct serde *serde,
          uint32_t id,
          const struct codec_plan **ret_plan,
          struct err *err)
{
    struct slice text = {0};
    enum err_kind kind = source_ask(serde, id, &text, err);
    if (kind)
        return kind;
    CLEANUP(schema_freep) struct schema *schema = schema_parse(text, err);
    if (!schema)
        return err_at(err, "decode");
    struct codec_plan *plan = codec_plan_new(serde->codec, schema, err);
    if (!plan) {
        err_at(err, "decode");
        return refusal_keep(serde, id, err);
    }
    known_id_add(serde, id)->plan = plan;
    *ret_plan = plan;
    return ERR_OK;
}

static enum err_kind
plan_by_id(struct serde *serde,
           uint32_t id,
           const struct codec_plan **ret_plan,
           struct err *err)
{
    if (serde->has_own_id && id == serde->own_id) {
        *ret_plan = serde->writers[0].plan;
        return ERR_OK;
    }
    const struct known_id *known = known_id_find(serde, id);
    if (!known)
        return plan_make(serde, id, ret_plan, err);
    if (!known->plan) {
        *err = *known->refusal;
        return err->kind;
    }
    *ret_plan = known->plan;
    return ERR_OK;
}

enum err_kind
serde_decode(struct serde *serde,
             struct slice value,
             struct arena *arena,
             void *ret_value,
             struct err *err)
{
    struct err unwanted;
    struct err *why = err ? err : &unwanted;
    struct frame frame;
    const struct codec_plan *plan = NULL;
    if (frame_read(value, &frame, why))
        return err_at(why, "frame");
    enum err_kind kind = frame.kind == FRAME_CONFLUENT
                             ? plan_by_id(serde, frame.schema_id, &plan, why)
                             : plan_by_fingerprint(serde, frame.fingerprint, &plan, why);
    if (kind)
        return kind;
    if (codec_decode(plan, frame.body, arena, ret_value, why))
        return err_at(why, "decode");
    return ERR_OK;
}
