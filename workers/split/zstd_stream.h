/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of zstd, one after the other, within a ceiling for the window. */
#pragma once

#include "inflate.h"

enum zstd_result {
    ZSTD_STREAM_GOING,   /* inside a frame */
    ZSTD_STREAM_BETWEEN, /* behind a frame */
    ZSTD_STREAM_BROKEN,
    ZSTD_STREAM_WINDOW, /* the frame's window is above the ceiling */
    ZSTD_STREAM_NO_MEMORY,
};

struct zstd_stream;

/* `window_log`: 10 to 27. NULL: out of memory. */
struct zstd_stream *zstd_stream_new(int window_log);
void zstd_stream_free(struct zstd_stream *stream);
void zstd_stream_reset(struct zstd_stream *stream);
enum zstd_result zstd_stream_run(struct zstd_stream *stream, struct inflate_io *io);
