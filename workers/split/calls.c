/* SPDX-License-Identifier: Apache-2.0 */
/* The call of a GPU event, and launch figures. */
#include "calls.h"
#include "ns.h"

void
calls_done(struct calls *calls)
{
    idmap_done(&calls->by_id);
}

enum err_kind
calls_want(struct calls *calls, event_id id, struct err *err)
{
    if (id && !idmap_add(&calls->by_id, id, err))
        return err->kind;
    return ERR_OK;
}

void
calls_find(struct calls *calls, const struct cpu_view *view)
{
    struct event event;
    uint64_t position = 0;
    while (cpu_view_next(view, &position, &event)) {
        struct idmap_entry *entry =
            event.correlation ? idmap_find(&calls->by_id, event.correlation) : NULL;
        bool is_runtime = event_is_runtime(event);
        if (!entry || (entry->value && (entry->mark || !is_runtime)))
            continue;
        entry->value = (uint32_t)position;
        entry->mark = is_runtime;
    }
}

bool
calls_get(const struct calls *calls, event_id id, uint64_t *ret_position)
{
    struct idmap_entry *entry = id ? idmap_find(&calls->by_id, id) : NULL;
    if (!entry || !entry->value)
        return false;
    *ret_position = entry->value - 1;
    return true;
}

void
launch_sums_done(struct launch_sums *sums)
{
    idmap_done(&sums->graphs);
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
        size_t known = sums->graphs.n;
        if (event.correlation && !idmap_add(&sums->graphs, event.correlation, err))
            return err->kind;
        figures->graph_launch_count += !event.correlation || sums->graphs.n > known;
    }
    return ERR_OK;
}

void
launch_sums_add_gpu(struct launch_sums *sums,
                    const struct events *events,
                    struct event kernel)
{
    struct launch_figures *figures = &sums->figures;
    struct idmap_entry *graph =
        kernel.correlation ? idmap_find(&sums->graphs, kernel.correlation) : NULL;
    uint64_t position;
    if (graph) {
        figures->graph_kernels++;
        figures->graph_launches_with_kernels += graph->mark++ == 0;
    }
    if (!calls_get(sums->calls, kernel.correlation, &position)) {
        figures->unlinked_busy_ns = ns_add(figures->unlinked_busy_ns, kernel.dur_ns);
        return;
    }
    uint32_t thread = event_thread(events_cpu(events, position));
    if (sums->root_threads && !idmap_find(sums->root_threads, thread + 1))
        figures->off_root_thread_busy_ns =
            ns_add(figures->off_root_thread_busy_ns, kernel.dur_ns);
}
