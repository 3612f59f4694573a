/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codec beside avro-c on the sample record: from a filled struct to bytes, and from
 * bytes to every field read. Both write the same bytes, or nothing is measured.
 */
#include "avro_sample.h"
#include "codec.h"

#include "cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 9, OURS_PER_RUN = 200000, PEER_PER_RUN = 20000, MAX_BODY_BYTES = 4096 };

static const double goal_encode = 8;
static const double goal_decode = 12;

struct bench {
    struct codec *codec;
    struct codec_plan *plan;
    struct buf out;
    struct arena arena;
    struct sample sample;
    avro_value_iface_t *iface;
    avro_value_t value;
    char body[MAX_BODY_BYTES]; /* as avro-c wrote it */
    size_t body_len;
};

static void
fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_avro: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void
open_codec(struct bench *bench)
{
    struct err err = {0};
    bench->codec = codec_new(&sample_type, NULL, &err);
    if (!bench->codec)
        fail("codec_new", err.msg);
    bench->plan = codec_plan_new(bench->codec, codec_schema(bench->codec), &err);
    if (!bench->plan)
        fail("codec_plan_new", err.msg);
}

static void
open_peer(struct bench *bench)
{
    avro_schema_t schema;
    const char *text = sample_type.avsc;
    if (avro_schema_from_json_length(text, strlen(text), &schema))
        fail("avro_schema_from_json", avro_strerror());
    bench->iface = avro_generic_class_from_schema(schema);
    if (!bench->iface || avro_generic_value_new(bench->iface, &bench->value))
        fail("avro_generic_value_new", avro_strerror());
    avro_schema_decref(schema);
}

static void
encode_ours(struct bench *bench)
{
    buf_reset(&bench->out);
    if (codec_encode(bench->codec, &bench->sample, &bench->out, NULL))
        fail("codec_encode", "refused");
}

static void
encode_peer(struct bench *bench)
{
    avro_writer_t writer = avro_writer_memory(bench->body, sizeof bench->body);
    if (sample_to_avro(&bench->sample, &bench->value) ||
        avro_value_write(writer, &bench->value))
        fail("avro_value_write", avro_strerror());
    bench->body_len = (size_t)avro_writer_tell(writer);
    avro_writer_free(writer);
}

static void
decode_ours(struct bench *bench)
{
    struct sample sample;
    arena_reset(&bench->arena);
    struct slice body = {bench->body, bench->body_len};
    if (codec_decode(bench->plan, body, &bench->arena, &sample, NULL))
        fail("codec_decode", "refused");
    if (sample.tuners_run.n != bench->sample.tuners_run.n)
        fail("codec_decode", "lost a tuner");
}

static void
decode_peer(struct bench *bench)
{
    struct sample sample;
    struct sample_space space;
    avro_reader_t reader = avro_reader_memory(bench->body, (int64_t)bench->body_len);
    if (avro_value_reset(&bench->value) || avro_value_read(reader, &bench->value) ||
        sample_from_avro(&bench->value, &sample, &space))
        fail("avro_value_read", avro_strerror());
    avro_reader_free(reader);
    if (sample.tuners_run.n != bench->sample.tuners_run.n)
        fail("avro_value_read", "lost a tuner");
}

/* What both write and read is the same. */
static void
check(struct bench *bench)
{
    struct sample sample;
    encode_ours(bench);
    encode_peer(bench);
    if (bench->out.len != bench->body_len ||
        memcmp(bench->out.data, bench->body, bench->body_len) != 0)
        fail("encode", "the bytes differ from avro-c's");
    struct slice body = {bench->body, bench->body_len};
    if (codec_decode(bench->plan, body, &bench->arena, &sample, NULL) ||
        !sample_equal(&sample, &bench->sample))
        fail("decode", "the record differs from what was written");
}

static double
ns_each(struct bench *bench, void (*step)(struct bench *), int n)
{
    struct timespec from;
    struct timespec to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < n; i++)
        step(bench);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 +
            (double)(to.tv_nsec - from.tv_nsec)) /
           n;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double
median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return values[n / 2];
}

static void
measure(struct bench *bench,
        const char *name,
        const char *what,
        void (*ours)(struct bench *),
        void (*peer)(struct bench *),
        double goal)
{
    double our_ns[RUNS];
    double peer_ns[RUNS];
    ours(bench);
    peer(bench);
    for (int i = 0; i < RUNS; i++) {
        our_ns[i] = ns_each(bench, ours, OURS_PER_RUN);
        peer_ns[i] = ns_each(bench, peer, PEER_PER_RUN);
    }
    double our = median(our_ns, RUNS);
    double theirs = median(peer_ns, RUNS);
    double ratio = theirs / our;
    printf("{\"name\": \"%s\", \"what\": \"%s (%zu bytes)\", \"unit\": \"ns\", "
           "\"ours\": %.1f, \"peer\": %.1f, \"peer_name\": \"avro-c %s\", "
           "\"ratio\": %.2f, \"goal\": %.0f, \"holds\": %s, \"runs\": %d}\n",
           name, what, bench->body_len, our, theirs, sample_avro_version, ratio, goal,
           ratio >= goal ? "true" : "false", RUNS);
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    struct bench bench = {0};
    const char *only = argc == 3 && strcmp(argv[1], "--only") == 0 ? argv[2] : NULL;
    bool encode = !only || strcmp(only, "avro_encode") == 0;
    bool decode = !only || strcmp(only, "avro_decode") == 0;
    if (argc > 1 && !only)
        fail("usage", "bench_avro [--only NAME]");
    sample_fill(&bench.sample);
    open_codec(&bench);
    open_peer(&bench);
    check(&bench);
    if (encode)
        measure(&bench, "avro_encode", "filled struct to bytes", encode_ours, encode_peer,
                goal_encode);
    if (decode)
        measure(&bench, "avro_decode", "bytes to every field read", decode_ours,
                decode_peer, goal_decode);
    avro_value_decref(&bench.value);
    avro_value_iface_decref(bench.iface);
    arena_done(&bench.arena);
    buf_done(&bench.out);
    codec_plan_free(bench.plan);
    codec_free(bench.codec);
    return 0;
}
