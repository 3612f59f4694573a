/* SPDX-License-Identifier: Apache-2.0 */
/* Containers: whole, cut, damaged, too large, with either decoder and any size of read.
 */
#include "unpack.h"

#include "buf.h"

#include "unit.h"

#include <zlib.h>
#include <zstd.h>

enum { TEXT_BYTES = 300000, MOST_BYTES = 1 << 20 };

struct source {
    struct slice bytes;
    size_t at;
    size_t most; /* bytes a read gives */
    unsigned rewinds;
};

static enum err_kind
rewind_source(void *state, struct err *err)
{
    struct source *source = state;
    (void)err;
    source->at = 0;
    source->rewinds++;
    return ERR_OK;
}

static enum err_kind
read_source(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    struct source *source = state;
    size_t len = source->bytes.len - source->at;
    (void)err;
    len = len < cap ? len : cap;
    len = len < source->most ? len : source->most;
    memcpy(buf, source->bytes.data + source->at, len);
    source->at += len;
    *ret_len = len;
    return ERR_OK;
}

/* The text of a container, and how it ended. */
struct unpacked {
    struct buf text;
    struct unpack_end end;
    unsigned rewinds;
};

static void
unpacked_done(struct unpacked *unpacked)
{
    buf_done(&unpacked->text);
}

struct how {
    enum unpack_decoder decoder;
    size_t most;
    struct split_limits limits;
};

static const struct how usual = {UNPACK_ISAL, SIZE_MAX, {0}};

static struct unpacked
unpack_with(struct slice bytes, struct how how)
{
    struct unpacked unpacked = {0};
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    if (how.limits.max_bytes)
        limits = how.limits;
    struct source state = {bytes, 0, how.most, 0};
    struct split_source source = {&state, rewind_source, read_source};
    struct unpack *unpack = unpack_new(&source, &limits, how.decoder);
    char piece[10000];
    size_t len;
    assert_int_equal(unpack_rewind(unpack, NULL), ERR_OK);
    do {
        assert_int_equal(unpack_read(unpack, piece, sizeof piece, &len, NULL), ERR_OK);
        buf_add(&unpacked.text, piece, len);
    } while (len);
    unpacked.end = *unpack_end(unpack);
    unpacked.rewinds = state.rewinds;
    unpack_free(unpack);
    return unpacked;
}

static void
add_text(struct buf *out)
{
    uint32_t seed = 1;
    while (out->len < TEXT_BYTES) {
        seed = seed * 1664525 + 1013904223;
        buf_addf(out, "{\"ph\": \"X\", \"ts\": %u.%03u},\n", seed >> 8, seed % 1000);
    }
}

static void
add_gzip(struct buf *out, struct slice text, int level)
{
    static Bytef room[MOST_BYTES];
    z_stream stream = {0};
    assert_int_equal(
        deflateInit2(&stream, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
        Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)text.data;
    stream.avail_in = (uInt)text.len;
    stream.next_out = room;
    stream.avail_out = sizeof room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    buf_add(out, room, sizeof room - stream.avail_out);
    deflateEnd(&stream);
}

static void
assert_text(const struct unpacked *unpacked, struct slice text)
{
    assert_int_equal(unpacked->end.problem, UNPACK_WHOLE);
    assert_int_equal(unpacked->text.len, text.len);
    assert_memory_equal(unpacked->text.data, text.data, text.len);
    assert_int_equal(unpacked->end.out_bytes, text.len);
}

static void
takes_members_padding_and_bytes_behind(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf packed = BUF_INIT;
    add_text(&text);
    struct slice first = {text.data, 1000};
    struct slice rest = {text.data + 1000, text.len - 1000};
    add_gzip(&packed, first, 1);
    buf_add(&packed, "\0\0\0", 3);
    add_gzip(&packed, SLICE(""), 0);
    add_gzip(&packed, rest, 9);
    buf_add(&packed, "\0\0tail\0", 7);

    for (enum unpack_decoder decoder = UNPACK_ISAL; decoder <= UNPACK_ZLIB; decoder++) {
        CLEANUP(unpacked_done)
        struct unpacked whole =
            unpack_with(buf_slice(&packed), (struct how){decoder, SIZE_MAX, {0}});
        CLEANUP(unpacked_done)
        struct unpacked bytewise =
            unpack_with(buf_slice(&packed), (struct how){decoder, 1, {0}});

        assert_text(&whole, buf_slice(&text));
        assert_text(&bytewise, buf_slice(&text));
        assert_int_equal(whole.end.kind, UNPACK_GZIP);
        assert_int_equal(whole.end.members, 3);
        assert_int_equal(whole.end.trailing_bytes, 5);
        assert_int_equal(whole.end.in_bytes, packed.len);
        assert_int_equal(whole.rewinds, 1);
    }
}

/* The answer is zlib's, whoever decodes: every byte up to the damage. */
static void
counts_every_byte_before_damage_or_a_cut(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf packed = BUF_INIT;
    add_text(&text);
    add_gzip(&packed, (struct slice){text.data, 5000}, 6);
    size_t second = packed.len;
    assert_non_null(packed.data);
    add_gzip(&packed, buf_slice(&text), 6);

    for (size_t at = second - 4; at < packed.len; at += packed.len / 61) {
        packed.data[at] ^= 0x55;
        struct slice damaged = buf_slice(&packed);
        struct slice cut = {packed.data, at};
        CLEANUP(unpacked_done) struct unpacked isal = unpack_with(damaged, usual);
        CLEANUP(unpacked_done)
        struct unpacked zlib =
            unpack_with(damaged, (struct how){UNPACK_ZLIB, SIZE_MAX, {0}});
        CLEANUP(unpacked_done) struct unpacked cut_isal = unpack_with(cut, usual);
        CLEANUP(unpacked_done)
        struct unpacked cut_zlib = unpack_with(cut, (struct how){UNPACK_ZLIB, 13, {0}});
        packed.data[at] ^= 0x55;

        if (isal.end.problem != UNPACK_AGAIN) {
            assert_int_equal(isal.end.problem, zlib.end.problem);
            assert_int_equal(isal.end.out_bytes, zlib.end.out_bytes);
            assert_memory_equal(isal.text.data, zlib.text.data, zlib.text.len);
        }
        assert_int_equal(cut_isal.end.problem, UNPACK_TRUNCATED);
        assert_int_equal(cut_isal.end.out_bytes, cut_zlib.end.out_bytes);
        assert_int_equal(isal.end.members, 0);
    }
}

static void
checks_the_checksum_and_the_length(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf packed = BUF_INIT;
    add_gzip(&packed, SLICE("{\"traceEvents\": []}"), 6);
    assert_non_null(packed.data);

    for (size_t back = 1; back <= 8; back++) {
        packed.data[packed.len - back] ^= 1;
        CLEANUP(unpacked_done)
        struct unpacked unpacked = unpack_with(buf_slice(&packed), usual);
        packed.data[packed.len - back] ^= 1;

        assert_int_equal(unpacked.end.problem, UNPACK_CORRUPT);
        assert_int_equal(unpacked.end.out_bytes, 19);
    }
}

static void
stops_at_the_limits_and_names_them(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf zeros = BUF_INIT;
    CLEANUP(buf_done) struct buf packed = BUF_INIT;
    while (zeros.len < TEXT_BYTES)
        buf_add_byte(&zeros, ' ');
    add_gzip(&packed, buf_slice(&zeros), 9);
    struct how small = usual;
    small.limits = SPLIT_LIMITS_DEFAULT;
    small.limits.max_bytes = 100000;
    struct how dense = usual;
    dense.limits = SPLIT_LIMITS_DEFAULT;
    dense.limits.max_ratio = 100;

    CLEANUP(unpacked_done) struct unpacked large = unpack_with(buf_slice(&packed), small);
    CLEANUP(unpacked_done) struct unpacked bomb = unpack_with(buf_slice(&packed), dense);

    assert_int_equal(large.end.problem, UNPACK_REFUSED);
    assert_string_equal(large.end.refusal.code, "trace_too_large");
    assert_string_equal(large.end.refusal.limit, "max_bytes");
    assert_in_range(large.text.len, 0, 110000);
    assert_int_equal(bomb.end.problem, UNPACK_REFUSED);
    assert_string_equal(bomb.end.refusal.limit, "max_ratio");
}

static void
reads_zstd_frames_within_the_window_it_may_take(void **state)
{
    (void)state;
    static char room[MOST_BYTES];
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf packed = BUF_INIT;
    add_text(&text);
    size_t len = ZSTD_compress(room, sizeof room, text.data, text.len, 3);
    buf_add(&packed, "\x51\x2a\x4d\x18\x03\0\0\0abc", 11);
    buf_add(&packed, room, len);
    struct how narrow = usual;
    narrow.limits = SPLIT_LIMITS_DEFAULT;
    narrow.limits.zstd_window_log = 10;

    CLEANUP(unpacked_done) struct unpacked whole = unpack_with(buf_slice(&packed), usual);
    CLEANUP(unpacked_done)
    struct unpacked cut = unpack_with((struct slice){packed.data, packed.len - 5}, usual);
    CLEANUP(unpacked_done) struct unpacked wide = unpack_with(buf_slice(&packed), narrow);
    buf_add_str(&packed, "garbage");
    CLEANUP(unpacked_done)
    struct unpacked damaged = unpack_with(buf_slice(&packed), usual);

    assert_text(&whole, buf_slice(&text));
    assert_int_equal(whole.end.kind, UNPACK_ZSTD);
    assert_int_equal(cut.end.problem, UNPACK_TRUNCATED);
    assert_int_equal(wide.end.problem, UNPACK_REFUSED);
    assert_string_equal(wide.end.refusal.code, "trace_unreadable");
    assert_string_equal(wide.end.refusal.option, "zstd_window_log");
    assert_int_equal(damaged.end.problem, UNPACK_CORRUPT);
}

static void
tells_containers_by_their_first_bytes(void **state)
{
    (void)state;
    CLEANUP(unpacked_done) struct unpacked none = unpack_with(SLICE(""), usual);
    CLEANUP(unpacked_done) struct unpacked plain = unpack_with(SLICE("{}"), usual);
    CLEANUP(unpacked_done) struct unpacked one = unpack_with(SLICE("\x1f"), usual);
    CLEANUP(unpacked_done) struct unpacked zip = unpack_with(SLICE("PK\x03\x04"), usual);
    CLEANUP(unpacked_done) struct unpacked bzip = unpack_with(SLICE("BZh9"), usual);
    CLEANUP(unpacked_done)
    struct unpacked xz = unpack_with((struct slice){"\xfd"
                                                    "7zXZ\0",
                                                    6},
                                     usual);
    CLEANUP(unpacked_done)
    struct unpacked method =
        unpack_with((struct slice){"\x1f\x8b\x07\0\0\0\0\0\0\0", 10}, usual);

    assert_text(&none, SLICE(""));
    assert_text(&plain, SLICE("{}"));
    assert_int_equal(one.end.problem, UNPACK_TRUNCATED);
    assert_string_equal(zip.end.refusal.code, "trace_unreadable");
    assert_string_equal(bzip.end.refusal.code, "trace_unreadable");
    assert_string_equal(xz.end.refusal.code, "trace_unreadable");
    assert_int_equal(method.end.problem, UNPACK_CORRUPT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_members_padding_and_bytes_behind),
        cmocka_unit_test(counts_every_byte_before_damage_or_a_cut),
        cmocka_unit_test(checks_the_checksum_and_the_length),
        cmocka_unit_test(stops_at_the_limits_and_names_them),
        cmocka_unit_test(reads_zstd_frames_within_the_window_it_may_take),
        cmocka_unit_test(tells_containers_by_their_first_bytes),
    };
    return cmocka_run_group_tests_name("unpack", tests, NULL, NULL);
}
