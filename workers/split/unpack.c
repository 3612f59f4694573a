/* SPDX-License-Identifier: Apache-2.0 */
/* The container of a trace, opened by its first bytes. */
#include "unpack.h"

#include "unpack_state.h"

#include <stdlib.h>
#include <string.h>

enum { SNIFF_BYTES = 6 };

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

const struct inflate_library *
unpack_library(enum unpack_decoder decoder)
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
            unpack_library((enum unpack_decoder)i)->destroy(unpack->inflate[i]);
    zstd_stream_free(unpack->zstd);
    free(unpack);
}

const struct unpack_end *
unpack_end(const struct unpack *unpack)
{
    return &unpack->end;
}

enum err_kind
unpack_rewind_source(struct unpack *unpack, struct err *err)
{
    unpack->in = unpack->room + UNPACK_IN_BEHIND;
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
    return unpack_rewind_source(unpack, err);
}

/* As much as the room holds, so that the answer does not depend on how reads are cut. */
enum err_kind
unpack_fill(struct unpack *unpack, struct err *err)
{
    uint8_t *start = unpack->room + UNPACK_IN_BEHIND;
    if (unpack->is_last)
        return ERR_OK;
    memmove(start - UNPACK_IN_BEHIND, unpack->in - UNPACK_IN_BEHIND,
            UNPACK_IN_BEHIND + unpack->in_len);
    unpack->in = start;
    while (unpack->in_len < UNPACK_IN_BYTES && !unpack->is_last) {
        size_t len = 0;
        char *room = (char *)start + unpack->in_len;
        enum err_kind kind = unpack->source.read(
            unpack->source.state, room, UNPACK_IN_BYTES - unpack->in_len, &len, err);
        if (kind)
            return kind;
        unpack->is_last = len == 0;
        unpack->in_len += len;
        unpack->end.in_bytes += len;
    }
    return ERR_OK;
}

enum err_kind
unpack_fill_if_empty(struct unpack *unpack, struct err *err)
{
    return unpack->in_len ? ERR_OK : unpack_fill(unpack, err);
}

void
unpack_end_with(struct unpack *unpack, enum unpack_problem problem)
{
    unpack->stage = STAGE_ENDED;
    unpack->end.problem = problem;
    if (problem == UNPACK_WHOLE)
        unpack->end.members = unpack->members;
}

static void
refuse(struct unpack *unpack, const char *code, const char *option, const char *reason)
{
    unpack_end_with(unpack, UNPACK_REFUSED);
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

bool
unpack_begins_with(const struct unpack *unpack, const char *magic, size_t len)
{
    return unpack->in_len >= len && memcmp(unpack->in, magic, len) == 0;
}

static bool
is_zstd(const struct unpack *unpack)
{
    return unpack_begins_with(unpack, "\x28\xb5\x2f\xfd", 4) ||
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
    enum err_kind kind = unpack_fill(unpack, err);
    if (kind)
        return kind;
    if (unpack_begins_with(unpack, "\x1f\x8b", 2)) {
        unpack->end.kind = UNPACK_GZIP;
        unpack->stage = STAGE_MEMBER;
    } else if (unpack->in_len == 1 && unpack->in[0] == 0x1f) {
        unpack->end.kind = UNPACK_GZIP;
        unpack_end_with(unpack, UNPACK_TRUNCATED);
    } else if (is_zstd(unpack)) {
        return begin_zstd(unpack, err);
    } else if (unpack_begins_with(unpack, "PK\x03\x04", 4)) {
        refuse(unpack, "trace_unreadable", NULL, "zip archive: unpack it first");
    } else if (unpack_begins_with(unpack, "BZh", 3) || unpack_begins_with(unpack,
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
        unpack_end_with(unpack, UNPACK_WHOLE);
    return kind;
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
    enum err_kind kind = unpack_fill_if_empty(unpack, err);
    if (kind)
        return kind;
    if (unpack->is_between && unpack->in_len == 0) {
        unpack_end_with(unpack, UNPACK_WHOLE);
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
        unpack_end_with(unpack, UNPACK_CORRUPT);
    else if (is_stuck && !unpack->is_between)
        unpack_end_with(unpack, unpack->in_len ? UNPACK_CORRUPT : UNPACK_TRUNCATED);
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
        return unpack_gzip_header(unpack, unpack->decoder, err);
    case STAGE_DEFLATE:
        return unpack_gzip_read(unpack, out, cap, ret_len, err);
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
