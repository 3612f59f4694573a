/* SPDX-License-Identifier: Apache-2.0 */
/* How far a split is, for a person who looks. */
#include "split_progress.h"

#include "clock.h"
#include "progress.h"

#include <stdio.h>

enum { BAR = 30, MEGA = 1000000, MS = 1000 };

void
split_progress_start(struct split_progress *progress, int passes)
{
    *progress = (struct split_progress){
        .is_shown = progress_wanted(),
        .passes = passes,
        .start_ms = clock_monotonic_ms(),
    };
}

void
split_progress_show(void *state, uint64_t done, uint64_t size)
{
    struct split_progress *progress = state;
    int64_t now_ms = clock_monotonic_ms();
    if (!progress->is_shown || now_ms < progress->next_ms)
        return;
    progress->next_ms = now_ms + PROGRESS_EVERY_MS;
    double total = (double)size * progress->passes;
    double share = total > 0 && (double)done < total ? (double)done / total : 1.0;
    double seconds = (double)(now_ms - progress->start_ms) / MS;
    double rate = seconds > 0 ? (double)done / seconds : 0;
    int filled = (int)(share * BAR);
    fputs("\r\033[K[", stderr);
    for (int i = 0; i < BAR; i++)
        fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f%% %.0f of %.0f MB, %.0f MB/s", share * 100,
            (double)done / MEGA, total / MEGA, rate / MEGA);
    if (rate > 0)
        fprintf(stderr, ", %.0f s left", (total - (double)done) / rate);
    fflush(stderr);
    progress->is_drawn = true;
}

void
split_progress_clear(struct split_progress *progress)
{
    if (progress->is_drawn)
        fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->is_drawn = false;
}
