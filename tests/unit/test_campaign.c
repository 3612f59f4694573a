/* SPDX-License-Identifier: Apache-2.0 */
/* The walk: which folders are runs, in which order, what is told and left out. */
#include "buf.h"
#include "campaign.h"
#include "part_file.h"
#include "temp_dir.h"

#include "unit.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN "M/S/runs/gemm_tuning/"

/* One line a run, "workspace: r e tuner,…"; problems apart. */
struct seen {
    const struct temp_dir *dir;
    struct buf runs;
    struct buf problems;
};

static const char *
below(const struct seen *seen, const char *path)
{
    size_t len = strlen(seen->dir->path);
    return strncmp(path, seen->dir->path, len) == 0 && path[len] ? path + len + 1 : path;
}

static enum err_kind
note_run(void *state, const struct campaign_run *run, struct err *err)
{
    (void)err;
    struct seen *seen = state;
    buf_addf(&seen->runs, "%s:%s%s", below(seen, run->workspace),
             run->result.path ? " result" : "", run->e2e.path ? " e2e" : "");
    for (size_t i = 0; i < run->n_logs; i++)
        buf_addf(&seen->runs, " %s", run->logs[i].tuner);
    buf_add_byte(&seen->runs, '\n');
    return ERR_OK;
}

static enum err_kind
note_trace(void *state, const struct campaign_trace *trace, struct err *err)
{
    (void)err;
    struct seen *seen = state;
    buf_addf(&seen->runs, "trace %s", below(seen, trace->file.path));
    if (trace->ask.path)
        buf_addf(&seen->runs, " asked by %s", below(seen, trace->ask.path));
    buf_add_byte(&seen->runs, '\n');
    return ERR_OK;
}

static void
note_problem(void *state, const char *path, const char *message)
{
    struct seen *seen = state;
    buf_addf(&seen->problems, "%s: %s\n", below(seen, path), message);
}

static void
walk(struct seen *seen, const char *start)
{
    struct campaign_visitor visitor = {note_run, note_problem, seen, note_trace};
    struct campaign *campaign = campaign_new(&visitor, NULL);
    assert_non_null(campaign);
    assert_int_equal(campaign_walk(campaign, start, NULL), ERR_OK);
    campaign_free(campaign);
}

static void
seen_done(struct seen *seen)
{
    buf_done(&seen->runs);
    buf_done(&seen->problems);
}

static void
link_to(const struct temp_dir *dir, const char *target, const char *name)
{
    char *path = temp_path(dir, name);
    assert_int_equal(symlink(target, path), 0);
    free(path);
}

static void
finds_runs_by_name_in_a_root(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(seen_done) struct seen seen = {.dir = &dir};
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, RUN "b/result.json", "{}", 9);
    temp_write(&dir, RUN "b/tuners/z/tune.log", "", 9);
    temp_write(&dir, RUN "b/tuners/a/tune.log", "", 9);
    temp_write(&dir, RUN "b/tuners/a/result.json", "{}", 9);
    temp_write(&dir, RUN "b/tuners/quiet/other.txt", "", 9);
    temp_write(&dir, RUN "a/tuners/t/tune.log", "", 9);
    temp_write(&dir,
               "M/R/"
               "runs/gemm_tuning/x/e2e_results.json",
               "{}", 9);
    temp_write(&dir, "M/S/reports/trace/gemm_tuning.jsonl", "", 9);
    temp_write(&dir, "alone/result.json", "{}", 9);
    temp_write(&dir, "tuners/notes.txt", "", 9);

    walk(&seen, dir.path);

    assert_string_equal(buf_text(&seen.runs),
                        "M/R/runs/gemm_tuning/x: e2e\n" RUN "a: t\n" RUN "b: result a z\n"
                        "alone: result\n");
    assert_string_equal(buf_text(&seen.problems), "");
}

static void
takes_a_workspace_as_its_start(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(seen_done) struct seen seen = {.dir = &dir};
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, RUN "a/result.json", "{}", 9);
    char *start = temp_path(&dir, RUN "a/../a/");

    walk(&seen, start);

    assert_string_equal(buf_text(&seen.runs), RUN "a: result\n");
    free(start);
}

static void
finds_a_linked_run_once_and_under_its_own_name(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(seen_done) struct seen seen = {.dir = &dir};
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, "top/M/S/runs/gemm_tuning/a/result.json", "{}", 9);
    temp_write(&dir, "away/N/S/runs/gemm_tuning/a/result.json", "{}", 9);
    link_to(&dir, "S", "top/M/A-latest");
    link_to(&dir, "../..", "top/M/loop");
    link_to(&dir, "../away", "top/B");
    link_to(&dir, "nowhere", "top/dangling");
    char *start = temp_path(&dir, "top");

    walk(&seen, start);

    assert_string_equal(buf_text(&seen.runs), "top/M/S/runs/gemm_tuning/a: result\n"
                                              "away/N/S/runs/gemm_tuning/a: result\n");
    free(start);
}

static void
tells_what_it_can_not_read_and_goes_on(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(seen_done) struct seen seen = {.dir = &dir};
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, "a/tuners/t/tune.log", "", 9);
    temp_write(&dir, "b/result.json", "{}", 9);
    link_to(&dir, "gone", "a/result.json");
    char *pipe = temp_path(&dir, "b/e2e_results.json");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    free(pipe);

    walk(&seen, dir.path);

    assert_string_equal(buf_text(&seen.runs), "a: t\nb: result\n");
    assert_string_equal(buf_text(&seen.problems),
                        "a/result.json: can't look at this file: No such file or "
                        "directory\n"
                        "b/e2e_results.json: no regular file\n");
}

static void
tells_a_start_that_is_not_there(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(seen_done) struct seen seen = {.dir = &dir};
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, "file", "", 9);
    char *missing = temp_path(&dir, "missing");
    char *file = temp_path(&dir, "file");

    walk(&seen, missing);
    walk(&seen, file);

    assert_string_equal(buf_text(&seen.problems),
                        "missing: can't open this folder: No such file or directory\n"
                        "file: can't open this folder: Not a directory\n");
    free(missing);
    free(file);
}

static void
leaves_folders_that_are_nested_too_deep(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(seen_done) struct seen seen = {.dir = &dir};
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    assert_true(temp_dir_make(&dir));
    for (int i = 0; i <= CAMPAIGN_MAX_DEPTH; i++)
        buf_add_str(&path, "d/");
    buf_add_str(&path, "result.json");
    assert_true(temp_write(&dir, buf_text(&path), "{}", 9));

    walk(&seen, dir.path);

    assert_int_equal(seen.runs.len, 0);
    assert_non_null(strstr(buf_text(&seen.problems), "nested too deep"));
}

static void
reads_a_file_that_has_settled(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(part_file_done) struct part_file file = {0};
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, "f", "abc", 9);
    char *path = temp_path(&dir, "f");

    assert_int_equal(part_file_read(path, 3, part_file_now_ns(), &file, NULL), ERR_OK);

    assert_true(file.kept);
    assert_true(slice_is(buf_slice(&file.bytes), "abc"));
    assert_string_equal(file.sha256, "ba7816bf8f01cfea414140de5dae2223"
                                     "b00361a396177a9cb410ff61f20015ad");
    free(path);
}

static void
digests_a_large_file_without_keeping_it(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(part_file_done) struct part_file file = {0};
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, "f", "abc", 9);
    char *path = temp_path(&dir, "f");

    assert_int_equal(part_file_read(path, 2, part_file_now_ns(), &file, NULL), ERR_OK);

    assert_false(file.kept);
    assert_int_equal(file.bytes.len, 0);
    assert_int_equal(file.size, 3);
    free(path);
}

static void
asks_to_look_again_at_a_young_file(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(part_file_done) struct part_file file = {0};
    struct err err;
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, "young", "abc", 0);
    temp_write(&dir, "ahead", "abc", -3600);
    char *young = temp_path(&dir, "young");
    char *ahead = temp_path(&dir, "ahead");
    int64_t now = part_file_now_ns();

    assert_int_equal(part_file_read(young, 9, now, &file, &err), ERR_RETRY);

    assert_string_equal(err.code, "file_unsettled");
    assert_int_equal(part_file_read(ahead, 9, now, &file, &err), ERR_OK);
    free(young);
    free(ahead);
}

static void
does_not_wait_on_a_pipe(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    struct part_file file;
    struct err err;
    assert_true(temp_dir_make(&dir));
    char *path = temp_path(&dir, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);

    assert_int_equal(part_file_read(path, 9, 0, &file, &err), ERR_RECORD);

    assert_string_equal(err.code, "file_unreadable");
    free(path);
}

static void
finds_traces_and_what_is_asked_of_them(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(seen_done) struct seen seen = {.dir = &dir};
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, "a/rank1.pt.trace.json", "{}", 10);
    temp_write(&dir, "a/rank0.pt.trace.json.gz", "", 10);
    temp_write(&dir, "a/rank0.pt.trace.json.gz.request.json", "{}", 10);
    temp_write(&dir, "a/request.json", "{}", 10);
    temp_write(&dir, "b/x.pt.trace.json", "{}", 10);
    temp_write(&dir, "b/.pt.trace.json", "{}", 10);
    temp_write(&dir, "b/x.pt.trace.json.zip", "{}", 10);
    temp_write(&dir, "b/trace.json", "{}", 10);
    temp_write(&dir, RUN "t/result.json", "{}", 10);
    temp_write(&dir, RUN "t/y.pt.trace.json", "{}", 10);

    walk(&seen, dir.path);

    assert_string_equal(buf_text(&seen.runs),
                        RUN "t: result\n"
                            "trace " RUN "t/y.pt.trace.json\n"
                            "trace a/rank0.pt.trace.json.gz asked by "
                            "a/rank0.pt.trace.json.gz.request.json\n"
                            "trace a/rank1.pt.trace.json asked by a/request.json\n"
                            "trace b/x.pt.trace.json\n");
    assert_string_equal(buf_text(&seen.problems), "");
}

/* What can't be read is for the visitor to refuse: no trace goes with another request. */
static void
names_what_is_asked_of_a_trace_though_it_can_not_be_read(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(seen_done) struct seen seen = {.dir = &dir};
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, "a/x.pt.trace.json", "{}", 10);
    temp_write(&dir, "a/y.pt.trace.json", "{}", 10);
    temp_write(&dir, "a/request.json", "{}", 10);
    temp_write(&dir, "a/y.pt.trace.json.request.json/inside", "{}", 10);
    char *link = temp_path(&dir, "a/x.pt.trace.json.request.json");
    assert_int_equal(symlink("nowhere", link), 0);
    free(link);

    walk(&seen, dir.path);

    assert_string_equal(
        buf_text(&seen.runs),
        "trace a/x.pt.trace.json asked by a/x.pt.trace.json.request.json\n"
        "trace a/y.pt.trace.json asked by a/y.pt.trace.json.request.json\n");
}

static void
looks_at_one_trace_again(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(seen_done) struct seen seen = {.dir = &dir};
    assert_true(temp_dir_make(&dir));
    temp_write(&dir, "a/x.pt.trace.json", "{}", 10);
    temp_write(&dir, "a/request.json", "{}", 10);
    char *path = temp_path(&dir, "a/x.pt.trace.json");
    struct campaign_visitor visitor = {note_run, note_problem, &seen, note_trace};
    struct campaign *campaign = campaign_new(&visitor, NULL);
    assert_int_equal(campaign_look_trace(campaign, path, NULL), ERR_OK);
    campaign_free(campaign);
    assert_string_equal(buf_text(&seen.runs),
                        "trace a/x.pt.trace.json asked by a/request.json\n");
    free(path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_runs_by_name_in_a_root),
        cmocka_unit_test(takes_a_workspace_as_its_start),
        cmocka_unit_test(finds_a_linked_run_once_and_under_its_own_name),
        cmocka_unit_test(tells_what_it_can_not_read_and_goes_on),
        cmocka_unit_test(tells_a_start_that_is_not_there),
        cmocka_unit_test(leaves_folders_that_are_nested_too_deep),
        cmocka_unit_test(reads_a_file_that_has_settled),
        cmocka_unit_test(digests_a_large_file_without_keeping_it),
        cmocka_unit_test(asks_to_look_again_at_a_young_file),
        cmocka_unit_test(does_not_wait_on_a_pipe),
        cmocka_unit_test(finds_traces_and_what_is_asked_of_them),
        cmocka_unit_test(names_what_is_asked_of_a_trace_though_it_can_not_be_read),
        cmocka_unit_test(looks_at_one_trace_again),
    };
    return cmocka_run_group_tests_name("campaign", tests, NULL, NULL);
}
