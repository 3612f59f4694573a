/* SPDX-License-Identifier: Apache-2.0 */
/* Generator, audit and census together, without a broker: the published numbers. */
#include "campaign_gen.h"
#include "census_fold.h"
#include "census_print.h"
#include "derive.h"

#include <stdio.h>

#include "unit.h"

enum { MAX_LOGS = 4, WORKSPACE_BYTES = 256 };

CLEANUP_DEFINE(struct census, census_free);

/* The parts of the run whose files are coming. */
struct fleet {
    struct census *census;
    struct arena arena;
    char workspace[WORKSPACE_BYTES];
    struct log_part logs[MAX_LOGS];
    size_t n_logs;
};

static void
count_emits(struct fleet *fleet, const struct emits *out)
{
    for (size_t i = 0; i < out->n; i++) {
        const struct emit *emit = &out->items[i];
        struct err err = {0};
        if (strcmp(emit->topic, "heddle.audit.tunings") != 0)
            continue;
        if (!emit->type)
            assert_int_equal(census_drop(fleet->census, emit->key, &err), ERR_OK);
        else if (census_add(fleet->census, emit->key, emit->value, &err))
            fail_msg("%s: %s", err.code, err.msg);
    }
}

/* What the worker does with the event that feed makes of a run. */
static void
audit_run(struct fleet *fleet, struct slice result, int64_t event_time_us)
{
    struct default_entry defaults[] = {
        {SLICE("backend"), SLICE("\"forge\"")},
        {SLICE("engine"), SLICE("\"forge\"")},
    };
    char trace[WORKSPACE_BYTES];
    snprintf(trace, sizeof trace, "%.*s",
             (int)(strstr(fleet->workspace, "/runs/") - fleet->workspace),
             fleet->workspace);
    struct tuning_event event = {
        .origin.captured_at_us = event_time_us,
        .workspace = slice_of(fleet->workspace),
        .trace = slice_of(trace),
        .defaults = {defaults, 2},
        .result = {result.data ? PAYLOAD_INLINE : PAYLOAD_NONE, result, {{0}, 0, {0}}},
        .logs = {fleet->logs, fleet->n_logs},
    };
    struct message in = {.topic = "heddle.tunings",
                         .timestamp_ms = event_time_us / 1000,
                         .key = slice_of(fleet->workspace)};
    struct emits out = {.arena = &fleet->arena};
    struct provenance provenance = {0};
    struct err err = {0};
    if (audit_derive(&event, &in, &provenance, &out, &err))
        fail_msg("%s: %s", err.code, err.msg);
    count_emits(fleet, &out);
    fleet->n_logs = 0;
    arena_reset(&fleet->arena);
}

static void
keep_log(struct fleet *fleet, const char *name, const struct campaign_file *file)
{
    const char *tuner = name + strlen("tuners/");
    size_t len = strcspn(tuner, "/");
    assert_true(fleet->n_logs < MAX_LOGS);
    fleet->logs[fleet->n_logs++] = (struct log_part){
        .tuner = arena_copy(&fleet->arena, (struct slice){tuner, len}),
        .payload = {PAYLOAD_INLINE,
                    arena_copy(&fleet->arena, file->content),
                    {{0}, 0, {0}}},
        .event_time_us = file->mtime_us,
    };
}

static enum err_kind
take_file(void *state, const struct campaign_file *file, struct err *err)
{
    (void)err;
    struct fleet *fleet = state;
    const char *task =
        strstr(file->path, "/runs/gemm_tuning/") + strlen("/runs/gemm_tuning/");
    const char *name = strchr(task, '/') + 1;
    char workspace[WORKSPACE_BYTES];
    snprintf(workspace, sizeof workspace, "%.*s", (int)(name - 1 - file->path),
             file->path);
    if (fleet->n_logs && strcmp(workspace, fleet->workspace) != 0)
        audit_run(fleet, (struct slice){0}, fleet->logs[0].event_time_us);
    snprintf(fleet->workspace, sizeof fleet->workspace, "%s", workspace);
    if (strcmp(name, "result.json") == 0)
        audit_run(fleet, file->content, file->mtime_us);
    else
        keep_log(fleet, name, file);
    return ERR_OK;
}

static void
read_expected(struct buf *out)
{
    char chunk[4096];
    FILE *file = fopen(SOURCE_DIR "/tests/data/expected_census.json", "r");
    assert_non_null(file);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;)
        buf_add(out, chunk, n);
    fclose(file);
}

static void
gives_the_published_census_for_any_seed(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf expected = BUF_INIT;
    read_expected(&expected);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        CLEANUP(buf_done) struct buf json = BUF_INIT;
        CLEANUP(census_freep) struct census *census = census_new(NULL);
        struct fleet fleet = {.census = census};
        struct census_counts counts;

        assert_int_equal(campaign_generate(seed, take_file, &fleet, NULL, NULL), ERR_OK);
        if (fleet.n_logs)
            audit_run(&fleet, (struct slice){0}, fleet.logs[0].event_time_us);
        assert_int_equal(census_count(census, &counts, NULL), ERR_OK);
        census_json(&counts, &json);

        assert_string_equal(buf_text(&json), buf_text(&expected));
        assert_int_equal(counts.orphan_records, 9);
        census_counts_done(&counts);
        arena_done(&fleet.arena);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_published_census_for_any_seed),
    };
    return cmocka_run_group_tests_name("campaign_census", tests, NULL, NULL);
}
