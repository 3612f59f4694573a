/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a chunk, and its numbers. */
#include "chunk.h"

#include "batch.h"
#include "buf.h"
#include "cleanup.h"
#include "ns.h"
#include "wide.h"

/* A chunk on its way. */
struct maker {
    const struct chunk_input *input;
    const size_t *places;
    size_t n;
    struct arena *arena;
    struct chunk *chunk;
    struct column gpu; /* positions in step order, id order, source order */
    struct cpu_view view;
};

static void
maker_done(struct maker *maker)
{
    column_done(&maker->gpu);
}

void
chunk_done(struct chunk *chunk)
{
    for (int part = 0; part < CHUNK_PARTS; part++)
        index_set_done(&chunk->parts[part]);
    index_set_done(&chunk->all);
}

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "a chunk");
}

static struct step
step_at(const struct maker *maker, size_t i)
{
    const struct steps *steps = maker->input->steps;
    return steps_at(steps, steps->first + maker->places[i]);
}

/* --- which events ------------------------------------------------------------------ */

/* An event with the element that closes it, when it is a joined pair. */
static enum err_kind
add_event(struct maker *maker, enum chunk_part part, struct event event, struct err *err)
{
    const struct events *events = maker->input->events;
    struct index_set *set = &maker->chunk->parts[part];
    uint64_t end;
    if (index_set_add(set, event_index(event), err))
        return err->kind;
    if (events_counts(events)->begin_end_pairs &&
        events_pair_end(events, event_index(event), &end))
        return index_set_add(set, end, err);
    return ERR_OK;
}

static enum err_kind
add_gpu(struct maker *maker, uint64_t linked, struct err *err)
{
    const struct events *events = maker->input->events;
    uint32_t position = (uint32_t)events_gpu_linked_at(events, linked);
    if (column_add(&maker->gpu, &position, err))
        return err->kind;
    return add_event(maker, PART_GPU, events_gpu(events, position), err);
}

/* GPU events and flows of an id that the step owns. */
static enum err_kind
add_owned(struct maker *maker, event_id id, struct err *err)
{
    const struct events *events = maker->input->events;
    struct event_run gpu = events_gpu_of(events, id);
    struct event_run flows = events_flows_of(events, id);
    for (uint64_t k = 0; k < gpu.n; k++)
        if (add_gpu(maker, gpu.first + k, err))
            return err->kind;
    for (uint64_t k = 0; k < flows.n; k++) {
        uint64_t index = events_flow(events, flows.first + k).index;
        if (index_set_add(&maker->chunk->parts[PART_FLOW], index, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
add_instants(struct maker *maker, size_t place, struct err *err)
{
    const struct events *events = maker->input->events;
    const struct tiles *tiles = &maker->input->own->tiles;
    uint64_t n = events_instant_count(events);
    struct interval tile = tiles_at(tiles, place);
    uint64_t i = events_instant_from(events, tile.start_ns);
    for (; i < n; i++) {
        struct event_mark mark = events_instant(events, i);
        if (!tiles_hold(tiles, tile, mark.key))
            break;
        if (index_set_add(&maker->chunk->parts[PART_INSTANT], mark.index, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
add_step(struct maker *maker, size_t place, struct err *err)
{
    struct event event;
    struct ownership *own = maker->input->own;
    struct step_walk walk = step_walk_begin(own, place);
    struct cpu_view *view = &maker->view;
    if (walk.position < view->first || view->last == 0)
        view->first = walk.position;
    while (step_walk_next(&walk, &event))
        if (add_event(maker, PART_CPU, event, err))
            return err->kind;
    if (walk.position > view->last)
        view->last = walk.position;
    event_id id;
    bool is_owned;
    walk = step_walk_begin(own, place);
    while (step_walk_next_id(&walk, &id, &is_owned)) {
        if (!is_owned)
            maker->chunk->gpu_events_repeated += events_gpu_of(own->events, id).n;
        else if (add_owned(maker, id, err))
            return err->kind;
    }
    return add_instants(maker, place, err);
}

static bool
holds(struct idlist *ids, event_id id)
{
    uint64_t place;
    uint32_t ignored;
    return id && idlist_find(ids, id, &place, &ignored);
}

/* GPU annotations that name an id of an included CPU event. */
static enum err_kind
add_gpu_annotations(struct maker *maker, struct err *err)
{
    CLEANUP(idlist_done) struct idlist externals = {.near = 0};
    CLEANUP(idlist_done) struct idlist correlations = {.near = 0};
    const struct events *events = maker->input->events;
    uint64_t n = events_gpu_annotation_count(events);
    struct event event;
    uint64_t position = 0;
    if (n == 0)
        return ERR_OK;
    idlist_init(&externals, maker->gpu.pool);
    idlist_init(&correlations, maker->gpu.pool);
    while (cpu_view_next(&maker->view, &position, &event)) {
        if (event.external_id && idlist_add(&externals, event.external_id, err))
            return err->kind;
        if (event.correlation && idlist_add(&correlations, event.correlation, err))
            return err->kind;
    }
    if (idlist_close(&externals, err) || idlist_close(&correlations, err))
        return err->kind;
    for (uint64_t i = 0; i < n; i++) {
        event = events_gpu_annotation(events, i);
        bool is_named = holds(&externals, event.external_id) ||
                        holds(&correlations, event.correlation);
        if (is_named && add_event(maker, PART_GPU_ANNOTATION, event, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
collect(struct maker *maker, struct err *err)
{
    struct chunk *chunk = maker->chunk;
    for (size_t i = 0; i < maker->n; i++)
        if (add_step(maker, maker->places[i], err))
            return err->kind;
    maker->view.events = maker->input->events;
    maker->view.only = &chunk->parts[PART_CPU];
    if (add_gpu_annotations(maker, err))
        return err->kind;
    for (int part = 0; part < CHUNK_PARTS; part++)
        if (index_set_join(&chunk->all, &chunk->parts[part], err))
            return err->kind;
    chunk->num_gpu_events = maker->gpu.n;
    chunk->event_count = chunk->all.n + events_counts(maker->input->events)->metadata;
    return ERR_OK;
}

/* --- numbers ----------------------------------------------------------------------- */

static enum err_kind
sum_times(struct maker *maker, struct err *err)
{
    CLEANUP(column_done) struct column sorted;
    struct time_sums sums = {.symbols = maker->input->symbols};
    uint32_t ref[2] = {0, 0};
    column_init(&sorted, maker->gpu.pool, sizeof ref, ORDER_REF);
    for (uint64_t i = 0; i < maker->gpu.n; i++) {
        column_read(&maker->gpu, i, &ref[1]);
        if (column_add(&sorted, ref, err))
            return err->kind;
    }
    if (column_sort(&sorted, err))
        return err->kind;
    for (uint64_t i = 0; i < sorted.n; i++) {
        column_read(&sorted, i, ref);
        time_sums_add(&sums, events_gpu(maker->input->events, ref[1]));
    }
    maker->chunk->time = time_sums_take(&sums);
    return ERR_OK;
}

static enum err_kind
sum_extents(struct maker *maker, struct err *err)
{
    CLEANUP(arena_done) struct arena arena;
    arena_init(&arena, SIZE_MAX);
    struct chunk *chunk = maker->chunk;
    struct interval *extents = arena_calloc(&arena, maker->n, sizeof *extents);
    size_t n = 0;
    if (!extents)
        return no_memory(err);
    for (size_t i = 0; i < maker->n; i++) {
        struct step_work work = step_at(maker, i).work;
        if (work.n_gpu == 0)
            continue;
        extents[n++] = (struct interval){work.start_ns, work.end_ns};
        chunk->gpu_duration_ns =
            ns_add(chunk->gpu_duration_ns, work.end_ns - work.start_ns);
    }
    chunk->steps_without_gpu_events = maker->n - n;
    chunk->extent_union_ns = union_of(extents, n);
    return ERR_OK;
}

static void
sum_phases(struct maker *maker)
{
    struct chunk_phases *phases = &maker->chunk->phases;
    int128 batches = 0;
    int128 requests = 0;
    if (maker->n == 0)
        return;
    for (size_t i = 0; i < maker->n; i++) {
        struct step step = step_at(maker, i);
        phases->n[step.phase]++;
        phases->num_defaulted += step.phase_source == PHASE_BY_DEFAULT;
        batches += step.numbers.batch_size;
        requests += step.numbers.num_requests;
    }
    /* As the model divides: downwards, of negative sums, too. */
    int128 n = (int128)maker->n;
    phases->avg_bs = (int64_t)((batches - (batches < 0 ? n - 1 : 0)) / n);
    phases->avg_conc = (int64_t)((requests - (requests < 0 ? n - 1 : 0)) / n);
}

static bool
names_batch(struct slice name)
{
    static const struct slice words[] = {
        {"vllm::unified_attention_with_output",
         sizeof "vllm::unified_attention_with_output" - 1},
        {"sgl_kernel::sgl_per_token_group_quant_8bit",
         sizeof "sgl_kernel::sgl_per_token_group_quant_8bit" - 1},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (name.len && memmem(name.data, name.len, words[i].data, words[i].len))
            return true;
    return false;
}

/* The first dimension that the attention ops of a one-step chunk agree on. */
static enum err_kind
find_batch_size(struct maker *maker, struct err *err)
{
    struct chunk *chunk = maker->chunk;
    const struct events *events = maker->input->events;
    struct event event;
    uint64_t position = 0;
    bool agree = true;
    if (maker->n != 1)
        return ERR_OK;
    while (cpu_view_next(&maker->view, &position, &event)) {
        if (!event.detail || !names_batch(events_text(events, event.name)))
            continue;
        struct event_shape shape = events_shape(events, event.detail);
        uint32_t dims = 0;
        if (!shape.has_dims_key)
            continue;
        if (launch_texts_compact(maker->input->texts, shape.dims, &dims, err))
            return err->kind;
        struct batch_size size =
            batch_first_dim(texts_text(maker->input->texts->compact, dims));
        if (!size.is_known)
            continue;
        agree =
            agree && (!chunk->has_batch_size || chunk->batch_size_from_ops == size.size);
        chunk->has_batch_size = true;
        chunk->batch_size_from_ops = size.size;
    }
    chunk->has_batch_size = chunk->has_batch_size && agree;
    return ERR_OK;
}

static enum err_kind
sum_launches(struct maker *maker, struct err *err)
{
    CLEANUP(launches_done) struct launches launches = {0};
    const struct chunk_input *input = maker->input;
    struct chunk *chunk = maker->chunk;
    const struct gpu_list gpu = {input->events, &maker->gpu};
    if (launches_make(&launches, maker->view, input->symbols, input->texts, &gpu, err))
        return err->kind;
    CLEANUP(launch_sums_done)
    struct launch_sums sums;
    launch_sums_init(&sums, &launches.calls, input->root_threads);
    if (launch_sums_add_cpu(&sums, &maker->view, input->symbols, err))
        return err->kind;
    for (uint64_t i = 0; i < maker->gpu.n; i++)
        launch_sums_add_gpu(&sums, input->events, gpu_list_at(&gpu, i));
    chunk->launch = sums.figures;
    struct kernel_input table = {
        .symbols = input->symbols,
        .texts = input->texts,
        .launches = &launches,
        .gpu = &gpu,
        .inside = &chunk->parts[PART_GPU],
    };
    return kernel_table_make(&table, maker->arena, &chunk->kernels, err);
}

/* --- the file name ----------------------------------------------------------------- */

static void
add_name(struct buf *out, const struct chunk *chunk, struct slice base)
{
    const struct chunk_phases *phases = &chunk->phases;
    if (chunk->kind == SPLIT_GENERIC) {
        buf_add_str(out, "steady_state_");
        buf_add_slice(out, base);
    } else if (chunk->kind == SPLIT_RANGE) {
        buf_add_slice(out, base);
        buf_addf(out, "_iteration_%llu", (unsigned long long)chunk->first_step);
        if (chunk->num_steps > 1)
            buf_addf(out, ":%llu", (unsigned long long)chunk->last_step);
    } else {
        buf_addf(out,
                 "%s_steady_state_prefill_%llu_prefilldecode_%llu_decode_%llu_bs%lld_"
                 "conc%lld_",
                 split_mode_name(chunk->kind),
                 (unsigned long long)phases->n[PHASE_PREFILL],
                 (unsigned long long)phases->n[PHASE_PREFILLDECODE],
                 (unsigned long long)phases->n[PHASE_DECODE], (long long)phases->avg_bs,
                 (long long)phases->avg_conc);
        buf_add_slice(out, base);
    }
    buf_add_str(out, ".json.gz");
}

static enum err_kind
name_file(struct maker *maker, struct err *err)
{
    CLEANUP(buf_done) struct buf name = BUF_INIT;
    add_name(&name, maker->chunk, maker->input->base);
    if (buf_check(&name, "the name of a chunk", err))
        return err->kind;
    maker->chunk->file = arena_copy(maker->arena, buf_slice(&name));
    return maker->chunk->file.data ? ERR_OK : no_memory(err);
}

enum err_kind
chunk_make(const struct chunk_input *input,
           enum split_mode kind,
           const size_t *places,
           size_t n,
           struct arena *arena,
           struct chunk *chunk,
           struct err *err)
{
    CLEANUP(maker_done)
    struct maker maker = {
        .input = input,
        .places = places,
        .n = n,
        .arena = arena,
        .chunk = chunk,
    };
    *chunk = (struct chunk){
        .kind = kind,
        .first_step = input->steps->first + places[0],
        .last_step = input->steps->first + places[n - 1] + 1,
        .num_steps = n,
    };
    column_init(&maker.gpu, events_side_pool(input->events), sizeof(uint32_t),
                ORDER_NONE);
    sum_phases(&maker);
    if (collect(&maker, err) || sum_times(&maker, err) || sum_extents(&maker, err) ||
        find_batch_size(&maker, err) || sum_launches(&maker, err) ||
        name_file(&maker, err))
        return err->kind;
    return events_check(input->events, err);
}
