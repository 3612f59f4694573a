/* SPDX-License-Identifier: Apache-2.0 */
/* Area kernel-table: the functions that gate, resolve and review call. */
#include "vectors.h"

#include "category.h"
#include "chunk_json.h"
#include "collective.h"
#include "evidence.h"
#include "external.h"
#include "groups.h"
#include "json_out.h"
#include "operand.h"
#include "shapes.h"
#include "table.h"
#include "table_json.h"

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "a case");
}

static void
write_null(struct buf *out, const char *name)
{
    json_out_text(out, name, (struct slice){0});
}

/* --- the table ---------------------------------------------------------------------- */

/* The limits as heddle-gate takes them from settings and environment. */
static struct table_limits
read_limits(struct json_value input)
{
    struct json_value config = json_get(input, "config");
    struct json_value env = json_get(input, "env");
    struct amount rows = amount_of_json(json_get(config, "max_rows"));
    if (!rows.known)
        rows = amount_of_text(
            json_string(json_get(env, "HYPERLOOM_KERNEL_CANDIDATES_TOP_K")));
    return (struct table_limits){rows.known ? (int64_t)rows.value : 100, 5};
}

static enum err_kind
run_table(struct json_value vector,
          struct arena *arena,
          struct buf *answer,
          struct err *err)
{
    static struct categories categories;
    struct json_value input = json_get(vector, "input");
    struct table_limits limits = read_limits(input);
    struct split_chunk chunk;
    struct kernel_table table;
    categories_init(&categories);
    if (!chunk_json_read(json_get(input, "chunk"), arena, &chunk))
        return no_memory(err);
    if (table_build(&chunk, &categories, &limits, arena, &table, err))
        return err->kind;
    table_json_write(answer, &table);
    return ERR_OK;
}

static enum err_kind
write_shapes(struct json_value vector,
             bool with_frame,
             struct arena *arena,
             struct buf *answer,
             struct err *err)
{
    struct kernel_row row;
    struct shape_fields fields;
    if (!chunk_json_row(json_get(json_get(vector, "input"), "row"), arena, &row))
        return no_memory(err);
    struct launcher launcher = launcher_of(&row);
    if (!shapes_of(&row, &launcher, arena, &fields))
        return no_memory(err);
    if (!with_frame) {
        table_json_shapes(answer, &launcher, &fields);
        return ERR_OK;
    }
    struct frame frame = frame_of(row.frame);
    buf_add_byte(answer, '{');
    if (frame.file.data) {
        buf_add_str(answer, "\"launcher_frame\": {");
        json_out_text(answer, "file", frame.file);
        json_out_count(answer, "line", frame.line);
        json_out_text(answer, "function", frame.function);
        json_out_count(answer, "samples", row.frame_calls);
        buf_add_byte(answer, '}');
    } else {
        write_null(answer, "launcher_frame");
    }
    json_out_name(answer, "shapes");
    table_json_shapes(answer, &launcher, &fields);
    buf_add_byte(answer, '}');
    return ERR_OK;
}

static enum err_kind
run_shapes(struct json_value vector,
           struct arena *arena,
           struct buf *answer,
           struct err *err)
{
    return write_shapes(vector, false, arena, answer, err);
}

static enum err_kind
run_from_split(struct json_value vector,
               struct arena *arena,
               struct buf *answer,
               struct err *err)
{
    return write_shapes(vector, true, arena, answer, err);
}

static enum err_kind
run_operand(struct json_value vector,
            struct arena *arena,
            struct buf *answer,
            struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct operand operand;
    if (!operand_of(json_get(input, "dims"), json_get(input, "dtype"), arena, &operand))
        return no_memory(err);
    buf_add_byte(answer, '{');
    json_out_text(answer, "shape", operand.text);
    buf_add_byte(answer, '}');
    return ERR_OK;
}

/* --- names -------------------------------------------------------------------------- */

static enum err_kind
run_category(struct json_value vector,
             struct arena *arena,
             struct buf *answer,
             struct err *err)
{
    (void)arena;
    (void)err;
    static struct categories categories;
    struct json_value input = json_get(vector, "input");
    struct slice text = json_string(json_get(input, "category"));
    enum kernel_category category =
        !text.data || slice_is(text, "kernel") ? KERNEL_CATEGORY_KERNEL
        : slice_is(text, "gpu_memcpy")         ? KERNEL_CATEGORY_GPU_MEMCPY
                                               : KERNEL_CATEGORY_GPU_MEMSET;
    categories_init(&categories);
    buf_add_byte(answer, '{');
    json_out_text(answer, "kernel_category",
                  slice_of(category_of(&categories, json_string(json_get(input, "name")),
                                       category, json_string(json_get(input, "op")))));
    buf_add_byte(answer, '}');
    return ERR_OK;
}

static enum err_kind
run_collective(struct json_value vector,
               struct arena *arena,
               struct buf *answer,
               struct err *err)
{
    (void)arena;
    (void)err;
    struct json_value name = json_get(json_get(vector, "input"), "name");
    const char *operation = collective_of(json_string(name));
    buf_add_byte(answer, '{');
    json_out_bool(answer, "is_collective", operation != NULL);
    json_out_text(answer, "collective_op", slice_of(operation ? operation : ""));
    buf_add_byte(answer, '}');
    return ERR_OK;
}

/* --- external tables ---------------------------------------------------------------- */

static enum err_kind
run_external(struct json_value vector,
             struct arena *arena,
             struct buf *answer,
             struct err *err)
{
    struct external_table table;
    struct slice text = json_string(json_get(json_get(vector, "input"), "text"));
    enum err_kind kind = candidates_read(text, arena, &table, err);
    if (kind == ERR_RECORD)
        buf_addf(answer, "{\"dead_letter\": \"%s\"}", err->code);
    else if (kind == ERR_OK)
        candidates_write(&table, answer);
    return kind == ERR_RECORD ? ERR_OK : kind;
}

/* --- evidence ----------------------------------------------------------------------- */

struct report {
    const struct shape_evidence *evidence;
    size_t n;
};

static enum err_kind
read_report(struct json_value input,
            struct arena *arena,
            struct report *ret_report,
            struct err *err)
{
    struct json_value list = json_get(input, "candidates");
    struct evidence_candidate *candidates =
        arena_calloc(arena, json_count(list), sizeof candidates[0]);
    struct json_iter iter = json_iter(list);
    struct slice key;
    struct json_value item;
    size_t n = 0;
    if (!candidates)
        return no_memory(err);
    while (json_next(&iter, &key, &item))
        candidates[n++] = (struct evidence_candidate){
            json_string(json_get(item, "kernel_id")),
            json_string(json_get(item, "device_kernel_name")),
            json_truthy(json_get(item, "shapes")),
        };
    return evidence_find(json_string(json_get(input, "markdown")), candidates, n, arena,
                         &ret_report->evidence, &ret_report->n, err);
}

static void
write_evidence(struct buf *out, const struct shape_evidence *evidence)
{
    buf_add_byte(out, '{');
    json_out_text(out, "kernel_id", evidence->kernel_id);
    json_out_bool(out, "unique_args", evidence->unique_args);
    json_out_texts(out, "shapes", evidence->shapes, evidence->n);
    json_out_texts(out, "input_dtypes", evidence->input_dtypes, evidence->n);
    json_out_text(out, "operation", evidence->operation);
    if (evidence->unique_args)
        json_out_count(out, "table_row", evidence->table_row);
    else
        write_null(out, "table_row");
    buf_add_byte(out, '}');
}

static enum err_kind
run_evidence(struct json_value vector,
             struct arena *arena,
             struct buf *answer,
             struct err *err)
{
    struct report report;
    if (read_report(json_get(vector, "input"), arena, &report, err))
        return err->kind;
    buf_add_str(answer, "{\"evidence\": [");
    for (size_t i = 0; i < report.n; i++) {
        buf_add_str(answer, i ? ", " : "");
        write_evidence(answer, &report.evidence[i]);
    }
    buf_add_str(answer, "]}");
    return ERR_OK;
}

static enum err_kind
run_confirm(struct json_value vector,
            struct arena *arena,
            struct buf *answer,
            struct err *err)
{
    struct json_value input = json_get(vector, "input");
    struct json_value list = json_get(input, "shapes");
    struct slice *shapes = arena_calloc(arena, json_count(list), sizeof shapes[0]);
    struct json_iter iter = json_iter(list);
    struct report report;
    struct slice key;
    struct json_value item;
    size_t n = 0;
    if (!shapes)
        return no_memory(err);
    if (read_report(input, arena, &report, err))
        return err->kind;
    while (json_next(&iter, &key, &item))
        shapes[n++] = json_string(item);
    bool confirmed = evidence_confirms(
        report.evidence, report.n, json_string(json_get(input, "kernel_id")), shapes, n,
        json_string(json_get(input, "shape_provenance")));
    buf_addf(answer, "{\"shape_evidence\": \"%s\"}",
             confirmed ? "confirmed" : "unconfirmed");
    return ERR_OK;
}

/* --- groups ------------------------------------------------------------------------- */

static void
read_group_row(struct json_value item, struct group_row *row)
{
    struct json_value dispatchable = json_get(item, "shape_dispatchable");
    *row = (struct group_row){
        .kernel_id = json_string(json_get(item, "kernel_id")),
        .name = json_string(json_get(item, "name")),
        .gpu_pct = amount_of_json(json_get(item, "gpu_pct")),
        .source_file = json_string(json_get(item, "source_file")),
        .reusable_native_kernel = json_is_true(json_get(item, "reusable_native_kernel")),
        .not_dispatchable =
            json_kind(dispatchable) == JSON_BOOLEAN && !json_is_true(dispatchable),
    };
    json_double(json_get(item, "duration_us"), &row->duration_us);
    json_int(json_get(item, "call_count"), &row->call_count);
}

static void
write_group(struct buf *out, const struct task_group *group)
{
    buf_add_byte(out, '{');
    json_out_text(out, "task_group_id", group->task_group_id);
    json_out_text(out, "task_group_key", group->task_group_key);
    json_out_text(out, "operation", group->operation);
    json_out_text(out, "source_path", group->source_path);
    json_out_texts(out, "kernel_ids", group->kernel_ids, group->n_kernel_ids);
    json_out_text(out, "primary_kernel_id", group->primary_kernel_id);
    json_out_amount(out, "aggregate_duration_us", AMOUNT(group->aggregate_duration_us));
    json_out_count(out, "aggregate_call_count", group->aggregate_call_count);
    json_out_amount(out, "aggregate_gpu_pct", AMOUNT(group->aggregate_gpu_pct));
    buf_add_byte(out, '}');
}

static enum err_kind
run_groups(struct json_value vector,
           struct arena *arena,
           struct buf *answer,
           struct err *err)
{
    struct json_value list = json_get(json_get(vector, "input"), "rows");
    struct group_row *rows = arena_calloc(arena, json_count(list), sizeof rows[0]);
    struct task_group *groups = NULL;
    struct json_iter iter = json_iter(list);
    struct slice key;
    struct json_value item;
    size_t n = 0;
    size_t n_groups = 0;
    if (!rows)
        return no_memory(err);
    while (json_next(&iter, &key, &item))
        read_group_row(item, &rows[n++]);
    if (groups_build(rows, n, arena, &groups, &n_groups, err))
        return err->kind;
    buf_add_str(answer, "{\"groups\": [");
    for (size_t i = 0; i < n_groups; i++) {
        buf_add_str(answer, i ? ", " : "");
        write_group(answer, &groups[i]);
    }
    buf_add_str(answer, "]}");
    return ERR_OK;
}

const struct vector_kind candidates_kinds[] = {
    {"category", "expect", run_category},
    {"collective", "expect", run_collective},
    {"confirm", "expect", run_confirm},
    {"evidence", "expect", run_evidence},
    {"external", "expect", run_external},
    {"from_split", "expect", run_from_split},
    {"groups", "expect", run_groups},
    {"operand", "expect", run_operand},
    {"shapes", "expect", run_shapes},
    {"table", "expect", run_table},
    {0},
};
