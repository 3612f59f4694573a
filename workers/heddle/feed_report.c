/* SPDX-License-Identifier: Apache-2.0 */
/* What feed tells a person. */
#include "feed_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digest.h"

/* A path may hold anything; a line is one line. */
static char *
printable(const char *name, const char *message)
{
    char *text = NULL;
    if (asprintf(&text, "%s: %s", name, message) < 0)
        return NULL;
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F)
            *p = '?';
    return text;
}

static bool
is_new(struct feed_report *report, const char *text)
{
    uint8_t digest[DIGEST_BYTES];
    struct id id;
    digest_sha256(slice_of(text), digest);
    memcpy(&id, digest, sizeof id);
    return id_set_add(&report->told, id) != ID_KNOWN;
}

static void
keep_name(struct feed_report *report, char *text)
{
    if (report->n_problems + report->n_notes < FEED_NAMES_MAX)
        report->names[report->n_problems + report->n_notes] = text;
    else
        free(text);
}

static void
tell(struct feed_report *report, const char *name, const char *message, size_t *count)
{
    char *text = printable(name, message);
    if (!text || !is_new(report, text)) {
        *count += text == NULL;
        free(text);
        return;
    }
    progress_clear(&report->progress);
    fprintf(stderr, "%s: %s\n", report->program, text);
    keep_name(report, text);
    ++*count;
}

void
feed_problem(struct feed_report *report, const char *name, const char *message)
{
    tell(report, name, message, &report->n_problems);
}

void
feed_note(struct feed_report *report, const char *name, const char *message)
{
    tell(report, name, message, &report->n_notes);
}

void
feed_show(struct feed_report *report, const struct feeder *feeder)
{
    size_t done = 0;
    for (int kind = 0; kind < FEED_KINDS; kind++) {
        const struct feeder_counts *counts = feeder_counts(feeder, (enum feed_kind)kind);
        done += counts->delivered + counts->refused + report->tallies[kind].unchanged +
                report->tallies[kind].skipped;
    }
    progress_show(&report->progress, done);
}

void
feed_report_done(struct feed_report *report)
{
    for (size_t i = 0; i < FEED_NAMES_MAX; i++)
        free(report->names[i]);
    id_set_done(&report->told);
}

/* Where both streams end on one screen, the names were just seen there. */
static bool
names_wanted(void)
{
    return !isatty(STDOUT_FILENO) || !isatty(STDERR_FILENO);
}

static void
add_names(const struct feed_report *report, struct buf *out)
{
    size_t n = report->n_problems + report->n_notes;
    for (size_t i = 0; i < n && i < FEED_NAMES_MAX; i++)
        if (report->names[i])
            buf_addf(out, "  %s\n", report->names[i]);
    if (n > FEED_NAMES_MAX)
        buf_addf(out, "  and %zu more, named on standard error\n", n - FEED_NAMES_MAX);
}

static void
add_line(const struct feed_tally *tally,
         const struct feeder_counts *counts,
         const char *what,
         double seconds,
         struct buf *out)
{
    buf_addf(out,
             "%zu %s found: %zu sent (%.1f MiB in %.1f s), %zu unchanged, %zu skipped",
             tally->found, what, counts->delivered, (double)counts->bytes / 1048576,
             seconds, tally->unchanged, tally->skipped + counts->refused);
    if (counts->undelivered > 0)
        buf_addf(out, ", %zu not delivered", counts->undelivered);
    buf_add_str(out, "\n");
}

void
feed_summary(const struct feed_report *report,
             const struct feeder *feeder,
             const char *what,
             double seconds,
             struct buf *out)
{
    const struct feed_tally *runs = &report->tallies[FEED_RUNS];
    const struct feed_tally *traces = &report->tallies[FEED_TRACES];
    if (runs->found > 0 || traces->found == 0)
        add_line(runs, feeder_counts(feeder, FEED_RUNS), what, seconds, out);
    if (traces->found > 0)
        add_line(traces, feeder_counts(feeder, FEED_TRACES), "traces", seconds, out);
    if (report->n_problems > 0)
        buf_addf(out, "%zu problem%s\n", report->n_problems,
                 report->n_problems == 1 ? "" : "s");
    if (names_wanted())
        add_names(report, out);
}
