/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what the gate's tools read from outside: an external table, a report, the
 * table of an older splitter, a split record. Read or refused; what is printed is JSON.
 */
#include "decide.h"
#include "details.h"
#include "evidence.h"
#include "external.h"
#include "input_json.h"
#include "json_scan.h"
#include "report.h"

#include "cleanup.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct slice
no_variable(const void *state, const char *name)
{
    (void)state;
    (void)name;
    return (struct slice){0};
}

static void
check_json(const struct buf *out)
{
    enum json_type type;
    if (json_scan_check(buf_slice(out), &type, NULL))
        abort();
}

static void
read_table(struct slice text, struct arena *arena)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct external_table table;
    struct err err = {0};
    struct details_row *rows = NULL;
    size_t n = 0;
    if (candidates_read(text, arena, &table, &err) == ERR_OK) {
        candidates_write(&table, &out);
        check_json(&out);
    }
    details_read_csv(text, arena, &rows, &n, &err);
}

static void
read_report(struct slice text, struct arena *arena)
{
    const struct evidence_candidate candidates[] = {
        {SLICE("k001"), SLICE("moe_gemm1_kernel"), false},
        {SLICE("k002"), SLICE("reduce_scatter_cross_device"), false},
    };
    const struct shape_evidence *evidence = NULL;
    struct err err = {0};
    size_t n = 0;
    if (evidence_find(text, candidates, 2, arena, &evidence, &n, &err) || n > 2)
        abort();
}

/* What is judged is printed, and never an empty chunk accepted. */
static void
read_record(struct slice text, struct arena *arena)
{
    static const struct gate_settings none;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct report_case given = {.chunks = JSON_NONE};
    struct gate_config config;
    struct report report;
    struct json doc;
    struct err err = {0};
    if (json_read(&doc, text, arena, NULL))
        return;
    struct json_value root = json_root(&doc);
    given.chunks = json_get(root, "chunks");
    given.request = (struct gate_request){.request_id = SLICE("r"),
                                          .framework = SLICE(""),
                                          .framework_kind = SLICE("serving"),
                                          .attempt = 1};
    gate_config_resolve(&none, no_variable, NULL, &config, NULL);
    if (!input_json_record(root, arena, &given.split) ||
        report_make(&given, &config, arena, &report, &err))
        return;
    report_write_json(&report, &out);
    check_json(&out);
    report_write_text(&report, &out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct slice text = {(const char *)data, len};
    if (!len)
        return 0;
    read_table(text, &arena);
    read_report(text, &arena);
    read_record(text, &arena);
    return 0;
}
