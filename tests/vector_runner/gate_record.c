/* SPDX-License-Identifier: Apache-2.0 */
/* Split records judged. */
#include "gate_record.h"

#include "input_json.h"
#include "report.h"

static struct slice
no_variable(const void *state, const char *name)
{
    (void)state;
    (void)name;
    return (struct slice){0};
}

enum err_kind
gate_record_judge(struct slice text,
                  struct json_value request,
                  struct arena *arena,
                  struct buf *answer,
                  struct err *err)
{
    static const struct gate_settings none;
    struct report_case given = {
        .request = {.request_id = SLICE("r1"), .framework = SLICE(""), .attempt = 1}};
    struct gate_config config;
    struct report report;
    struct json record;
    if (json_read(&record, text, arena, err))
        return err->kind;
    given.chunks = json_get(json_root(&record), "chunks");
    input_json_request(request, &given.request);
    gate_config_resolve(&none, no_variable, NULL, &config, NULL);
    if (!input_json_record(json_root(&record), arena, &given.split))
        return err_no_memory(err, "a split record");
    if (report_make(&given, &config, arena, &report, err))
        return err->kind;
    report_write_json(&report, answer);
    return buf_check(answer, "the answer", err);
}
