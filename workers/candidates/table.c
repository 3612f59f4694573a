/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the candidate table. */
#include "table.h"

#include "amount.h"
#include "collective.h"
#include "shapes.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

/* Shares that leave a note (kernel-table.md 10). */
#define HIGH_UNCLASSIFIED 0.4
#define LOW_CORRELATION   0.1

enum {
    SHORT_NAME_CHARS = 80,
    MAX_NOTES = 4,
    KERNEL_ID_BYTES = 24,
    MAX_TILES = DEVICE_NAME_BYTES / 14
};

/* A row of the chunk and what its name and launches say. */
struct entry {
    const struct kernel_row *row;
    struct slice name; /* cut */
    struct launcher launcher;
    const char *category;
    const char *collective_op; /* NULL: no collective */
};

struct totals {
    double busy;   /* kernels alone */
    double all;    /* copies, too */
    double eager;  /* of kernels, by an op */
    double others; /* of kernels, unclassified */
    struct amount wall;
};

struct builder {
    const struct split_chunk *chunk;
    const struct table_limits *limits;
    struct arena *arena;
    struct entry *entries;
    size_t n;
    size_t n_kept;
    struct totals totals;
};

static bool
is_kernel(const struct kernel_row *row)
{
    return row->category == KERNEL_CATEGORY_KERNEL;
}

static int
by_time(const void *a, const void *b)
{
    const struct kernel_row *x = ((const struct entry *)a)->row;
    const struct kernel_row *y = ((const struct entry *)b)->row;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return slice_compare(x->name, y->name);
}

static void
add_totals(struct totals *totals, const struct entry *entry)
{
    const struct kernel_row *row = entry->row;
    const struct launch_group *launches = row->launches.items;
    totals->all += (double)row->total_ns;
    if (!is_kernel(row))
        return;
    totals->busy += (double)row->total_ns;
    if (strcmp(entry->category, "Others") == 0)
        totals->others += (double)row->total_ns;
    for (size_t i = 0; i < row->launches.n; i++)
        if (launches[i].kind == LAUNCH_KIND_EAGER)
            totals->eager += (double)launches[i].total_ns;
    totals->eager += (double)row->omitted_launch_ns;
}

static enum err_kind
read_entries(struct builder *builder,
             const struct categories *categories,
             struct err *err)
{
    const struct kernel_row *rows = builder->chunk->kernels.items;
    builder->n = builder->chunk->kernels.n;
    builder->entries = arena_alloc(builder->arena, builder->n * sizeof(struct entry));
    if (!builder->entries)
        return err_no_memory(err, "the rows of a table");
    for (size_t i = 0; i < builder->n; i++) {
        struct slice name = text_cut_bytes(rows[i].name, DEVICE_NAME_BYTES);
        struct launcher launcher = launcher_of(&rows[i]);
        const char *op = is_kernel(&rows[i]) ? collective_of(name) : NULL;
        builder->entries[i] = (struct entry){
            .row = &rows[i],
            .name = name,
            .launcher = launcher,
            .collective_op = op,
            .category =
                op ? "Communication"
                   : category_of(categories, name, (enum kernel_category)rows[i].category,
                                 launcher.op),
        };
        add_totals(&builder->totals, &builder->entries[i]);
    }
    qsort(builder->entries, builder->n, sizeof builder->entries[0], by_time);
    return ERR_OK;
}

static struct slice
short_name(struct slice name)
{
    const char *end = name.len ? memchr(name.data, '<', name.len) : NULL;
    if (end)
        name.len = (size_t)(end - name.data);
    name = text_cut(amount_trim(name), SHORT_NAME_CHARS);
    return name.len ? name : SLICE("unknown_kernel");
}

static struct amount
percent(double ns, double whole)
{
    if (!(whole < 0) && !(whole > 0))
        return AMOUNT_UNKNOWN;
    return AMOUNT(amount_round(100.0 * ns / whole, 3));
}

static double
denominator(const struct builder *builder)
{
    return builder->totals.wall.known ? builder->totals.wall.value : builder->totals.all;
}

/* Letters of an axis, an underscore, digits; 0 when they are not there. */
static size_t
tile_at(struct slice name, size_t at, size_t *ret_axis, size_t *ret_digits)
{
    size_t i = at;
    while (i < name.len && ((name.data[i] | 32) >= 'a' && (name.data[i] | 32) <= 'z'))
        i++;
    *ret_axis = i - at;
    if (i == at || i == name.len || name.data[i] != '_')
        return 0;
    size_t begin = ++i;
    while (i < name.len && name.data[i] >= '0' && name.data[i] <= '9')
        i++;
    *ret_digits = i - begin;
    return *ret_digits ? i - at : 0;
}

static bool
read_tiles(struct slice name, struct arena *arena, struct list *ret_tiles)
{
    static const char mark[] = "BLOCK_SIZE_";
    struct slice found[MAX_TILES];
    size_t n = 0;
    const char *end = name.data + name.len;
    const char *at = name.data;
    while (n < MAX_TILES && at &&
           (at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1))) {
        size_t axis = 0;
        size_t digits = 0;
        at += sizeof mark - 1;
        size_t len = tile_at(name, (size_t)(at - name.data), &axis, &digits);
        if (len == 0)
            continue;
        found[n] =
            arena_printf(arena, "%.*s=%.*s", (int)axis, at, (int)digits, at + axis + 1);
        if (!found[n++].data)
            return false;
        at += len;
    }
    struct slice *kept = n ? arena_alloc(arena, n * sizeof kept[0]) : NULL;
    if (n && !kept)
        return false;
    if (n)
        memcpy(kept, found, n * sizeof kept[0]);
    *ret_tiles = (struct list){kept, n};
    return true;
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
           const struct builder *builder,
           const struct entry *entry)
{
    double ns = (double)entry->row->total_ns;
    struct amount wall = percent(ns, denominator(builder));
    struct amount busy =
        is_kernel(entry->row) ? percent(ns, builder->totals.busy) : AMOUNT_UNKNOWN;
    SET_IF(row, gpu_pct, wall);
    SET_IF(row, percent_of_total, wall);
    SET_IF(row, kernel_time_pct, busy);
    row->gpu_pct_basis =
        builder->totals.wall.known ? SLICE("e2e_window") : SLICE("listed_ops_sum");
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
set_shapes(struct candidate_row *row, const struct entry *entry, struct arena *arena)
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

static bool
make_row(const struct builder *builder,
         const struct entry *entry,
         size_t position,
         struct candidate_row *row)
{
    const struct kernel_row *kernel = entry->row;
    *row = unresolved;
    row->kernel_id = arena_printf(builder->arena, "k%03zu", position);
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
    set_shares(row, builder, entry);
    set_collective(row, entry->collective_op);
    set_frame(row, kernel->frame);
    return row->kernel_id.data && set_shapes(row, entry, builder->arena) &&
           read_tiles(entry->name, builder->arena, &row->tile_from_name);
}

static enum err_kind
make_rows(struct builder *builder, struct kernel_table *table, struct err *err)
{
    int64_t max = builder->limits->max_rows;
    bool cut = max > 0 && (uint64_t)max < builder->n;
    builder->n_kept = cut ? (size_t)max : builder->n;
    struct candidate_row *rows =
        arena_alloc(builder->arena, builder->n_kept * sizeof rows[0]);
    if (!rows)
        return err_no_memory(err, "the rows of a table");
    for (size_t i = 0; i < builder->n_kept; i++)
        if (!make_row(builder, &builder->entries[i], i + 1, &rows[i]))
            return err_no_memory(err, "a row of a table");
    table->hot_kernels = (struct list){rows, builder->n_kept};
    return ERR_OK;
}

static void
count_omitted(const struct builder *builder, struct omitted_rows *omitted)
{
    double lost = 0;
    int64_t ns = 0;
    for (size_t i = builder->n_kept; i < builder->n; i++) {
        lost += (double)builder->entries[i].row->total_ns;
        ns = (int64_t)((uint64_t)ns + (uint64_t)builder->entries[i].row->total_ns);
    }
    struct amount share = percent(lost, denominator(builder));
    *omitted = (struct omitted_rows){.rows = (int64_t)(builder->n - builder->n_kept),
                                     .total_ns = ns};
    SET_IF(omitted, gpu_pct, share);
}

/* Rows at or above the floor; `ret_shaped`: one of them has shapes. */
static size_t
count_hot(const struct builder *builder,
          const struct kernel_table *table,
          bool *ret_shaped)
{
    const struct candidate_row *rows = table->hot_kernels.items;
    size_t n = 0;
    *ret_shaped = false;
    for (size_t i = 0; i < table->hot_kernels.n; i++) {
        double share = rows[i].has_gpu_pct ? rows[i].gpu_pct : 0;
        if (!(share >= builder->limits->min_gpu_pct))
            continue;
        n++;
        *ret_shaped |= rows[i].shapes.n > 0;
    }
    return n;
}

static enum err_kind
make_notes(const struct builder *builder, struct kernel_table *table, struct err *err)
{
    const struct totals *totals = &builder->totals;
    struct table_note *notes = arena_calloc(builder->arena, MAX_NOTES, sizeof notes[0]);
    bool shaped = false;
    size_t hot = count_hot(builder, table, &shaped);
    size_t n = 0;
    if (!notes)
        return err_no_memory(err, "the notes of a table");
    if (totals->busy > 0 && totals->others / totals->busy >= HIGH_UNCLASSIFIED)
        notes[n++] = (struct table_note){
            .code = SLICE("high_unclassified_share"),
            .severity = SEVERITY_WARNING,
            .has_share_pct = true,
            .share_pct = amount_round(100.0 * totals->others / totals->busy, 2)};
    if (totals->busy > 0 && totals->eager / totals->busy < LOW_CORRELATION)
        notes[n++] = (struct table_note){
            .code = SLICE("low_op_correlation"),
            .severity = SEVERITY_INFO,
            .has_attributed_pct = true,
            .attributed_pct = amount_round(100.0 * totals->eager / totals->busy, 2)};
    if (hot && !shaped)
        notes[n++] = (struct table_note){.code = SLICE("no_shapes_recorded"),
                                         .severity = SEVERITY_WARNING,
                                         .has_rows = true,
                                         .rows = (int64_t)hot};
    if (table->omitted.rows)
        notes[n++] = (struct table_note){.code = SLICE("rows_omitted"),
                                         .severity = SEVERITY_INFO,
                                         .has_rows = true,
                                         .rows = table->omitted.rows};
    table->notes = (struct list){notes, n};
    return ERR_OK;
}

static struct slice
mode_of_chunk(const struct split_chunk *chunk)
{
    static const char *const names[] = {"mixed", "decode_only", "prefilldecode",
                                        "generic", "range"};
    return slice_of(names[chunk->kind]);
}

enum err_kind
table_build(const struct split_chunk *chunk,
            const struct categories *categories,
            const struct table_limits *limits,
            struct arena *arena,
            struct kernel_table *ret_table,
            struct err *err)
{
    struct builder builder = {.chunk = chunk, .limits = limits, .arena = arena};
    *ret_table = (struct kernel_table){
        .chunk = chunk->file,
        .mode = mode_of_chunk(chunk),
        .has_wall_ns = chunk->has_wall_ns,
        .wall_ns = chunk->wall_ns,
    };
    if (chunk->has_wall_ns && chunk->wall_ns > 0)
        builder.totals.wall = AMOUNT((double)chunk->wall_ns);
    if (read_entries(&builder, categories, err) || make_rows(&builder, ret_table, err))
        return err->kind;
    count_omitted(&builder, &ret_table->omitted);
    return make_notes(&builder, ret_table, err);
}

void
table_suppress(struct kernel_table *table, struct list codes)
{
    table->suppressed_kernels = table->hot_kernels;
    table->hot_kernels = (struct list){NULL, 0};
    table->suppressed_by = codes;
}
