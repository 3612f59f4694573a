/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of unpack.h share while they open one container. */
#pragma once

#include "inflate.h"
#include "unpack.h"
#include "zstd_stream.h"

enum {
    UNPACK_IN_BYTES = 256 << 10,
    UNPACK_IN_BEHIND = 8, /* bytes kept in front: a decoder may give some back */
};

enum stage {
    STAGE_SNIFF,
    STAGE_PLAIN,
    STAGE_MEMBER, /* at the header of a gzip member */
    STAGE_DEFLATE,
    STAGE_ZSTD,
    STAGE_ENDED,
};

struct unpack {
    struct split_source source;
    struct split_limits limits;
    enum unpack_decoder decoder;
    enum stage stage;
    struct unpack_end end;
    /* input: a window over the source */
    uint8_t room[UNPACK_IN_BEHIND + UNPACK_IN_BYTES];
    const uint8_t *in;
    size_t in_len;
    bool is_last; /* the source has no more */
    /* gzip */
    const struct inflate_library *library;
    void *inflate[2]; /* by unpack_decoder */
    uint64_t members;
    uint64_t member_at;  /* offset of its header, as received */
    uint64_t member_out; /* decompressed bytes of it that were handed out */
    uint64_t member_len; /* that its decoder gave */
    /* zstd */
    struct zstd_stream *zstd;
    bool is_between; /* behind a frame */
};

/* The decoder of gzip, or zlib where this build has no other. */
const struct inflate_library *unpack_library(enum unpack_decoder decoder);
enum err_kind unpack_rewind_source(struct unpack *unpack, struct err *err);
/* As much input as the room holds; or only when there is none left. */
enum err_kind unpack_fill(struct unpack *unpack, struct err *err);
enum err_kind unpack_fill_if_empty(struct unpack *unpack, struct err *err);
void unpack_end_with(struct unpack *unpack, enum unpack_problem problem);
bool unpack_begins_with(const struct unpack *unpack, const char *magic, size_t len);

/* At the first byte of a member, whose magic bytes were seen. */
enum err_kind
unpack_gzip_header(struct unpack *unpack, enum unpack_decoder decoder, struct err *err);
/* Text of the member, up to `cap` bytes; goes on behind it at its end. */
enum err_kind unpack_gzip_read(
    struct unpack *unpack, char *out, size_t cap, size_t *ret_len, struct err *err);
