/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of 25 fields with every kind of value, its table, and the way in and out of
 * avro-c: what the codec is measured with and held against, byte for byte.
 */
#pragma once

#include "field.h"

#include <avro.h>

enum { SAMPLE_SHA256_BYTES = 32, SAMPLE_MAX_ITEMS = 8 };

struct sample_tuner {
    struct slice name;
    struct slice status;
    int32_t iterations;
    double best_us;
    struct slice error; /* nullable */
    bool has_speedup;
    double speedup;
    bool has_kept;
    bool kept;
};

struct sample_default {
    struct slice key;
    struct slice json;
};

struct sample {
    struct slice event_id;
    struct slice node;
    struct slice session;
    struct slice workspace;
    struct slice kernel;
    int64_t started_at_us;
    int64_t finished_at_us;
    int64_t elapsed_us;
    int64_t n_samples;
    int32_t attempt;
    int32_t exit_code;
    int32_t device;
    int32_t decision; /* position of the symbol */
    uint8_t sha256[SAMPLE_SHA256_BYTES];
    struct slice signature;
    double best_us;
    float share;
    bool ok;
    struct list defaults;   /* struct sample_default */
    struct list tags;       /* struct slice */
    struct slice trace;     /* nullable */
    struct slice error;     /* nullable */
    struct slice precision; /* nullable */
    bool has_best_speedup;
    double best_speedup;
    struct list tuners_run; /* struct sample_tuner */
};

extern const struct record_type sample_type;
/* Version of the avro-c that is compared with. */
extern const char sample_avro_version[];

/* A sample with static content: 352 bytes as Avro. */
void sample_fill(struct sample *ret_sample);

/* Sets every field of an avro-c value of the sample's schema. 0, or avro-c's error. */
int sample_to_avro(const struct sample *sample, avro_value_t *value);

/* Where sample_from_avro() puts items. */
struct sample_space {
    struct sample_default defaults[SAMPLE_MAX_ITEMS];
    struct slice tags[SAMPLE_MAX_ITEMS];
    struct sample_tuner tuners[SAMPLE_MAX_ITEMS];
};

/* Gets every field of an avro-c value; slices borrow from it. 0, or avro-c's error. */
int sample_from_avro(const avro_value_t *value,
                     struct sample *ret_sample,
                     struct sample_space *space);

/* Whether two samples say the same. */
bool sample_equal(const struct sample *a, const struct sample *b);
