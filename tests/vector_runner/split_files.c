/* SPDX-License-Identifier: Apache-2.0 */
/* Real traces through the splitter, beside DIR/expected. */
#include "split_files.h"
#include "split_trace.h"
#include "trace_files.h"

#include "base_name.h"
#include "cleanup.h"

enum { ANSWER_MAX_BYTES = 1 << 30 };
#define RUN_ARENA_BYTES ((size_t)4 << 30)

static void
run_one(struct trace_tally *tally,
        const char *path,
        struct json_value run,
        struct slice bytes,
        struct slice base)
{
    CLEANUP(buf_done) struct buf answer;
    CLEANUP(buf_done) struct buf where = BUF_INIT;
    CLEANUP(arena_done) struct arena arena;
    struct json got;
    struct err err;
    buf_init(&answer, ANSWER_MAX_BYTES);
    arena_init(&arena, RUN_ARENA_BYTES);
    struct slice name = json_string(json_get(run, "name"));
    if (split_trace_run(bytes, json_get(run, "params"), base, EVENTS_DIGEST, &answer,
                        &err) ||
        json_read(&got, buf_slice(&answer), &arena, &err))
        trace_fail(tally, path, name, err.msg);
    else if (!split_answers_equal(json_get(run, "expect"), json_root(&got), &arena,
                                  &where))
        trace_fail(tally, path, name, buf_text(&where));
    else
        tally->passed++;
}

static enum err_kind
check_trace(struct trace_tally *tally,
            const char *path,
            struct json_value document,
            struct slice bytes,
            struct err *err)
{
    CLEANUP(buf_done) struct buf base = BUF_INIT;
    struct json_value runs = json_get(document, "runs");
    struct json_iter iter = json_iter(runs);
    struct slice key;
    struct json_value run;
    if (json_count(runs) == 0)
        return err_set(err, ERR_RECORD, "file_empty", "holds no run");
    base_name_add(&base, json_string(json_get(document, "trace")));
    while (json_next(&iter, &key, &run))
        run_one(tally, path, run, bytes, buf_slice(&base));
    return ERR_OK;
}

void
split_files_run(const char *dir, size_t *passed, size_t *failed)
{
    struct trace_tally tally = {0, 0};
    if (trace_files_walk(dir, "expected", check_trace, &tally) == 0)
        trace_fail(&tally, dir, SLICE("expected"), "holds no trace");
    *passed += tally.passed;
    *failed += tally.failed;
}
