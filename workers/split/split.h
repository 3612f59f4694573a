/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits a trace: from its bytes and parameters to the steps, the windows that stand for
 * the steady state, the numbers of each and the chunks (splitting.md). A pure function of
 * these; what it reads and writes goes through callbacks.
 */
#pragma once

#include "chunk.h"
#include "detect.h"
#include "feed.h"
#include "overlap.h"
#include "params.h"
#include "refusal.h"
#include "scan.h"
#include "source.h"
#include "steady.h"
#include "transient.h"

/* What split_derive() works on. Everything is borrowed. */
struct split_job {
    struct feed feed; /* the trace as text: feed_direct.h or feed_thread.h */
    /* Needed with limits.index_memory, and without it a saving; outlives the answer. */
    const struct split_spill *spill;
    struct split_limits limits;
    struct split_params params;
    struct slice base; /* of the file names (11.2) */
    /* The second pass (NULL: none): chunks are cut and metadata are listed. */
    const struct split_sink *sink;
    bool lists_metadata; /* in answer->metadata, for `--events` */
};

enum { SPLIT_MAX_CHUNKS = 3 };

/*
 * Takes the content of the chunks, uncompressed, piece by piece, those of several chunks
 * in turn. An error ends the split and is returned.
 */
struct split_sink {
    void *state;
    enum err_kind (*write)(void *state,
                           size_t chunk,
                           struct slice piece,
                           struct err *err);
    /* Between the passes: the trace was read to its end. NULL: nobody asks. */
    enum err_kind (*begin)(void *state, struct err *err);
};

/* Why a trace was not split, beyond what reading says (13.2). */
struct answer_refusal {
    struct refusal reading;
    const char *parameter;
    struct refusal_number n_steps;
    struct refusal_number gpu_events;
    const char *method;
    bool has_coverage;
    double coverage;
    const char *wanted;
    const char *kinds[SPLIT_MAX_CHUNKS];
    size_t n_kinds;
};

enum split_window_source {
    WINDOWS_ANNOTATIONS,
    WINDOWS_SHAPES,
    WINDOWS_DURATION,
    WINDOWS_RANGE,
};

/* A kind of chunk that was asked for. */
struct answer_pick {
    enum split_mode kind;
    bool is_picked;
    struct window steps; /* step indices */
};

struct answer_windows {
    enum split_window_source source;
    struct windows regions; /* step indices */
    bool has_reference_ratio;
    double reference_ratio;
    struct answer_pick picks[SPLIT_MAX_CHUNKS];
    size_t n_picks;
    bool has_peak;
    int64_t peak;
    bool has_duration;
    double cv;
    uint64_t windows_passing;
    bool has_analytic;
    double analytic_ratio;
    int64_t analytic_steps;
};

/* How far a split came: what is known at each stage stays known. */
enum split_stage {
    SPLIT_STARTED,
    SPLIT_READ,     /* n_gpu_events, gpu_busy */
    SPLIT_MEASURED, /* there is GPU work: time, overlap */
    SPLIT_DETECTED, /* detection, transient, launch */
    SPLIT_OWNED,    /* extraction's numbers */
    SPLIT_PLANNED,  /* windows and steps */
};

struct split_answer {
    struct arena arena;
    struct events *events;
    struct launch_texts texts;
    enum split_stage stage;
    struct answer_refusal refusal; /* reading.code NULL: the trace was split */
    struct split_plan plan;
    struct scan_answer reading;
    struct scan_marks marks; /* of the first pass, for the second */
    uint64_t n_gpu_events;
    int64_t gpu_busy_ns;
    struct time_figures time;
    struct overlap overlap;
    struct detection detection; /* its result is the one after the trim */
    uint64_t n_roots;           /* before the trim */
    struct transient transient;
    struct launch_figures launch;
    uint64_t root_threads;
    uint64_t n_overlapping_roots;
    uint64_t n_gpu_events_extracted;
    uint64_t gpu_events_repeated;
    uint64_t flows_repeated;
    bool is_annotated;
    bool phases_unknown;
    struct batch_size batch_threshold;
    bool has_conc_mismatch;
    struct answer_windows windows;
    struct steps steps;
    uint64_t steps_without_gpu_events;
    struct chunk chunks[SPLIT_MAX_CHUNKS];
    size_t n_chunks; /* made; a refusal shows none of them */
    struct index_set metadata;
};

/*
 * An answer for every trace: a split or a refusal. Errors are those of the callbacks,
 * and ERR_FATAL "out_of_memory". split_answer_done() also after one.
 */
enum err_kind split_derive(const struct split_job *job,
                           struct split_answer *ret_answer,
                           struct err *err);
void split_answer_done(struct split_answer *answer);
/*
 * The answer for a trace that could not be read, or whose chunks could not be written:
 * what is wrong with the parameters goes before. `code` is static.
 */
void split_answer_refuse(struct split_answer *ret_answer,
                         const struct split_params *params,
                         const char *code,
                         const char *reason);

static inline bool
split_is_refused(const struct split_answer *answer)
{
    return answer->refusal.reading.code != NULL;
}
