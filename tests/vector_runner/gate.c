/* SPDX-License-Identifier: Apache-2.0 */
/* Area gate: the functions that heddle-gate calls, one kind each (README-domain.md). */
#include "vectors.h"

#include "answer_json.h"
#include "health.h"
#include "import.h"
#include "input_json.h"
#include "json_out.h"
#include "ratio.h"
#include "split_request.h"

enum { MAX_ATTEMPTS = 8 };

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "a case");
}

/* --- configuration and environment -------------------------------------------------- */

static struct slice
variable_of(const void *state, const char *name)
{
    return json_string(json_get(*(const struct json_value *)state, name));
}

static void
read_config(struct json_value input, struct gate_config *ret_config)
{
    struct json_value config = json_get(input, "config");
    struct json_value env = json_get(input, "env");
    struct gate_settings settings = {
        .min_busy_ratio = amount_of_json(json_get(config, "min_busy_ratio")),
        .default_mode = json_string(json_get(config, "default_mode")),
        .max_idle_pct = amount_of_json(json_get(config, "max_idle_pct")),
        .min_compute_pct = amount_of_json(json_get(config, "min_compute_pct")),
        .max_exposed_comm_pct = amount_of_json(json_get(config, "max_exposed_comm_pct")),
        .max_rows = amount_of_json(json_get(config, "max_rows")),
        .min_gpu_pct = amount_of_json(json_get(config, "min_gpu_pct")),
    };
    gate_config_resolve(&settings, variable_of, &env, ret_config, NULL);
}

/* --- decide, flow ------------------------------------------------------------------- */

/* The free text must name what the case says it does. */
static enum err_kind
check_remediation(struct json_value vector,
                  const struct gate_answer *answer,
                  struct err *err)
{
    struct json_value mentions =
        json_get(json_get(vector, "expect"), "remediation_mentions");
    struct json_iter iter = json_iter(mentions);
    struct slice key;
    struct json_value mention;
    struct slice text = SLICE("");
    for (size_t i = 0; i < answer->notes.n; i++)
        for (size_t k = 0; k < answer->notes.items[i].n; k++)
            if (strcmp(answer->notes.items[i].fields[k].name, "remediation") == 0)
                text = answer->notes.items[i].fields[k].text;
    while (json_kind(mentions) == JSON_ARRAY && json_next(&iter, &key, &mention)) {
        struct slice part = json_string(mention);
        if (!part.data || !memmem(text.data, text.len, part.data, part.len))
            return err_set(err, ERR_RECORD, "vector_failed",
                           "remediation '%.*s' does not name %.*s", SLICE_ARG(text),
                           SLICE_ARG(part));
    }
    return ERR_OK;
}

static enum err_kind
run_decide(struct json_value vector,
           struct arena *arena,
           struct buf *answer,
           struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct gate_request request = {0};
    struct gate_config config;
    struct gate_split split;
    struct gate_answer verdict;
    read_config(input, &config);
    input_json_request(json_get(input, "request"), &request);
    if (!input_json_split(json_get(input, "split"), arena, &split))
        return no_memory(err);
    if (gate_decide(&request, &split, &config, arena, &verdict, err)) {
        if (err->kind == ERR_RECORD)
            buf_addf(answer, "{\"dead_letter\": \"%s\"}", err->code);
        return err->kind == ERR_RECORD ? ERR_OK : err->kind;
    }
    answer_json_verdict(answer, &request, &verdict);
    return check_remediation(vector, &verdict, err);
}

static void
write_step(struct buf *out, const struct gate_answer *verdict)
{
    buf_add_byte(out, '{');
    json_out_text(out, "verdict",
                  verdict->accepted ? SLICE("accepted") : SLICE("refused"));
    json_out_text(out, "class", slice_of(verdict->verdict_class));
    json_out_text(out, "requested_mode", verdict->mode);
    json_out_bool(out, "retry_exhausted", verdict->retry_exhausted);
    buf_add_byte(out, '}');
}

static void
write_end(struct buf *out,
          const struct gate_request *request,
          const struct gate_answer *verdict)
{
    buf_addf(out, "], \"final\": \"%s\", ", verdict->accepted ? "accepted" : "refused");
    if (request->attempt != 2) {
        buf_add_str(out, "\"auto_retry\": null}");
        return;
    }
    buf_add_str(out, "\"auto_retry\": {");
    json_out_bool(out, "applied", true);
    json_out_text(out, "from_mode", request->from_mode);
    json_out_text(out, "to_mode", verdict->mode);
    json_out_text(out, "source_warning_code", request->source_warning_code);
    buf_add_str(out, "}}");
}

static enum err_kind
run_flow(struct json_value vector,
         struct arena *arena,
         struct buf *answer,
         struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct gate_request request = {0};
    struct gate_config config;
    struct gate_split split;
    struct gate_answer verdict = {0};
    read_config(input, &config);
    input_json_request(json_get(input, "request"), &request);
    if (!input_json_split(json_get(input, "split"), arena, &split))
        return no_memory(err);
    buf_add_str(answer, "{\"verdicts\": [");
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        if (gate_decide(&request, &split, &config, arena, &verdict, err))
            return err->kind;
        buf_add_str(answer, i ? ", " : "");
        write_step(answer, &verdict);
        if (!verdict.retry.mode.data)
            break;
        struct gate_request first = request;
        if (!retry_follow(&first, verdict.mode, verdict.retry, arena, &request))
            return no_memory(err);
    }
    write_end(answer, &request, &verdict);
    return ERR_OK;
}

/* --- numbers ------------------------------------------------------------------------ */

static enum err_kind
run_ratio(struct json_value vector,
          struct arena *arena,
          struct buf *answer,
          struct err *err)
{
    (void)arena;
    (void)err;
    struct chunk_numbers numbers;
    input_json_chunk_numbers(json_get(json_get(vector, "input"), "numbers"), &numbers);
    struct amount ratio = ratio_of(&numbers);
    if (ratio.known)
        ratio.value = amount_round(ratio.value, 6);
    buf_add_byte(answer, '{');
    json_out_amount(answer, "ratio", ratio);
    json_out_bool(answer, "empty", ratio_is_empty(&numbers));
    buf_add_byte(answer, '}');
    return ERR_OK;
}

static enum err_kind
run_import_row(struct json_value vector,
               struct arena *arena,
               struct buf *answer,
               struct err *err)
{
    (void)arena;
    (void)err;
    struct json_value row = json_get(json_get(vector, "input"), "row");
    struct import_row cells = {
        .num_gpu_events = json_string(json_get(row, "num_gpu_events")),
        .gpu_duration = json_string(json_get(row, "gpu_duration")),
        .gpu_busy_duration = json_string(json_get(row, "gpu_busy_duration")),
        .busy_ratio = json_string(json_get(row, "busy_ratio")),
    };
    struct import_numbers numbers;
    if (json_kind(row) != JSON_OBJECT) {
        buf_add_str(answer, "{\"numbers\": null}");
        return ERR_OK;
    }
    import_read_row(&cells, &numbers);
    buf_add_str(answer, "{\"numbers\": {");
    json_out_amount(answer, "num_gpu_events", AMOUNT(numbers.num_gpu_events));
    json_out_amount(answer, "gpu_duration", numbers.gpu_duration_us);
    json_out_amount(answer, "gpu_busy_duration", numbers.gpu_busy_duration_us);
    json_out_amount(answer, "busy_ratio", numbers.busy_ratio);
    buf_add_str(answer, "}}");
    return ERR_OK;
}

static enum err_kind
run_health(struct json_value vector,
           struct arena *arena,
           struct buf *answer,
           struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct json_value status = json_get(input, "status");
    bool has_trace = json_kind(json_get(input, "numbers")) == JSON_OBJECT;
    bool has_chunk = json_kind(json_get(input, "accepted")) == JSON_OBJECT;
    struct trace_numbers trace;
    struct chunk_numbers chunk;
    struct gate_config config;
    struct note_list notes = {.arena = arena};
    struct verdict_measures measures;
    read_config(input, &config);
    input_json_trace_numbers(json_get(input, "numbers"), &trace);
    input_json_chunk_numbers(json_get(input, "accepted"), &chunk);
    bool suppress = health_check(has_trace ? &trace : NULL, has_chunk ? &chunk : NULL,
                                 json_kind(status) == JSON_ABSENT
                                     ? STATUS_SPLITTABLE
                                     : split_status_of(json_string(status)),
                                 &config, &notes, &measures);
    buf_add_str(answer, "{\"measures\": ");
    answer_json_measures(answer, has_trace, &measures);
    buf_add_str(answer, ", \"warnings\": ");
    note_write_list(answer, &notes, false);
    json_out_bool(answer, "suppress_candidates", suppress);
    buf_add_byte(answer, '}');
    return notes.failed ? no_memory(err) : ERR_OK;
}

/* --- import, retry ------------------------------------------------------------------ */

static void
write_families(struct buf *out, const struct import_family families[MODES])
{
    json_out_name(out, "chunks_by_mode");
    buf_add_byte(out, '{');
    for (int i = 0; i < MODES; i++)
        json_out_count(out, mode_names[i], (int64_t)families[i].n);
    buf_add_byte(out, '}');
}

static enum err_kind
run_collect(struct json_value vector,
            struct arena *arena,
            struct buf *answer,
            struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct json_value files = json_get(input, "files");
    struct slice *paths = arena_calloc(arena, json_count(files), sizeof paths[0]);
    struct import_family families[MODES];
    struct slice requested = json_string(json_get(input, "requested_mode"));
    struct json_iter iter = json_iter(files);
    struct slice key;
    struct json_value item;
    size_t n = 0;
    if (!paths)
        return no_memory(err);
    while (json_next(&iter, &key, &item))
        paths[n++] = json_string(item);
    import_collect(paths, n, families);
    enum import_outcome outcome =
        import_select(families, requested, json_truthy(json_get(input, "failed")),
                      json_truthy(json_get(input, "aborted")));
    buf_add_byte(answer, '{');
    json_out_text(answer, "outcome", slice_of(import_outcome_names[outcome]));
    if (outcome == IMPORT_SELECTED)
        json_out_text(answer, "selected", families[mode_of(requested)].selected);
    struct slice present[MODES];
    size_t n_present = 0;
    for (int i = 0; i < MODES; i++)
        if (families[i].n)
            present[n_present++] = slice_of(mode_names[i]);
    if (outcome == IMPORT_CHUNK_MISSING)
        json_out_texts(answer, "present_families", present, n_present);
    if (outcome != IMPORT_BAD_MODE)
        write_families(answer, families);
    buf_add_byte(answer, '}');
    return ERR_OK;
}

static bool
read_modes(struct json_value value, struct arena *arena, struct hint_modes *ret_modes)
{
    size_t n = json_kind(value) == JSON_ARRAY ? json_count(value) : 0;
    struct slice *modes = arena_calloc(arena, n, sizeof modes[0]);
    struct json_iter iter = json_iter(value);
    struct slice key;
    struct json_value item;
    for (size_t i = 0; modes && i < n && json_next(&iter, &key, &item); i++)
        modes[i] = json_string(item);
    *ret_modes = (struct hint_modes){json_kind(value) != JSON_ABSENT,
                                     json_kind(value) == JSON_ARRAY, modes, n};
    return modes != NULL;
}

static enum err_kind
run_retry(struct json_value vector,
          struct arena *arena,
          struct buf *answer,
          struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct json_value list = json_get(input, "warnings");
    size_t n = json_kind(list) == JSON_ARRAY ? json_count(list) : 0;
    struct retry_warning *warnings = arena_calloc(arena, n, sizeof warnings[0]);
    struct json_iter iter = json_iter(list);
    struct slice key;
    struct json_value item;
    int64_t attempt = 0;
    if (!warnings)
        return no_memory(err);
    for (size_t i = 0; i < n && json_next(&iter, &key, &item); i++) {
        warnings[i].code = json_string(json_get(item, "code"));
        if (!read_modes(json_get(item, "non_empty_modes"), arena,
                        &warnings[i].non_empty) ||
            !read_modes(json_get(item, "available_modes"), arena, &warnings[i].available))
            return no_memory(err);
    }
    json_int(json_get(input, "attempt"), &attempt);
    struct retry_hint hint =
        retry_find(json_truthy(json_get(input, "refused")),
                   framework_kind_of_name(json_string(json_get(input, "framework_kind"))),
                   attempt, warnings, n);
    buf_add_byte(answer, '{');
    json_out_text(answer, "mode", hint.mode);
    buf_add_byte(answer, '}');
    return ERR_OK;
}

/* --- requests, certificates --------------------------------------------------------- */

/* A text as it is; a number as its shortest text. */
static struct slice
hint_of(struct json_value object, const char *name)
{
    struct json_value value = json_get(object, name);
    struct slice number = json_number(value);
    return number.data ? number : json_string(value);
}

static void
write_request(struct buf *out, const struct split_request_answer *request)
{
    buf_add_byte(out, '{');
    json_out_text(out, "framework", request->framework);
    json_out_text(out, "framework_kind", slice_of(framework_kind_names[request->kind]));
    json_out_text(out, "mode", request->mode);
    json_out_bool(out, "llm_inference", request->llm_inference);
    json_out_text(out, "CONC", request->hints.conc);
    json_out_text(out, "OSL", request->hints.osl);
    json_out_text(out, "R", request->hints.r);
    json_out_name(out, "notes");
    note_write_list(out, &request->notes, false);
    json_out_count(out, "num_steps", request->num_steps);
    buf_add_byte(out, '}');
}

static enum err_kind
run_split_request(struct json_value vector,
                  struct arena *arena,
                  struct buf *answer,
                  struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct json_value request = json_get(input, "request");
    struct json_value baseline = json_get(input, "baseline");
    struct json_value env = json_get(input, "env");
    struct gate_config config;
    struct split_hints environment;
    struct split_request_answer split;
    struct split_ask ask = {
        .framework = json_string(json_get(request, "framework")),
        .steady_state_mode = json_string(json_get(request, "steady_state_mode")),
        .request = {hint_of(request, "split_conc"), hint_of(request, "split_osl"),
                    hint_of(request, "split_r")},
        .baseline = {hint_of(baseline, "conc"), hint_of(baseline, "osl"),
                     hint_of(baseline, "random_range_ratio")},
        .campaign_framework = json_string(json_get(input, "campaign_framework")),
    };
    ask.has_num_steps = json_int(json_get(request, "num_steps"), &ask.num_steps);
    read_config(input, &config);
    split_hints_of_variables(variable_of, &env, &environment);
    if (split_request(&ask, config.default_mode, &environment, arena, &split, err))
        return err->kind;
    write_request(answer, &split);
    return ERR_OK;
}

/* What counts as false when it is there at all. */
static enum known_bool
flag_of(struct json_value facts, const char *name)
{
    struct json_value value = json_get(facts, name);
    if (json_kind(value) == JSON_ABSENT)
        return BOOL_UNKNOWN;
    return json_truthy(value) ? BOOL_TRUE : BOOL_FALSE;
}

static void
write_certificate(struct buf *out, const struct selfcert_answer *cert)
{
    buf_add_byte(out, '{');
    json_out_texts(out, "usable_by", cert->usable_by, cert->n_routes);
    json_out_texts(out, "blocking_reasons", cert->blocking_reasons, cert->n_reasons);
    json_out_texts(out, "warnings", cert->warnings, cert->n_warnings);
    json_out_bool(out, "decode_conclusions_valid", cert->decode_conclusions_valid);
    json_out_bool(out, "silently_wrong", cert->silently_wrong);
    json_out_text(out, "severity", slice_of(cert->severity));
    if (cert->has_steady_state_semantics == BOOL_UNKNOWN)
        json_out_text(out, "has_steady_state_semantics", (struct slice){0});
    else
        json_out_bool(out, "has_steady_state_semantics",
                      cert->has_steady_state_semantics == BOOL_TRUE);
    buf_add_byte(out, '}');
}

static enum err_kind
run_selfcert(struct json_value vector,
             struct arena *arena,
             struct buf *answer,
             struct err *err)
{
    (void)arena;
    (void)err;
    struct json_value given = json_get(json_get(vector, "input"), "facts");
    struct selfcert_answer cert;
    struct selfcert_facts facts = {
        .framework = json_string(json_get(given, "framework")),
        .has_trace = flag_of(given, "has_trace"),
        .kernel_count = amount_of_json(json_get(given, "kernel_count")),
        .stream_errors = amount_of_json(json_get(given, "stream_errors")),
        .truncated = json_is_true(json_get(given, "truncated")),
        .attributed_pct = amount_of_json(json_get(given, "attributed_pct")),
        .graph_under_recorded = input_json_bool(json_get(given, "graph_under_recorded")),
        .resolver_kernel_count = amount_of_json(json_get(given, "resolver_kernel_count")),
        .resolver_opens_other_file = flag_of(given, "resolver_opens_other_file"),
        .selected_capture_fragment =
            input_json_bool(json_get(given, "selected_capture_fragment")),
    };
    selfcert_certify(&facts, &cert);
    write_certificate(answer, &cert);
    return ERR_OK;
}

const struct vector_kind gate_kinds[] = {
    {"collect", "expect", run_collect},
    {"decide", "expect", run_decide},
    {"flow", "expect", run_flow},
    {"health", "expect", run_health},
    {"import_row", "expect", run_import_row},
    {"ratio", "expect", run_ratio},
    {"retry", "expect", run_retry},
    {"selfcert", "expect", run_selfcert},
    {"split_request", "expect", run_split_request},
    {0},
};
