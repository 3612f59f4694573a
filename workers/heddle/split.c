/* SPDX-License-Identifier: Apache-2.0 */
/* heddle split: a trace becomes steady-state chunks, without any broker. */
#include "verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_name.h"
#include "cleanup.h"
#include "document.h"
#include "feed_thread.h"
#include "local_output.h"
#include "scratch.h"
#include "split.h"
#include "split_progress.h"
#include "split_settings.h"
#include "trace_file.h"

static struct {
    const char *output;
    bool json;
    int64_t events; /* position in `choices` */
    bool llm_inference;
    int64_t num_steps;
    int64_t conc;
    const char *osl;
    const char *r;
    int64_t max_num_seq;
    const char *mode;
    const char *iterations;
    bool allow_degraded;
    bool salvage;
    const char *base;
    struct split_settings split;
} settings;

#define AT(field)                                                                        \
    .offset = offsetof(__typeof__(settings), field), .traits = OPTION_CLI_ONLY

static const struct option split_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_TEXT,
     .arg = "DIR",
     .help = "Writes DIR/BASE.split: the chunks and split.json.",
     AT(output)},
    {.name = "json",
     .type = OPTION_FLAG,
     .help = "Prints the whole answer; alone it writes no chunk.",
     AT(json)},
    {.name = "events",
     .type = OPTION_CHOICE,
     .choices = "none|digest|full",
     .value = "none",
     .help = "With --json: lists the events of each chunk by source index.",
     AT(events)},
    {.name = "llm_inference",
     .type = OPTION_FLAG,
     .help = "The trace is of LLM serving: windows by phase.",
     AT(llm_inference)},
    {.name = "num_steps",
     .type = OPTION_INT,
     .value = "32",
     .min = INT64_MIN,
     .max = INT64_MAX,
     .arg = "N",
     .help = "Steps of a window.",
     AT(num_steps)},
    {.name = "conc",
     .type = OPTION_INT,
     .min = INT64_MIN,
     .max = INT64_MAX,
     .arg = "N",
     .help = "Concurrency of the load.",
     AT(conc)},
    {.name = "osl",
     .type = OPTION_TEXT,
     .arg = "X",
     .help = "Output tokens of a request.",
     AT(osl)},
    {.name = "r",
     .type = OPTION_TEXT,
     .arg = "X",
     .help = "Ratio that the lengths are drawn from, 0 to 1.",
     AT(r)},
    {.name = "max_num_seq",
     .type = OPTION_INT,
     .min = INT64_MIN,
     .max = INT64_MAX,
     .arg = "N",
     .help = "Requests of a decode step at most, where shapes tell the phase.",
     AT(max_num_seq)},
    {.name = "mode",
     .type = OPTION_TEXT,
     .value = "auto",
     .arg = "MODE",
     .help = "auto, mixed, decode_only, prefilldecode, generic or range.",
     AT(mode)},
    {.name = "iterations",
     .type = OPTION_TEXT,
     .value = "all",
     .arg = "RANGE",
     .help = "Steps that count: all, N or A:B.",
     AT(iterations)},
    {.name = "allow_degraded",
     .type = OPTION_FLAG,
     .help = "Splits a trace whose steps explain 75 to 95 percent of the GPU time.",
     AT(allow_degraded)},
    {.name = "salvage",
     .type = OPTION_FLAG,
     .help = "Uses what a cut or damaged trace still holds.",
     AT(salvage)},
    {.name = "base",
     .type = OPTION_TEXT,
     .arg = "NAME",
     .help = "What the files are called after; else the name of FILE.",
     AT(base)},
    SPLIT_SETTING_ROWS(__typeof__(settings), split, OPTION_CLI_ONLY),
};

/* A split on its way. */
struct work {
    const char *path;
    struct split_params params;
    struct buf base;
    struct trace_file file;
    struct scratch scratch; /* of the index beyond its memory */
    struct split_spill spill;
    struct split_progress progress;
    struct local_output *output;
    struct split_answer answer;
    const struct document_file *files; /* of the chunks; NULL: none was written */
};

static void
work_done(struct work *work)
{
    split_answer_done(&work->answer);
    local_output_free(work->output);
    scratch_close(&work->scratch);
    trace_file_close(&work->file);
    buf_done(&work->base);
}

/* --- parameters -------------------------------------------------------------------- */

static bool
is_given(const struct program_call *call, const char *name)
{
    return options_origin(call->options, NULL, name, NULL) == ORIGIN_FLAG;
}

static struct split_number
whole(const struct program_call *call, const char *name, int64_t value)
{
    return is_given(call, name) ? SPLIT_INTEGER(value) : (struct split_number){0};
}

/* A text that is no number is one that is wrong. */
static struct split_number
real(const char *text)
{
    char *end;
    if (!text)
        return (struct split_number){0};
    double value = strtod(text, &end);
    if (end == text || *end)
        return (struct split_number){.type = SPLIT_NUMBER_OTHER};
    return SPLIT_REAL(value);
}

static void
take_params(const struct program_call *call, struct split_params *params)
{
    *params = (struct split_params){
        .num_steps = SPLIT_INTEGER(settings.num_steps),
        .conc = whole(call, "conc", settings.conc),
        .osl = real(settings.osl),
        .r = real(settings.r),
        .max_num_seq = whole(call, "max_num_seq", settings.max_num_seq),
        .mode = slice_of(settings.mode ? settings.mode : ""),
        .iterations = slice_of(settings.iterations ? settings.iterations : ""),
        .llm_inference = settings.llm_inference,
        .allow_degraded = settings.allow_degraded,
        .salvage = settings.salvage,
    };
}

static enum err_kind
take_base(struct work *work, struct err *err)
{
    if (settings.base && (strchr(settings.base, '/') || settings.base[0] == '.'))
        return err_fatal(err, EXIT_USAGE, "usage",
                         "--base %.100s: a name without / and without a dot in front",
                         settings.base);
    if (settings.base)
        buf_add_str(&work->base, settings.base);
    else if (strcmp(work->path, "-") == 0)
        buf_add_str(&work->base, "trace");
    else
        base_name_add(&work->base, slice_of(work->path));
    return buf_check(&work->base, "the name of the files", err);
}

/* --- splitting --------------------------------------------------------------------- */

static void
free_unpack(struct unpack **unpack)
{
    if (*unpack)
        unpack_free(*unpack);
}

static void
free_thread(struct feed_thread **thread)
{
    if (*thread)
        feed_thread_free(*thread);
}

static enum err_kind
derive(struct work *work, struct err *err)
{
    struct split_limits limits = split_settings_limits(&settings.split);
    struct split_source source = trace_file_source(&work->file);
    CLEANUP(free_unpack)
    struct unpack *unpack = unpack_new(&source, &limits, UNPACK_ISAL);
    CLEANUP(free_thread)
    struct feed_thread *thread = unpack ? feed_thread_new(unpack) : NULL;
    struct split_sink sink = {0};
    if (!thread)
        return err_no_memory(err, "a trace");
    work->scratch.dir = settings.split.tmp_dir;
    work->spill = scratch_spill(&work->scratch);
    if (work->output)
        sink = local_output_sink(work->output, &work->answer);
    struct split_job job = {
        .feed = feed_thread_feed(thread),
        .spill = &work->spill,
        .limits = limits,
        .params = work->params,
        .base = buf_slice(&work->base),
        .sink = work->output ? &sink : NULL,
        .lists_metadata = settings.json && settings.events != EVENTS_NONE,
    };
    if (split_derive(&job, &work->answer, err) || trace_file_check(&work->file, err))
        return err->kind;
    if (!work->output || split_is_refused(&work->answer))
        return ERR_OK;
    return local_output_close(work->output, &work->files, err);
}

static bool
params_are_fine(const struct work *work)
{
    struct split_plan ignored;
    return !split_params_check(&work->params, &ignored).parameter;
}

static enum err_kind
split_trace(struct work *work, struct err *err)
{
    if (!params_are_fine(work)) {
        split_answer_refuse(&work->answer, &work->params, "bad_parameter", "");
        return ERR_OK;
    }
    if (settings.output &&
        local_output_new(settings.output, buf_slice(&work->base), &work->output, err))
        return err->kind;
    split_progress_start(&work->progress, work->output || settings.events ? 2 : 1);
    if (trace_file_open(&work->file, work->path, &settings.split, err))
        return err->kind;
    work->file.progress = split_progress_show;
    work->file.progress_state = &work->progress;
    return derive(work, err);
}

/* Codes of files as refusals; others are errors of ours. */
static const char *
refusal_code(const struct err *err)
{
    static const char *const codes[] = {"trace_unreadable", "trace_too_large",
                                        "output_failed"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(err->code, codes[i]) == 0)
            return codes[i];
    return strcmp(err->code, "trace_changed") == 0 ? "trace_unreadable" : NULL;
}

/* An error that a person can do something about is an answer, too. */
static enum err_kind
refuse(struct work *work, struct err *err)
{
    const char *code = refusal_code(err);
    if (!code)
        return err->kind;
    bool changed = strcmp(err->code, "trace_changed") == 0;
    split_answer_done(&work->answer);
    split_answer_refuse(&work->answer, &work->params, code,
                        changed ? "trace_changed" : err->msg);
    if (strcmp(code, "trace_too_large") == 0)
        work->answer.refusal.reading.limit = work->answer.refusal.reading.option =
            "max_spool_bytes";
    work->files = NULL;
    return ERR_OK;
}

/* --- what is said ------------------------------------------------------------------ */

static void
add_summary(struct buf *out, const struct work *work)
{
    const struct split_answer *answer = &work->answer;
    buf_addf(out, "%s: %llu steps by %s, %.1f %% of the GPU time\n", work->path,
             (unsigned long long)answer->n_roots, answer->detection.result.method,
             candidate_graded(&answer->detection.result) * 100);
    buf_addf(out, "%-14s %-13s %6s %10s %8s  %s\n", "kind", "steps", "events",
             "GPU events", "busy", "file");
    for (size_t i = 0; i < answer->n_chunks; i++) {
        const struct chunk *chunk = &answer->chunks[i];
        char steps[48];
        snprintf(steps, sizeof steps, "%llu to %llu",
                 (unsigned long long)chunk->first_step,
                 (unsigned long long)chunk->last_step - 1);
        buf_addf(out, "%-14s %-13s %6llu %10llu %6.1f %%  %.*s\n",
                 split_mode_name(chunk->kind), steps,
                 (unsigned long long)chunk->event_count,
                 (unsigned long long)chunk->num_gpu_events,
                 grade_ratio(chunk->time.busy_ns, chunk->gpu_duration_ns) * 100,
                 SLICE_ARG(chunk->file));
    }
    for (size_t i = 0; i < answer->windows.n_picks; i++)
        if (!answer->windows.picks[i].is_picked)
            buf_addf(out, "%-14s none: %s\n",
                     split_mode_name(answer->windows.picks[i].kind),
                     answer->phases_unknown ? "phases_unknown" : "no_such_run");
}

/* The flag that would have helped; a setting is named as its flag is. */
static void
say_option(const char *option)
{
    bool takes_it =
        strcmp(option, "salvage") == 0 || strcmp(option, "allow_degraded") == 0;
    fputs("; --", stderr);
    for (const char *c = option; *c; c++)
        fputc(*c == '_' ? '-' : *c, stderr);
    fputs(takes_it ? " would take it" : " says how much is taken", stderr);
}

/* The refusal in one line, with what would help. */
static void
say_refusal(const struct work *work)
{
    const struct answer_refusal *refusal = &work->answer.refusal;
    const struct refusal *reading = &refusal->reading;
    fprintf(stderr, "heddle split: %s: refused: %s", work->path, reading->code);
    if (refusal->parameter)
        fprintf(stderr, " %s", refusal->parameter);
    if (reading->reason[0])
        fprintf(stderr, ": %s", reading->reason);
    if (reading->offset.is_set)
        fprintf(stderr, ", byte %llu", (unsigned long long)reading->offset.value);
    if (refusal->has_coverage)
        fprintf(stderr, ", %.1f %% of the GPU time", refusal->coverage * 100);
    if (reading->option)
        say_option(reading->option);
    fputc('\n', stderr);
}

static enum err_kind
make_document(const struct work *work,
              bool lists_events,
              struct buf *out,
              struct err *err)
{
    enum document_events events =
        lists_events ? (enum document_events)settings.events : EVENTS_NONE;
    buf_reset(out);
    document_add(out, &work->answer, events, work->files);
    buf_add_byte(out, '\n');
    return buf_check(out, "the answer", err);
}

/* Puts the folder, or the refusal, in its place. */
static enum err_kind
put_in_place(struct work *work, struct err *err)
{
    CLEANUP(buf_done) struct buf document;
    buf_init(&document, SIZE_MAX);
    if (!settings.output)
        return ERR_OK;
    if (make_document(work, false, &document, err))
        return err->kind;
    if (split_is_refused(&work->answer))
        return local_output_refuse(settings.output, buf_slice(&work->base),
                                   buf_slice(&document), err);
    return local_output_commit(work->output, buf_slice(&document), err);
}

static enum err_kind
print(struct work *work, struct err *err)
{
    CLEANUP(buf_done) struct buf out;
    buf_init(&out, SIZE_MAX);
    if (split_is_refused(&work->answer))
        say_refusal(work);
    if (settings.json && make_document(work, true, &out, err))
        return err->kind;
    if (!settings.json && !split_is_refused(&work->answer))
        add_summary(&out, work);
    return program_print(&out, err);
}

static enum err_kind
check_call(const struct program_call *call, struct err *err)
{
    if (call->n_rest == 0)
        return err_fatal(err, EXIT_USAGE, "usage",
                         "no trace is given: heddle split FILE, - for standard input");
    if (verb_refuse_rest(call, 1, err))
        return err->kind;
    if (!settings.output && !settings.json)
        return err_fatal(err, EXIT_USAGE, "usage",
                         "where to? -o DIR writes the chunks, --json prints the answer");
    if (settings.events && !settings.json)
        return err_fatal(err, EXIT_USAGE, "usage", "--events goes with --json");
    return ERR_OK;
}

/* Trouble that may pass leaves with the status that says so. */
static int
leave(struct err *err)
{
    if (err->kind == ERR_RETRY && !err->exit_code)
        err->exit_code = EXIT_TRY_AGAIN;
    return err_exit_code(err);
}

static int
run(const struct program_call *call, struct err *err)
{
    CLEANUP(work_done) struct work work = {.file = {.fd = -1}, .scratch = {.fd = -1}};
    if (check_call(call, err))
        return leave(err);
    work.path = call->rest[0];
    take_params(call, &work.params);
    if (take_base(&work, err))
        return leave(err);
    enum err_kind kind = split_trace(&work, err);
    split_progress_clear(&work.progress);
    if (kind && refuse(&work, err))
        return leave(err);
    *err = (struct err){0};
    if (put_in_place(&work, err) && refuse(&work, err))
        return leave(err);
    *err = (struct err){0};
    if (print(&work, err))
        return leave(err);
    return split_is_refused(&work.answer) ? EXIT_NEGATIVE : EXIT_OK;
}

const struct verb verb_split = {
    .name = "split",
    .usage = "[OPTION]... FILE",
    .summary = "Cuts the steady state out of a profiler trace.",
    .details = "FILE is a trace of the PyTorch profiler, plain, gzip or zstd, or - for "
               "standard input.\nThe chunks open in Perfetto and chrome://tracing. A "
               "trace that can't be split is\nnamed with its code and what would help, "
               "and the exit status is 1.",
    .options = split_options,
    .n_options = sizeof split_options / sizeof split_options[0],
    .settings = &settings,
    .no_settings = true,
    .run = run,
};
