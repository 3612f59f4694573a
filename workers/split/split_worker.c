/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of heddle-split, and what is opened once for all events. */
#include "split_worker.h"

#include "cleanup.h"
#include "digest.h"

#include <stdlib.h>

enum { MAX_RECORD_ITEMS = 64 << 20 }; /* of a record that is ours: its bytes bound it */

struct split_worker_settings split_worker_settings;

#define AT(field)                                                                        \
    .section = "split", .offset = offsetof(struct split_worker_settings, field)

const struct option split_worker_options[] = {
    {AT(store), .name = "store", .type = OPTION_TEXT, .arg = "URL",
     .help = "Chunk store, file:///DIR or s3://BUCKET/PREFIX; needed."},
    {AT(jobs), .name = "jobs", .type = OPTION_INT, .value = "1", .min = 1,
     .max = WORKER_MAX_JOBS, .arg = "N",
     .help = "Traces worked on side by side, each of another partition."},
    {AT(job_deadline_ms), .name = "job_deadline", .type = OPTION_DURATION, .value = "60m",
     .min = 100, .max = INT64_C(30) * 24 * 3600 * 1000, .arg = "TIME",
     .help = "How long one trace may be in work; past it the worker leaves with status "
             "83."},
    SPLIT_SETTING_ROWS(struct split_worker_settings, split, 0),
};

const size_t split_worker_n_options =
    sizeof split_worker_options / sizeof split_worker_options[0];

/* What is opened, and what it points into. */
struct opened {
    struct splitter splitter; /* first: it is the worker's state */
    struct codec *codec;
    struct codec_plan *plan;
    const char **roots; /* claim.roots and the folder of the store */
    char config_sha256[DIGEST_HEX];
};

static struct slice
variable_of(const void *state, const char *name)
{
    (void)state;
    return slice_of(getenv(name));
}

/* The settings, and the variables that parameters are derived from. */
static enum err_kind
digest_config(struct opened *opened, const struct provenance *provenance, struct err *err)
{
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    const struct split_hints *hints = &opened->splitter.hints;
    buf_add_slice(&lines, provenance->config_sha256);
    buf_addf(&lines, "\nconc=%.*s\nosl=%.*s\nr=%.*s\n", SLICE_ARG(hints->conc),
             SLICE_ARG(hints->osl), SLICE_ARG(hints->r));
    if (lines.failed)
        return err_no_memory(err, "the settings");
    digest_hex(buf_slice(&lines), opened->config_sha256);
    opened->splitter.provenance = *provenance;
    opened->splitter.provenance.config_sha256 = slice_of(opened->config_sha256);
    return ERR_OK;
}

static enum err_kind
open_store(struct opened *opened, const struct worker_context *context, struct err *err)
{
    const struct chunk_store_settings settings = {
        .url = split_worker_settings.store,
        .tmp_dir = split_worker_settings.split.tmp_dir,
        .remote = context->remote,
    };
    if (!settings.url)
        return err_fatal(err, EXIT_CONFIG, "bad_value",
                         "[split] store is not set: name the chunk store, "
                         "file:///DIR or s3://BUCKET/PREFIX");
    return chunk_store_new(&settings, &opened->splitter.store, err);
}

static enum err_kind
set_limits(struct opened *opened, const struct worker_context *context, struct err *err)
{
    struct option_list roots = context->claim_roots;
    const char *folder = chunk_store_folder(opened->splitter.store);
    opened->roots = calloc(roots.n + 1, sizeof *opened->roots);
    if (!opened->roots)
        return err_no_memory(err, "the folders of claims");
    for (size_t i = 0; i < roots.n; i++)
        opened->roots[i] = roots.items[i];
    opened->roots[roots.n] = folder;
    opened->splitter.limits = (struct claim_limits){
        .roots = {opened->roots, roots.n + (folder != NULL)},
        .malformed = "trace_event_malformed",
        .remote = context->remote,
        .tmp_dir = split_worker_settings.split.tmp_dir,
        .max_spool_bytes = split_worker_settings.split.max_spool_bytes,
    };
    return ERR_OK;
}

static enum err_kind
open_codecs(struct opened *opened, const struct schema_source *schemas, struct err *err)
{
    const struct codec_limits limits = {.max_items = MAX_RECORD_ITEMS};
    opened->splitter.events = serde_new(&trace_event_type, schemas, err);
    if (!opened->splitter.events)
        return err->kind;
    opened->codec = codec_new(&split_record_type, &limits, err);
    if (!opened->codec)
        return err->kind;
    opened->plan = codec_plan_new(opened->codec, codec_schema(opened->codec), err);
    opened->splitter.records = opened->codec;
    opened->splitter.own_records = opened->plan;
    return opened->plan ? ERR_OK : err->kind;
}

void
split_worker_close(void *state)
{
    struct opened *opened = state;
    if (!opened)
        return;
    codec_plan_free(opened->plan);
    codec_free(opened->codec);
    serde_free(opened->splitter.events);
    chunk_store_free(opened->splitter.store);
    free(opened->roots);
    free(opened);
}

static void
close_opened(struct opened **opened)
{
    split_worker_close(*opened);
}

enum err_kind
split_worker_open(const struct worker_context *context, void **ret_state, struct err *err)
{
    CLEANUP(close_opened) struct opened *opened = calloc(1, sizeof *opened);
    if (!opened)
        return err_no_memory(err, "the worker");
    opened->splitter.settings = &split_worker_settings.split;
    split_hints_of_variables(variable_of, NULL, &opened->splitter.hints);
    if (open_store(opened, context, err) || set_limits(opened, context, err) ||
        open_codecs(opened, context->schemas, err) ||
        digest_config(opened, context->provenance, err))
        return err->kind;
    *ret_state = opened;
    opened = NULL;
    return ERR_OK;
}
