/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a chunk. */
#include "kernel_table.h"

#include "cleanup.h"
#include "ns.h"
#include "tallies.h"
#include "wide.h"

#include <stdlib.h>

/* A table on its way. Rows are numbered as their names come up. */
struct maker {
    const struct kernel_input *input;
    struct arena *arena;
    struct kernel_entry *rows;
    uint32_t *names; /* of each row: text of the index */
    struct event_launch *geometry;
    size_t n;
    size_t cap;
    struct idmap by_name; /* name + 1 -> row */
    struct tallies groups;
    struct tallies frames;
    struct tallies streams;
    struct tallies shapes; /* eager ones elsewhere */
};

static void
maker_done(struct maker *maker)
{
    free(maker->rows);
    free(maker->names);
    free(maker->geometry);
    idmap_done(&maker->by_name);
    tallies_done(&maker->groups);
    tallies_done(&maker->frames);
    tallies_done(&maker->streams);
    tallies_done(&maker->shapes);
}

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "the kernel table of a chunk");
}

static const struct events *
events_of(const struct maker *maker)
{
    return maker->input->launches->view.events;
}

/* --- rows -------------------------------------------------------------------------- */

static bool
make_room(struct maker *maker)
{
    if (maker->n < maker->cap)
        return true;
    size_t cap = maker->cap ? maker->cap * 2 : 64;
    struct kernel_entry *rows = reallocarray(maker->rows, cap, sizeof *rows);
    if (rows)
        maker->rows = rows;
    uint32_t *names = rows ? reallocarray(maker->names, cap, sizeof *names) : NULL;
    if (names)
        maker->names = names;
    struct event_launch *geometry =
        names ? reallocarray(maker->geometry, cap, sizeof *geometry) : NULL;
    if (!geometry)
        return false;
    maker->geometry = geometry;
    maker->cap = cap;
    return true;
}

static enum err_kind
find_row(struct maker *maker, struct event kernel, uint32_t *ret_row, struct err *err)
{
    struct idmap_entry *entry = idmap_add(&maker->by_name, kernel.name + 1, err);
    if (!entry)
        return err->kind;
    if (entry->mark++ == 0) {
        if (!make_room(maker))
            return no_memory(err);
        enum event_category category = event_category(kernel);
        entry->value = (uint32_t)maker->n;
        maker->names[maker->n] = kernel.name;
        maker->geometry[maker->n] = (struct event_launch){0};
        maker->rows[maker->n++] = (struct kernel_entry){
            .name = events_text(events_of(maker), kernel.name),
            .category = category,
            .min_ns = kernel.dur_ns,
            .is_collective =
                category == CATEGORY_KERNEL &&
                symbols_has(maker->input->symbols, kernel.name, SYMBOL_COLLECTIVE),
        };
    }
    entry->mark = 1;
    *ret_row = entry->value;
    return ERR_OK;
}

/* Times, stream and geometry of one GPU event. */
static enum err_kind
add_facts(struct maker *maker, uint32_t row_number, struct event kernel, struct err *err)
{
    struct kernel_entry *row = &maker->rows[row_number];
    struct event_launch launch = {0};
    row->calls++;
    row->total_ns = ns_add(row->total_ns, kernel.dur_ns);
    row->min_ns = kernel.dur_ns < row->min_ns ? kernel.dur_ns : row->min_ns;
    row->max_ns = kernel.dur_ns > row->max_ns ? kernel.dur_ns : row->max_ns;
    if (kernel.detail)
        launch = events_launch(events_of(maker), kernel.detail);
    struct event_launch *known = &maker->geometry[row_number];
    if (!known->grid && !known->block)
        *known = launch;
    event_id stream = launch.stream
                          ? launch.stream
                          : events_thread(events_of(maker), event_thread(kernel)).tid;
    return tallies_add(&maker->streams, row_number, &stream, sizeof stream, 0, err);
}

static enum err_kind
add_kernel(struct maker *maker, struct event kernel, struct err *err)
{
    struct launches *launches = maker->input->launches;
    uint32_t row = 0;
    struct launch_facts group;
    if (find_row(maker, kernel, &row, err) || add_facts(maker, row, kernel, err) ||
        launches_group(launches, kernel, &group, err) ||
        tallies_add(&maker->groups, row, &group, sizeof group, kernel.dur_ns, err))
        return err->kind;
    uint32_t frame = launches_frame(launches, kernel);
    if (!frame)
        return ERR_OK;
    return tallies_add(&maker->frames, row, &frame, sizeof frame, 0, err);
}

/* --- launches ---------------------------------------------------------------------- */

static struct launch_facts
group_of(const struct tally_entry *entry)
{
    struct launch_facts group;
    memcpy(&group, entry->key.bytes, sizeof group);
    return group;
}

static struct slice
compact_text(const struct maker *maker, uint32_t number)
{
    if (!number)
        return (struct slice){NULL, 0};
    return texts_text(maker->input->texts->compact, number);
}

static struct launch_row
launch_row(const struct maker *maker, const struct tally_entry *entry)
{
    struct launch_facts group = group_of(entry);
    struct launch_row row = {
        .kind = (enum launcher)group.kind,
        .dims_from = (enum dims_origin)group.dims_from,
        .input_dims = compact_text(maker, group.dims),
        .input_type = compact_text(maker, group.type),
        .calls = entry->calls,
        .total_ns = entry->total_ns,
    };
    if (group.kind == LAUNCH_EAGER)
        row.op = events_text(events_of(maker), group.op);
    return row;
}

static void
add_eager(const struct maker *maker,
          struct kernel_entry *row,
          const struct tally_entry *entry)
{
    if (row->combinations++ < MAX_LAUNCHES) {
        row->launches[row->n_launches++] = launch_row(maker, entry);
        return;
    }
    row->omitted_launches++;
    row->omitted_launch_calls += entry->calls;
    row->omitted_launch_ns = ns_add(row->omitted_launch_ns, entry->total_ns);
}

/* The eager groups, then the graph group, then the unlinked one. */
static void
add_launches(const struct maker *maker, uint32_t number)
{
    struct kernel_entry *row = &maker->rows[number];
    const struct tally_entry *last[2] = {NULL, NULL};
    size_t n;
    const struct tally_entry *entries = tallies_row(&maker->groups, number, &n);
    for (size_t i = 0; i < n; i++) {
        struct launch_facts group = group_of(&entries[i]);
        if (group.kind == LAUNCH_EAGER)
            add_eager(maker, row, &entries[i]);
        else
            last[group.kind == LAUNCH_UNLINKED] = &entries[i];
    }
    for (size_t i = 0; i < 2; i++)
        if (last[i])
            row->launches[row->n_launches++] = launch_row(maker, last[i]);
    row->graph_launch_calls = last[0] ? last[0]->calls : 0;
    row->unknown_launcher_calls = last[1] ? last[1]->calls : 0;
}

/* No call of the row tells the dims of its own op. */
static bool
is_bare(const struct maker *maker, uint32_t number)
{
    size_t n;
    const struct tally_entry *entries = tallies_row(&maker->groups, number, &n);
    for (size_t i = 0; i < n; i++)
        if (group_of(&entries[i]).dims_from == DIMS_OP)
            return false;
    return true;
}

/* --- eager shapes elsewhere -------------------------------------------------------- */

/* GPU events of bare rows that are not in the chunk, in trace order. */
static enum err_kind
list_elsewhere(struct maker *maker, struct column *positions, struct err *err)
{
    CLEANUP(arena_done) struct arena arena;
    const struct events *events = events_of(maker);
    arena_init(&arena, SIZE_MAX);
    bool *bare = arena_calloc(&arena, maker->n, sizeof *bare);
    if (!bare)
        return no_memory(err);
    for (uint32_t i = 0; i < maker->n; i++)
        bare[i] = is_bare(maker, i);
    uint64_t count = events_gpu_count(events);
    for (uint64_t i = 0; i < count; i++) {
        struct event kernel = events_gpu(events, i);
        struct idmap_entry *entry = idmap_find(&maker->by_name, kernel.name + 1);
        if (!entry || !bare[entry->value] ||
            index_set_holds(maker->input->inside, event_index(kernel)))
            continue;
        const uint32_t position = (uint32_t)i;
        if (column_add(positions, &position, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
find_elsewhere(struct maker *maker, struct err *err)
{
    CLEANUP(column_done) struct column positions;
    CLEANUP(launches_done) struct launches launches = {0};
    column_init(&positions, events_side_pool(events_of(maker)), sizeof(uint32_t),
                ORDER_NONE);
    if (list_elsewhere(maker, &positions, err))
        return err->kind;
    if (positions.n == 0)
        return ERR_OK;
    struct cpu_view view = cpu_view_all(events_of(maker));
    const struct gpu_list gpu = {events_of(maker), &positions};
    if (launches_make(&launches, view, maker->input->symbols, maker->input->texts, &gpu,
                      err))
        return err->kind;
    for (uint64_t i = 0; i < positions.n; i++) {
        struct launch_facts group;
        struct event kernel = gpu_list_at(&gpu, i);
        if (launches_group(&launches, kernel, &group, err))
            return err->kind;
        if (group.dims_from != DIMS_OP)
            continue;
        group.op = 0; /* shapes are told apart, ops are not */
        uint32_t row = idmap_find(&maker->by_name, kernel.name + 1)->value;
        if (tallies_add(&maker->shapes, row, &group, sizeof group, kernel.dur_ns, err))
            return err->kind;
    }
    return ERR_OK;
}

static void
add_shapes(const struct maker *maker, uint32_t number)
{
    struct kernel_entry *row = &maker->rows[number];
    size_t n;
    const struct tally_entry *entries = tallies_row(&maker->shapes, number, &n);
    for (size_t i = 0; i < n && i < MAX_EAGER_SHAPES; i++) {
        row->eager_shapes[row->n_eager_shapes++] = launch_row(maker, &entries[i]);
        row->eager_shapes[i].op = (struct slice){NULL, 0};
    }
    row->omitted_eager_shapes = n - row->n_eager_shapes;
}

/* --- frames, streams, geometry ----------------------------------------------------- */

static void
add_frame(const struct maker *maker, uint32_t number)
{
    struct kernel_entry *row = &maker->rows[number];
    size_t n;
    const struct tally_entry *entries = tallies_row(&maker->frames, number, &n);
    for (size_t i = 0; i < n; i++) {
        if (entries[i].calls <= row->frame_calls)
            continue;
        uint32_t name;
        memcpy(&name, entries[i].key.bytes, sizeof name);
        row->frame = events_text(events_of(maker), name);
        row->frame_calls = entries[i].calls;
    }
}

/* The digits of an integer text without leading zeros; false: it is none. */
static bool
read_integer(struct slice text, bool *ret_negative, struct slice *ret_digits)
{
    size_t i = text.len > 0 && text.data[0] == '-';
    *ret_negative = i;
    *ret_digits = (struct slice){0};
    if (i == text.len)
        return false;
    for (size_t k = i; k < text.len; k++)
        if (text.data[k] < '0' || text.data[k] > '9')
            return false;
    while (i < text.len && text.data[i] == '0')
        i++;
    *ret_digits = (struct slice){text.data + i, text.len - i};
    if (ret_digits->len == 0)
        *ret_negative = false;
    return true;
}

static int
compare_digits(struct slice a, struct slice b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return slice_compare(a, b);
}

/* Integers ascending, then other texts; equal numbers by their texts. */
static int
compare_streams(const void *a, const void *b)
{
    struct slice x = *(const struct slice *)a;
    struct slice y = *(const struct slice *)b;
    struct slice x_digits, y_digits;
    bool x_negative, y_negative;
    bool x_is = read_integer(x, &x_negative, &x_digits);
    bool y_is = read_integer(y, &y_negative, &y_digits);
    if (x_is != y_is)
        return x_is ? -1 : 1;
    if (!x_is)
        return slice_compare(x, y);
    if (x_negative != y_negative)
        return x_negative ? -1 : 1;
    int order = compare_digits(x_digits, y_digits);
    if (order)
        return x_negative ? -order : order;
    return slice_compare(x, y);
}

static enum err_kind
add_streams(const struct maker *maker, uint32_t number, struct err *err)
{
    struct kernel_entry *row = &maker->rows[number];
    size_t n;
    const struct tally_entry *entries = tallies_row(&maker->streams, number, &n);
    row->streams = arena_calloc(maker->arena, n, sizeof *row->streams);
    if (!row->streams)
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        char scratch[EVENT_ID_DIGITS];
        event_id stream;
        memcpy(&stream, entries[i].key.bytes, sizeof stream);
        struct slice text = events_id_text(events_of(maker), stream, scratch);
        row->streams[row->n_streams] = arena_copy(maker->arena, text);
        if (!row->streams[row->n_streams++].data)
            return no_memory(err);
    }
    qsort(row->streams, n, sizeof *row->streams, compare_streams);
    return ERR_OK;
}

static enum err_kind
add_geometry(const struct maker *maker, uint32_t number, struct err *err)
{
    struct kernel_entry *row = &maker->rows[number];
    struct event_launch geometry = maker->geometry[number];
    struct launch_texts *texts = maker->input->texts;
    uint32_t grid = 0;
    uint32_t block = 0;
    if (geometry.grid && launch_texts_compact(texts, geometry.grid, &grid, err))
        return err->kind;
    if (geometry.block && launch_texts_compact(texts, geometry.block, &block, err))
        return err->kind;
    row->launch_grid = compact_text(maker, grid);
    row->launch_block = compact_text(maker, block);
    return ERR_OK;
}

/* --- the table --------------------------------------------------------------------- */

static int
compare_rows(const void *a, const void *b)
{
    const struct kernel_entry *x = a;
    const struct kernel_entry *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return slice_compare(x->name, y->name);
}

static enum err_kind
settle(struct maker *maker, struct err *err)
{
    int64_t busy_ns = 0;
    for (size_t i = 0; i < maker->n; i++)
        busy_ns = ns_add(busy_ns, maker->rows[i].total_ns);
    tallies_sort_heaviest(&maker->groups);
    tallies_sort_seen(&maker->frames);
    tallies_sort_seen(&maker->streams);
    if (find_elsewhere(maker, err))
        return err->kind;
    tallies_sort_heaviest(&maker->shapes);
    for (uint32_t i = 0; i < maker->n; i++) {
        struct kernel_entry *row = &maker->rows[i];
        int128 calls = (int128)row->calls;
        row->mean_ns = (int64_t)(((int128)2 * row->total_ns + calls) / (2 * calls));
        row->share = busy_ns > 0 ? wide_ratio(row->total_ns, busy_ns) : 0.0;
        add_launches(maker, i);
        add_shapes(maker, i);
        add_frame(maker, i);
        if (add_streams(maker, i, err) || add_geometry(maker, i, err))
            return err->kind;
    }
    return ERR_OK;
}

enum err_kind
kernel_table_make(const struct kernel_input *input,
                  struct arena *arena,
                  struct kernel_table *ret_table,
                  struct err *err)
{
    CLEANUP(maker_done) struct maker maker = {.input = input, .arena = arena};
    *ret_table = (struct kernel_table){0};
    if (tallies_init(&maker.groups, err) || tallies_init(&maker.frames, err) ||
        tallies_init(&maker.streams, err) || tallies_init(&maker.shapes, err))
        return err->kind;
    for (uint64_t i = 0; i < input->gpu->positions->n; i++)
        if (add_kernel(&maker, gpu_list_at(input->gpu, i), err))
            return err->kind;
    if (settle(&maker, err))
        return err->kind;
    ret_table->rows = arena_calloc(arena, maker.n, sizeof *maker.rows);
    if (!ret_table->rows)
        return no_memory(err);
    if (maker.n) {
        qsort(maker.rows, maker.n, sizeof *maker.rows, compare_rows);
        memcpy(ret_table->rows, maker.rows, maker.n * sizeof *maker.rows);
    }
    ret_table->n = maker.n;
    for (size_t i = 0; i < maker.n; i++)
        ret_table->unknown_launcher_gpu_events += maker.rows[i].unknown_launcher_calls;
    return ERR_OK;
}
