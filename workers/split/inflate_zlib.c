/* SPDX-License-Identifier: Apache-2.0 */
/* Raw deflate by zlib: gives every symbol before damage or a cut. */
#include "inflate.h"

#include <limits.h>
#include <stdlib.h>

#include <zlib.h>

struct decoder {
    z_stream stream;
    uint32_t crc;
};

static void *
create(void)
{
    struct decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder && inflateInit2(&decoder->stream, -MAX_WBITS) != Z_OK) {
        free(decoder);
        return NULL;
    }
    return decoder;
}

static void
destroy(void *state)
{
    struct decoder *decoder = state;
    if (!decoder)
        return;
    inflateEnd(&decoder->stream);
    free(decoder);
}

static enum inflate_result
reset(void *state)
{
    struct decoder *decoder = state;
    decoder->crc = 0;
    return inflateReset(&decoder->stream) == Z_OK ? INFLATE_GOING : INFLATE_NO_MEMORY;
}

static enum inflate_result
run(void *state, struct inflate_io *io)
{
    struct decoder *decoder = state;
    z_stream *stream = &decoder->stream;
    size_t in_len = io->in_len < UINT_MAX ? io->in_len : UINT_MAX;
    size_t out_len = io->out_len < UINT_MAX ? io->out_len : UINT_MAX;
    stream->next_in = (z_const Bytef *)(uintptr_t)io->in;
    stream->avail_in = (uInt)in_len;
    stream->next_out = io->out;
    stream->avail_out = (uInt)out_len;
    int result = inflate(stream, Z_NO_FLUSH);
    size_t given = out_len - stream->avail_out;
    decoder->crc = (uint32_t)crc32_z(decoder->crc, io->out, given);
    io->in += in_len - stream->avail_in;
    io->in_len -= in_len - stream->avail_in;
    io->out += given;
    io->out_len -= given;
    if (result == Z_STREAM_END)
        return INFLATE_END;
    if (result == Z_MEM_ERROR)
        return INFLATE_NO_MEMORY;
    return result == Z_OK || result == Z_BUF_ERROR ? INFLATE_GOING : INFLATE_BROKEN;
}

static uint32_t
crc(const void *state)
{
    const struct decoder *decoder = state;
    return decoder->crc;
}

const struct inflate_library inflate_zlib = {create, destroy, reset, run, crc};
