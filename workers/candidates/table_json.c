/* SPDX-License-Identifier: Apache-2.0 */
/* The candidate table as JSON. */
#include "table_json.h"

#include "json_out.h"
#include "shapes.h"

static const char *const severities[] = {"info", "warning", "error", "blocking"};

static void
write_texts(struct buf *out, const char *name, struct list texts)
{
    json_out_texts(out, name, texts.items, texts.n);
}

static void
write_input_shapes(struct buf *out, struct list list)
{
    const struct input_shape *shapes = list.items;
    json_out_name(out, "input_shapes");
    buf_add_byte(out, '[');
    for (size_t i = 0; i < list.n; i++) {
        buf_add_str(out, i ? ", {" : "{");
        json_out_count(out, "call_num", shapes[i].call_num);
        json_out_text(out, "shape", shapes[i].shape);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}

static void
write_dispatchable(struct buf *out, bool known, bool flag)
{
    if (known)
        json_out_bool(out, "shape_dispatchable", flag);
    else
        json_out_text(out, "shape_dispatchable", (struct slice){0});
}

void
table_json_shapes(struct buf *out,
                  const struct launcher *launcher,
                  const struct shape_fields *fields)
{
    buf_add_byte(out, '{');
    json_out_text(out, "operation", launcher->op);
    json_out_text(out, "launch_kind", slice_of(launch_kind_name(launcher->kind)));
    write_texts(out, "shapes", fields->shapes);
    write_input_shapes(out, fields->input_shapes);
    write_texts(out, "input_dtypes", fields->input_dtypes);
    json_out_text(out, "shape_provenance", fields->provenance);
    json_out_text(out, "shape_missing_reason", fields->missing_reason);
    write_texts(out, "notes", fields->notes);
    write_dispatchable(out, fields->dispatchable, fields->dispatchable);
    buf_add_byte(out, '}');
}

static void
write_times(struct buf *out, const struct candidate_row *row)
{
    json_out_us(out, "duration_us", row->duration_ns);
    json_out_count(out, "call_count", row->call_count);
    if (row->has_mean_ns)
        json_out_us(out, "mean_us", row->mean_ns);
    else
        json_out_text(out, "mean_us", (struct slice){0});
    json_out_us(out, "min_us", row->min_ns);
    json_out_us(out, "max_us", row->max_ns);
    write_texts(out, "streams", row->streams);
    json_out_amount(out, "gpu_pct", AMOUNT_IF(row->has_gpu_pct, row->gpu_pct));
    json_out_text(out, "gpu_pct_basis", row->gpu_pct_basis);
    json_out_amount(out, "kernel_time_pct",
                    AMOUNT_IF(row->has_kernel_time_pct, row->kernel_time_pct));
    json_out_amount(out, "percent_of_total",
                    AMOUNT_IF(row->has_percent_of_total, row->percent_of_total));
}

static void
write_shapes(struct buf *out, const struct candidate_row *row)
{
    json_out_text(out, "operation", row->operation);
    json_out_text(out, "launch_kind", row->launch_kind);
    write_texts(out, "shapes", row->shapes);
    write_input_shapes(out, row->input_shapes);
    write_texts(out, "input_dtypes", row->input_dtypes);
    json_out_text(out, "shape_provenance", row->shape_provenance);
    json_out_text(out, "shape_missing_reason", row->shape_missing_reason);
    write_dispatchable(out, row->has_shape_dispatchable, row->shape_dispatchable);
    json_out_text(out, "launch_grid", row->launch_grid);
    json_out_text(out, "launch_block", row->launch_block);
}

static void
write_contract(struct buf *out, const struct candidate_row *row)
{
    if (!row->has_kernel_contract)
        return;
    json_out_name(out, "kernel_contract");
    buf_add_byte(out, '{');
    json_out_text(out, "kind", row->kernel_contract.kind);
    json_out_text(out, "collective_op", row->kernel_contract.collective_op);
    buf_add_byte(out, '}');
}

void
table_json_row(struct buf *out, const struct candidate_row *row)
{
    buf_add_byte(out, '{');
    json_out_text(out, "kernel_id", row->kernel_id);
    json_out_text(out, "name", row->name);
    json_out_text(out, "device_kernel_name", row->device_kernel_name);
    write_times(out, row);
    json_out_text(out, "kernel_category", row->kernel_category);
    json_out_bool(out, "is_multigpu", row->is_multigpu);
    json_out_count(out, "num_gpus_recommended", row->num_gpus_recommended);
    write_shapes(out, row);
    write_contract(out, row);
    if (row->tile_from_name.n)
        write_texts(out, "tile_from_name", row->tile_from_name);
    if (row->notes.n)
        write_texts(out, "notes", row->notes);
    json_out_text(out, "trace_launcher_file", row->trace_launcher_file);
    if (row->has_trace_launcher_line)
        json_out_count(out, "trace_launcher_line", row->trace_launcher_line);
    else
        json_out_text(out, "trace_launcher_line", (struct slice){0});
    json_out_text(out, "trace_launcher_function", row->trace_launcher_function);
    buf_add_byte(out, '}');
}

void
table_json_omitted(struct buf *out, const struct omitted_rows *omitted)
{
    buf_add_byte(out, '{');
    json_out_count(out, "rows", omitted->rows);
    json_out_us(out, "total_us", omitted->total_ns);
    json_out_amount(out, "gpu_pct", AMOUNT_IF(omitted->has_gpu_pct, omitted->gpu_pct));
    buf_add_byte(out, '}');
}

static void
write_rows(struct buf *out, const char *name, struct list list)
{
    const struct candidate_row *rows = list.items;
    json_out_name(out, name);
    buf_add_byte(out, '[');
    for (size_t i = 0; i < list.n; i++) {
        buf_add_str(out, i ? ", " : "");
        table_json_row(out, &rows[i]);
    }
    buf_add_byte(out, ']');
}

static void
write_notes(struct buf *out, struct list list)
{
    const struct table_note *notes = list.items;
    json_out_name(out, "notes");
    buf_add_byte(out, '[');
    for (size_t i = 0; i < list.n; i++) {
        buf_add_str(out, i ? ", {" : "{");
        json_out_text(out, "code", notes[i].code);
        json_out_text(out, "severity", slice_of(severities[notes[i].severity]));
        if (notes[i].has_share_pct)
            json_out_amount(out, "share_pct", AMOUNT(notes[i].share_pct));
        if (notes[i].has_attributed_pct)
            json_out_amount(out, "attributed_pct", AMOUNT(notes[i].attributed_pct));
        if (notes[i].has_rows)
            json_out_count(out, "rows", notes[i].rows);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}

void
table_json_write(struct buf *out, const struct kernel_table *table)
{
    buf_add_byte(out, '{');
    json_out_text(out, "chunk", table->chunk);
    json_out_text(out, "mode", table->mode);
    if (table->has_wall_ns)
        json_out_us(out, "wall_us", table->wall_ns);
    else
        json_out_text(out, "wall_us", (struct slice){0});
    write_rows(out, "hot_kernels", table->hot_kernels);
    write_rows(out, "suppressed_kernels", table->suppressed_kernels);
    write_texts(out, "suppressed_by", table->suppressed_by);
    json_out_name(out, "omitted");
    table_json_omitted(out, &table->omitted);
    write_notes(out, table->notes);
    buf_add_byte(out, '}');
}
