/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of a split on their way into the chunk store. */
#include "chunk_writer.h"

#include "pack.h"

#include <stdio.h>

static void
file_done(struct chunk_file *file)
{
    pack_free(file->pack);
    digest_free(file->digest);
    chunk_draft_free(file->draft);
    *file = (struct chunk_file){0};
}

void
chunk_writer_done(struct chunk_writer *writer)
{
    for (size_t i = 0; i < SPLIT_MAX_CHUNKS; i++)
        file_done(&writer->files[i]);
}

static enum err_kind
write_packed(void *state, struct slice bytes, struct err *err)
{
    const struct chunk_file *file = state;
    return chunk_draft_add(file->draft, bytes, err);
}

static enum err_kind
begin(struct chunk_writer *writer, struct chunk_file *file, struct err *err)
{
    if (chunk_draft_new(writer->store, CHUNK_PLACE_CHUNKS, &file->draft, err))
        return err->kind;
    file->pack = pack_new(write_packed, file);
    file->digest = digest_new();
    return file->pack && file->digest ? ERR_OK : err_no_memory(err, "a chunk");
}

enum err_kind
chunk_writer_write(void *state, size_t chunk, struct slice piece, struct err *err)
{
    struct chunk_writer *writer = state;
    struct chunk_file *file = &writer->files[chunk];
    if (!file->draft && begin(writer, file, err))
        return err->kind;
    digest_add(file->digest, piece);
    file->bytes += piece.len;
    return pack_add(file->pack, piece, err);
}

static enum err_kind
put(struct chunk_file *file,
    struct arena *arena,
    struct chunk_object *ret_object,
    struct err *err)
{
    char name[DIGEST_HEX + sizeof ".json.gz"];
    if (pack_end(file->pack, err))
        return err->kind;
    digest_end(file->digest, file->sha256);
    snprintf(name, sizeof name, "%s.json.gz", file->sha256);
    if (chunk_draft_put(file->draft, name, err))
        return err->kind;
    *ret_object = (struct chunk_object){
        .uri = arena_printf(arena, "chunks/%s", name),
        .bytes = file->bytes,
        .sha256 = arena_copy(arena, slice_of(file->sha256)),
    };
    file_done(file);
    if (!ret_object->uri.data || !ret_object->sha256.data)
        return err_no_memory(err, "the name of a chunk");
    return ERR_OK;
}

enum err_kind
chunk_writer_put(struct chunk_writer *writer,
                 size_t n,
                 struct arena *arena,
                 struct chunk_object *ret_objects,
                 struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (put(&writer->files[i], arena, &ret_objects[i], err))
            return err->kind;
    return ERR_OK;
}
