/* SPDX-License-Identifier: Apache-2.0 */
/* The call of a GPU event, and launch figures. */
#include "calls.h"
#include "ns.h"

void
calls_init(struct calls *calls, const struct events *events)
{
    *calls = (struct calls){.events = events};
    column_init(&calls->by_id, events_side_pool(events), sizeof(struct call), ORDER_NONE);
}

void
calls_done(struct calls *calls)
{
    column_done(&calls->by_id);
}

/* Where the call of an id stands; false: no GPU event has the id. */
static bool
find_place(const struct calls *calls, event_id id, uint64_t *ret_place)
{
    struct event_run run = events_gpu_of(calls->events, id);
    *ret_place = run.first;
    return run.n > 0 && run.first < calls->by_id.n;
}

enum err_kind
calls_want(struct calls *calls, event_id id, struct err *err)
{
    uint64_t place;
    struct call call;
    if (calls->by_id.n == 0 &&
        column_fill(&calls->by_id, events_gpu_linked_count(calls->events), err))
        return err->kind;
    if (!find_place(calls, id, &place))
        return ERR_OK;
    column_read(&calls->by_id, place, &call);
    if (call.is_wanted)
        return ERR_OK;
    call.is_wanted = true;
    column_write(&calls->by_id, place, &call);
    return ERR_OK;
}

void
calls_find(struct calls *calls, const struct cpu_view *view)
{
    struct event event;
    uint64_t position = 0;
    while (cpu_view_next(view, &position, &event)) {
        uint64_t place;
        struct call call;
        if (!event.correlation || !find_place(calls, event.correlation, &place))
            continue;
        column_read(&calls->by_id, place, &call);
        bool is_runtime = event_is_runtime(event);
        if (!call.is_wanted || (call.position && (call.is_runtime || !is_runtime)))
            continue;
        call.position = (uint32_t)position;
        call.is_runtime = is_runtime;
        column_write(&calls->by_id, place, &call);
    }
}

bool
calls_get(const struct calls *calls, event_id id, struct call *ret_call)
{
    uint64_t place;
    if (!id || !find_place(calls, id, &place))
        return false;
    column_read(&calls->by_id, place, ret_call);
    return ret_call->position > 0;
}

void
calls_put(struct calls *calls, event_id id, struct call call)
{
    uint64_t place;
    if (find_place(calls, id, &place))
        column_write(&calls->by_id, place, &call);
}

void
launch_sums_init(struct launch_sums *sums,
                 const struct calls *calls,
                 const struct idmap *root_threads)
{
    *sums = (struct launch_sums){.calls = calls, .root_threads = root_threads};
    idlist_init(&sums->graphs, calls->by_id.pool);
}

void
launch_sums_done(struct launch_sums *sums)
{
    idlist_done(&sums->graphs);
}

enum err_kind
launch_sums_add_cpu(struct launch_sums *sums,
                    const struct cpu_view *view,
                    struct symbols *symbols,
                    struct err *err)
{
    struct launch_figures *figures = &sums->figures;
    struct event event;
    uint64_t position = 0;
    while (cpu_view_next(view, &position, &event)) {
        if (!event_is_runtime(event) || !symbols_has(symbols, event.name, SYMBOL_LAUNCH))
            continue;
        figures->host_launch_count++;
        if (!symbols_has(symbols, event.name, SYMBOL_GRAPH_LAUNCH))
            continue;
        if (!event.correlation)
            figures->graph_launch_count++;
        else if (idlist_add(&sums->graphs, event.correlation, err))
            return err->kind;
    }
    enum err_kind kind = idlist_close(&sums->graphs, err);
    figures->graph_launch_count += idlist_count(&sums->graphs);
    return kind;
}

void
launch_sums_add_gpu(struct launch_sums *sums,
                    const struct events *events,
                    struct event kernel)
{
    struct launch_figures *figures = &sums->figures;
    event_id id = kernel.correlation;
    uint64_t place;
    uint32_t has_kernel;
    struct call call;
    if (id && idlist_find(&sums->graphs, id, &place, &has_kernel)) {
        figures->graph_kernels++;
        figures->graph_launches_with_kernels += !has_kernel;
        idlist_set(&sums->graphs, place, id, true);
    }
    if (!calls_get(sums->calls, id, &call)) {
        figures->unlinked_busy_ns = ns_add(figures->unlinked_busy_ns, kernel.dur_ns);
        return;
    }
    uint32_t thread = event_thread(events_cpu(events, call.position - 1));
    if (sums->root_threads && !idmap_find(sums->root_threads, thread + 1))
        figures->off_root_thread_busy_ns =
            ns_add(figures->off_root_thread_busy_ns, kernel.dur_ns);
}
