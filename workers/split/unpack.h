/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the container of a trace by its first bytes (splitting.md 2.1): plain text, gzip
 * of any number of members, zstd of any number of frames. ISA-L decodes gzip; where it
 * finds an error or a cut, zlib decodes the member again, so that every byte up to the
 * damage counts.
 */
#pragma once

#include "err.h"
#include "refusal.h"
#include "source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpack;

enum unpack_kind { UNPACK_PLAIN, UNPACK_GZIP, UNPACK_ZSTD, UNPACK_UNKNOWN };

enum unpack_problem {
    UNPACK_WHOLE,
    UNPACK_TRUNCATED, /* the input ends inside a member or frame */
    UNPACK_CORRUPT,   /* damage, a wrong checksum or length */
    UNPACK_REFUSED,   /* `refusal` says why: unsupported, or above a limit */
    /*
     * zlib finds less before the damage than ISA-L gave. Rewind and read again: zlib
     * alone decodes from then on.
     */
    UNPACK_AGAIN,
};

/* How the text ended; final after unpack_read() gave nothing. */
struct unpack_end {
    enum unpack_kind kind;
    enum unpack_problem problem;
    uint64_t in_bytes;       /* as received */
    uint64_t out_bytes;      /* decompressed */
    uint64_t members;        /* of gzip; 0 unless the input was read whole */
    uint64_t trailing_bytes; /* behind the last member */
    struct refusal refusal;  /* UNPACK_REFUSED */
};

/* Decoders of gzip: ISA-L with zlib behind it, or zlib alone (slower, same answers). */
enum unpack_decoder { UNPACK_ISAL, UNPACK_ZLIB };

/* `source` and `limits` are borrowed. NULL: out of memory. */
struct unpack *unpack_new(const struct split_source *source,
                          const struct split_limits *limits,
                          enum unpack_decoder decoder);
void unpack_free(struct unpack *unpack);
/* Back to the first byte. Call it before the first read, too. */
enum err_kind unpack_rewind(struct unpack *unpack, struct err *err);
/*
 * Fills `buf` with up to `cap` bytes of text; *ret_len = 0: the end, see unpack_end().
 * A decoder's complaint is no error. Errors are the source's, or ERR_FATAL.
 */
enum err_kind unpack_read(
    struct unpack *unpack, char *buf, size_t cap, size_t *ret_len, struct err *err);
const struct unpack_end *unpack_end(const struct unpack *unpack);
