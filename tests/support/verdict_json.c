/* SPDX-License-Identifier: Apache-2.0 */
/* Verdict records as JSON. */
#include "verdict_json.h"

#include "answer_json.h"
#include "json_out.h"

static void
write_warnings(struct buf *out, const struct list *list)
{
    const struct verdict_warning *warnings = list->items;
    json_out_name(out, "warnings");
    buf_add_byte(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        const struct warning_field *fields = warnings[i].fields.items;
        buf_add_str(out, i ? ", {" : "{");
        json_out_text(out, "code", warnings[i].code);
        json_out_text(out, "severity",
                      slice_of(severity_name((enum severity)warnings[i].severity)));
        for (size_t k = 0; k < warnings[i].fields.n; k++) {
            buf_addf(out, ", \"%.*s\": ", SLICE_ARG(fields[k].key));
            buf_add_slice(out, fields[k].json);
        }
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}

static void
write_retry(struct buf *out, const struct verdict *verdict, const char *root)
{
    const struct retry_request *retry = &verdict->retry;
    if (!verdict->has_retry) {
        json_out_text(out, "retry", (struct slice){0});
        return;
    }
    json_out_name(out, "retry");
    buf_add_byte(out, '{');
    json_out_text(out, "requested_mode", retry->requested_mode);
    json_out_count(out, "attempt", retry->attempt);
    json_out_text(out, "retry_of",
                  slice_equal(retry->retry_of, verdict->request.request_id)
                      ? slice_of(root)
                      : retry->retry_of);
    json_out_text(out, "from_mode", retry->from_mode);
    json_out_text(out, "source_warning_code", retry->source_warning_code);
    buf_add_byte(out, '}');
}

static void
write_auto_retry(struct buf *out, const struct verdict *verdict)
{
    const struct auto_retry *retry = &verdict->auto_retry;
    if (!verdict->has_auto_retry) {
        json_out_text(out, "auto_retry", (struct slice){0});
        return;
    }
    json_out_name(out, "auto_retry");
    buf_add_byte(out, '{');
    json_out_bool(out, "applied", retry->applied);
    json_out_text(out, "from_mode", retry->from_mode);
    json_out_text(out, "to_mode", retry->to_mode);
    json_out_text(out, "source_warning_code", retry->source_warning_code);
    buf_add_byte(out, '}');
}

void
verdict_json_write(struct buf *out, const struct verdict *verdict, const char *root)
{
    bool accepted = verdict->verdict == VERDICT_KIND_ACCEPTED;
    buf_add_byte(out, '{');
    json_out_text(out, "verdict", accepted ? SLICE("accepted") : SLICE("refused"));
    json_out_text(out, "class", verdict->verdict_class);
    json_out_text(out, "requested_mode", verdict->requested_mode);
    json_out_text(out, "accepted_chunk", verdict->accepted_chunk);
    json_out_amount(out, "busy_ratio",
                    AMOUNT_IF(verdict->has_busy_ratio, verdict->busy_ratio));
    json_out_amount(out, "threshold", AMOUNT(verdict->threshold));
    write_warnings(out, &verdict->warnings);
    json_out_name(out, "measures");
    answer_json_measures(out, verdict->has_measures, &verdict->measures);
    json_out_bool(out, "suppress_candidates", verdict->suppress_candidates);
    write_retry(out, verdict, root);
    json_out_bool(out, "retry_exhausted", verdict->retry_exhausted);
    write_auto_retry(out, verdict);
    buf_add_byte(out, '}');
}

void
verdict_json_remediations(struct buf *out, const struct verdict *verdict)
{
    const struct verdict_warning *warnings = verdict->warnings.items;
    for (size_t i = 0; i < verdict->warnings.n; i++) {
        const struct warning_field *fields = warnings[i].fields.items;
        for (size_t k = 0; k < warnings[i].fields.n; k++)
            if (slice_is(fields[k].key, "remediation"))
                buf_add_slice(out, fields[k].json);
    }
}
