/* SPDX-License-Identifier: Apache-2.0 */
/* Area split: the pieces of the splitter, each by its own cases. */
#include "base64.h"
#include "split_generated.h"
#include "split_trace.h"
#include "vectors.h"

#include "batch.h"
#include "figure.h"
#include "grade.h"
#include "number.h"
#include "params.h"
#include "period.h"
#include "steady.h"
#include "step_name.h"
#include "tiles.h"
#include "unions.h"

#include "cleanup.h"

static enum err_kind
invalid(const char *what, struct err *err)
{
    return err_set(err, ERR_RECORD, "vector_invalid", "the case has no valid %s", what);
}

static bool
get_int(struct json_value object, const char *name, int64_t *ret)
{
    return json_int(json_get(object, name), ret);
}

static void
add_bool(struct buf *out, bool value)
{
    buf_add_str(out, value ? "true" : "false");
}

/* "key": n, the first one without a comma in front. */
static void
add_key(struct buf *out, const char *key)
{
    if (out->len > 0 && out->data[out->len - 1] != '{')
        buf_add_str(out, ", ");
    buf_addf(out, "\"%s\": ", key);
}

static void
add_int(struct buf *out, const char *key, int64_t value)
{
    add_key(out, key);
    buf_addf(out, "%lld", (long long)value);
}

/* --- names, period, grades, unions, tiles ------------------------------------------ */

static enum err_kind
run_names(struct json_value vector,
          struct arena *arena,
          struct buf *answer,
          struct err *err)
{
    (void)arena;
    struct slice name = json_string(json_get(json_get(vector, "input"), "name"));
    if (!name.data)
        return invalid("name", err);
    CLEANUP(buf_done) struct buf skeleton = BUF_INIT;
    struct step_numbers numbers;
    enum step_kind kind = step_name_read(name, &numbers);
    const char *tier = step_name_is_detailed(name) ? "\"detailed\""
                       : step_name_is_native(name) ? "\"native\""
                                                   : "null";
    step_name_add_skeleton(&skeleton, name);
    buf_addf(answer,
             "{\"tier\": %s, \"kind\": \"%s\", \"phase\": \"%s\", \"skeleton\": ", tier,
             step_kind_name(kind), step_phase_name(step_phase_of(&numbers)));
    json_write_string(answer, buf_slice(&skeleton));
    add_int(answer, "batch_size", numbers.batch_size);
    add_int(answer, "num_requests", numbers.num_requests);
    add_int(answer, "context_requests", numbers.context_requests);
    add_int(answer, "context_sum", numbers.context_sum);
    add_int(answer, "generation_requests", numbers.generation_requests);
    add_int(answer, "generation_sum", numbers.generation_sum);
    buf_add_byte(answer, '}');
    return buf_check(answer, "the answer", err);
}

/* The position of the first value equal to `value`, new ones at `*n`. */
static enum err_kind
find_label(struct json_value value,
           struct slice *texts,
           uint32_t *n,
           struct arena *arena,
           uint32_t *ret_label,
           struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    json_write(&text, value);
    for (*ret_label = 0; *ret_label < *n; ++*ret_label)
        if (slice_equal(texts[*ret_label], buf_slice(&text)))
            return ERR_OK;
    texts[*n] = arena_copy(arena, buf_slice(&text));
    return texts[(*n)++].data ? ERR_OK : err_no_memory(err, "a label");
}

static void
pool_done(struct column_pool **pool)
{
    column_pool_free(*pool);
}

static enum err_kind
run_period(struct json_value vector,
           struct arena *arena,
           struct buf *answer,
           struct err *err)
{
    struct json_value list = json_get(json_get(vector, "input"), "labels");
    size_t n = json_count(list);
    CLEANUP(pool_done) struct column_pool *pool = column_pool_new(0, NULL);
    CLEANUP(column_done) struct column labels = {0};
    struct slice *texts = arena_calloc(arena, n, sizeof *texts);
    struct json_iter iter = json_iter(list);
    struct slice key;
    struct json_value value;
    struct period period;
    uint32_t n_labels = 0;
    if (!pool || !texts)
        return err_no_memory(err, "the labels of a case");
    column_init(&labels, pool, sizeof(uint32_t), ORDER_NONE);
    while (json_next(&iter, &key, &value)) {
        uint32_t label = 0;
        if (find_label(value, texts, &n_labels, arena, &label, err) ||
            column_add(&labels, &label, err))
            return err->kind;
    }
    if (period_find(&labels, n_labels, &period, err))
        return err->kind;
    if (period.length == 0)
        buf_add_str(answer, "null");
    else
        buf_addf(answer, "{\"period\": %llu, \"start\": %llu, \"repeats\": %llu}",
                 (unsigned long long)period.length, (unsigned long long)period.start,
                 (unsigned long long)period.repeats);
    return buf_check(answer, "the answer", err);
}

static enum err_kind
run_grades(struct json_value vector,
           struct arena *arena,
           struct buf *answer,
           struct err *err)
{
    (void)arena;
    struct json_value input = json_get(vector, "input");
    int64_t part, spans, whole;
    if (!get_int(input, "part_ns", &part) || !get_int(input, "spans_ns", &spans) ||
        !get_int(input, "whole_ns", &whole))
        return invalid("part_ns, spans_ns and whole_ns", err);
    buf_addf(answer, "{\"status\": %d, \"span_share_ok\": ", (int)grade_of(part, whole));
    add_bool(answer, grade_share_holds(spans, part));
    buf_add_str(answer, ", \"passes\": ");
    add_bool(answer, grade_passes(spans, part, whole));
    buf_add_byte(answer, '}');
    return buf_check(answer, "the answer", err);
}

/* Item `i` of an array as an integer. */
static bool
item_int(struct json_value array, size_t i, int64_t *ret)
{
    struct json_iter iter = json_iter(array);
    struct slice key;
    struct json_value value = JSON_NONE;
    for (size_t k = 0; k <= i; k++)
        if (!json_next(&iter, &key, &value))
            return false;
    return json_int(value, ret);
}

static enum err_kind
run_unions(struct json_value vector,
           struct arena *arena,
           struct buf *answer,
           struct err *err)
{
    struct json_value list = json_get(json_get(vector, "input"), "intervals_ns");
    size_t n = json_count(list);
    struct interval *intervals = arena_calloc(arena, n, sizeof *intervals);
    struct json_iter iter = json_iter(list);
    struct slice key;
    struct json_value pair;
    if (!intervals)
        return err_no_memory(err, "the intervals of a case");
    for (size_t i = 0; json_next(&iter, &key, &pair); i++)
        if (!item_int(pair, 0, &intervals[i].start_ns) ||
            !item_int(pair, 1, &intervals[i].end_ns))
            return invalid("intervals_ns", err);
    buf_addf(answer, "{\"length_ns\": %lld}", (long long)union_of(intervals, n));
    return buf_check(answer, "the answer", err);
}

/* [pid, tid, ts, dur]; a thread is numbered by its first root. */
static enum err_kind
take_root(struct json_value row,
          struct slice *threads,
          uint32_t *n_threads,
          struct arena *arena,
          struct tile_root *ret_root,
          struct err *err)
{
    struct json_iter iter = json_iter(row);
    struct slice key;
    struct json_value pid, tid;
    CLEANUP(buf_done) struct buf thread = BUF_INIT;
    if (!json_next(&iter, &key, &pid) || !json_next(&iter, &key, &tid) ||
        !item_int(row, 2, &ret_root->ts_ns) || !item_int(row, 3, &ret_root->dur_ns))
        return invalid("roots_ns", err);
    json_write(&thread, pid);
    buf_add_byte(&thread, ' ');
    json_write(&thread, tid);
    for (uint32_t i = 0; i < *n_threads; i++)
        if (slice_equal(threads[i], buf_slice(&thread))) {
            ret_root->thread = i;
            return ERR_OK;
        }
    ret_root->thread = *n_threads;
    threads[*n_threads] = arena_copy(arena, buf_slice(&thread));
    return threads[(*n_threads)++].data ? ERR_OK : err_no_memory(err, "a thread");
}

static enum err_kind
run_tiles(struct json_value vector,
          struct arena *arena,
          struct buf *answer,
          struct err *err)
{
    struct json_value list = json_get(json_get(vector, "input"), "roots_ns");
    size_t n = json_count(list);
    CLEANUP(pool_done) struct column_pool *pool = column_pool_new(0, NULL);
    CLEANUP(column_done) struct column roots = {0};
    CLEANUP(tiles_done) struct tiles tiles = {0};
    struct slice *threads = arena_calloc(arena, n, sizeof *threads);
    struct json_iter iter = json_iter(list);
    struct slice key;
    struct json_value row;
    uint32_t n_threads = 0;
    if (!pool || !threads)
        return err_no_memory(err, "the roots of a case");
    column_init(&roots, pool, sizeof(struct tile_root), ORDER_NONE);
    while (json_next(&iter, &key, &row)) {
        struct tile_root root = {0};
        if (take_root(row, threads, &n_threads, arena, &root, err) ||
            column_add(&roots, &root, err))
            return err->kind;
    }
    if (tiles_make(&roots, n_threads, &tiles, err))
        return err->kind;
    buf_add_str(answer, "{\"tiles\": [");
    for (size_t i = 0; i < n; i++)
        buf_addf(answer, "%s[%lld, %lld]", i ? ", " : "",
                 (long long)tiles_at(&tiles, i).start_ns,
                 (long long)tiles_at(&tiles, i).end_ns);
    buf_add_str(answer, "]");
    add_int(answer, "n_overlapping_roots", (int64_t)tiles.n_overlapping);
    add_int(answer, "greatest_end", tiles.greatest_end_ns);
    buf_add_byte(answer, '}');
    return buf_check(answer, "the answer", err);
}

/* --- params ------------------------------------------------------------------------ */

static void
add_text_or_null(struct buf *out, const char *text)
{
    if (text)
        json_write_string(out, slice_of(text));
    else
        buf_add_str(out, "null");
}

static enum err_kind
run_params(struct json_value vector,
           struct arena *arena,
           struct buf *answer,
           struct err *err)
{
    (void)arena;
    struct split_params params = split_params_of(json_get(vector, "input"));
    struct split_plan plan;
    struct split_complaint complaint = split_params_check(&params, &plan);
    bool is_bad = complaint.parameter != NULL;
    buf_add_str(answer, "{\"code\": ");
    add_text_or_null(answer, is_bad ? "bad_parameter" : NULL);
    buf_add_str(answer, ", \"parameter\": ");
    add_text_or_null(answer, complaint.parameter);
    buf_add_str(answer, ", \"range\": ");
    if (plan.has_range && !is_bad)
        buf_addf(answer, "[%llu, %llu]", (unsigned long long)plan.first,
                 (unsigned long long)plan.last);
    else
        buf_add_str(answer, "null");
    buf_add_str(answer, ", \"r\": ");
    if (plan.has_r && !is_bad)
        figure_add_double(answer, plan.r);
    else
        buf_add_str(answer, "null");
    buf_add_str(answer, ", \"diagnostics\": {");
    if (plan.r_clamped)
        buf_add_str(answer, "\"r_clamped\": true");
    if (plan.analytic_ratio_incomplete) {
        add_key(answer, "analytic_ratio_incomplete");
        buf_add_str(answer, "true");
    }
    buf_add_str(answer, "}}");
    return buf_check(answer, "the answer", err);
}

/* --- windows ----------------------------------------------------------------------- */

static void
add_windows(struct buf *out, struct windows windows)
{
    buf_add_byte(out, '[');
    for (size_t i = 0; i < windows.n; i++)
        buf_addf(out, "%s[%zu, %zu]", i ? ", " : "", windows.items[i].first,
                 windows.items[i].last);
    buf_add_byte(out, ']');
}

static void
add_steady(struct buf *out, const struct steady *steady)
{
    static const char *const kinds[] = {"mixed", "decode_only", "prefilldecode"};
    add_key(out, "regions");
    add_windows(out, steady->regions);
    add_key(out, "reference_ratio");
    figure_add_double(out, steady->reference_ratio);
    add_key(out, "picks");
    buf_add_byte(out, '{');
    for (int kind = 0; kind < STEADY_KINDS; kind++) {
        add_key(out, kinds[kind]);
        if (steady->is_picked[kind])
            buf_addf(out, "[%zu, %zu]", steady->picks[kind].first,
                     steady->picks[kind].last);
        else
            buf_add_str(out, "null");
    }
    buf_add_byte(out, '}');
}

/* The integers of `list`; null where `ret_known` (may be NULL) then says false. */
static enum err_kind
take_values(struct json_value list,
            struct arena *arena,
            struct batch_size **ret_values,
            struct err *err)
{
    struct batch_size *values = arena_calloc(arena, json_count(list), sizeof *values);
    struct json_iter iter = json_iter(list);
    struct slice key;
    struct json_value value;
    if (!values)
        return err_no_memory(err, "the values of a case");
    for (size_t i = 0; json_next(&iter, &key, &value); i++) {
        values[i].is_known = json_int(value, &values[i].size);
        if (!values[i].is_known && json_kind(value) != JSON_NULL)
            return invalid("list of integers", err);
    }
    *ret_values = values;
    return ERR_OK;
}

static enum err_kind
take_plain(struct json_value list,
           struct arena *arena,
           int64_t **ret_values,
           struct err *err)
{
    struct batch_size *values;
    size_t n = json_count(list);
    *ret_values = arena_calloc(arena, n, sizeof **ret_values);
    if (!*ret_values)
        return err_no_memory(err, "the values of a case");
    if (take_values(list, arena, &values, err))
        return err->kind;
    for (size_t i = 0; i < n; i++)
        (*ret_values)[i] = values[i].size;
    return ERR_OK;
}

static enum err_kind
run_regions(struct json_value vector,
            struct arena *arena,
            struct buf *answer,
            struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct json_value list = json_get(input, "values");
    int64_t *values, num_steps, min_run;
    struct windows regions;
    if (!get_int(input, "num_steps", &num_steps) || !get_int(input, "min_run", &min_run))
        return invalid("num_steps and min_run", err);
    if (take_plain(list, arena, &values, err) ||
        steady_regions(values, json_count(list), (uint64_t)num_steps, (size_t)min_run,
                       arena, &regions, err))
        return err->kind;
    buf_add_str(answer, "{\"regions\": ");
    add_windows(answer, regions);
    buf_add_byte(answer, '}');
    return buf_check(answer, "the answer", err);
}

static enum err_kind
take_names(struct json_value list,
           struct arena *arena,
           int64_t **ret_requests,
           bool **ret_is_prefill,
           struct err *err)
{
    size_t n = json_count(list);
    *ret_requests = arena_calloc(arena, n, sizeof **ret_requests);
    *ret_is_prefill = arena_calloc(arena, n, sizeof **ret_is_prefill);
    struct json_iter iter = json_iter(list);
    struct slice key;
    struct json_value name;
    if (!*ret_requests || !*ret_is_prefill)
        return err_no_memory(err, "the steps of a case");
    for (size_t i = 0; json_next(&iter, &key, &name); i++) {
        struct step_numbers numbers;
        if (!json_string(name).data)
            return invalid("names", err);
        step_name_read(json_string(name), &numbers);
        (*ret_requests)[i] = numbers.num_requests;
        (*ret_is_prefill)[i] = numbers.context_requests > 0;
    }
    return ERR_OK;
}

static enum err_kind
run_windows_annotated(struct json_value vector,
                      struct arena *arena,
                      struct buf *answer,
                      struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct json_value names = json_get(input, "names");
    struct steady_analytic analytic = {0};
    struct steady steady;
    int64_t *requests, num_steps, conc;
    bool *is_prefill;
    double osl, r;
    bool has_analytic = get_int(input, "conc", &conc);
    if (!get_int(input, "num_steps", &num_steps))
        return invalid("num_steps", err);
    if (has_analytic && (!json_double(json_get(input, "osl"), &osl) ||
                         !json_double(json_get(input, "r"), &r)))
        return invalid("osl and r", err);
    if (has_analytic)
        analytic = steady_analytic_of(conc, osl, r);
    if (take_names(names, arena, &requests, &is_prefill, err) ||
        steady_annotated(requests, is_prefill, json_count(names), (uint64_t)num_steps,
                         has_analytic ? &analytic : NULL, arena, &steady, err))
        return err->kind;
    buf_add_byte(answer, '{');
    add_steady(answer, &steady);
    if (has_analytic)
        add_int(answer, "analytic_steps", analytic.steps);
    else
        buf_add_str(answer, ", \"analytic_steps\": null");
    buf_add_byte(answer, '}');
    return buf_check(answer, "the answer", err);
}

/* The sizes of the case with their labels, which are printed. */
static enum err_kind
label(struct json_value input,
      struct arena *arena,
      struct batch_size **ret_sizes,
      bool **ret_is_prefill,
      struct buf *answer,
      struct err *err)
{
    struct json_value list = json_get(input, "sizes");
    struct batch_size threshold;
    struct batch_size given = {0};
    size_t n = json_count(list);
    given.is_known = get_int(input, "max_num_seq", &given.size);
    *ret_is_prefill = arena_calloc(arena, n, sizeof **ret_is_prefill);
    if (!*ret_is_prefill)
        return err_no_memory(err, "the steps of a case");
    if (take_values(list, arena, ret_sizes, err) ||
        batch_label(*ret_sizes, n, given, arena, *ret_is_prefill, &threshold, err))
        return err->kind;
    buf_add_str(answer, "{\"labels\": [");
    for (size_t i = 0; i < n; i++)
        buf_addf(answer, "%s\"%s\"", i ? ", " : "",
                 (*ret_is_prefill)[i] ? "prefill_bearing" : "decode");
    buf_add_byte(answer, ']');
    if (threshold.is_known)
        add_int(answer, "threshold", threshold.size);
    else
        buf_add_str(answer, ", \"threshold\": null");
    return ERR_OK;
}

static enum err_kind
run_batch_labels(struct json_value vector,
                 struct arena *arena,
                 struct buf *answer,
                 struct err *err)
{
    struct batch_size *sizes;
    bool *is_prefill;
    if (label(json_get(vector, "input"), arena, &sizes, &is_prefill, answer, err))
        return err->kind;
    buf_add_byte(answer, '}');
    return buf_check(answer, "the answer", err);
}

static enum err_kind
run_windows_shapes(struct json_value vector,
                   struct arena *arena,
                   struct buf *answer,
                   struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct batch_size *sizes;
    bool *is_prefill;
    int64_t num_steps;
    struct steady steady;
    if (!get_int(input, "num_steps", &num_steps))
        return invalid("num_steps", err);
    if (label(input, arena, &sizes, &is_prefill, answer, err) ||
        steady_shapes(sizes, is_prefill, json_count(json_get(input, "sizes")),
                      (uint64_t)num_steps, arena, &steady, err))
        return err->kind;
    add_steady(answer, &steady);
    buf_add_byte(answer, '}');
    return buf_check(answer, "the answer", err);
}

static enum err_kind
run_windows_duration(struct json_value vector,
                     struct arena *arena,
                     struct buf *answer,
                     struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct json_value list = json_get(input, "durs_ns");
    int64_t *durs_ns, num_steps;
    if (!get_int(input, "num_steps", &num_steps))
        return invalid("num_steps", err);
    if (take_plain(list, arena, &durs_ns, err))
        return err->kind;
    struct steady_duration steady =
        steady_by_duration(durs_ns, json_count(list), (uint64_t)num_steps);
    buf_addf(answer, "{\"window\": [%zu, %zu], \"cv\": ", steady.window.first,
             steady.window.last);
    figure_add_double(answer, steady.cv);
    add_int(answer, "windows_passing", (int64_t)steady.windows_passing);
    buf_add_byte(answer, '}');
    return buf_check(answer, "the answer", err);
}

/* --- numbers ----------------------------------------------------------------------- */

/* Reads the token as the value of an event's ts, and hands it to number_ns(). */
struct number_case {
    bool is_read;
    bool is_usable;
    int64_t ns;
};

static enum err_kind
take_ts(void *state, const struct scan_event *event, struct err *err)
{
    struct number_case *number = state;
    bool ignored;
    (void)err;
    number->is_read = scan_has(event, SCAN_TS);
    number->is_usable =
        number->is_read && number_ns(event->field[SCAN_TS], &number->ns, &ignored);
    return ERR_OK;
}

static enum err_kind
run_numbers(struct json_value vector,
            struct arena *arena,
            struct buf *answer,
            struct err *err)
{
    (void)arena;
    struct slice token = json_string(json_get(json_get(vector, "input"), "json"));
    struct number_case number = {0};
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    if (!token.data)
        return invalid("json", err);
    buf_add_str(&text, "[{\"ph\":\"X\",\"ts\":");
    buf_add_slice(&text, token);
    buf_add_str(&text, "}]");
    struct scan_listener listener = {.state = &number, .event = take_ts};
    if (split_trace_scan(buf_slice(&text), &listener, err))
        return err->kind;
    if (!number.is_usable) {
        buf_add_str(answer, "{\"ns\": null, \"us\": null}");
        return ERR_OK;
    }
    buf_addf(answer, "{\"ns\": %lld, \"us\": \"", (long long)number.ns);
    figure_add_us(answer, number.ns);
    buf_add_str(answer, "\"}");
    return buf_check(answer, "the answer", err);
}

/* --- traces ------------------------------------------------------------------------ */

static enum err_kind
run_traces(struct json_value vector,
           struct arena *arena,
           struct buf *answer,
           struct err *err)
{
    (void)arena;
    struct json_value input = json_get(vector, "input");
    struct slice text = json_string(json_get(input, "text"));
    struct slice base64 = json_string(json_get(input, "base64"));
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    if (text.data)
        buf_add_slice(&bytes, text);
    else if (!base64.data || !base64_decode(base64, &bytes))
        return invalid("text or base64", err);
    return split_trace_run(buf_slice(&bytes), json_get(input, "params"), SLICE("trace"),
                           EVENTS_FULL, answer, err);
}

const struct vector_kind split_kinds[] = {
    {"batch_labels", "expect", run_batch_labels},
    {"generated", "expect", run_generated},
    {"grades", "expect", run_grades},
    {"names", "expect", run_names},
    {"numbers", "expect", run_numbers},
    {"params", "expect", run_params},
    {"period", "expect", run_period},
    {"regions", "expect", run_regions},
    {"tiles", "expect", run_tiles},
    {"traces", "expect", run_traces},
    {"unions", "expect", run_unions},
    {"windows_annotated", "expect", run_windows_annotated},
    {"windows_duration", "expect", run_windows_duration},
    {"windows_shapes", "expect", run_windows_shapes},
    {0},
};

const struct vector_rule split_rules[] = {
    {"split", "generated", split_answers_equal, generated_can_run},
    {"split", "traces", split_answers_equal, NULL},
    {0},
};
