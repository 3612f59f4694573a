/* SPDX-License-Identifier: Apache-2.0 */
/* Length of the union of intervals. */
#include "unions.h"

#include <stdlib.h>

static int
compare(const void *a, const void *b)
{
    const struct interval *x = a;
    const struct interval *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

void
intervals_sort(struct interval *intervals, size_t n)
{
    if (n > 1)
        qsort(intervals, n, sizeof *intervals, compare);
}

int64_t
union_of(struct interval *intervals, size_t n)
{
    struct union_length all = {0};
    intervals_sort(intervals, n);
    for (size_t i = 0; i < n; i++)
        union_add(&all, intervals[i].start_ns, intervals[i].end_ns);
    return all.length_ns;
}
