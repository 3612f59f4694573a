/* SPDX-License-Identifier: Apache-2.0 */
/* A record type's codec: its parts in the order they are made. */
#include "codec_program.h"

#include <stdlib.h>

/* Each level is a call: the hard ceiling keeps a generous caller's stack. */
enum { DEFAULT_MAX_DEPTH = 64, HARD_MAX_DEPTH = 1024, DEFAULT_MAX_ITEMS = 1000000 };

/* What is the record's fault in others' schemas is ours in our own. */
static enum err_kind
own_fault(const struct codec *codec, const struct err *cause, struct err *err)
{
    if (cause->kind == ERR_FATAL) {
        if (err)
            *err = *cause;
        return ERR_FATAL;
    }
    return err_set(err, ERR_FATAL, "schema_table", "schema of %s: %s", codec->type->name,
                   cause->msg);
}

static enum err_kind
build(struct codec *codec, struct err *err)
{
    struct err cause = {0};
    if (!codec->type->name || !codec->type->avsc)
        return err_set(err, ERR_FATAL, "schema_table",
                       "table of %s has no name or no schema; only records that travel "
                       "alone have a codec",
                       codec->type->name ? codec->type->name : "(none)");
    codec->schema = schema_parse(slice_of(codec->type->avsc), &cause);
    if (!codec->schema)
        return own_fault(codec, &cause, err);
    enum err_kind kind = codec_check_table(codec, err);
    if (!kind)
        kind = codec_compile_encode(codec, err);
    if (kind)
        return kind;
    codec->own = codec_plan_new(codec, codec->schema, &cause);
    return codec->own ? ERR_OK : own_fault(codec, &cause, err);
}

struct codec *
codec_new(const struct record_type *type,
          const struct codec_limits *limits,
          struct err *err)
{
    struct codec *codec = calloc(1, sizeof *codec);
    if (!codec) {
        err_no_memory(err, "a codec");
        return NULL;
    }
    codec->type = type;
    arena_init(&codec->memory, PROGRAM_MAX_BYTES);
    if (limits)
        codec->limits = *limits;
    if (codec->limits.max_depth == 0)
        codec->limits.max_depth = DEFAULT_MAX_DEPTH;
    if (codec->limits.max_depth > HARD_MAX_DEPTH)
        codec->limits.max_depth = HARD_MAX_DEPTH;
    if (codec->limits.max_items == 0)
        codec->limits.max_items = DEFAULT_MAX_ITEMS;
    if (!build(codec, err))
        return codec;
    codec_free(codec);
    return NULL;
}

void
codec_free(struct codec *codec)
{
    if (!codec)
        return;
    codec_plan_free(codec->own);
    schema_free(codec->schema);
    arena_done(&codec->memory);
    free(codec);
}

const struct schema *
codec_schema(const struct codec *codec)
{
    return codec->schema;
}

const struct record_type *
codec_type(const struct codec *codec)
{
    return codec->type;
}
