/* SPDX-License-Identifier: Apache-2.0 */
/* The container of a trace, opened by its first bytes. */
#include "unpack.h"

#include "inflate.h"
#include "zstd_stream.h"

#include <stdlib.h>
#include <string.h>

enum {
    IN_BYTES = 256 << 10,
    IN_BEHIND = 8, /* bytes kept in front: a decoder may give some back */
    SNIFF_BYTES = 6,
    GZIP_FIXED = 10,
    GZIP_TRAILER = 8,
    GZIP_DEFLATE = 8,
};

enum { FLAG_HEADER_CRC = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16 };
enum { FLAGS_RESERVED = 0xe0 };

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
    uint8_t room[IN_BEHIND + IN_BYTES];
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

struct unpack *
unpack_new(const struct split_source *source,
           const struct split_limits *limits,
           enum unpack_decoder decoder)
{
    struct unpack *unpack = calloc(1, sizeof *unpack);
    if (!unpack)
        return NULL;
    unpack->source = *source;
    unpack->limits = *limits;
#ifdef HEDDLE_ISAL
    unpack->decoder = decoder;
#else
    (void)decoder;
    unpack->decoder = UNPACK_ZLIB;
#endif
    unpack->end.kind = UNPACK_UNKNOWN;
    return unpack;
}

static const struct inflate_library *
library_of(enum unpack_decoder decoder)
{
#ifdef HEDDLE_ISAL
    if (decoder == UNPACK_ISAL)
        return &inflate_isal;
#else
    (void)decoder;
#endif
    return &inflate_zlib;
}

void
unpack_free(struct unpack *unpack)
{
    if (!unpack)
        return;
    for (int i = 0; i < 2; i++)
        if (unpack->inflate[i])
            library_of((enum unpack_decoder)i)->destroy(unpack->inflate[i]);
    zstd_stream_free(unpack->zstd);
    free(unpack);
}

const struct unpack_end *
unpack_end(const struct unpack *unpack)
{
    return &unpack->end;
}

static enum err_kind
rewind_source(struct unpack *unpack, struct err *err)
{
    unpack->in = unpack->room + IN_BEHIND;
    unpack->in_len = 0;
    unpack->is_last = false;
    unpack->end.in_bytes = 0;
    return unpack->source.rewind(unpack->source.state, err);
}

enum err_kind
unpack_rewind(struct unpack *unpack, struct err *err)
{
    unpack->stage = STAGE_SNIFF;
    unpack->end = (struct unpack_end){.kind = UNPACK_UNKNOWN};
    unpack->members = 0;
    unpack->is_between = false;
    return rewind_source(unpack, err);
}

/* As much as the room holds, so that the answer does not depend on how reads are cut. */
static enum err_kind
fill(struct unpack *unpack, struct err *err)
{
    uint8_t *start = unpack->room + IN_BEHIND;
    if (unpack->is_last)
        return ERR_OK;
    memmove(start - IN_BEHIND, unpack->in - IN_BEHIND, IN_BEHIND + unpack->in_len);
    unpack->in = start;
    while (unpack->in_len < IN_BYTES && !unpack->is_last) {
        size_t len = 0;
        char *room = (char *)start + unpack->in_len;
        enum err_kind kind = unpack->source.read(unpack->source.state, room,
                                                 IN_BYTES - unpack->in_len, &len, err);
        if (kind)
            return kind;
        unpack->is_last = len == 0;
        unpack->in_len += len;
        unpack->end.in_bytes += len;
    }
    return ERR_OK;
}

static enum err_kind
fill_if_empty(struct unpack *unpack, struct err *err)
{
    return unpack->in_len ? ERR_OK : fill(unpack, err);
}

static void
end_with(struct unpack *unpack, enum unpack_problem problem)
{
    unpack->stage = STAGE_ENDED;
    unpack->end.problem = problem;
    if (problem == UNPACK_WHOLE)
        unpack->end.members = unpack->members;
}

static void
refuse(struct unpack *unpack, const char *code, const char *option, const char *reason)
{
    end_with(unpack, UNPACK_REFUSED);
    refusal_set(&unpack->end.refusal, code, "%s", reason);
    unpack->end.refusal.option = option;
}

static void
refuse_limit(struct unpack *unpack, const char *limit)
{
    refuse(unpack, "trace_too_large", limit, "");
    struct refusal *refusal = &unpack->end.refusal;
    refusal->limit = limit;
    snprintf(refusal->reason, sizeof refusal->reason, "the trace passes %s", limit);
}

static bool
begins_with(const struct unpack *unpack, const char *magic, size_t len)
{
    return unpack->in_len >= len && memcmp(unpack->in, magic, len) == 0;
}

static bool
is_zstd(const struct unpack *unpack)
{
    return begins_with(unpack, "\x28\xb5\x2f\xfd", 4) ||
           (unpack->in_len >= 4 && memcmp(unpack->in + 1, "\x2a\x4d\x18", 3) == 0 &&
            unpack->in[0] >= 0x50 && unpack->in[0] <= 0x5f);
}

static enum err_kind
begin_zstd(struct unpack *unpack, struct err *err)
{
    unpack->end.kind = UNPACK_ZSTD;
    unpack->stage = STAGE_ZSTD;
    if (!unpack->zstd)
        unpack->zstd = zstd_stream_new(unpack->limits.zstd_window_log);
    if (!unpack->zstd)
        return err_no_memory(err, "the decoder of zstd");
    zstd_stream_reset(unpack->zstd);
    return ERR_OK;
}

static enum err_kind
sniff(struct unpack *unpack, struct err *err)
{
    enum err_kind kind = fill(unpack, err);
    if (kind)
        return kind;
    if (begins_with(unpack, "\x1f\x8b", 2)) {
        unpack->end.kind = UNPACK_GZIP;
        unpack->stage = STAGE_MEMBER;
    } else if (unpack->in_len == 1 && unpack->in[0] == 0x1f) {
        unpack->end.kind = UNPACK_GZIP;
        end_with(unpack, UNPACK_TRUNCATED);
    } else if (is_zstd(unpack)) {
        return begin_zstd(unpack, err);
    } else if (begins_with(unpack, "PK\x03\x04", 4)) {
        refuse(unpack, "trace_unreadable", NULL, "zip archive: unpack it first");
    } else if (begins_with(unpack, "BZh", 3) || begins_with(unpack,
                                                            "\xfd"
                                                            "7zXZ",
                                                            SNIFF_BYTES)) {
        refuse(unpack, "trace_unreadable", NULL,
               "unsupported compression: unpack it, or pack it as gzip or zstd");
    } else {
        unpack->end.kind = UNPACK_PLAIN;
        unpack->stage = STAGE_PLAIN;
    }
    return ERR_OK;
}

static enum err_kind
read_plain(struct unpack *unpack, char *out, size_t cap, size_t *ret_len, struct err *err)
{
    if (unpack->in_len) {
        size_t len = unpack->in_len < cap ? unpack->in_len : cap;
        memcpy(out, unpack->in, len);
        unpack->in += len;
        unpack->in_len -= len;
        *ret_len = len;
        return ERR_OK;
    }
    enum err_kind kind = ERR_OK;
    if (!unpack->is_last)
        kind = unpack->source.read(unpack->source.state, out, cap, ret_len, err);
    unpack->end.in_bytes += *ret_len;
    if (!kind && *ret_len == 0)
        end_with(unpack, UNPACK_WHOLE);
    return kind;
}

/* The next byte as received; -1: there is none. */
static enum err_kind
next_byte(struct unpack *unpack, int *ret_byte, struct err *err)
{
    enum err_kind kind = fill_if_empty(unpack, err);
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
        enum err_kind kind = fill_if_empty(unpack, err);
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
    unpack->library = library_of(decoder);
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
static enum err_kind
read_member_header(struct unpack *unpack, enum unpack_decoder decoder, struct err *err)
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
            end_with(unpack, UNPACK_TRUNCATED);
            return ERR_OK;
        }
        fixed[i] = (uint8_t)byte;
    }
    if (fixed[2] != GZIP_DEFLATE || fixed[3] & FLAGS_RESERVED) {
        end_with(unpack, UNPACK_CORRUPT);
        return ERR_OK;
    }
    if ((kind = skip_optional_fields(unpack, fixed[3], &is_there, err)))
        return kind;
    if (is_there)
        return begin_deflate(unpack, decoder, err);
    end_with(unpack, UNPACK_TRUNCATED);
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
        if ((kind = fill_if_empty(unpack, err)))
            return kind;
        while (unpack->in_len && *unpack->in == 0) {
            unpack->in++;
            unpack->in_len--;
        }
    } while (unpack->in_len == 0 && !unpack->is_last);
    if (unpack->in_len == 1 && (kind = fill(unpack, err)))
        return kind;
    if (begins_with(unpack, "\x1f\x8b", 2)) {
        unpack->stage = STAGE_MEMBER;
        return ERR_OK;
    }
    uint64_t at = unpack->end.in_bytes - unpack->in_len;
    if ((kind = skip_bytes(unpack, UINT64_MAX, &is_all, err)))
        return kind;
    unpack->end.trailing_bytes = unpack->end.in_bytes - at;
    end_with(unpack, UNPACK_WHOLE);
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
            end_with(unpack, UNPACK_TRUNCATED);
            return ERR_OK;
        }
        trailer[i] = (uint8_t)byte;
    }
    if (little_32(trailer) != crc ||
        little_32(trailer + 4) != (uint32_t)unpack->member_len) {
        end_with(unpack, UNPACK_CORRUPT);
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
    enum err_kind kind = rewind_source(unpack, err);
    if (!kind)
        kind = skip_bytes(unpack, at, &is_there, err);
    return kind ? kind : read_member_header(unpack, UNPACK_ZLIB, err);
}

/* The member ends here in damage or a cut. */
static enum err_kind
stop_member(struct unpack *unpack, enum unpack_problem problem, struct err *err)
{
    if (unpack->library != &inflate_zlib)
        return begin_again(unpack, err);
    end_with(unpack, problem);
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

static enum err_kind
read_deflate(
    struct unpack *unpack, char *out, size_t cap, size_t *ret_len, struct err *err)
{
    const struct inflate_library *library = unpack->library;
    void *decoder = unpack->inflate[library == &inflate_zlib ? UNPACK_ZLIB : UNPACK_ISAL];
    enum err_kind kind = fill_if_empty(unpack, err);
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

static void
refuse_window(struct unpack *unpack)
{
    refuse(unpack, "trace_unreadable", "zstd_window_log", "");
    struct refusal *refusal = &unpack->end.refusal;
    snprintf(refusal->reason, sizeof refusal->reason,
             "the zstd window is larger than 2^%d bytes", unpack->limits.zstd_window_log);
}

static enum err_kind
read_zstd(struct unpack *unpack, char *out, size_t cap, size_t *ret_len, struct err *err)
{
    uint8_t *room = (uint8_t *)out;
    enum err_kind kind = fill_if_empty(unpack, err);
    if (kind)
        return kind;
    if (unpack->is_between && unpack->in_len == 0) {
        end_with(unpack, UNPACK_WHOLE);
        return ERR_OK;
    }
    struct inflate_io io = {unpack->in, unpack->in_len, room, cap};
    enum zstd_result result = zstd_stream_run(unpack->zstd, &io);
    *ret_len = cap - io.out_len;
    bool is_stuck = *ret_len == 0 && io.in_len == unpack->in_len;
    unpack->in = io.in;
    unpack->in_len = io.in_len;
    unpack->is_between = result == ZSTD_STREAM_BETWEEN;
    if (result == ZSTD_STREAM_NO_MEMORY)
        return err_no_memory(err, "the decoder of zstd");
    if (result == ZSTD_STREAM_WINDOW)
        refuse_window(unpack);
    else if (result == ZSTD_STREAM_BROKEN)
        end_with(unpack, UNPACK_CORRUPT);
    else if (is_stuck && !unpack->is_between)
        end_with(unpack, unpack->in_len ? UNPACK_CORRUPT : UNPACK_TRUNCATED);
    return ERR_OK;
}

static enum err_kind
step(struct unpack *unpack, char *out, size_t cap, size_t *ret_len, struct err *err)
{
    switch (unpack->stage) {
    case STAGE_SNIFF:
        return sniff(unpack, err);
    case STAGE_PLAIN:
        return read_plain(unpack, out, cap, ret_len, err);
    case STAGE_MEMBER:
        unpack->member_out = 0;
        return read_member_header(unpack, unpack->decoder, err);
    case STAGE_DEFLATE:
        return read_deflate(unpack, out, cap, ret_len, err);
    case STAGE_ZSTD:
        return read_zstd(unpack, out, cap, ret_len, err);
    case STAGE_ENDED:
        break;
    }
    return ERR_OK;
}

static void
check_limits(struct unpack *unpack)
{
    const struct unpack_end *end = &unpack->end;
    uint64_t taken = end->in_bytes - unpack->in_len;
    /* While a member is decoded again, what was taken and given do not belong together.
     */
    if (end->problem == UNPACK_REFUSED || unpack->member_len < unpack->member_out)
        return;
    if (end->out_bytes > unpack->limits.max_bytes)
        refuse_limit(unpack, "max_bytes");
    else if (end->kind != UNPACK_PLAIN && taken &&
             end->out_bytes / taken >= unpack->limits.max_ratio &&
             end->out_bytes - taken * unpack->limits.max_ratio > 0)
        refuse_limit(unpack, "max_ratio");
}

enum err_kind
unpack_read(
    struct unpack *unpack, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    *ret_len = 0;
    while (*ret_len < cap && unpack->stage != STAGE_ENDED) {
        size_t len = 0;
        enum err_kind kind = step(unpack, buf + *ret_len, cap - *ret_len, &len, err);
        if (kind)
            return kind;
        *ret_len += len;
        unpack->end.out_bytes += len;
        if (len)
            check_limits(unpack);
    }
    return ERR_OK;
}
