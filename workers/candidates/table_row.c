/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a row. */
#include "table_row.h"

#include "text.h"
#include "tiles.h"

enum { SHORT_NAME_CHARS = 80 };

static struct slice
short_name(struct slice name)
{
    const char *end = name.len ? memchr(name.data, '<', name.len) : NULL;
    if (end)
        name.len = (size_t)(end - name.data);
    name = text_cut(amount_trim(name), SHORT_NAME_CHARS);
    return name.len ? name : SLICE("unknown_kernel");
}

struct amount
table_percent(double ns, double whole)
{
    if (!(whole < 0) && !(whole > 0))
        return AMOUNT_UNKNOWN;
    return AMOUNT(amount_round(100.0 * ns / whole, 3));
}

double
table_denominator(const struct table_totals *totals)
{
    return totals->wall.known ? totals->wall.value : totals->all;
}

static void
set_mean(struct candidate_row *row)
{
    row->has_mean_ns = row->call_count != 0;
    if (!row->has_mean_ns)
        return;
    double mean = (double)row->duration_ns / 1000.0 / (double)row->call_count;
    double ns = round(1000.0 * amount_round(mean, 3));
    row->mean_ns = fabs(ns) < 9e18 ? (int64_t)ns : row->duration_ns;
}

#define SET_IF(row, member, amount)                                                      \
    do {                                                                                 \
        (row)->has_##member = (amount).known;                                            \
        (row)->member = (amount).value;                                                  \
    } while (0)

static void
set_shares(struct candidate_row *row,
           const struct table_totals *totals,
           const struct table_entry *entry)
{
    double ns = (double)entry->row->total_ns;
    struct amount wall = table_percent(ns, table_denominator(totals));
    struct amount busy =
        table_is_kernel(entry->row) ? table_percent(ns, totals->busy) : AMOUNT_UNKNOWN;
    SET_IF(row, gpu_pct, wall);
    SET_IF(row, percent_of_total, wall);
    SET_IF(row, kernel_time_pct, busy);
    row->gpu_pct_basis =
        totals->wall.known ? SLICE("e2e_window") : SLICE("listed_ops_sum");
}

static void
set_collective(struct candidate_row *row, const char *operation)
{
    row->is_multigpu = operation != NULL;
    row->num_gpus_recommended = operation ? 2 : 1;
    row->duration_includes_wait = operation != NULL;
    row->has_kernel_contract = operation != NULL;
    if (operation)
        row->kernel_contract =
            (struct kernel_contract){SLICE("collective"), slice_of(operation)};
}

static void
set_frame(struct candidate_row *row, struct slice text)
{
    struct frame frame = frame_of(text);
    row->trace_launcher_file = frame.file;
    row->has_trace_launcher_line = frame.file.data != NULL;
    row->trace_launcher_line = frame.line;
    row->trace_launcher_function = frame.function;
}

static bool
set_shapes(struct candidate_row *row,
           const struct table_entry *entry,
           struct arena *arena)
{
    struct shape_fields fields;
    if (!shapes_of(entry->row, &entry->launcher, arena, &fields))
        return false;
    row->shapes = fields.shapes;
    row->input_shapes = fields.input_shapes;
    row->input_dtypes = fields.input_dtypes;
    row->shape_provenance = fields.provenance;
    row->shape_missing_reason = fields.missing_reason;
    row->has_shape_dispatchable = fields.dispatchable;
    row->shape_dispatchable = fields.dispatchable;
    row->notes = fields.notes;
    return true;
}

/* What stands in every row until another worker fills it. */
static const struct candidate_row unresolved = {
    .bound_type = {"unknown", 7},
    .source_file = {"", 0},
    .source_resolution_method = {"unresolved", 10},
    .skip_reason = {"source file not resolved", 24},
    .op_fanout_index = 1,
    .op_fanout_total = 1,
};

bool
table_row_make(const struct table_entry *entry,
               const struct table_totals *totals,
               size_t position,
               struct arena *arena,
               struct candidate_row *row)
{
    const struct kernel_row *kernel = entry->row;
    *row = unresolved;
    row->kernel_id = arena_printf(arena, "k%03zu", position);
    row->name = entry->launcher.op.len ? entry->launcher.op : short_name(entry->name);
    row->device_kernel_name = entry->name;
    row->device_kernel_names = (struct list){&row->device_kernel_name, 1};
    row->name_truncated = entry->name.len < kernel->name.len;
    row->operation = entry->launcher.op;
    row->duration_ns = kernel->total_ns;
    row->call_count = kernel->calls;
    row->min_ns = kernel->min_ns;
    row->max_ns = kernel->max_ns;
    row->streams = kernel->streams;
    row->launch_kind = slice_of(launch_kind_name(entry->launcher.kind));
    row->kernel_category = slice_of(entry->category);
    row->launch_grid = kernel->launch_grid;
    row->launch_block = kernel->launch_block;
    set_mean(row);
    set_shares(row, totals, entry);
    set_collective(row, entry->collective_op);
    set_frame(row, kernel->frame);
    return row->kernel_id.data && set_shapes(row, entry, arena) &&
           tiles_read(entry->name, arena, &row->tile_from_name);
}
