/* SPDX-License-Identifier: Apache-2.0 */
/* Real traces through split, gate and candidate table. */
#include "gate_files.h"

#include "base_name.h"
#include "cleanup.h"
#include "compare.h"
#include "gate_record.h"
#include "split_trace.h"
#include "trace_files.h"

enum { ANSWER_MAX_BYTES = 1 << 30 };
#define RUN_ARENA_BYTES ((size_t)4 << 30)

static enum err_kind
check_trace(struct trace_tally *tally,
            const char *path,
            struct json_value document,
            struct slice bytes,
            struct err *err)
{
    CLEANUP(buf_done) struct buf base = BUF_INIT;
    CLEANUP(buf_done) struct buf split;
    CLEANUP(buf_done) struct buf answer;
    CLEANUP(buf_done) struct buf where = BUF_INIT;
    CLEANUP(arena_done) struct arena arena;
    struct json got;
    buf_init(&split, ANSWER_MAX_BYTES);
    buf_init(&answer, ANSWER_MAX_BYTES);
    arena_init(&arena, RUN_ARENA_BYTES);
    base_name_add(&base, json_string(json_get(document, "trace")));
    if (split_trace_run(bytes, json_get(document, "params"), buf_slice(&base),
                        EVENTS_NONE, &split, err) ||
        gate_record_judge(buf_slice(&split), json_get(document, "request"), &arena,
                          &answer, err) ||
        json_read(&got, buf_slice(&answer), &arena, err))
        return err->kind;
    if (values_equal(json_get(document, "expect"), json_root(&got), COMPARE_EXPECTED,
                     &arena, &where))
        tally->passed++;
    else
        trace_fail(tally, path, SLICE("expect"), buf_text(&where));
    return ERR_OK;
}

void
gate_files_run(const char *dir, size_t *passed, size_t *failed)
{
    struct trace_tally tally = {0, 0};
    trace_files_walk(dir, "expected-e2e", check_trace, &tally);
    *passed += tally.passed;
    *failed += tally.failed;
}
