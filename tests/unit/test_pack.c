/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes into gzip: what comes out unpacks to what went in, however it was cut. */
#include "pack.h"

#include "buf.h"
#include "unit.h"
#include "unpack.h"

enum { TEXT_BYTES = 3000000 };

struct memory {
    struct slice bytes;
    size_t at;
};

static enum err_kind
rewind_memory(void *state, struct err *err)
{
    struct memory *memory = state;
    (void)err;
    memory->at = 0;
    return ERR_OK;
}

static enum err_kind
read_memory(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    struct memory *memory = state;
    size_t left = memory->bytes.len - memory->at;
    (void)err;
    *ret_len = left < cap ? left : cap;
    memcpy(buf, memory->bytes.data + memory->at, *ret_len);
    memory->at += *ret_len;
    return ERR_OK;
}

/* zlib takes it, as the system's gzip does: one whole member. */
static void
unpack_whole(struct slice packed, struct buf *out)
{
    struct memory memory = {.bytes = packed};
    struct split_source source = {&memory, rewind_memory, read_memory};
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    struct unpack *unpack = unpack_new(&source, &limits, UNPACK_ZLIB);
    static char piece[64 << 10];
    size_t len;
    assert_non_null(unpack);
    assert_int_equal(unpack_rewind(unpack, NULL), ERR_OK);
    do {
        assert_int_equal(unpack_read(unpack, piece, sizeof piece, &len, NULL), ERR_OK);
        buf_add(out, piece, len);
    } while (len > 0);
    assert_int_equal(unpack_end(unpack)->problem, UNPACK_WHOLE);
    assert_int_equal(unpack_end(unpack)->members, 1);
    assert_int_equal(unpack_end(unpack)->trailing_bytes, 0);
    unpack_free(unpack);
}

static enum err_kind
keep(void *state, struct slice bytes, struct err *err)
{
    struct buf *out = state;
    (void)err;
    buf_add_slice(out, bytes);
    return ERR_OK;
}

static void
pack_in_pieces(struct slice text, size_t most, struct buf *out)
{
    struct pack *pack = pack_new(keep, out);
    assert_non_null(pack);
    for (size_t at = 0; at < text.len; at += most) {
        size_t len = text.len - at < most ? text.len - at : most;
        assert_int_equal(pack_add(pack, (struct slice){text.data + at, len}, NULL),
                         ERR_OK);
    }
    assert_int_equal(pack_end(pack, NULL), ERR_OK);
    pack_free(pack);
}

/* Lines that repeat, with bytes between them that don't. */
static void
make_text(struct buf *out)
{
    uint32_t seed = 1;
    while (out->len < TEXT_BYTES) {
        buf_addf(out, "{\"ph\": \"X\", \"name\": \"op%u\", \"ts\": %u}\n", seed >> 20,
                 seed);
        seed = seed * 1664525 + 1013904223;
    }
}

static void
packs_what_unpacks_to_the_same(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text;
    buf_init(&text, SIZE_MAX);
    make_text(&text);

    for (size_t most = 70001; most <= text.len * 8; most *= 8) {
        CLEANUP(buf_done) struct buf packed;
        CLEANUP(buf_done) struct buf again;
        buf_init(&packed, SIZE_MAX);
        buf_init(&again, SIZE_MAX);
        pack_in_pieces(buf_slice(&text), most, &packed);
        unpack_whole(buf_slice(&packed), &again);

        assert_true(slice_equal(buf_slice(&again), buf_slice(&text)));
        assert_true(packed.len < text.len / 2);
    }
}

static void
gives_the_same_bytes_each_time(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text;
    CLEANUP(buf_done) struct buf first;
    CLEANUP(buf_done) struct buf second;
    buf_init(&text, SIZE_MAX);
    make_text(&text);
    buf_init(&first, SIZE_MAX);
    buf_init(&second, SIZE_MAX);

    pack_in_pieces(buf_slice(&text), 100000, &first);
    pack_in_pieces(buf_slice(&text), 100000, &second);

    assert_true(slice_equal(buf_slice(&first), buf_slice(&second)));
    /* No flags, no time. */
    assert_memory_equal(first.data, "\x1f\x8b\x08\0\0\0\0\0", 8);
}

static void
packs_nothing_as_an_empty_member(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf packed = BUF_INIT;
    CLEANUP(buf_done) struct buf again = BUF_INIT;

    pack_in_pieces(SLICE(""), 1, &packed);
    unpack_whole(buf_slice(&packed), &again);

    assert_int_equal(again.len, 0);
}

static enum err_kind
refuse(void *state, struct slice bytes, struct err *err)
{
    (void)state;
    (void)bytes;
    return err_set(err, ERR_RECORD, "output_failed", "the disk is full");
}

static void
hands_on_what_its_writer_says(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text;
    struct err err = {0};
    buf_init(&text, SIZE_MAX);
    make_text(&text);
    struct pack *pack = pack_new(refuse, NULL);
    assert_non_null(pack);

    enum err_kind kind = pack_add(pack, buf_slice(&text), &err);
    if (!kind)
        kind = pack_end(pack, &err);

    assert_int_equal(kind, ERR_RECORD);
    assert_string_equal(err.msg, "the disk is full");
    pack_free(pack);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_what_unpacks_to_the_same),
        cmocka_unit_test(gives_the_same_bytes_each_time),
        cmocka_unit_test(packs_nothing_as_an_empty_member),
        cmocka_unit_test(hands_on_what_its_writer_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
