/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codec beside avro-c, on records that avro-c can handle: the same bytes from the
 * same values, each reads what the other wrote, and both agree on damaged bodies where
 * avro-c checks at all.
 */
#include "avro_sample.h"
#include "codec.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum {
    MAX_BODY_BYTES = 64 * 1024,
    MAX_TEXT_BYTES = 64,
    N_RECORDS = 3000,
    N_DAMAGED = 5000
};

struct peer {
    avro_value_iface_t *iface;
    avro_value_t value;
    char body[MAX_BODY_BYTES];
    size_t len;
};

static void
peer_open(struct peer *peer)
{
    avro_schema_t schema;
    const char *text = sample_type.avsc;
    assert_int_equal(avro_schema_from_json_length(text, strlen(text), &schema), 0);
    peer->iface = avro_generic_class_from_schema(schema);
    assert_non_null(peer->iface);
    assert_int_equal(avro_generic_value_new(peer->iface, &peer->value), 0);
    avro_schema_decref(schema);
}

static void
peer_done(struct peer *peer)
{
    avro_value_decref(&peer->value);
    avro_value_iface_decref(peer->iface);
}

static void
peer_write(struct peer *peer, const struct sample *sample)
{
    avro_writer_t writer = avro_writer_memory(peer->body, sizeof peer->body);
    assert_int_equal(sample_to_avro(sample, &peer->value), 0);
    assert_int_equal(avro_value_write(writer, &peer->value), 0);
    peer->len = (size_t)avro_writer_tell(writer);
    avro_writer_free(writer);
}

static int
peer_read(struct peer *peer,
          struct slice body,
          struct sample *ret_sample,
          struct sample_space *space)
{
    avro_reader_t reader = avro_reader_memory(body.data, (int64_t)body.len);
    avro_value_reset(&peer->value);
    int failed = avro_value_read(reader, &peer->value);
    avro_reader_free(reader);
    return failed ? failed : sample_from_avro(&peer->value, ret_sample, space);
}

/* ---- Random records -------------------------------------------------------------- */

struct random {
    uint64_t state;
    struct arena arena;
};

static uint64_t
next_random(struct random *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state;
}

static bool
maybe(struct random *random)
{
    return next_random(random) & 1;
}

/* Terminated, as avro-c wants it, and without zero bytes. */
static struct slice
random_text(struct random *random)
{
    static const char *const characters[] = {
        "a", "Z", "~", "\x7f", "\n", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    char text[MAX_TEXT_BYTES] = "";
    size_t len = 0;
    uint64_t want = next_random(random) % (MAX_TEXT_BYTES - 8);
    while (len < want) {
        const char *next = characters[next_random(random) % (maybe(random) ? 2 : 8)];
        memcpy(text + len, next, strlen(next) + 1);
        len += strlen(next);
    }
    return arena_copy(&random->arena, slice_of(text));
}

static struct slice
random_opt_text(struct random *random)
{
    return maybe(random) ? random_text(random) : (struct slice){NULL, 0};
}

/* Numbers of every length on the wire. */
static int64_t
random_long(struct random *random)
{
    int64_t number = (int64_t)(next_random(random) >> next_random(random) % 64);
    return maybe(random) ? number : -number;
}

static double
random_double(struct random *random)
{
    uint64_t bits = next_random(random);
    double number;
    memcpy(&number, &bits, sizeof number);
    return isnan(number) ? 0.5 : number;
}

static struct sample_tuner
random_tuner(struct random *random)
{
    struct sample_tuner tuner = {
        .name = random_text(random),
        .status = random_text(random),
        .iterations = (int32_t)random_long(random),
        .best_us = random_double(random),
        .error = random_opt_text(random),
        .has_speedup = maybe(random),
        .has_kept = maybe(random),
    };
    tuner.speedup = tuner.has_speedup ? random_double(random) : 0;
    tuner.kept = tuner.has_kept && maybe(random);
    return tuner;
}

/* Keys of their own: avro-c merges equal ones. */
static struct slice
random_key(struct random *random, size_t i)
{
    struct slice text = random_text(random);
    return arena_printf(&random->arena, "%zu%s", i, text.data);
}

static void
random_lists(struct random *random, struct sample *sample, struct sample_space *space)
{
    sample->defaults = (struct list){space->defaults, next_random(random) % 8};
    sample->tags = (struct list){space->tags, next_random(random) % 8};
    sample->tuners_run = (struct list){space->tuners, next_random(random) % 8};
    for (size_t i = 0; i < SAMPLE_MAX_ITEMS; i++) {
        space->defaults[i].key = random_key(random, i);
        space->defaults[i].json = random_text(random);
        space->tags[i] = random_text(random);
        space->tuners[i] = random_tuner(random);
    }
}

static void
random_sample(struct random *random, struct sample *sample, struct sample_space *space)
{
    arena_reset(&random->arena);
    *sample = (struct sample){
        .event_id = random_text(random),
        .node = random_text(random),
        .session = random_text(random),
        .workspace = random_text(random),
        .kernel = random_text(random),
        .started_at_us = random_long(random),
        .finished_at_us = random_long(random),
        .elapsed_us = random_long(random),
        .n_samples = random_long(random),
        .attempt = (int32_t)random_long(random),
        .exit_code = (int32_t)random_long(random),
        .device = (int32_t)random_long(random),
        .decision = (int32_t)(next_random(random) % 4),
        .signature = random_text(random),
        .best_us = random_double(random),
        .share = (float)(next_random(random) % 1000) / 7.0F,
        .ok = maybe(random),
        .trace = random_opt_text(random),
        .error = random_opt_text(random),
        .precision = random_opt_text(random),
        .has_best_speedup = maybe(random),
    };
    sample->best_speedup = sample->has_best_speedup ? random_double(random) : 0;
    for (int i = 0; i < SAMPLE_SHA256_BYTES; i++)
        sample->sha256[i] = (uint8_t)next_random(random);
    random_lists(random, sample, space);
}

/* ---- Both ways ------------------------------------------------------------------- */

struct bench {
    struct codec *codec;
    struct codec_plan *plan;
    struct random random;
    struct peer peer;
    struct buf body;
    struct arena arena;
};

static int
set_up(void **state)
{
    static struct bench bench;
    const char *given = getenv("SEED");
    bench = (struct bench){0};
    bench.random.state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2 + 1;
    print_message("SEED=%llu\n", (unsigned long long)bench.random.state);
    bench.codec = codec_new(&sample_type, NULL, NULL);
    assert_non_null(bench.codec);
    bench.plan = codec_plan_new(bench.codec, codec_schema(bench.codec), NULL);
    assert_non_null(bench.plan);
    peer_open(&bench.peer);
    *state = &bench;
    return 0;
}

static int
tear_down(void **state)
{
    struct bench *bench = *state;
    peer_done(&bench->peer);
    codec_plan_free(bench->plan);
    codec_free(bench->codec);
    buf_done(&bench->body);
    arena_done(&bench->arena);
    arena_done(&bench->random.arena);
    return 0;
}

static void
writes_what_avro_c_writes(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < N_RECORDS; i++) {
        struct sample sample;
        struct sample_space space;
        random_sample(&bench->random, &sample, &space);
        buf_reset(&bench->body);

        assert_int_equal(codec_encode(bench->codec, &sample, &bench->body, NULL), 0);
        peer_write(&bench->peer, &sample);

        assert_int_equal(bench->body.len, bench->peer.len);
        assert_memory_equal(bench->body.data, bench->peer.body, bench->peer.len);
    }
}

static void
reads_what_avro_c_writes_and_the_other_way_round(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < N_RECORDS; i++) {
        struct sample sample;
        struct sample ours;
        struct sample theirs;
        struct sample_space space;
        struct sample_space their_space;
        struct err err = {0};
        random_sample(&bench->random, &sample, &space);
        buf_reset(&bench->body);
        arena_reset(&bench->arena);
        peer_write(&bench->peer, &sample);
        assert_int_equal(codec_encode(bench->codec, &sample, &bench->body, NULL), 0);

        struct slice body = {bench->peer.body, bench->peer.len};
        if (codec_decode(bench->plan, body, &bench->arena, &ours, &err))
            fail_msg("%s", err.msg);
        assert_true(sample_equal(&ours, &sample));
        assert_int_equal(
            peer_read(&bench->peer, buf_slice(&bench->body), &theirs, &their_space), 0);
        assert_true(sample_equal(&theirs, &sample));
    }
}

static void
flip_bit(const struct buf *body, uint64_t random)
{
    unsigned char *byte = (unsigned char *)body->data + random / 8 % body->len;
    *byte = (unsigned char)(*byte ^ 1U << random % 8);
}

/* What we accept of a damaged body, avro-c reads the same way. */
static void
accepts_no_damaged_body_that_avro_c_refuses(void **state)
{
    struct bench *bench = *state;
    size_t n_accepted = 0;
    struct sample sample;
    sample_fill(&sample);
    for (int i = 0; i < N_DAMAGED; i++) {
        struct sample ours;
        struct sample theirs;
        struct sample_space space;
        buf_reset(&bench->body);
        arena_reset(&bench->arena);
        assert_int_equal(codec_encode(bench->codec, &sample, &bench->body, NULL), 0);
        flip_bit(&bench->body, next_random(&bench->random));
        struct slice body = buf_slice(&bench->body);
        if (codec_decode(bench->plan, body, &bench->arena, &ours, NULL))
            continue;
        n_accepted++;
        assert_int_equal(peer_read(&bench->peer, body, &theirs, &space), 0);
        assert_int_equal(theirs.tuners_run.n, ours.tuners_run.n);
        assert_int_equal(theirs.started_at_us, ours.started_at_us);
    }
    assert_true(n_accepted > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_avro_c_writes),
        cmocka_unit_test(reads_what_avro_c_writes_and_the_other_way_round),
        cmocka_unit_test(accepts_no_damaged_body_that_avro_c_refuses),
    };
    return cmocka_run_group_tests_name("avro_c", tests, set_up, tear_down);
}
