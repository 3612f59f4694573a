/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics: atomic values in lists that only grow, and the text that is scraped. Nothing
 * is ever taken out of a list before the end, so readers need no lock and makers only a
 * compare-and-swap.
 */
#include "metrics.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 128 };

struct series {
    struct series *next; /* set before the series is in the list */
    const struct metric *metric;
    char *labels[METRIC_LABELS];
    /* Counter and histogram: count. Gauge and histogram: bits of a double. */
    _Atomic uint64_t count;
    _Atomic uint64_t bits;
    _Atomic uint64_t buckets[];
};

struct metric {
    struct metric *_Atomic next; /* later metrics, in the order they were added */
    struct metric_spec spec;
    size_t n_labels;
    struct series *_Atomic first; /* newest first */
    atomic_size_t n_series;       /* in the list */
    struct series *other;         /* in the list once `other_used` */
    atomic_bool other_used;
};

struct metrics {
    struct metric *_Atomic first;
};

struct metrics *
metrics_new(struct err *err)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics) {
        err_no_memory(err, "the metrics");
        return NULL;
    }
    return metrics;
}

static void
series_free(struct series *series)
{
    if (!series)
        return;
    for (size_t i = 0; i < METRIC_LABELS; i++)
        free(series->labels[i]);
    free(series);
}

static void
metric_free(struct metric *metric)
{
    struct series *series = atomic_load(&metric->first);
    while (series) {
        struct series *next = series->next;
        if (series != metric->other)
            series_free(series);
        series = next;
    }
    series_free(metric->other);
    free(metric);
}

void
metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    struct metric *metric = atomic_load(&metrics->first);
    while (metric) {
        struct metric *next = atomic_load(&metric->next);
        metric_free(metric);
        metric = next;
    }
    free(metrics);
}

/* --- adding a metric --------------------------------------------------------------- */

static bool
is_name(const char *name, bool colon)
{
    size_t i = 0;
    for (; name[i]; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(colon && c == ':') && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return i > 0 && i < NAME_BYTES;
}

static bool
are_labels(const struct metric_spec *spec, size_t *ret_n)
{
    size_t n = 0;
    for (; spec->labels && spec->labels[n]; n++)
        if (n == METRIC_LABELS || !is_name(spec->labels[n], false) ||
            strncmp(spec->labels[n], "__", 2) == 0 || strcmp(spec->labels[n], "le") == 0)
            return false;
    *ret_n = n;
    return true;
}

static bool
are_buckets(const struct metric_spec *spec)
{
    if ((spec->type == METRIC_HISTOGRAM) != (spec->n_buckets > 0) ||
        spec->n_buckets > METRIC_BUCKETS)
        return false;
    for (size_t i = 0; i < spec->n_buckets; i++)
        if (!isfinite(spec->buckets[i]) ||
            (i > 0 && spec->buckets[i] <= spec->buckets[i - 1]))
            return false;
    return true;
}

static bool
is_taken(struct metrics *metrics, const char *name)
{
    for (struct metric *m = atomic_load(&metrics->first); m; m = atomic_load(&m->next))
        if (strcmp(m->spec.name, name) == 0)
            return true;
    return false;
}

static struct series *
make_series(const struct metric *metric, const char *const *values)
{
    size_t size = sizeof(struct series) + metric->spec.n_buckets * sizeof(uint64_t);
    struct series *series = calloc(1, size);
    if (!series)
        return NULL;
    series->metric = metric;
    for (size_t i = 0; i < metric->n_labels; i++) {
        series->labels[i] = strndup(values ? values[i] : "other", METRIC_LABEL_BYTES);
        if (!series->labels[i]) {
            series_free(series);
            return NULL;
        }
    }
    return series;
}

/* Puts `metric` behind the last one, whoever else adds at the same time. */
static void
append_metric(struct metrics *metrics, struct metric *metric)
{
    struct metric *_Atomic *end = &metrics->first;
    struct metric *none = NULL;
    while (!atomic_compare_exchange_strong(end, &none, metric)) {
        end = &none->next;
        none = NULL;
    }
}

struct metric *
metrics_add(struct metrics *metrics, const struct metric_spec *spec, struct err *err)
{
    size_t n_labels = 0;
    if (!is_name(spec->name, true) || !are_labels(spec, &n_labels) ||
        !are_buckets(spec) || is_taken(metrics, spec->name)) {
        err_fatal(err, EXIT_INTERNAL, "metric_invalid",
                  "metric %s is invalid or there twice", spec->name);
        return NULL;
    }
    struct metric *metric = calloc(1, sizeof *metric);
    if (metric) {
        metric->spec = *spec;
        metric->n_labels = n_labels;
        metric->other = make_series(metric, NULL);
    }
    if (!metric || !metric->other) {
        free(metric);
        err_no_memory(err, "a metric");
        return NULL;
    }
    append_metric(metrics, metric);
    return metric;
}

/* --- series ------------------------------------------------------------------------ */

static bool
has_labels(const struct series *series, const char *const *values)
{
    for (size_t i = 0; i < series->metric->n_labels; i++)
        if (strncmp(series->labels[i], values[i], METRIC_LABEL_BYTES) != 0)
            return false;
    return true;
}

/* Searches from `from` up to, without, `end`. */
static struct series *
find_series(struct series *from, const struct series *end, const char *const *values)
{
    for (struct series *s = from; s != end; s = s->next)
        if (has_labels(s, values))
            return s;
    return NULL;
}

/* Puts `series` first, unless an equal one came in meanwhile, which is returned then. */
static struct series *
publish(struct metric *metric,
        struct series *series,
        struct series *seen,
        const char *const *values)
{
    series->next = seen;
    while (!atomic_compare_exchange_weak(&metric->first, &series->next, series)) {
        struct series *same = find_series(series->next, seen, values);
        if (same)
            return same;
        seen = series->next;
    }
    return series;
}

static struct series *
other_series(struct metric *metric)
{
    if (!atomic_exchange(&metric->other_used, true)) {
        struct series *other = metric->other;
        other->next = atomic_load(&metric->first);
        while (!atomic_compare_exchange_weak(&metric->first, &other->next, other))
            continue;
    }
    return metric->other;
}

struct series *
metric_series(struct metric *metric, const char *const *values)
{
    size_t max = metric->spec.max_series ? metric->spec.max_series : METRIC_SERIES;
    struct series *seen = atomic_load(&metric->first);
    struct series *found = find_series(seen, NULL, values);
    if (found)
        return found;
    struct series *series = NULL;
    if (atomic_fetch_add(&metric->n_series, 1) < max)
        series = make_series(metric, values);
    if (!series) {
        atomic_fetch_sub(&metric->n_series, 1);
        return other_series(metric);
    }
    found = publish(metric, series, seen, values);
    if (found != series) {
        atomic_fetch_sub(&metric->n_series, 1);
        series_free(series);
    }
    return found;
}

static double
load_real(const _Atomic uint64_t *bits)
{
    uint64_t raw = atomic_load_explicit(bits, memory_order_relaxed);
    double value;
    memcpy(&value, &raw, sizeof value);
    return value;
}

static uint64_t
real_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void
series_add(struct series *series, uint64_t n)
{
    atomic_fetch_add_explicit(&series->count, n, memory_order_relaxed);
}

void
series_set(struct series *series, double value)
{
    atomic_store_explicit(&series->bits, real_bits(value), memory_order_relaxed);
}

void
series_observe(struct series *series, double value)
{
    const struct metric_spec *spec = &series->metric->spec;
    size_t i = 0;
    while (i < spec->n_buckets && !(value <= spec->buckets[i]))
        i++;
    if (i < spec->n_buckets)
        atomic_fetch_add_explicit(&series->buckets[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&series->count, 1, memory_order_relaxed);
    uint64_t seen = atomic_load_explicit(&series->bits, memory_order_relaxed);
    double sum;
    do {
        memcpy(&sum, &seen, sizeof sum);
    } while (!atomic_compare_exchange_weak(&series->bits, &seen, real_bits(sum + value)));
}

double
series_value(const struct series *series)
{
    if (series->metric->spec.type == METRIC_GAUGE)
        return load_real(&series->bits);
    return (double)atomic_load_explicit(&series->count, memory_order_relaxed);
}

/* --- text -------------------------------------------------------------------------- */

static void
add_escaped(struct buf *out, const char *text, bool quotes)
{
    for (; *text; text++) {
        if (*text == '\n')
            buf_add_str(out, "\\n");
        else if (*text == '\\' || (quotes && *text == '"'))
            buf_addf(out, "\\%c", *text);
        else
            buf_add_byte(out, *text);
    }
}

static void
add_real(struct buf *out, double value)
{
    if (isnan(value))
        buf_add_str(out, "NaN");
    else if (isinf(value))
        buf_add_str(out, value > 0 ? "+Inf" : "-Inf");
    else
        buf_addf(out, "%.17g", value);
}

/* `{a="x",le="0.5"}`; nothing without labels and bound. */
static void
add_labels(struct buf *out, const struct series *series, const char *bound)
{
    size_t n = series->metric->n_labels;
    if (n == 0 && !bound)
        return;
    buf_add_byte(out, '{');
    for (size_t i = 0; i < n; i++) {
        buf_addf(out, "%s%s=\"", i ? "," : "", series->metric->spec.labels[i]);
        add_escaped(out, series->labels[i], true);
        buf_add_byte(out, '"');
    }
    if (bound)
        buf_addf(out, "%sle=\"%s\"", n ? "," : "", bound);
    buf_add_byte(out, '}');
}

static void
add_sample(struct buf *out,
           const struct series *series,
           const char *suffix,
           const char *bound,
           double value)
{
    buf_addf(out, "%s%s", series->metric->spec.name, suffix);
    add_labels(out, series, bound);
    buf_add_byte(out, ' ');
    add_real(out, value);
    buf_add_byte(out, '\n');
}

/* The count is read last, so that no bucket is above it. */
static void
add_histogram(struct buf *out, const struct series *series)
{
    const struct metric_spec *spec = &series->metric->spec;
    uint64_t sum = 0;
    for (size_t i = 0; i < spec->n_buckets; i++) {
        char bound[32];
        snprintf(bound, sizeof bound, "%.9g", spec->buckets[i]);
        sum += atomic_load_explicit(&series->buckets[i], memory_order_relaxed);
        add_sample(out, series, "_bucket", bound, (double)sum);
    }
    uint64_t count = atomic_load_explicit(&series->count, memory_order_relaxed);
    count = count < sum ? sum : count;
    add_sample(out, series, "_bucket", "+Inf", (double)count);
    add_sample(out, series, "_sum", NULL, load_real(&series->bits));
    add_sample(out, series, "_count", NULL, (double)count);
}

static void
add_metric(struct buf *out, struct metric *metric)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    const struct metric_spec *spec = &metric->spec;
    buf_addf(out, "# HELP %s ", spec->name);
    add_escaped(out, spec->help, false);
    buf_addf(out, "\n# TYPE %s %s\n", spec->name, types[spec->type]);
    for (struct series *s = atomic_load(&metric->first); s; s = s->next) {
        if (spec->type == METRIC_HISTOGRAM)
            add_histogram(out, s);
        else
            add_sample(out, s, "", NULL, series_value(s));
    }
}

void
metrics_text(struct metrics *metrics, struct buf *out)
{
    for (struct metric *m = atomic_load(&metrics->first); m; m = atomic_load(&m->next))
        add_metric(out, m);
}
