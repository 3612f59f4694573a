/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes into gzip. */
#include "pack.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef HEDDLE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

enum { OUT_BYTES = 256 << 10, MAX_PIECE = 1 << 30 };

struct pack {
    pack_write_fn *write;
    void *state;
#ifdef HEDDLE_ISAL
    struct isal_zstream stream;
    uint8_t level[ISAL_DEF_LVL1_DEFAULT];
#else
    z_stream stream;
#endif
    uint8_t out[OUT_BYTES];
};

static enum err_kind
write_out(struct pack *pack, size_t len, struct err *err)
{
    if (len == 0)
        return ERR_OK;
    struct slice bytes = {(const char *)pack->out, len};
    return pack->write(pack->state, bytes, err);
}

#ifdef HEDDLE_ISAL

static bool
begin(struct pack *pack)
{
    isal_deflate_init(&pack->stream);
    pack->stream.gzip_flag = IGZIP_GZIP;
    pack->stream.level = 1;
    pack->stream.level_buf = pack->level;
    pack->stream.level_buf_size = sizeof pack->level;
    return true;
}

static void
finish(struct pack *pack)
{
    (void)pack;
}

/* Packs `piece`; with `is_last` all that is left, too. */
static enum err_kind
run(struct pack *pack, struct slice piece, bool is_last, struct err *err)
{
    struct isal_zstream *stream = &pack->stream;
    stream->next_in = (uint8_t *)(uintptr_t)piece.data;
    stream->avail_in = (uint32_t)piece.len;
    stream->end_of_stream = is_last;
    do {
        stream->next_out = pack->out;
        stream->avail_out = OUT_BYTES;
        if (isal_deflate(stream) != COMP_OK)
            return err_set(err, ERR_RECORD, "output_failed", "igzip gave up");
        if (write_out(pack, OUT_BYTES - stream->avail_out, err))
            return err->kind;
    } while (stream->avail_out == 0 ||
             (is_last && stream->internal_state.state != ZSTATE_END));
    return ERR_OK;
}

#else

enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

static bool
begin(struct pack *pack)
{
    return deflateInit2(&pack->stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW,
                        MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
}

static void
finish(struct pack *pack)
{
    deflateEnd(&pack->stream);
}

static enum err_kind
run(struct pack *pack, struct slice piece, bool is_last, struct err *err)
{
    z_stream *stream = &pack->stream;
    stream->next_in = (Bytef *)(uintptr_t)piece.data;
    stream->avail_in = (uInt)piece.len;
    do {
        stream->next_out = pack->out;
        stream->avail_out = OUT_BYTES;
        if (deflate(stream, is_last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
            return err_set(err, ERR_RECORD, "output_failed", "zlib gave up");
        if (write_out(pack, OUT_BYTES - stream->avail_out, err))
            return err->kind;
    } while (stream->avail_out == 0);
    return ERR_OK;
}

#endif

struct pack *
pack_new(pack_write_fn *write, void *state)
{
    struct pack *pack = calloc(1, sizeof *pack);
    if (!pack)
        return NULL;
    pack->write = write;
    pack->state = state;
    if (begin(pack))
        return pack;
    free(pack);
    return NULL;
}

void
pack_free(struct pack *pack)
{
    if (!pack)
        return;
    finish(pack);
    free(pack);
}

enum err_kind
pack_add(struct pack *pack, struct slice piece, struct err *err)
{
    while (piece.len > MAX_PIECE) {
        if (run(pack, (struct slice){piece.data, MAX_PIECE}, false, err))
            return err->kind;
        piece = (struct slice){piece.data + MAX_PIECE, piece.len - MAX_PIECE};
    }
    return piece.len ? run(pack, piece, false, err) : ERR_OK;
}

enum err_kind
pack_end(struct pack *pack, struct err *err)
{
    return run(pack, (struct slice){"", 0}, true, err);
}
