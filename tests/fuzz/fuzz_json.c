/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as JSON: what is read is measured as it is written, and reads again as the
 * same line. The same bytes as a result give a row or a reason.
 */
#include "derive.h"
#include "json.h"

#include "cleanup.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_line(struct json_value root, struct arena *arena)
{
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    CLEANUP(buf_done) struct buf again = BUF_INIT;
    struct json doc;
    json_write(&line, root);
    if (line.failed || line.len != json_size(root))
        abort();
    if (json_read(&doc, buf_slice(&line), arena, NULL))
        abort();
    json_write(&again, json_root(&doc));
    if (!slice_equal(buf_slice(&line), buf_slice(&again)))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct slice bytes = {(const char *)data, size};
    struct audit_log log = {SLICE("t"), bytes, 0};
    struct audit_parts parts = {.result = bytes, .logs = &log, .n_logs = 1, .e2e = bytes};
    struct audit_answer answer;
    struct json doc;
    struct err err;
    if (json_read(&doc, bytes, &arena, NULL) == ERR_OK)
        check_line(json_root(&doc), &arena);
    if (audit_row_derive(&parts, &arena, &answer, &err))
        return 0;
    if (answer.dead_reason[0])
        return 0;
    if (json_read(&doc, answer.row, &arena, NULL) ||
        json_read(&doc, answer.x, &arena, NULL))
        abort();
    return 0;
}
