/* SPDX-License-Identifier: Apache-2.0 */
/* Time figures of a set of GPU events. */
#include "time_figures.h"

#include "ns.h"
#include "wide.h"

void
time_sums_add(struct time_sums *sums, struct event event)
{
    struct time_figures *figures = &sums->figures;
    int64_t start_ns = event.ts_ns;
    int64_t end_ns = event_end_ns(event);
    if (figures->n++ == 0) {
        sums->start_ns = start_ns;
        sums->end_ns = end_ns;
    }
    if (end_ns > sums->end_ns)
        sums->end_ns = end_ns;
    if (event.dur_ns > figures->max_event_ns)
        figures->max_event_ns = event.dur_ns;
    figures->busy_ns = ns_add(figures->busy_ns, event.dur_ns);
    union_add(&sums->all, start_ns, end_ns);
    if (event_category(event) != CATEGORY_KERNEL) {
        figures->copy_ns = ns_add(figures->copy_ns, event.dur_ns);
        return;
    }
    figures->kernel_count++;
    bool is_comm = symbols_has(sums->symbols, event.name, SYMBOL_COLLECTIVE);
    union_add(is_comm ? &sums->comm : &sums->compute, start_ns, end_ns);
    union_add(&sums->both, start_ns, end_ns);
}

struct time_figures
time_sums_take(struct time_sums *sums)
{
    struct time_figures figures = sums->figures;
    figures.wall_ns = ns_subtract(sums->end_ns, sums->start_ns);
    figures.busy_union_ns = sums->all.length_ns;
    figures.compute_union_ns = sums->compute.length_ns;
    figures.comm_union_ns = sums->comm.length_ns;
    figures.exposed_comm_ns = sums->both.length_ns - sums->compute.length_ns;
    figures.stream_overlap_ns = figures.busy_ns - figures.busy_union_ns;
    return figures;
}

bool
time_figures_idle(const struct time_figures *figures, double *ret_ratio)
{
    if (figures->wall_ns == 0)
        return false;
    *ret_ratio = wide_ratio(figures->wall_ns - figures->busy_union_ns, figures->wall_ns);
    return true;
}
