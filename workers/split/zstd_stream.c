/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of zstd. */
#include "zstd_stream.h"

#include <zstd.h>
#include <zstd_errors.h>

/* The library's own type stands behind ours. */
static ZSTD_DCtx *
context(struct zstd_stream *stream)
{
    return (ZSTD_DCtx *)stream;
}

struct zstd_stream *
zstd_stream_new(int window_log)
{
    ZSTD_DCtx *made = ZSTD_createDCtx();
    if (made &&
        ZSTD_isError(ZSTD_DCtx_setParameter(made, ZSTD_d_windowLogMax, window_log))) {
        ZSTD_freeDCtx(made);
        return NULL;
    }
    return (struct zstd_stream *)made;
}

void
zstd_stream_free(struct zstd_stream *stream)
{
    ZSTD_freeDCtx(context(stream));
}

void
zstd_stream_reset(struct zstd_stream *stream)
{
    ZSTD_DCtx_reset(context(stream), ZSTD_reset_session_only);
}

static enum zstd_result
complaint(size_t result)
{
    ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
    if (code == ZSTD_error_memory_allocation)
        return ZSTD_STREAM_NO_MEMORY;
    return code == ZSTD_error_frameParameter_windowTooLarge ? ZSTD_STREAM_WINDOW
                                                            : ZSTD_STREAM_BROKEN;
}

enum zstd_result
zstd_stream_run(struct zstd_stream *stream, struct inflate_io *io)
{
    ZSTD_inBuffer in = {io->in, io->in_len, 0};
    ZSTD_outBuffer out = {io->out, io->out_len, 0};
    size_t result = ZSTD_decompressStream(context(stream), &out, &in);
    io->in += in.pos;
    io->in_len -= in.pos;
    io->out += out.pos;
    io->out_len -= out.pos;
    if (ZSTD_isError(result))
        return complaint(result);
    return result == 0 ? ZSTD_STREAM_BETWEEN : ZSTD_STREAM_GOING;
}
