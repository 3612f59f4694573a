/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters, gauges and histograms, and their text in the Prometheus format (0.0.4).
 *
 * A metric has label names; each combination of label values is a series, found once and
 * kept by the caller. Series are updated with atomics from any thread while another
 * writes the text. A metric has a ceiling of series: past it, everything lands in one
 * series whose label values are all "other", so a hostile label can't eat the memory.
 */
#pragma once

#include "buf.h"
#include "err.h"

#include <stddef.h>
#include <stdint.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* Ceilings of a metric. */
enum {
    METRIC_SERIES = 512, /* when the spec names none */
    METRIC_LABELS = 8,
    METRIC_BUCKETS = 32,
    METRIC_LABEL_BYTES = 256, /* a longer value is cut */
};

struct metric_spec {
    const char *name; /* "heddle_records_total"; counters end in _total */
    const char *help; /* one sentence */
    enum metric_type type;
    const char *const *labels; /* names, NULL-terminated; NULL: none */
    const double *buckets;     /* upper bounds, rising, without +Inf */
    size_t n_buckets;
    size_t max_series; /* 0: METRIC_SERIES */
};

struct metrics;
struct metric;
struct series;

struct metrics *metrics_new(struct err *err);
void metrics_free(struct metrics *metrics);
/*
 * Adds a metric; `spec` is copied, its texts and arrays are borrowed. ERR_FATAL
 * "metric_invalid" for a name, label or bucket that the format does not allow or a name
 * that is taken. NULL on failure. Owned by `metrics`.
 */
struct metric *
metrics_add(struct metrics *metrics, const struct metric_spec *spec, struct err *err);
/*
 * The series with these label values, in the order of the names (NULL for none), made
 * with value 0 when it is new. Never NULL: the "other" series past the ceiling.
 */
struct series *metric_series(struct metric *metric, const char *const *values);

void series_add(struct series *series, uint64_t n);       /* counter */
void series_set(struct series *series, double value);     /* gauge */
void series_observe(struct series *series, double value); /* histogram */
/* Value of a counter or gauge, count of a histogram: for tests and /readyz. */
double series_value(const struct series *series);

/* Appends the text of all metrics in the order they were added. */
void metrics_text(struct metrics *metrics, struct buf *out);
