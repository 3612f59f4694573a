/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the candidate table. */
#include "table.h"

#include "amount.h"
#include "collective.h"
#include "table_row.h"
#include "text.h"

#include <stdlib.h>

/* Shares that leave a note (kernel-table.md 10). */
#define HIGH_UNCLASSIFIED 0.4
#define LOW_CORRELATION   0.1

enum { MAX_NOTES = 4 };

struct builder {
    const struct split_chunk *chunk;
    const struct table_limits *limits;
    struct arena *arena;
    struct table_entry *entries;
    size_t n;
    size_t n_kept;
    struct table_totals totals;
};

static int
by_time(const void *a, const void *b)
{
    const struct kernel_row *x = ((const struct table_entry *)a)->row;
    const struct kernel_row *y = ((const struct table_entry *)b)->row;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return slice_compare(x->name, y->name);
}

static void
add_totals(struct table_totals *totals, const struct table_entry *entry)
{
    const struct kernel_row *row = entry->row;
    const struct launch_group *launches = row->launches.items;
    totals->all += (double)row->total_ns;
    if (!table_is_kernel(row))
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
    builder->entries =
        arena_alloc(builder->arena, builder->n * sizeof(struct table_entry));
    if (!builder->entries)
        return err_no_memory(err, "the rows of a table");
    for (size_t i = 0; i < builder->n; i++) {
        struct slice name = text_cut_bytes(rows[i].name, DEVICE_NAME_BYTES);
        struct launcher launcher = launcher_of(&rows[i]);
        const char *op = table_is_kernel(&rows[i]) ? collective_of(name) : NULL;
        builder->entries[i] = (struct table_entry){
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
        if (!table_row_make(&builder->entries[i], &builder->totals, i + 1, builder->arena,
                            &rows[i]))
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
    struct amount share = table_percent(lost, table_denominator(&builder->totals));
    *omitted = (struct omitted_rows){.rows = (int64_t)(builder->n - builder->n_kept),
                                     .total_ns = ns};
    omitted->has_gpu_pct = share.known;
    omitted->gpu_pct = share.value;
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
    const struct table_totals *totals = &builder->totals;
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
