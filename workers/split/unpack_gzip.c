/* SPDX-License-Identifier: Apache-2.0 */
/* gzip of any number of members: headers, deflate, trailers, what stands between. */
#include "unpack_state.h"

#include <string.h>

enum { GZIP_FIXED = 10, GZIP_TRAILER = 8, GZIP_DEFLATE = 8 };
enum { FLAG_HEADER_CRC = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16 };
enum { FLAGS_RESERVED = 0xe0 };

/* The next byte as received; -1: there is none. */
static enum err_kind
next_byte(struct unpack *unpack, int *ret_byte, struct err *err)
{
    enum err_kind kind = unpack_fill_if_empty(unpack, err);
    *ret_byte = -1;
    if (kind || unpack->in_len == 0)
        return kind;
    *ret_byte = *unpack->in++;
    unpack->in_len--;
    return ERR_OK;
}

static enum err_kind
skip_bytes(struct unpack *unpack, uint64_t n, bool *ret_are, struct err *err)
{
    *ret_are = true;
    while (n) {
        enum err_kind kind = unpack_fill_if_empty(unpack, err);
        if (kind)
            return kind;
        size_t len = unpack->in_len < n ? unpack->in_len : (size_t)n;
        if (len == 0) {
            *ret_are = false;
            return ERR_OK;
        }
        unpack->in += len;
        unpack->in_len -= len;
        n -= len;
    }
    return ERR_OK;
}

static enum err_kind
skip_text(struct unpack *unpack, bool *ret_is, struct err *err)
{
    int byte = 1;
    enum err_kind kind = ERR_OK;
    while (!kind && byte > 0)
        kind = next_byte(unpack, &byte, err);
    *ret_is = byte == 0;
    return kind;
}

static enum err_kind
skip_extra(struct unpack *unpack, bool *ret_is, struct err *err)
{
    int low = -1;
    int high = -1;
    enum err_kind kind = next_byte(unpack, &low, err);
    if (!kind)
        kind = next_byte(unpack, &high, err);
    *ret_is = low >= 0 && high >= 0;
    if (kind || !*ret_is)
        return kind;
    return skip_bytes(unpack, (uint64_t)low + 256 * (uint64_t)high, ret_is, err);
}

static enum err_kind
skip_optional_fields(struct unpack *unpack,
                     unsigned flags,
                     bool *ret_are,
                     struct err *err)
{
    enum err_kind kind = ERR_OK;
    *ret_are = true;
    if (flags & FLAG_EXTRA)
        kind = skip_extra(unpack, ret_are, err);
    if (!kind && *ret_are && flags & FLAG_NAME)
        kind = skip_text(unpack, ret_are, err);
    if (!kind && *ret_are && flags & FLAG_COMMENT)
        kind = skip_text(unpack, ret_are, err);
    if (!kind && *ret_are && flags & FLAG_HEADER_CRC)
        kind = skip_bytes(unpack, 2, ret_are, err);
    return kind;
}

static enum err_kind
begin_deflate(struct unpack *unpack, enum unpack_decoder decoder, struct err *err)
{
    unpack->library = unpack_library(decoder);
    if (!unpack->inflate[decoder])
        unpack->inflate[decoder] = unpack->library->create();
    if (!unpack->inflate[decoder] ||
        unpack->library->reset(unpack->inflate[decoder]) == INFLATE_NO_MEMORY)
        return err_no_memory(err, "the decoder of gzip");
    unpack->member_len = 0;
    unpack->stage = STAGE_DEFLATE;
    return ERR_OK;
}

/* At the first byte of a member, whose magic bytes were seen. */
enum err_kind
unpack_gzip_header(struct unpack *unpack, enum unpack_decoder decoder, struct err *err)
{
    uint8_t fixed[GZIP_FIXED];
    bool is_there;
    enum err_kind kind;
    unpack->member_at = unpack->end.in_bytes - unpack->in_len;
    for (size_t i = 0; i < sizeof fixed; i++) {
        int byte;
        if ((kind = next_byte(unpack, &byte, err)))
            return kind;
        if (byte < 0) {
            unpack_end_with(unpack, UNPACK_TRUNCATED);
            return ERR_OK;
        }
        fixed[i] = (uint8_t)byte;
    }
    if (fixed[2] != GZIP_DEFLATE || fixed[3] & FLAGS_RESERVED) {
        unpack_end_with(unpack, UNPACK_CORRUPT);
        return ERR_OK;
    }
    if ((kind = skip_optional_fields(unpack, fixed[3], &is_there, err)))
        return kind;
    if (is_there)
        return begin_deflate(unpack, decoder, err);
    unpack_end_with(unpack, UNPACK_TRUNCATED);
    return ERR_OK;
}

static uint32_t
little_32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

/* What stands behind a member: NULs, another member, or bytes that are ignored. */
static enum err_kind
pass_between(struct unpack *unpack, struct err *err)
{
    enum err_kind kind;
    bool is_all;
    do {
        if ((kind = unpack_fill_if_empty(unpack, err)))
            return kind;
        while (unpack->in_len && *unpack->in == 0) {
            unpack->in++;
            unpack->in_len--;
        }
    } while (unpack->in_len == 0 && !unpack->is_last);
    if (unpack->in_len == 1 && (kind = unpack_fill(unpack, err)))
        return kind;
    if (unpack_begins_with(unpack, "\x1f\x8b", 2)) {
        unpack->stage = STAGE_MEMBER;
        return ERR_OK;
    }
    uint64_t at = unpack->end.in_bytes - unpack->in_len;
    if ((kind = skip_bytes(unpack, UINT64_MAX, &is_all, err)))
        return kind;
    unpack->end.trailing_bytes = unpack->end.in_bytes - at;
    unpack_end_with(unpack, UNPACK_WHOLE);
    return ERR_OK;
}

static enum err_kind
check_trailer(struct unpack *unpack, uint32_t crc, struct err *err)
{
    uint8_t trailer[GZIP_TRAILER];
    for (size_t i = 0; i < sizeof trailer; i++) {
        int byte;
        enum err_kind kind = next_byte(unpack, &byte, err);
        if (kind)
            return kind;
        if (byte < 0) {
            unpack_end_with(unpack, UNPACK_TRUNCATED);
            return ERR_OK;
        }
        trailer[i] = (uint8_t)byte;
    }
    if (little_32(trailer) != crc ||
        little_32(trailer + 4) != (uint32_t)unpack->member_len) {
        unpack_end_with(unpack, UNPACK_CORRUPT);
        return ERR_OK;
    }
    unpack->members++;
    unpack->member_out = 0;
    return pass_between(unpack, err);
}

/* ISA-L met damage or a cut: zlib decodes the member again and says where. */
static enum err_kind
begin_again(struct unpack *unpack, struct err *err)
{
    uint64_t at = unpack->member_at;
    bool is_there;
    enum err_kind kind = unpack_rewind_source(unpack, err);
    if (!kind)
        kind = skip_bytes(unpack, at, &is_there, err);
    return kind ? kind : unpack_gzip_header(unpack, UNPACK_ZLIB, err);
}

/* The member ends here in damage or a cut. */
static enum err_kind
stop_member(struct unpack *unpack, enum unpack_problem problem, struct err *err)
{
    if (unpack->library != &inflate_zlib)
        return begin_again(unpack, err);
    unpack_end_with(unpack, problem);
    if (unpack->member_len < unpack->member_out) {
        unpack->decoder = UNPACK_ZLIB;
        unpack->end.problem = UNPACK_AGAIN;
    }
    return ERR_OK;
}

/* How many of the `len` bytes just given were not handed out before. */
static size_t
new_bytes(struct unpack *unpack, char *out, size_t len)
{
    uint64_t before = unpack->member_len;
    unpack->member_len += len;
    if (unpack->member_len <= unpack->member_out)
        return 0;
    size_t known =
        before < unpack->member_out ? (size_t)(unpack->member_out - before) : 0;
    if (known)
        memmove(out, out + known, len - known);
    unpack->member_out = unpack->member_len;
    return len - known;
}

enum err_kind
unpack_gzip_read(
    struct unpack *unpack, char *out, size_t cap, size_t *ret_len, struct err *err)
{
    const struct inflate_library *library = unpack->library;
    void *decoder = unpack->inflate[library == &inflate_zlib ? UNPACK_ZLIB : UNPACK_ISAL];
    enum err_kind kind = unpack_fill_if_empty(unpack, err);
    if (kind)
        return kind;
    struct inflate_io io = {unpack->in, unpack->in_len, (uint8_t *)out, cap};
    enum inflate_result result = library->run(decoder, &io);
    size_t given = cap - io.out_len;
    bool is_stuck = given == 0 && io.in_len == unpack->in_len;
    unpack->in = io.in;
    unpack->in_len = io.in_len;
    *ret_len = new_bytes(unpack, out, given);
    if (result == INFLATE_NO_MEMORY)
        return err_no_memory(err, "the decoder of gzip");
    if (result == INFLATE_END)
        return check_trailer(unpack, library->crc(decoder), err);
    if (result == INFLATE_BROKEN)
        return stop_member(unpack, UNPACK_CORRUPT, err);
    if (is_stuck && unpack->in_len == 0 && unpack->is_last)
        return stop_member(unpack, UNPACK_TRUNCATED, err);
    return is_stuck && unpack->in_len ? stop_member(unpack, UNPACK_CORRUPT, err) : ERR_OK;
}
