/* SPDX-License-Identifier: Apache-2.0 */
/* The published campaign, run by run, from its tallies and a seed. */
#include "campaign_gen.h"

#include "buf.h"
#include "cleanup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    N_RUNS = 388,
    N_TRACES = 322,
    N_TRACES_OF_TWO = N_RUNS - N_TRACES,
    N_MEASURED = 231,        /* entries with a speedup */
    N_FOUND_NOTHING = 41,    /* of these, not above 1.0 */
    N_PAIRS = 23,            /* runs that hold two improved entries */
    N_LOST = 9,              /* runs that left a log and no result */
    MAX_ENTRIES = 2,         /* entries of one run */
    SESSION_STEP_S = 6000,   /* between the starts of two sessions */
    SESSION_JITTER_S = 5000, /* below the step, so no two sessions share a name */
    RUN_STEP_S = 4200,       /* between the results of one session */
    LOG_LEAD_US = 1000,      /* a log is closed just before its result */
};

/* 2026-07-26T00:00:00Z, so that the last session ends on 18 August. */
static const int64_t campaign_start_s = 1785024000;

static const char dense[] = "sglang_dense_bf16";
static const char moe[] = "fmoe_ck";

/* --- chance ----------------------------------------------------------------------- */

/* SplitMix64: the same numbers on every machine, whatever its C library. */
struct chance {
    uint64_t state;
};

static uint64_t
chance_next(struct chance *chance)
{
    uint64_t z = chance->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static unsigned
chance_below(struct chance *chance, unsigned n)
{
    return (unsigned)(chance_next(chance) % n);
}

/* --- what can become of a tuner ----------------------------------------------------- */

enum fate {
    FATE_REJECTED,
    FATE_SILENT,
    FATE_EMPTY,
    FATE_EMPTY_NAMED,
    FATE_EXIT_1,
    FATE_KILLED,
    FATE_TIMEOUT,
    FATE_NO_AITER,
    FATE_NO_INPUT,
    FATE_NO_DTYPE,
    FATE_NOTHING,
    FATE_IMPROVED,
    N_FATES,
};

enum log_shape { LOG_NONE, LOG_RUN, LOG_TIMEOUT };

/* What forge writes for each fate: its entry, and the log of the tuner's process. */
struct fate_form {
    const char *status;
    const char *error; /* JSON text without quotes; NULL: no error and no class */
    const char *error_class;
    unsigned elapsed_cs; /* least elapsed time, hundredths of a second */
    unsigned spread_cs;  /* what chance may add to it; 0: nothing */
    enum log_shape log;
    int header_exit;
    const char *log_out;
    const char *log_err;
};

#define NOT_FINISHED "some shapes are not tuned or all failed"

static const struct fate_form fate_forms[N_FATES] = {
    [FATE_REJECTED] = {"no_improvement", NULL, NULL, 1020, 140, LOG_RUN, 0,
                       "!Process exited with code 2 (tuning finished with warnings)\n"
                       "retried num is 0\n",
                       "usage: gemm_tuner.py [-h] [--model_dir MODEL_DIR] "
                       "[--tuned_file TUNED_FILE]\n"
                       "gemm_tuner.py: error: unrecognized arguments: "
                       "--libtype hipblaslt\n"},
    [FATE_SILENT] = {"no_improvement", NULL, NULL, 9000, 9000, LOG_RUN, 0,
                     "Successfully tuned shapes: 0\n", ""},
    [FATE_EMPTY] = {"empty_output", NULL, NULL, 9000, 9000, LOG_RUN, 0,
                    "Successfully tuned shapes: 0\n", ""},
    [FATE_EMPTY_NAMED] = {"empty_output",
                          "Tuner wrote 0 of 44 shapes to tuned_dense_bf16.csv (rc=0): ",
                          "empty_output", 6000, 6000, LOG_RUN, 0, "retried num is 0\n",
                          ""},
    [FATE_EXIT_1] = {"failed",
                     "Tuner exited with code 1: [Tuning not Finished] " NOT_FINISHED,
                     "subprocess_error", 20000, 20000, LOG_RUN, 1, "",
                     "\x1b[91m[Tuning not Finished]\x1b[0m " NOT_FINISHED "\n"},
    [FATE_KILLED] = {"failed", "Tuner exited with code -9: ", "subprocess_error", 48000,
                     4000, LOG_RUN, -9, "", ""},
    [FATE_TIMEOUT] = {"failed", "Tuning timed out after 3600s", "timeout", 360000, 0,
                      LOG_TIMEOUT, 0, NULL, NULL},
    [FATE_NO_AITER] = {"failed", "aiter installation not found", "validation_error", 0, 0,
                       LOG_NONE, 0, NULL, NULL},
    [FATE_NO_INPUT] = {"failed", "No input CSV or shapes JSON available", "input_missing",
                       1, 0, LOG_NONE, 0, NULL, NULL},
    [FATE_NO_DTYPE] = {"failed",
                       "AiterDtypeUnavailable(\\\"cannot resolve the aiter dtype for "
                       "'fp8'\\\")",
                       "AiterDtypeUnavailable", 40, 0, LOG_NONE, 0, NULL, NULL},
    [FATE_NOTHING] = {"no_improvement", NULL, NULL, 12000, 150000, LOG_RUN, 0,
                      "Successfully tuned shapes: 12\n", ""},
    [FATE_IMPROVED] = {"ok", NULL, NULL, 12000, 150000, LOG_RUN, 0,
                       "Successfully tuned shapes: 12\n", ""},
};

/* --- the published tallies ---------------------------------------------------------- */

/* The 135 entries without a speedup, by the micro_decision of their run. */
struct silent_tally {
    const char *decision;
    const char *tuner;
    enum fate fate;
    unsigned n;
};

static const struct silent_tally silent_tallies[] = {
    {"no_improvement", dense, FATE_REJECTED, 92}, /* one more: crash_and_rejection */
    {"no_improvement", moe, FATE_EMPTY, 9},
    {"no_improvement", moe, FATE_SILENT, 4},
    {"failed", dense, FATE_NO_AITER, 6},
    {"failed", moe, FATE_EXIT_1, 3},
    {"failed", "a8w8", FATE_KILLED, 1},
    {"failed", "a8w8", FATE_TIMEOUT, 1},
    {"failed", "a8w8", FATE_NO_INPUT, 1},
    {"failed", "a8w8_blockscale", FATE_NO_DTYPE, 1},
    {"empty_output", dense, FATE_EMPTY_NAMED, 2},
    {"empty_output", moe, FATE_EMPTY, 4},
};

/* Entries without a speedup whose sibling won, so the run became a candidate. */
static const struct silent_tally beaten_tallies[] = {
    {"candidate", moe, FATE_EXIT_1, 5},
    {"candidate", moe, FATE_EMPTY, 1},
    {"candidate", "a8w8", FATE_NO_INPUT, 1},
    {"candidate", "a8w8_blockscale", FATE_EXIT_1, 1},
    {"candidate", "a4w4_blockscale", FATE_EMPTY, 1},
};

/* The 231 entries with a speedup. */
struct tuner_tally {
    const char *tuner;
    const char *env_var; /* how the tuned table reaches the server */
    unsigned n;
};

static const struct tuner_tally measured_tallies[] = {
    {dense, "AITER_CONFIG_GEMM_BF16", 4},
    {moe, "AITER_CONFIG_FMOE", 118},
    {"vllm_moe_triton", "VLLM_TUNED_CONFIG_FOLDER", 31},
    {"a8w8_blockscale", "AITER_CONFIG_GEMM_A8W8_BLOCKSCALE", 33},
    {"a8w8", "AITER_CONFIG_GEMM_A8W8", 17},
    {"a4w4_blockscale", "AITER_CONFIG_GEMM_A4W4", 12},
    {"a8w8_bpreshuffle", "AITER_CONFIG_GEMM_A8W8_BPRESHUFFLE", 9},
    {"vllm_dense_tunableop", "PYTORCH_TUNABLEOP_FILENAME", 7},
};

/* The 55 runs without an entry. */
struct bare_tally {
    const char *status;
    const char *error_class; /* NULL: skipped for want of shapes */
    const char *error;       /* NULL: a skip_reason instead */
    unsigned n;
};

static const struct bare_tally bare_tallies[] = {
    {"skipped", NULL, NULL, 33},
    {"failed", "subprocess_timeout", "forge-gemm-tune timed out", 9},
    {"skipped", "model_path_unavailable", NULL, 4},
    {"failed", "forge_gemm_tune_not_found", "forge-gemm-tune is not on PATH", 3},
    {"failed", "tool_output_unparseable", "no result between the result lines", 1},
    {"failed", "shape_capture_failed", "the server left before a shape was seen", 1},
    {"skipped", "legacy_geak_config_missing", "GEAK GEMM tuning requires GEAK_CONFIG.",
     4},
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* --- the plan: which run holds what ---------------------------------------------------
 */

struct entry_plan {
    const char *tuner;
    enum fate fate;
};

struct run_plan {
    const char *decision; /* micro_decision; NULL: a bare run */
    struct entry_plan entries[MAX_ENTRIES];
    size_t n_entries;
    const struct bare_tally *bare;
};

/* Entries with a speedup that no run holds yet. */
struct pool {
    const char *tuners[N_MEASURED];
    size_t n;
};

struct campaign {
    struct chance chance;
    struct pool pool;
    struct run_plan plans[N_RUNS];
    size_t n_plans;
    campaign_file_fn *write;
    void *state;
    struct campaign_totals totals;
    struct buf text;
};

static struct run_plan *
add_plan(struct campaign *campaign, const char *decision)
{
    struct run_plan *plan = &campaign->plans[campaign->n_plans++];
    *plan = (struct run_plan){.decision = decision};
    return plan;
}

static void
add_entry(struct run_plan *plan, const char *tuner, enum fate fate)
{
    plan->entries[plan->n_entries++] = (struct entry_plan){tuner, fate};
}

static void
fill_pool(struct campaign *campaign)
{
    struct pool *pool = &campaign->pool;
    for (size_t i = 0; i < COUNT(measured_tallies); i++)
        for (unsigned k = 0; k < measured_tallies[i].n; k++)
            pool->tuners[pool->n++] = measured_tallies[i].tuner;
    for (size_t i = pool->n - 1; i > 0; i--) {
        size_t k = chance_below(&campaign->chance, (unsigned)i + 1);
        const char *tuner = pool->tuners[i];
        pool->tuners[i] = pool->tuners[k];
        pool->tuners[k] = tuner;
    }
}

/* The last tuner that is none of the two. There always is one: a tuner has 118 of the
 * 231 at most, and these picks leave more than that in the pool. */
static const char *
take_other(struct pool *pool, const char *a, const char *b)
{
    size_t i = pool->n - 1;
    while (i > 0 && (strcmp(pool->tuners[i], a) == 0 || strcmp(pool->tuners[i], b) == 0))
        i--;
    const char *tuner = pool->tuners[i];
    memmove(&pool->tuners[i], &pool->tuners[i + 1],
            (pool->n - i - 1) * sizeof pool->tuners[0]);
    pool->n--;
    return tuner;
}

static const char *
take_last(struct pool *pool)
{
    return pool->tuners[--pool->n];
}

static void
plan_silent_runs(struct campaign *campaign)
{
    /* crash_and_rejection: the one ok run that holds two entries without a speedup. */
    struct run_plan *both = add_plan(campaign, "no_improvement");
    add_entry(both, moe, FATE_EXIT_1);
    add_entry(both, dense, FATE_REJECTED);
    for (size_t i = 0; i < COUNT(silent_tallies); i++) {
        const struct silent_tally *tally = &silent_tallies[i];
        for (unsigned k = 0; k < tally->n; k++)
            add_entry(add_plan(campaign, tally->decision), tally->tuner, tally->fate);
    }
    for (size_t i = 0; i < COUNT(beaten_tallies); i++) {
        const struct silent_tally *tally = &beaten_tallies[i];
        for (unsigned k = 0; k < tally->n; k++) {
            struct run_plan *plan = add_plan(campaign, tally->decision);
            add_entry(plan, tally->tuner, tally->fate);
            add_entry(plan, take_other(&campaign->pool, tally->tuner, dense),
                      FATE_IMPROVED);
        }
    }
}

static void
plan_measured_runs(struct campaign *campaign)
{
    struct pool *pool = &campaign->pool;
    for (int i = 0; i < N_PAIRS; i++) {
        struct run_plan *plan = add_plan(campaign, "candidate");
        const char *first = take_last(pool);
        add_entry(plan, first, FATE_IMPROVED);
        add_entry(plan, take_other(pool, first, first), FATE_IMPROVED);
    }
    int n_nothing = N_FOUND_NOTHING;
    while (pool->n) {
        const char *tuner = take_last(pool);
        bool nothing = n_nothing > 0 && strcmp(tuner, dense) != 0;
        n_nothing -= nothing;
        add_entry(add_plan(campaign, nothing ? "no_improvement" : "candidate"), tuner,
                  nothing ? FATE_NOTHING : FATE_IMPROVED);
    }
}

static void
plan_bare_runs(struct campaign *campaign)
{
    for (size_t i = 0; i < COUNT(bare_tallies); i++)
        for (unsigned k = 0; k < bare_tallies[i].n; k++)
            add_plan(campaign, NULL)->bare = &bare_tallies[i];
}

static void
shuffle_plans(struct campaign *campaign)
{
    for (size_t i = campaign->n_plans - 1; i > 0; i--) {
        size_t k = chance_below(&campaign->chance, (unsigned)i + 1);
        struct run_plan plan = campaign->plans[i];
        campaign->plans[i] = campaign->plans[k];
        campaign->plans[k] = plan;
    }
}

/* --- the files ---------------------------------------------------------------------- */

enum { STAMP_BYTES = 80 };

static struct tm
utc(int64_t at_s)
{
    time_t at = (time_t)at_s;
    struct tm tm;
    gmtime_r(&at, &tm);
    return tm;
}

/* "2026-07-26T10:20:30Z" */
static void
write_time(int64_t at_s, char ret_text[STAMP_BYTES])
{
    struct tm tm = utc(at_s);
    snprintf(ret_text, STAMP_BYTES, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* "20260726T102030Z", the name of a session. */
static void
write_session(int64_t at_s, char ret_text[STAMP_BYTES])
{
    struct tm tm = utc(at_s);
    snprintf(ret_text, STAMP_BYTES, "%04d%02d%02dT%02d%02d%02dZ", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* One run on its node. */
struct run {
    char workspace[CAMPAIGN_PATH_BYTES];
    int64_t finished_us;
    unsigned elapsed_cs[MAX_ENTRIES];
    unsigned speedup_e4[MAX_ENTRIES]; /* ten-thousandths; 0: none measured */
};

static enum err_kind
write_file(struct campaign *campaign,
           const char *workspace,
           const char *name,
           int64_t mtime_us,
           struct err *err)
{
    if (buf_check(&campaign->text, name, err))
        return err->kind;
    char path[2 * CAMPAIGN_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", workspace, name);
    struct campaign_file file = {path, buf_slice(&campaign->text), mtime_us};
    enum err_kind kind = campaign->write(campaign->state, &file, err);
    buf_reset(&campaign->text);
    return kind;
}

static void
add_script(struct buf *out, const char *tuner)
{
    if (tuner == dense)
        buf_add_str(out, "aiter/gradlib/gradlib/gemm_tuner.py");
    else if (tuner == moe)
        buf_add_str(out, "aiter/csrc/ck_gemm_moe_2stages_codegen/gemm_moe_tune.py");
    else
        buf_addf(out, "aiter/csrc/ck_gemm_%s/gemm_%s_tune.py", tuner, tuner);
}

static void
add_command(struct buf *out, const char *workspace, const char *tuner, enum fate fate)
{
    buf_add_str(out, "# Command: python3 ");
    add_script(out, tuner);
    if (fate != FATE_TIMEOUT)
        buf_addf(out,
                 " -i %s/tuners/%s/untuned.csv -o %s/tuners/%s/tuned.csv"
                 " -o2 %s/tuners/%s/profile.csv --mp 1",
                 workspace, tuner, workspace, tuner, workspace, tuner);
    if (fate == FATE_REJECTED)
        buf_add_str(out, " --indtype bf16 --outdtype bf16 --iters 50 --warmup 10"
                         " --libtype hipblaslt --timeout 120 --shape_grouped -v");
    buf_add_byte(out, '\n');
}

static enum err_kind
write_log(struct campaign *campaign,
          const struct run *run,
          const struct entry_plan *entry,
          unsigned elapsed_cs,
          struct err *err)
{
    const struct fate_form *form = &fate_forms[entry->fate];
    struct buf *text = &campaign->text;
    if (form->log == LOG_TIMEOUT) {
        buf_add_str(text, "# TIMEOUT after 3600.0s\n");
        add_command(text, run->workspace, entry->tuner, entry->fate);
    } else {
        add_command(text, run->workspace, entry->tuner, entry->fate);
        buf_addf(text,
                 "# CWD: aiter\n# Elapsed: %u.%us\n# Exit code: %d\n\n"
                 "=== STDOUT ===\n%s\n=== STDERR ===\n%s",
                 elapsed_cs / 100, elapsed_cs / 10 % 10, form->header_exit, form->log_out,
                 form->log_err);
    }
    campaign->totals.logs++;
    char name[CAMPAIGN_PATH_BYTES];
    snprintf(name, sizeof name, "tuners/%s/tune.log", entry->tuner);
    return write_file(campaign, run->workspace, name, run->finished_us - LOG_LEAD_US,
                      err);
}

static const char *
env_var_of(const char *tuner)
{
    for (size_t i = 0; i < COUNT(measured_tallies); i++)
        if (strcmp(measured_tallies[i].tuner, tuner) == 0)
            return measured_tallies[i].env_var;
    return "";
}

/* A ratio in ten-thousandths as Python prints the float: 1.0, 1.25, 1.0421. */
static void
add_ratio(struct buf *out, unsigned value_e4)
{
    char digits[16];
    int n =
        snprintf(digits, sizeof digits, "%u.%04u", value_e4 / 10000, value_e4 % 10000);
    while (digits[n - 1] == '0' && digits[n - 2] != '.')
        n--;
    buf_add(out, digits, (size_t)n);
}

static void
add_seconds(struct buf *out, unsigned elapsed_cs)
{
    add_ratio(out, elapsed_cs * 100);
}

static void
add_measured(struct campaign *campaign,
             const struct run *run,
             const struct entry_plan *entry,
             unsigned speedup_e4)
{
    struct buf *out = &campaign->text;
    unsigned total = 4 + chance_below(&campaign->chance, 56);
    bool improved = entry->fate == FATE_IMPROVED;
    char artifact[2 * CAMPAIGN_PATH_BYTES];
    snprintf(artifact, sizeof artifact, "%s/tuners/%s/candidate_%s.csv", run->workspace,
             entry->tuner, entry->tuner);
    buf_addf(out, ", \"artifact\": \"%s\", \"env_var\": \"%s\", \"env_value\": \"%s\"",
             artifact, env_var_of(entry->tuner), artifact);
    buf_addf(out, ", \"total_shapes\": %u, \"improved_shapes\": %u", total,
             improved ? 1 + chance_below(&campaign->chance, total) : 0);
    buf_add_str(out, ", \"best_micro_speedup\": ");
    add_ratio(out, speedup_e4);
    buf_add_str(out, ", \"avg_micro_speedup\": ");
    add_ratio(out, (10000 + speedup_e4) / 2);
}

static void
add_tuner(struct campaign *campaign,
          const struct run *run,
          const struct run_plan *plan,
          size_t i)
{
    const struct entry_plan *entry = &plan->entries[i];
    const struct fate_form *form = &fate_forms[entry->fate];
    struct buf *out = &campaign->text;
    buf_addf(out,
             "    {\"tuner\": \"%s\", \"status\": \"%s\", \"elapsed_s\": ", entry->tuner,
             form->status);
    add_seconds(out, run->elapsed_cs[i]);
    if (run->speedup_e4[i])
        add_measured(campaign, run, entry, run->speedup_e4[i]);
    if (form->error)
        buf_addf(out, ", \"error\": \"%s\", \"error_class\": \"%s\"", form->error,
                 form->error_class);
    buf_add_str(out, i + 1 < plan->n_entries ? "},\n" : "}\n");
}

/* The table of the best entry, as the server will be started with it. */
static void
add_recommendation(struct buf *out, const struct run *run, const struct run_plan *plan)
{
    unsigned best = 0;
    buf_add_str(out, "  \"recommended_env\": {");
    const char *between = "";
    for (size_t i = 0; i < plan->n_entries; i++) {
        const char *tuner = plan->entries[i].tuner;
        if (run->speedup_e4[i] <= 10000)
            continue;
        buf_addf(out, "%s\"%s\": \"%s/tuners/%s/candidate_%s.csv\"", between,
                 env_var_of(tuner), run->workspace, tuner, tuner);
        between = ", ";
        best = run->speedup_e4[i] > best ? run->speedup_e4[i] : best;
    }
    buf_add_str(out, "},\n");
    if (best) {
        buf_add_str(out, "  \"best_speedup\": ");
        add_ratio(out, best);
        buf_add_str(out, ",\n");
    }
}

static void
add_times(struct buf *out, const struct run *run, unsigned elapsed_cs)
{
    char started[STAMP_BYTES];
    char finished[STAMP_BYTES];
    int64_t end_s = run->finished_us / 1000000;
    write_time(end_s - elapsed_cs / 100, started);
    write_time(end_s, finished);
    buf_add_str(out, "  \"total_elapsed_s\": ");
    add_seconds(out, elapsed_cs);
    buf_addf(out, ",\n  \"started_at\": \"%s\",\n  \"finished_at\": \"%s\"", started,
             finished);
}

static void
add_context(struct campaign *campaign)
{
    static const char *const frameworks[] = {"sglang", "vllm", "vllm-aiter"};
    static const char *const precisions[] = {"bf16", "fp8", "mxfp4"};
    buf_addf(&campaign->text,
             "  \"framework\": \"%s\",\n  \"precision\": \"%s\",\n"
             "  \"quant_type\": \"auto\",\n  \"gpu_type\": \"mi355x\",\n"
             "  \"tp\": 1,\n  \"conc\": 64,\n  \"tokens\": [1, 64],\n",
             frameworks[chance_below(&campaign->chance, COUNT(frameworks))],
             precisions[chance_below(&campaign->chance, COUNT(precisions))]);
}

static void
add_tuned_result(struct campaign *campaign,
                 const struct run *run,
                 const struct run_plan *plan)
{
    struct buf *out = &campaign->text;
    bool candidate = strcmp(plan->decision, "candidate") == 0;
    unsigned elapsed_cs = 0;
    buf_addf(out,
             "{\n  \"status\": \"%s\",\n  \"micro_decision\": \"%s\",\n"
             "  \"requires_e2e_validation\": %s,\n",
             strcmp(plan->decision, "failed") == 0 ? "failed" : "ok", plan->decision,
             candidate ? "true" : "false");
    add_context(campaign);
    buf_add_str(out, "  \"tuners_run\": [\n");
    for (size_t i = 0; i < plan->n_entries; i++) {
        add_tuner(campaign, run, plan, i);
        elapsed_cs += run->elapsed_cs[i];
    }
    buf_add_str(out, "  ],\n");
    add_recommendation(out, run, plan);
    buf_add_str(out, "  \"artifacts\": {},\n");
    add_times(out, run, elapsed_cs);
    buf_add_str(out, "\n}\n");
}

/* The handler writes GEAK's document, so it alone names its backend and decision. */
static void
add_bare_result(struct campaign *campaign,
                const struct run *run,
                const struct bare_tally *bare)
{
    struct buf *out = &campaign->text;
    buf_addf(out, "{\n  \"status\": \"%s\",\n", bare->status);
    add_context(campaign);
    if (!bare->error_class) {
        buf_add_str(out, "  \"micro_decision\": \"skipped\",\n"
                         "  \"requires_e2e_validation\": false,\n"
                         "  \"tuners_skipped\": [{\"tuner\": \"a8w8\", \"skip_reason\": "
                         "\"no GEMM shapes\"}],\n"
                         "  \"skip_reason\": \"a8w8: no GEMM shapes\",\n"
                         "  \"tuners_run\": [],\n");
        add_times(out, run, 0);
        buf_add_str(out, "\n}\n");
        return;
    }
    if (strcmp(bare->error_class, "legacy_geak_config_missing") == 0)
        buf_add_str(out, "  \"backend\": \"geak\",\n  \"engine\": \"geak\",\n"
                         "  \"decision\": \"REVERT\",\n  \"tuners_run\": [],\n");
    buf_addf(out, "  \"error_class\": \"%s\",\n", bare->error_class);
    if (bare->error)
        buf_addf(out, "  \"error\": \"%s\"\n}\n", bare->error);
    else
        buf_add_str(out, "  \"skip_reason\": \"model path is not local\"\n}\n");
}

static void
draw_entries(struct campaign *campaign, struct run *run, const struct run_plan *plan)
{
    for (size_t i = 0; i < plan->n_entries; i++) {
        const struct fate_form *form = &fate_forms[plan->entries[i].fate];
        run->elapsed_cs[i] = form->elapsed_cs;
        if (form->spread_cs)
            run->elapsed_cs[i] += chance_below(&campaign->chance, form->spread_cs);
        if (plan->entries[i].fate == FATE_IMPROVED)
            run->speedup_e4[i] = 10001 + chance_below(&campaign->chance, 9000);
        if (plan->entries[i].fate == FATE_NOTHING)
            run->speedup_e4[i] = 10000;
    }
}

/* A run that was cut off: its tuner had written a log, its result names no tuner. */
static bool
left_a_log(const struct run_plan *plan)
{
    return plan->bare && plan->bare->error_class &&
           strcmp(plan->bare->error_class, "subprocess_timeout") == 0;
}

static enum err_kind
write_run(struct campaign *campaign,
          struct run *run,
          const struct run_plan *plan,
          struct err *err)
{
    static const struct entry_plan cut_off = {moe, FATE_SILENT};
    draw_entries(campaign, run, plan);
    for (size_t i = 0; i < plan->n_entries; i++) {
        const struct entry_plan *entry = &plan->entries[i];
        if (fate_forms[entry->fate].log != LOG_NONE &&
            write_log(campaign, run, entry, run->elapsed_cs[i], err))
            return err->kind;
    }
    if (left_a_log(plan) && write_log(campaign, run, &cut_off, 80000, err))
        return err->kind;
    if (plan->bare)
        add_bare_result(campaign, run, plan->bare);
    else
        add_tuned_result(campaign, run, plan);
    campaign->totals.results++;
    return write_file(campaign, run->workspace, "result.json", run->finished_us, err);
}

/* --- sessions -------------------------------------------------------------------------
 */

/* Names the session that starts at the trace's place in the campaign. */
static int64_t
name_session(struct campaign *campaign, int trace, char *ret_path, size_t size)
{
    static const char *const models[] = {
        "DeepSeek-V4-Pro", "GLM-5.2-MXFP4", "Kimi-K3",  "Llama-3.1-8B-Instruct",
        "Mixtral-8x7B",    "Qwen3-0.6B",    "Qwen3-8B", "gpt-oss-120b",
    };
    int64_t start_s = campaign_start_s + (int64_t)trace * SESSION_STEP_S +
                      chance_below(&campaign->chance, SESSION_JITTER_S);
    char stamp[STAMP_BYTES];
    write_session(start_s, stamp);
    snprintf(ret_path, size, "%s/%s",
             models[chance_below(&campaign->chance, COUNT(models))], stamp);
    return start_s;
}

static struct run
run_of(const char *session, int64_t start_s, int nth)
{
    struct run run = {.finished_us =
                          (start_s + (int64_t)RUN_STEP_S * (nth + 1)) * 1000000};
    snprintf(run.workspace, sizeof run.workspace,
             "%s/runs/gemm_tuning/kernel_entry_gemm_tuning%s", session,
             nth ? "_bf16_fallback" : "");
    return run;
}

/* Which sessions hold two runs: each choice of N_TRACES_OF_TWO is as likely. */
static bool
holds_two(struct campaign *campaign, int trace, int n_two)
{
    int traces_left = N_TRACES - trace;
    int two_left = N_TRACES_OF_TWO - n_two;
    return chance_below(&campaign->chance, (unsigned)traces_left) < (unsigned)two_left;
}

static enum err_kind
write_sessions(struct campaign *campaign, struct err *err)
{
    size_t next = 0;
    int n_two = 0;
    for (int trace = 0; trace < N_TRACES; trace++) {
        char session[CAMPAIGN_PATH_BYTES / 2];
        bool two = holds_two(campaign, trace, n_two);
        int64_t start_s = name_session(campaign, trace, session, sizeof session);
        n_two += two;
        for (int nth = 0; nth <= two; nth++) {
            struct run run = run_of(session, start_s, nth);
            if (write_run(campaign, &run, &campaign->plans[next++], err))
                return err->kind;
        }
        campaign->totals.traces++;
    }
    return ERR_OK;
}

/* Runs that died before their result: all that is left of them is a log. */
static enum err_kind
write_lost_runs(struct campaign *campaign, struct err *err)
{
    static const struct entry_plan entry = {"a8w8_blockscale", FATE_SILENT};
    for (int i = 0; i < N_LOST; i++) {
        char session[CAMPAIGN_PATH_BYTES / 2];
        int64_t start_s = name_session(campaign, N_TRACES + i, session, sizeof session);
        struct run run = run_of(session, start_s, 0);
        if (write_log(campaign, &run, &entry, 30000 + 100 * (unsigned)i, err))
            return err->kind;
        campaign->totals.lost++;
    }
    return ERR_OK;
}

static void
campaign_freep(struct campaign **campaign)
{
    if (*campaign)
        buf_done(&(*campaign)->text);
    free(*campaign);
}

enum err_kind
campaign_generate(uint64_t seed,
                  campaign_file_fn *write,
                  void *state,
                  struct campaign_totals *ret_totals,
                  struct err *err)
{
    CLEANUP(campaign_freep) struct campaign *campaign = calloc(1, sizeof *campaign);
    if (!campaign)
        return err_no_memory(err, "the campaign's plan");
    campaign->chance.state = seed;
    campaign->write = write;
    campaign->state = state;
    fill_pool(campaign);
    plan_silent_runs(campaign);
    plan_measured_runs(campaign);
    plan_bare_runs(campaign);
    shuffle_plans(campaign);
    if (write_sessions(campaign, err) || write_lost_runs(campaign, err))
        return err->kind;
    if (ret_totals)
        *ret_totals = campaign->totals;
    return ERR_OK;
}
